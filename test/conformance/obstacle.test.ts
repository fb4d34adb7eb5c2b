// Tests that only one check fails if a plain login does not work. The checks that need a login do not run, and their
// results name the failed check.
import t from 'tap'
import { checks } from '../../src/conformance/checks.ts'
import { exitCodeOf } from '../../src/conformance/exit-code.ts'
import { findObstacle } from '../../src/conformance/obstacle.ts'
import { recordOutput } from '../../src/conformance/output-record.ts'
import { startPlatform } from '../../src/conformance/platform.ts'
import { countLine } from '../../src/conformance/report/report.ts'
import type { Result } from '../../src/conformance/result.ts'
import { readSettings } from '../../src/conformance/settings.ts'
import { findFreePort } from '../support/free-port.ts'
import { type Behaviour, correct } from './clients/behaviour.ts'
import { sendWith } from './clients/call-changes.ts'
import { startWith } from './clients/changes.ts'
import { buildClient } from './clients/client.ts'
import { page } from './clients/pages.ts'
import type { Call } from './clients/platform.ts'
import { openStage } from './support/stage.ts'

const nothing = { failed: [], nowPassing: [], unknown: [] }
const stage = await openStage()
t.teardown(stage.close)
const withBehaviour = (behaviour: Partial<Behaviour>) => (settings: Parameters<typeof buildClient>[0]) =>
  buildClient(settings, { ...correct, ...behaviour })

function judge(behaviour: Partial<Behaviour>, only: RegExp): Promise<Result[]> {
  return stage.judgeRun(
    withBehaviour(behaviour),
    checks.filter(({ id }) => only.test(id)),
  )
}

const briefly = (results: Result[]) =>
  Object.fromEntries(results.map(({ id, verdict, notRunBecause }) => [id, notRunBecause ?? verdict]))

const wrongCancelUrl = startWith(query => query.set('cancel_url', 'https://elsewhere.example/'))

t.test(
  'if the portal refuses the login request, one check fails, and the other checks refer to this check',
  async t => {
    const results = await judge(
      wrongCancelUrl,
      /^(start-cancel-url-own|start-state|pkce-s256|login-works|state-missing|exchange-code|page-no-store|cookie-secure)$/,
    )
    t.same(briefly(results), {
      'start-state': 'passed',
      'start-cancel-url-own': 'failed',
      'pkce-s256': 'start-cancel-url-own',
      'login-works': 'start-cancel-url-own',
      'state-missing': 'start-cancel-url-own',
      'exchange-code': 'start-cancel-url-own',
      'page-no-store': 'start-cancel-url-own',
      'cookie-secure': 'start-cancel-url-own',
    })
    t.match(
      results.at(-1)?.reason,
      'Not run, because of the check start-cancel-url-own: The portal refused this login request',
    )
  },
)

t.test(
  'if the check that reports a refused login request is not part of the run, one check that needs a login fails in its place',
  async t => {
    const results = await judge(wrongCancelUrl, /^(state-missing|exchange-code)$/)
    t.same(briefly(results), { 'state-missing': 'failed', 'exchange-code': 'state-missing' })
    t.match(results[0], { level: 'MUST', reason: 'The portal refused this login request' })
    const failed = results.filter(({ verdict }) => verdict === 'failed')
    t.equal(exitCodeOf(results, { ...nothing, failed }, false), 1)
    t.equal(
      exitCodeOf(results, nothing, false),
      3,
      'if the cause is a known failure, the other checks must be undecided',
    )
  },
)

t.test('if the login path does not redirect to the portal, only one check fails', async t => {
  const results = await judge(
    { afterStart: visit => page(visit, 404, 'Not found', '<p>There is no such page.</p>') },
    /^(start-leads-to-portal|start-grant-type|login-works|state-once|logout-ends-session|start-host|callback-many)$/,
  )
  t.same(briefly(results), {
    'start-leads-to-portal': 'failed',
    'start-grant-type': 'start-leads-to-portal',
    'login-works': 'start-leads-to-portal',
    'start-host': 'start-leads-to-portal',
    'callback-many': 'start-leads-to-portal',
    'state-once': 'start-leads-to-portal',
    'logout-ends-session': 'start-leads-to-portal',
  })
})

t.test('if nobody is signed in after a login, the check `login-works` fails', async t => {
  const results = await judge({ setCookie: () => {} }, /^(login-works|exchange-code|page-nosniff|cookie-httponly)$/)
  t.same(briefly(results), {
    'login-works': 'failed',
    'exchange-code': 'passed',
    'cookie-httponly': 'login-works',
    'page-nosniff': 'login-works',
  })
})

t.test(
  'if the client redirects by a script during a login, the checks that need a login count as undecided, and no check fails',
  async t => {
    const results = await judge(
      {
        afterStart: (visit, { headers }) =>
          page(visit, 200, 'One moment', `<script>location.replace(${JSON.stringify(headers?.location)})</script>`),
      },
      /^(start-leads-to-portal|start-grant-type|login-works|state-once|page-nosniff)$/,
    )
    t.same([...new Set(results.map(({ verdict }) => verdict))], ['undecided', 'not run'])
    t.equal(countLine(results), `0 passed, 0 failed, 0 warned, 0 not applicable, ${results.length} undecided`)
    for (const { reason } of results) t.match(reason, 'has a script that may redirect the browser')
    t.equal(exitCodeOf(results, nothing, false), 3)
  },
)

/** Adds the script of a page that also works without scripts. */
const withScript: Partial<Behaviour> = {
  aroundRequest: async (_visit, next) => {
    const answer = await next()
    return answer.body
      ? { ...answer, body: answer.body.replace('</body>', '<script src="/script.js"></script></body>') }
      : answer
  },
}

/** Keeps the answer to the call for the list. `keyOf` returns the name under which the client keeps the answer. */
const keepingTheList = (keyOf: (call: Call) => string): Partial<Behaviour> => ({
  ...sendWith(
    ({ method, url }) => method === 'GET' && url.endsWith('/apps/v1'),
    async (visit, call, send) => {
      const key = keyOf(call)
      const known = visit.memory.get(key) as Awaited<ReturnType<typeof send>> | undefined
      const answer = known ?? (await send())
      visit.memory.set(key, answer)
      return answer
    },
  ),
})

const needLogin = /^(login-works|cookie-secure|page-no-store)$/

for (const [what, script] of [
  ['with a script', withScript],
  ['without scripts', {}],
] as const)
  t.test(
    `if a client ${what} shows the list of one visitor to all visitors, the check \`login-works\` fails`,
    async t => {
      const results = await judge({ ...keepingTheList(() => 'list'), ...script }, needLogin)
      t.same(briefly(results), {
        'login-works': 'failed',
        'cookie-secure': 'login-works',
        'page-no-store': 'login-works',
      })
      const finding = {
        reason: 'The second visitor saw an application of the first visitor.',
        fix: /^Call the API for each visitor/,
      }
      t.match(
        results.find(({ id }) => id === 'login-works'),
        finding,
      )
      const [alone] = await judge({ ...keepingTheList(() => 'list'), ...script }, /^login-works$/)
      t.match(alone, { verdict: 'failed', ...finding })
    },
  )

for (const [when, callsBefore] of [
  ['from the login on', 0],
  ['from the second page on', 1],
] as const)
  t.test(
    `if the client keeps the list of each visitor ${when}, the checks that need a login are undecided`,
    async t => {
      const calls = new Map<string, number>()
      const results = await judge(
        keepingTheList(({ headers }) => {
          const list = `list ${headers.authorization}`
          const count = calls.get(list) ?? 0
          calls.set(list, count + 1)
          return `${list} ${Math.min(count, callsBefore)}`
        }),
        /^(login-works|cookie-secure|page-no-store|list-current)$/,
      )
      const { 'list-current': current, ...others } = briefly(results)
      t.match(current, 'warned', 'one check reports the cause')
      t.equal(Object.keys(others).length, 3)
      for (const { id, verdict, reason } of results.filter(({ id }) => id !== 'list-current')) {
        t.equal(verdict, 'not run', id)
        t.match(reason, 'shows /applications again without a call to the API')
      }
    },
  )

t.test('if a client that redirects by a script fails once, no check fails', async t => {
  let visits = 0
  const results = await judge(
    {
      afterStart: (visit, { headers }) =>
        visits++ === 0
          ? page(visit, 503, 'One moment', '<p>The client is starting.</p>')
          : page(visit, 200, 'One moment', `<script>location.replace(${JSON.stringify(headers?.location)})</script>`),
    },
    needLogin,
  )
  t.equal(countLine(results), '0 passed, 0 failed, 0 warned, 0 not applicable, 3 undecided')
})

t.test('for a correct client, all checks run', async t => {
  const results = await judge({}, /^(start-leads-to-portal|login-works|exchange-code)$/)
  t.same([...new Set(results.map(({ verdict }) => verdict))], ['passed'])
})

t.test(
  'if the client never answers the callback, one check fails, and the checks that need the callback do not run',
  async t => {
    const never = new Promise<never>(() => {})
    const results = await judge({ exchange: () => never }, /^(login-works|exchange-form|start-state|cookie-secure)$/)
    t.same(briefly(results), {
      'start-state': 'passed',
      'login-works': 'failed',
      'exchange-form': 'login-works',
      'cookie-secure': 'login-works',
    })
    t.match(results.find(({ id }) => id === 'login-works')?.reason, /no whole answer within 5000 ms/)
  },
)

t.test('if the client has ended before a round, the evidence contains only the output of this round', async t => {
  const settings = readSettings(['--client', `http://localhost:${await findFreePort()}`])
  const platform = await startPlatform({ ...settings, portalPort: 0, apiPort: 0, labPort: 0 })
  t.teardown(platform.close)
  const printed = recordOutput()
  printed.add('Error: of the earlier round\n')
  const outputStart = printed.outputEnd()
  printed.add('Error: of this round\n')
  const clientProcess = {
    ...printed,
    isRunning: () => false,
    unexpectedEnds: () => ['with exit code 1'],
    restart: async () => {},
    stop: async () => {},
  }
  const obstacle = await findObstacle({
    settings,
    platform,
    clientProcess,
    isAnswering: async () => false,
    outputStart,
  })
  const evidence = obstacle?.evidence.join('\n') ?? ''
  t.match(evidence, 'Error: of this round')
  t.notMatch(evidence, 'Error: of the earlier round')
})
