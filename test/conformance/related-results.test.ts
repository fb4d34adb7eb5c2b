// Tests how the result of one check changes the results of other checks: hints to the first cause, and checks that rely
// on another check to report a mistake.
import t from 'tap'
import { type Check, Failed, ReportedElsewhere } from '../../src/conformance/check.ts'
import type { Platform } from '../../src/conformance/platform.ts'
import type { Result } from '../../src/conformance/result.ts'
import { runChecks } from '../../src/conformance/run-checks.ts'
import { readSettings } from '../../src/conformance/settings.ts'
import { Secret } from '../../src/sandbox/values/secret.ts'

const base = { group: 'pages', title: 'A title', rule: 'PG-21', why: 'Why.', fix: 'Fix it.' } as const

function failing(id: string, reason: string, more: Partial<Check> = {}): Check {
  return {
    ...base,
    id,
    async run() {
      throw new Failed(reason)
    },
    ...more,
  }
}

async function reasonsOf(checks: Check[]) {
  const results = await judge(checks)
  return Object.fromEntries(Object.entries(results).map(([id, { reason }]) => [id, reason]))
}

async function judge(checks: Check[]): Promise<Record<string, Result>> {
  const platform = {
    steps: [],
    cookieValues: new Set(),
    leaks: [],
    beginRound() {},
    portalUrl: 'http://127.0.0.1:1',
    clientSecret: new Secret('not-printed-by-any-client'),
  } as unknown as Platform
  const parts = { settings: readSettings([]), platform, clientProcess: undefined, isAnswering: async () => true }
  return Object.fromEntries((await runChecks(checks, parts)).map(result => [result.id, result]))
}

const mixed = failing('mixed', 'A page of Robin1 shows the application of Robin2.', { rule: 'visitors-apart' })
const nobody = failing('nobody', 'Nobody is signed in after a plain login.')
const lost = failing('lost', 'The visitor is no longer signed in.')
const forged = failing('forged', 'A forged callback signed the visitor out.')
const login = failing('login', 'After 30 logins had begun, a login did not work.')
const other = failing('other', 'The page has no title.')

t.test(
  'if a check fails because nobody is signed in, and another check found mixed-up visitors, the reason names the other check',
  async t => {
    const reasons = await reasonsOf([nobody, lost, forged, login, other, mixed])
    const hint = 'Look at mixed first: the client mixes the data of its visitors.'
    t.equal(reasons.nobody, `Nobody is signed in after a plain login. ${hint}`)
    t.equal(reasons.lost, `The visitor is no longer signed in. ${hint}`)
    t.equal(reasons.forged, `A forged callback signed the visitor out. ${hint}`)
    t.equal(reasons.login, `After 30 logins had begun, a login did not work. ${hint}`)
    t.equal(reasons.other, 'The page has no title.', 'the reason for another failure is unchanged')
    t.equal(reasons.mixed, 'A page of Robin1 shows the application of Robin2.')
  },
)

t.test(
  'if a check fails because nobody is signed in, and no check found mixed-up visitors, its reason is unchanged',
  async t => {
    const reasons = await reasonsOf([nobody, other])
    t.equal(reasons.nobody, 'Nobody is signed in after a plain login.')
  },
)

t.test(
  'if the check that looks for mixed-up visitors finds only a signed-out visitor, the reasons of other checks do not change',
  async t => {
    const signedOut = failing('signed-out', 'The first visitor is no longer signed in.', { rule: 'visitors-apart' })
    const reasons = await reasonsOf([nobody, lost, signedOut])
    t.equal(reasons.nobody, 'Nobody is signed in after a plain login.')
    t.equal(reasons.lost, 'The visitor is no longer signed in.')
  },
)

t.test(
  'if a check found no renewal, and another check found one renewal for several sessions, the reason names the other check',
  async t => {
    const shared = failing('shared', 'The client made one renewal for two sessions.', {
      rule: 'renewal-of-one-session',
    })
    const reasons = await reasonsOf([failing('not-renewed', 'The client did not renew the session.'), other, shared])
    t.equal(
      reasons['not-renewed'],
      'The client did not renew the session. Look at shared first: the client makes one renewal for several sessions.',
    )
    t.equal(reasons.other, 'The page has no title.', 'the reason for another failure is unchanged')
    t.equal(reasons.shared, 'The client made one renewal for two sessions.')
  },
)

t.test(
  'if the check that looks for shared renewals also found no renewal, the reasons of other checks do not change',
  async t => {
    const none = failing('none', 'The client did not renew the session.', { rule: 'renewal-of-one-session' })
    const reasons = await reasonsOf([failing('not-renewed', 'The client did not renew the session.'), none])
    t.equal(reasons['not-renewed'], 'The client did not renew the session.')
  },
)

const relying = failing('relying', '', {
  async run() {
    throw new ReportedElsewhere('the form creates nothing')
  },
})

t.test('if a check relies on another check, and a check of the run has failed, the check does not apply', async t => {
  const { relying: result } = await judge([relying, other])
  t.match(result, { verdict: 'not applicable', reason: 'the form creates nothing. Another check reports this' })
})

t.test('if a check relies on another check, and the run reports at most advice, the check is undecided', async t => {
  const advice = failing('advice', 'The client does not follow the advice.', { rule: 'many-tabs' })
  const { relying: result } = await judge([relying, advice])
  t.match(result, {
    verdict: 'undecided',
    reason: 'The check could not run: the form creates nothing. No check of this run reports why. Run all checks.',
  })
})
