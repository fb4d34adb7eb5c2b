// Tests that a check fails if the client ends, hangs or breaks a connection during the check.
import type { RequestListener } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { type Check, Failed, NotApplicable, Undecided } from '../../src/conformance/check.ts'
import type { ClientProcess } from '../../src/conformance/client-process.ts'
import { exitCodeOf } from '../../src/conformance/exit-code.ts'
import { recordOutput } from '../../src/conformance/output-record.ts'
import type { Platform } from '../../src/conformance/platform.ts'
import { toHtml } from '../../src/conformance/report/html.ts'
import { toJson } from '../../src/conformance/report/json.ts'
import { toJunit } from '../../src/conformance/report/junit.ts'
import { describeFailure, summarize } from '../../src/conformance/report/terminal.ts'
import type { Result } from '../../src/conformance/result.ts'
import { type ChecksOptions, runChecks } from '../../src/conformance/run-checks.ts'
import { readSettings } from '../../src/conformance/settings.ts'
import { Secret } from '../../src/sandbox/values/secret.ts'
import { skip as noChromium } from '../support/launch-chromium.ts'
import { shareChromium } from '../support/open-page.ts'
import { serve } from './support/small-clients.ts'

const base = { group: 'pages', title: 'A title', rule: 'PG-21', why: 'Why.', fix: 'Fix it.' } as const
const check = (id: string, run: Check['run'], more: Partial<Check> = {}): Check => ({ ...base, id, run, ...more })

const codeOfEarlierLogin = 'code-of-an-earlier-login'

function runAll(checks: Check[], parts: Partial<ChecksOptions> = {}): Promise<Result[]> {
  const platform = {
    steps: [],
    cookieValues: new Set(),
    begunStates: [],
    codes: [codeOfEarlierLogin],
    leaks: [],
    answerMistakes: { note() {}, noteContent() {} },
    beginRound() {},
    portalUrl: 'http://127.0.0.1:1',
    clientSecret: new Secret('not-printed-by-any-client'),
  } as unknown as Platform
  const isAnswering = async () => true
  return runChecks(checks, { settings: readSettings([]), platform, clientProcess: undefined, isAnswering, ...parts })
}

const verdictsOf = (results: Result[]) => Object.fromEntries(results.map(({ id, verdict }) => [id, verdict]))

/** A fake client process that ends when a check calls end(), and runs again after a restart. */
function fakeProcess() {
  let isRunning = true
  const ends: string[] = []
  const restarted: (() => void)[] = []
  const printed = recordOutput()
  printed.add('starts\nTypeError: x is undefined')
  const clientProcess: ClientProcess = {
    ...printed,
    isRunning: () => isRunning,
    unexpectedEnds: () => ends,
    async restart() {
      isRunning = true
      for (const resolve of restarted.splice(0)) resolve()
    },
    stop: async () => {},
  }
  return {
    parts: { clientProcess, isAnswering: async () => isRunning },
    print: printed.add,
    end() {
      if (isRunning) ends.push('with exit code 1')
      isRunning = false
    },
    untilRestarted: () => new Promise<void>(resolve => restarted.push(resolve)),
  }
}

const outcomes: [what: string, end: () => void][] = [
  ['passes', () => undefined],
  [
    'is undecided',
    () => {
      throw new Undecided('A plain login does not work.')
    },
  ],
  [
    'does not apply',
    () => {
      throw new NotApplicable('It has none.')
    },
  ],
  [
    'crashes',
    () => {
      throw new TypeError('undefined is not a function')
    },
  ],
]
for (const [what, end] of outcomes)
  for (const isAlone of [false, true])
    t.test(
      `if the client ends during a check that otherwise ${what}, the check fails (the check runs ${isAlone ? 'alone' : 'in parallel'})`,
      async t => {
        const client = fakeProcess()
        const run = async () => {
          client.end()
          end()
        }
        const results = await runAll([check('kills', run, { isAlone }), check('after', async () => {})], client.parts)
        t.same(verdictsOf(results), { kills: 'failed', after: 'passed' })
        t.match(results[0], { level: 'MUST', reason: 'The process of the client ended with exit code 1.' })
        t.match(results[0]?.fix, /^Fix it\. Catch every error/, 'the fix of the check and the general fix are shown')
        t.notOk(results[0]?.isError)
        t.match(results[0]?.evidence.join('\n'), 'TypeError: x is undefined', 'the last output of the client is shown')
      },
    )

for (const isAlone of [false, true])
  t.test(
    `if the process of the suite pauses while a check waits for an answer, the suite repeats the check, and the check passes (the check runs ${isAlone ? 'alone' : 'in parallel'})`,
    async t => {
      let tries = 0
      const client = await serve(t, (_request, response) => {
        // This wait stops the suite, too. Then the suite sees that its time limit has passed, and ends the request.
        if (++tries === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500)
        setTimeout(() => response.end('here'), 100)
      })
      const visits = check('visits', async context => void (await context.browser({ timeoutMs: 1000 }).visit(client)), {
        isAlone,
      })
      const settings = readSettings(['--client', client])
      const [result] = await runAll([visits], { settings })
      t.match(result, { verdict: 'passed', reason: '' })
      t.equal(tries, 2)
    },
  )

t.test(
  'if the client ends without output, the evidence contains its last output from before the check, without secrets of earlier checks',
  async t => {
    const client = fakeProcess()
    client.print(`Error: long ago\n${'GET /\n'.repeat(30)}Error: just now, with ${codeOfEarlierLogin}\n`)
    const [result] = await runAll([check('ends', async () => client.end(), { isAlone: true })], client.parts)
    const evidence = result!.evidence.join('\n')
    t.match(evidence, /Before this check, the client printed:\n(.*\n)*.*Error: just now, with sha:[0-9a-f]{8}$/)
    t.notMatch(evidence, 'long ago')
  },
)

/**
 * Runs four checks in parallel. The client ends during the first check. Before the first check looks at the client
 * again, a fifth check has restarted the client.
 */
async function judgeWithRestart(endsAgain: boolean): Promise<Result[]> {
  const client = fakeProcess()
  const { promise: mayEnd, resolve: release } = Promise.withResolvers<void>()
  let tries = 0
  const kills = check('kills', async () => {
    if (++tries > 1) return endsAgain ? client.end() : undefined
    const restarted = client.untilRestarted()
    client.end()
    release()
    await restarted
  })
  const beside = ['b', 'c', 'd'].map(id => check(id, () => mayEnd))
  const later = ['e', 'f'].map(id => check(id, async () => {}))
  return runAll([kills, ...beside, ...later], client.parts)
}

t.test('if the client ends during a check and is restarted for another check, the first check still fails', async t => {
  const { kills, b, c, d, f } = verdictsOf(await judgeWithRestart(true))
  t.same({ kills, b, c, d, f }, { kills: 'failed', b: 'passed', c: 'passed', d: 'passed', f: 'passed' })
})

t.test(
  'if the client ends while several checks run, and does not end again when the checks are repeated, all these checks fail',
  async t => {
    const results = await judgeWithRestart(false)
    const { kills, b, c, d, f } = verdictsOf(results)
    t.same({ kills, b, c, d, f }, { kills: 'failed', b: 'failed', c: 'failed', d: 'failed', f: 'passed' })
    t.notMatch(results[1]?.fix, 'Fix it.', 'the fix of a single check would mislead')
  },
)

/**
 * Runs four checks in parallel. The client hangs during the first check. Before the first check looks at the client
 * again, a fifth check has restarted the client. If `hasProcess` is false, another program restarts the client instead.
 */
async function judgeWithHang(hasProcess: boolean): Promise<Result[]> {
  const { promise: mayEnd, resolve: release } = Promise.withResolvers<void>()
  const { promise: isBack, resolve: comeBack } = Promise.withResolvers<void>()
  let hangs = false
  let tries = 0
  const restart = async () => {
    hangs = false
    comeBack()
  }
  const hang = check('hangs', async () => {
    if (++tries > 1) return
    hangs = true
    release()
    await isBack
  })
  const { clientProcess } = fakeProcess().parts
  // The runner asks 13 times whether the client answers: three times after each of the checks b, c and d, and four
  // times before e. Then another program starts the client again.
  let asked = 0
  const isAnswering = async () => {
    if (hangs && !hasProcess && ++asked === 13) setImmediate(restart)
    return !hangs
  }
  const beside = ['b', 'c', 'd'].map(id => check(id, () => mayEnd))
  const parts = { clientProcess: hasProcess ? { ...clientProcess, restart } : undefined, isAnswering }
  return runAll([hang, ...beside, check('e', async () => {})], parts)
}

for (const hasProcess of [true, false])
  t.test(
    `if the client hangs during a check, the check fails, even if the client ${hasProcess ? 'is restarted' : 'answers again'} before the runner looks at it`,
    async t => {
      const [hangs] = await judgeWithHang(hasProcess)
      t.match(hangs, { verdict: 'failed', reason: 'did not answer for a while' })
    },
  )

t.test('if the client ends after one check and before the next, the check that runs next fails', async t => {
  const client = fakeProcess()
  const onResult = ({ id }: Result) => id === 'a' && client.end()
  const checks = ['a', 'b', 'c'].map(id => check(id, async () => {}, { isAlone: true }))
  const results = await runAll(checks, { ...client.parts, onResult })
  t.same(verdictsOf(results), { a: 'passed', b: 'failed', c: 'passed' })
})

for (const [failures, verdict] of [
  [2, 'passed'],
  [3, 'undecided'],
] as const)
  t.test(`if ${failures} restarts in a row fail, a later check is ${verdict}`, async t => {
    const client = fakeProcess()
    let restarts = 0
    const restart = async () => {
      if (++restarts <= failures) throw new Error('The port is still in use.')
      await client.parts.clientProcess.restart()
    }
    const checks = ['ends', 'b', 'c', 'd', 'e'].map(id =>
      check(id, async () => void (id === 'ends' && client.end()), { isAlone: true }),
    )
    const results = await runAll(checks, { ...client.parts, clientProcess: { ...client.parts.clientProcess, restart } })
    // The suite tries the first restart when it repeats the check that failed.
    t.match(verdictsOf(results), { ends: 'failed', b: 'undecided', c: verdict, e: verdict })
    t.equal(restarts, 3)
  })

t.test(
  'if the client ends during a check that runs alone, and keeps running when the check is repeated, the fix of the check is left out',
  async t => {
    const client = fakeProcess()
    let tries = 0
    const run = async () => {
      if (++tries === 1) client.end()
    }
    const [result] = await runAll([check('kills', run, { isAlone: true })], client.parts)
    t.match(result, { verdict: 'failed', rule: 'stays-up', reason: /an earlier check may be the cause/ })
    t.match(result?.fix, /^Catch every error/)
    t.equal(tries, 2)
  },
)

t.test(
  'if a check fails in parallel and the client ends while the check is repeated alone, the fix of the check is left out',
  async t => {
    const client = fakeProcess()
    let tries = 0
    const run = async () => {
      if (++tries === 2) client.end()
      else throw new Failed('It has a mistake.')
    }
    const [result] = await runAll([check('fails', run)], client.parts)
    t.match(result, { verdict: 'failed', reason: /an earlier check may be the cause/ })
    t.match(result?.fix, /^Catch every error/)
    t.equal(tries, 3)
  },
)

t.test('if a client that the suite did not start stops answering after a check, this check fails', async t => {
  let isThere = true
  const ends = async () => {
    isThere = false
  }
  const results = await runAll([check('ends', ends), check('later', async () => {}, { isAlone: true })], {
    isAnswering: async () => isThere,
  })
  t.same(verdictsOf(results), { ends: 'failed', later: 'undecided' })
  t.match(results[0]?.reason, 'After this check the client no longer answered.')
})

t.test('a client that answers, but is not ready for logins, does not count as lost', async t => {
  let isReady = true
  const busy = async () => {
    isReady = false
  }
  const parts = { isAnswering: async () => isReady, isAlive: async () => true }
  t.same(verdictsOf(await runAll([check('busy', busy)], parts)), { busy: 'passed' })
})

const requests: [how: string, ask: (url: string) => Check['run']][] = [
  ['a browser', url => async context => void (await context.browser().visit(url))],
  ['a check without a browser', url => async context => void (await context.request(url, { timeoutMs: 200 }))],
]

t.test('a request without a browser waits as long as a browser, or as long as the check says', async t => {
  const client = await serve(t, () => {})
  const settings = { ...readSettings(['--client', client]), patienceMs: 200 }
  const errors: unknown[] = []
  const ask: Check['run'] = async context => {
    for (const request of [{}, { timeoutMs: 100 }, { timeoutMs: 300 }])
      errors.push((await context.request('/', request)).response)
  }
  await runAll([check('asks', ask, { isAlone: true, longestMs: 5000 })], { settings })
  t.match(errors, [{ error: 'no answer in 0.2 s' }, { error: 'no answer in 0.1 s' }, { error: 'no answer in 0.3 s' }])
})

const answers: [what: string, answer: RequestListener][] = [
  ['breaks the connection instead of answering', request => request.destroy()],
  ['breaks off in the middle of its answer', (_, response) => response.write('<p>', () => response.destroy())],
  ['does not answer', () => {}],
]
for (const [how, ask] of requests)
  for (const [what, answer] of answers)
    t.test(`for a request from ${how}: if the client ${what}, the check fails`, async t => {
      const client = await serve(t, answer)
      const settings = { ...readSettings(['--client', client]), patienceMs: 200 }
      const results = await runAll([check('a', ask(`${client}/page?code=secret`), { isAlone: true })], { settings })
      t.match(results, [{ verdict: 'failed', level: 'MUST', reason: `did not answer a request: GET ${client}/page (` }])
    })

for (const [what, rule, reported, answer] of [
  ['does not answer in time', 'UP-03', 'UP-03', () => {}],
  ['does not answer in time', 'PG-21', 'stays-up', () => {}],
  ['breaks the connection', 'UP-03', 'stays-up', request => request.destroy()],
] satisfies [string, Check['rule'], Check['rule'], RequestListener][])
  for (const inChromium of [false, true])
    t.test(
      `if the client ${what} during a check of ${rule}, the result names the rule ${reported} (${inChromium ? 'in Chromium' : 'without Chromium'})`,
      { skip: inChromium && noChromium },
      async t => {
        const client = await serve(t, answer)
        const settings = { ...readSettings(['--client', client]), patienceMs: inChromium ? 1000 : 200 }
        const chromium = inChromium ? await shareChromium('chromium') : undefined
        const run: Check['run'] = async context => {
          if (inChromium) await (await context.window()).goTo(client)
          else await context.browser().visit(client)
          throw new Failed('The visitor got no page.')
        }
        const [result] = await runAll([check('a', run, { rule, isAlone: true })], { settings, chromium })
        t.match(result, { verdict: 'failed', rule: reported, reason: 'The visitor got no page.' })
        t.match(result?.fix, 'Fix it.')
        t.equal(result?.fix.includes('keep running'), reported === 'stays-up')
      },
    )

t.test(
  'if the client sends an answer that a browser cannot decode, this does not count as a broken connection',
  async t => {
    const client = await serve(t, (_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip'),
    )
    const settings = readSettings(['--client', client])
    const results = await runAll([check('a', async context => void (await context.browser().visit(client)))], {
      settings,
    })
    t.same(verdictsOf(results), { a: 'passed' })
  },
)

t.test('if the portal, not the client, breaks the connection to the browser, the check passes', async t => {
  const portal = await serve(t, request => request.destroy())
  const results = await runAll([check('a', async context => void (await context.browser().visit(portal)))])
  t.same(verdictsOf(results), { a: 'passed' })
})

const fail = () => {
  throw new Failed('It went wrong.', ['seen'])
}
const [, undecided, notApplicable, crash] = outcomes.map(([, end]) => end) as (() => void)[]
const pass = () => {}
const pairs: [what: string, first: () => void, second: () => void, expected: object][] = [
  ['fails, then is undecided', fail, undecided!, { verdict: 'failed', reason: 'It went wrong.', evidence: ['seen'] }],
  ['fails, then does not apply', fail, notApplicable!, { verdict: 'failed' }],
  ['fails, then crashes', fail, crash!, { verdict: 'failed' }],
  ['fails, then passes', fail, pass, { verdict: 'passed' }],
  ['is undecided, then fails', undecided!, fail, { verdict: 'failed' }],
  ['is undecided, then passes', undecided!, pass, { verdict: 'passed' }],
  ['crashes, then fails', crash!, fail, { verdict: 'failed' }],
  ['crashes, then passes', crash!, pass, { verdict: 'undecided', isError: true }],
]
for (const [what, first, second, expected] of pairs)
  t.test(
    `if a check ${what} when it is repeated, its result is ${(expected as { isError?: true }).isError ? 'an error' : Object.values(expected)[0]}`,
    async t => {
      let tries = 0
      const run = async () => (++tries === 1 ? first() : second())
      t.match(await runAll([check('a', run, { rule: 'CL-06' })]), [expected])
      t.equal(tries, 2)
    },
  )

t.test(
  'if the second instance ends during a check, this check fails, and the suite starts the instance again',
  async t => {
    const [client, second] = [fakeProcess(), fakeProcess()]
    const isRunningInCheck: boolean[] = []
    const results = await runAll(
      [
        check('ends', async () => second.end(), { isAlone: true }),
        check('later', async () => void isRunningInCheck.push(second.parts.clientProcess.isRunning()), {
          isAlone: true,
        }),
      ],
      { ...client.parts, replicaProcess: second.parts.clientProcess },
    )
    t.match(results, [
      { verdict: 'failed', reason: 'The process of the client ended with exit code 1.' },
      { verdict: 'passed' },
    ])
    t.same(isRunningInCheck, [true])
  },
)

t.test('if a client answers late only because other checks keep its workers busy, no check fails', async t => {
  let isBusy = false
  // This client has one worker. While it is busy, other requests wait until the suite gives up.
  const client = await serve(t, async (request, response) => {
    if (request.url === '/login') return void response.end('yes')
    if (isBusy) return
    isBusy = true
    await wait(300)
    isBusy = false
    response.end('yes')
  })
  const settings = { ...readSettings(['--client', client]), patienceMs: 2200 }
  const visits = ['one', 'two', 'three'].map(id =>
    check(id, async context => {
      await context.browser().visit(context.url('/page'))
    }),
  )
  t.same(verdictsOf(await runAll(visits, { settings })), { one: 'passed', two: 'passed', three: 'passed' })
})

t.test('if a client also answers late while no other check runs, the check fails', async t => {
  const client = await serve(t, (request, response) => {
    if (request.url === '/login') response.end('yes')
  })
  const settings = { ...readSettings(['--client', client]), patienceMs: 2200 }
  let runs = 0
  const visits = ['one', 'two', 'three', 'four', 'five'].map(id =>
    check(id, async context => {
      runs++
      await context.browser().visit(context.url('/page'))
    }),
  )
  const results = await runAll(visits, { settings })
  for (const { id, verdict } of results) t.equal(verdict, 'failed', id)
  t.equal(runs, 5 + 5 + 3, 'after three late answers in a row, the other checks are not repeated alone')
})

t.test('while checks wait for the answers to their bytes, other checks run', async t => {
  const client = await serve(t, () => {})
  const ended: string[] = []
  const waiting = ['a', 'b', 'c', 'd'].map(id =>
    check(id, async context => {
      await context.sendBytes({ head: 'GET / HTTP/1.1\r\nhost: client\r\n\r\n', timeoutMs: 2000 })
      ended.push(id)
    }),
  )
  const next = check('next', async () => void ended.push('next'))
  await runAll([...waiting, next], { settings: readSettings(['--client', client]) })
  t.equal(ended[0], 'next')
})

t.test('if a slow check is undecided beside other checks, the suite repeats it while no other check runs', async t => {
  let tries = 0
  const slow = check('slow', async context => {
    // After two seconds, the suite treats the check as slow.
    if (++tries === 1) await context.pause(2100)
    if (tries < 3) throw new Undecided('Another check could be affected.')
  })
  t.match(await runAll([slow]), [{ verdict: 'passed' }])
  t.equal(tries, 3)
})

const nothing = { failed: [], nowPassing: [], unknown: [] }
const resultOf = (verdict: Result['verdict'], more: Partial<Result> = {}): Result => ({
  ...base,
  level: 'SHOULD',
  id: verdict,
  verdict,
  reason: 'The reason.',
  evidence: [],
  durationMs: 1,
  ...more,
})

t.test('the exit code is 0 only if no check failed, crashed or is undecided', async t => {
  const good = [resultOf('passed'), resultOf('warned'), resultOf('not applicable')]
  const [failed, open] = [resultOf('failed'), resultOf('undecided')]
  const crashed = resultOf('undecided', { isError: true })
  t.equal(exitCodeOf(good, nothing, false), 0)
  t.equal(exitCodeOf([...good, failed], { ...nothing, failed: [failed] }, true), 1)
  t.equal(exitCodeOf([...good, open, failed], { ...nothing, failed: [failed] }, false), 1)
  t.equal(exitCodeOf(good, { ...nothing, nowPassing: ['passed'] }, false), 1)
  t.equal(exitCodeOf(good, { ...nothing, unknown: ['gone'] }, false), 1)
  t.equal(exitCodeOf([...good, open, crashed], nothing, true), 2, 'after a crash, the exit code is never 0')
  t.equal(exitCodeOf([...good, open], nothing, false), 3)
  t.equal(exitCodeOf([...good, open], nothing, true), 0)
})

const reportOf = (results: Result[]) => ({
  version: '1.2.3',
  client: 'http://localhost:3000',
  startedAt: new Date(0),
  durationMs: 1000,
  command: 'npm run conformance --',
  results,
  outcome: nothing,
  expected: new Map<string, string>(),
  allowUndecided: false,
  exitCode: 0,
})

t.test('if a check crashes, every report shows an error', async t => {
  const crashed = resultOf('undecided', { isError: true, reason: 'The check itself crashed: x' })
  const report = reportOf([crashed, resultOf('undecided', { id: 'open' })])
  t.match(describeFailure(crashed, 'run'), /^ERROR undecided/)
  t.match(
    summarize(report),
    /Crashed because of a mistake in this suite .*\n {2}undecided: The check itself crashed: x\nUndecided:\n {2}open/,
  )
  t.match(toJunit(report), 'failures="0" errors="2" skipped="0"')
  t.match(toJunit(report), '<error message="crashed: The check itself crashed: x">')
  t.match(toHtml(report), 'id="undecided"')
  t.match(JSON.parse(toJson(report)), { checks: [{ isError: true }, { isError: false }] })
})

t.test('control characters from the client are not in any report', async t => {
  const nasty = '\u001b]0;title\u0007\r2 passed\u009b31m\u007f\u202e\u2028\u{e0041}\ud800 \b done\ttab'
  const result = resultOf('failed', { reason: nasty, evidence: [`GET /\n${nasty}`] })
  const report = reportOf([result, { ...result, verdict: 'undecided' }, { ...result, verdict: 'not applicable' }])
  const texts = {
    failure: describeFailure(result, 'run'),
    summary: summarize(report),
    junit: toJunit(report),
    html: toHtml(report),
    json: toJson(report),
  }
  for (const [name, text] of Object.entries(texts)) {
    t.notMatch(text, /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u, name)
    t.match(text, 'done', `${name} has the text`)
  }
  t.match(texts.failure, String.raw`\x1b]0;title\x07\x0d2 passed\x9b31m\x7f\u202e\u2028\u{e0041}\ud800 \x08 done`)
  t.match(texts.failure, 'GET /\n    ', 'line breaks in the evidence are kept')
  t.equal(JSON.parse(texts.json).checks[0].reason, nasty, 'the JSON report contains the unchanged text')
})
