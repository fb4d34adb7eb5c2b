// If a check shows that the client mixes its visitors, the report says so at every other check that found nobody signed in.
import t from 'tap'
import { type Check, Failed } from '../../src/conformance/check.ts'
import type { Platform } from '../../src/conformance/platform.ts'
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
  const platform = {
    steps: [],
    cookieValues: new Set(),
    leaks: [],
    beginRound() {},
    portalUrl: 'http://127.0.0.1:1',
    clientSecret: new Secret('not-printed-by-any-client'),
  } as unknown as Platform
  const parts = { settings: readSettings([]), platform, clientProcess: undefined, isAnswering: async () => true }
  return Object.fromEntries((await runChecks(checks, parts)).map(({ id, reason }) => [id, reason]))
}

const mixed = failing('mixed', 'A page of Robin1 shows the application of Robin2.', { rule: 'visitors-apart' })
const nobody = failing('nobody', 'A plain login signs nobody in.')
const lost = failing('lost', 'The visitor is no longer signed in.')
const other = failing('other', 'The page has no title.')

t.test(
  'if a check fails because nobody is signed in, its reason names the check that found mixed visitors',
  async t => {
    const reasons = await reasonsOf([nobody, lost, other, mixed])
    const hint = 'Look at mixed first: the client mixes the data of its visitors.'
    t.equal(reasons.nobody, `A plain login signs nobody in. ${hint}`)
    t.equal(reasons.lost, `The visitor is no longer signed in. ${hint}`)
    t.equal(reasons.other, 'The page has no title.', 'another failure keeps its reason')
    t.equal(reasons.mixed, 'A page of Robin1 shows the application of Robin2.')
  },
)

t.test('if no check found mixed visitors, a check that fails because nobody is signed in keeps its reason', async t => {
  const reasons = await reasonsOf([nobody, other])
  t.equal(reasons.nobody, 'A plain login signs nobody in.')
})

t.test('if a check of mixed visitors only found a visitor signed out, the other checks keep their reasons', async t => {
  const signedOut = failing('signed-out', 'The first visitor is no longer signed in.', { rule: 'visitors-apart' })
  const reasons = await reasonsOf([nobody, lost, signedOut])
  t.equal(reasons.nobody, 'A plain login signs nobody in.')
  t.equal(reasons.lost, 'The visitor is no longer signed in.')
})
