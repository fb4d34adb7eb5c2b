// Tests the verdicts of checks, and how the terminal and the report files show them.
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { mock } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { type Check, Failed, NotApplicable, Undecided } from '../../src/conformance/check.ts'
import { checks } from '../../src/conformance/checks.ts'
import type { ClientProcess } from '../../src/conformance/client-process.ts'
import type { CheckContext } from '../../src/conformance/context.ts'
import { exitCodeOf } from '../../src/conformance/exit-code.ts'
import { compareWithExpected } from '../../src/conformance/expected-failures.ts'
import { recordOutput } from '../../src/conformance/output-record.ts'
import type { Platform } from '../../src/conformance/platform.ts'
import { describeHttpExchange, describeStep } from '../../src/conformance/report/describe.ts'
import { problemsOfReportFiles } from '../../src/conformance/report/files.ts'
import { toHtml } from '../../src/conformance/report/html.ts'
import { toJson } from '../../src/conformance/report/json.ts'
import { toJunit } from '../../src/conformance/report/junit.ts'
import { showProgress } from '../../src/conformance/report/progress.ts'
import type { Report } from '../../src/conformance/report/report.ts'
import { describeFailure, describeFailures, summarize } from '../../src/conformance/report/terminal.ts'
import type { Result } from '../../src/conformance/result.ts'
import { rules } from '../../src/conformance/rules/rules.ts'
import { type ChecksOptions, runChecks } from '../../src/conformance/run-checks.ts'
import { readSettings } from '../../src/conformance/settings.ts'
import type { LabStep } from '../../src/sandbox/lab/record/recorded.ts'
import { reasons } from '../../src/sandbox/observe/reasons.ts'
import { Secret } from '../../src/sandbox/values/secret.ts'

const base = { group: 'pages', title: 'A title <b>', rule: 'CL-06', why: 'Why & where.', fix: 'Fix "it".' } as const
const check = (id: string, run: Check['run'], more: Partial<Check> = {}): Check => ({ ...base, id, run, ...more })

/** Runs checks without a platform, because these checks do not call the platform. */
function runAll(checks: Check[], parts: Partial<ChecksOptions> = {}): Promise<Result[]> {
  const platform = { steps: [], beginRound() {} } as unknown as Platform
  const isAnswering = async () => true
  return runChecks(checks, { settings: readSettings([]), platform, clientProcess: undefined, isAnswering, ...parts })
}

const verdictsOf = (results: Result[]) => Object.fromEntries(results.map(({ id, verdict }) => [id, verdict]))

t.test('the verdict of a check depends on how its run ends and on the level of its rule', async t => {
  const fail = async () => {
    throw new Failed('It went wrong.', ['seen'])
  }
  const results = await runAll([
    check('passes', async () => {}),
    check('fails', fail),
    check('warns', fail, { rule: 'PG-21' }),
    check('advises', fail, { rule: 'links-apart' }),
    check('lacks', async () => {}, { needs: ['replica'] }),
    check('has-none', async () => {
      throw new NotApplicable('it has none')
    }),
    check('cannot-tell', async () => {
      throw new Undecided('nobody knows')
    }),
    check('breaks', async () => {
      throw new TypeError('a mistake of the check')
    }),
    check('hangs', () => new Promise(() => {}), { longestMs: 5 }),
  ])
  t.same(verdictsOf(results), {
    passes: 'passed',
    fails: 'failed',
    warns: 'warned',
    advises: 'not followed',
    lacks: 'not applicable',
    'has-none': 'not applicable',
    'cannot-tell': 'undecided',
    breaks: 'undecided',
    hangs: 'undecided',
  })
  t.match(results[1], { reason: 'It went wrong.', evidence: ['seen'] })
})

/** A process of the client that never ends. */
function runningProcess(restart: ClientProcess['restart']): ClientProcess {
  return { ...recordOutput(), isRunning: () => true, unexpectedEnds: () => [], restart, stop: async () => {} }
}

t.test('a check that has reached its time limit sends nothing more to the client, and does not restart it', async t => {
  let [connections, restarts] = [0, 0]
  const server = createServer((_request, response) => response.end()).on('connection', () => connections++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const client = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  /** Also contains the run that repeats the check. */
  const runs: Promise<string>[] = []
  const late = async (context: CheckContext): Promise<string> => {
    await wait(50)
    const page = await context.browser().visit(`${client}/`)
    const others = await Promise.allSettled([
      context.request('/'),
      context.sendBytes({ head: 'GET / HTTP/1.1\r\nhost: client\r\nconnection: close\r\n\r\n' }),
      context.restartClient(),
    ])
    return [page.error, ...others.map(one => (one.status === 'rejected' ? one.reason.message : 'done'))].join(' ')
  }
  const run: Check['run'] = async context => {
    runs.push(late(context))
    await runs.at(-1)
  }
  const platform = { steps: [], beginRound() {}, answerMistakes: { note() {} } } as unknown as Platform
  const clientProcess = runningProcess(async () => void restarts++)
  const settings = readSettings(['--client', client])
  await runAll([check('late', run, { longestMs: 5 })], { settings, platform, clientProcess })
  for (const said of await Promise.all(runs)) t.equal(said, Array(4).fill('The check has ended.').join(' '))
  t.same({ connections, restarts }, { connections: 0, restarts: 0 })
})

t.test(
  'the suite repeats a failed check once, while no other check runs, and counts only the second result',
  async t => {
    for (const isAlone of [false, true]) {
      let running = 0
      let tries = 0
      const beside = check('beside', async () => {
        running++
        await new Promise(resolve => setImmediate(resolve))
        running--
      })
      const once = check(
        'once',
        async () => {
          if (++tries === 1) throw new Failed('Another check was running.')
          t.equal(running, 0, 'while the check is repeated, no other check may run')
        },
        { isAlone },
      )
      t.same(verdictsOf(await runAll([once, beside])), { once: 'passed', beside: 'passed' })
      t.equal(tries, 2)
    }
  },
)

t.test('if a client is slow but still answers, the suite does not restart the client', async t => {
  let [asked, restarts] = [0, 0]
  const isAnswering = async () => ++asked > 1
  const clientProcess = runningProcess(async () => void restarts++)
  const results = await runAll([check('a', async () => {})], { isAnswering, clientProcess })
  t.same(verdictsOf(results), { a: 'passed' })
  t.equal(restarts, 0)
})

t.test('if the client had already stopped answering when a check began, the check is undecided', async t => {
  const results = await runAll([check('a', async () => {})], { isAnswering: async () => false })
  t.match(results, [{ verdict: 'undecided', reason: 'The client no longer answers.' }])
})

const must = { ...base, level: 'MUST' } as const
const results: Result[] = [
  { ...must, id: 'a', verdict: 'passed', reason: '', evidence: [], durationMs: 12 },
  { ...must, id: 'b', verdict: 'failed', reason: 'Seen <i>this</i>\u0000.', evidence: ['GET /\n→ 200'], durationMs: 5 },
  {
    ...base,
    id: 'c',
    rule: 'PG-21',
    level: 'SHOULD',
    verdict: 'warned',
    reason: 'Might be better.',
    evidence: [],
    durationMs: 5,
  },
  { ...must, id: 'd', verdict: 'not applicable', reason: 'it has none', evidence: [], durationMs: 0 },
  { ...must, id: 'e', verdict: 'undecided', reason: 'nobody knows', evidence: [], durationMs: 0 },
]
const nothing = { failed: [], nowPassing: [], unknown: [] }
const report: Report = {
  version: '1.2.3',
  client: 'http://localhost:3000',
  startedAt: new Date(0),
  durationMs: 1000,
  command: 'npm run conformance --',
  results,
  outcome: nothing,
  expected: new Map(),
  allowUndecided: false,
  exitCode: 1,
}

t.test('the JSON report contains the suite, the client and the checks', async t => {
  const { suite, client, checks } = JSON.parse(toJson(report))
  t.same([suite, client, checks.length], ['1.2.3', 'http://localhost:3000', 5])
  t.match(checks[1], {
    id: 'b',
    title: base.title,
    level: 'MUST',
    verdict: 'failed',
    why: base.why,
    fix: base.fix,
    evidence: ['GET /\n→ 200'],
    again: "npm run conformance -- --only '^b$'",
  })
})

t.test('the JUnit report for CI lists failed and skipped checks', async t => {
  const xml = toJunit(report)
  t.match(xml, '<testsuites name="Conformance of http://localhost:3000"')
  t.match(xml, 'tests="5" failures="1" errors="1" skipped="1"')
  t.match(xml, '<failure message="Seen &lt;i&gt;this&lt;/i&gt;\\x00.">')
  t.notMatch(xml, '\u0000')
  t.equal(xml.match(/<testcase /g)?.length, 5)
})

t.test('the HTML report is one file without scripts, loads nothing, and escapes all text', async t => {
  const html = toHtml(report)
  t.match(html, '1 passed, 1 failed, 1 warned, 1 not applicable, 1 undecided')
  t.match(html, 'Seen &lt;i&gt;this&lt;/i&gt;')
  t.notMatch(html, /<script|\bsrc=|<link/i)
})

t.test(
  'for each verdict, the summary names some checks and says how many more there are; the last line has the counts',
  async t => {
    const verdicts = ['failed', 'warned', 'undecided', 'not applicable'] as const
    const many = verdicts.flatMap(verdict =>
      Array.from(
        { length: 60 },
        (_, at): Result => ({ ...results[1]!, id: `${verdict}-${at}`, verdict, reason: `${at}` }),
      ),
    )
    const outcome = { failed: many.slice(0, 60), nowPassing: ['m'], unknown: ['u'] }
    const summary = summarize({ ...report, results: many, outcome })
    for (const heading of ['Failed', 'Warned', 'Undecided', 'Not applicable']) {
      const [, named = '', more] =
        new RegExp(`^${heading}:\\n((?:  .*: .*\\n)+)  and (\\d+) more$`, 'm').exec(summary) ?? []
      t.equal(named.trimEnd().split('\n').length + Number(more), 60, heading)
    }
    t.match(summary, 'Remove them from the list: m\n')
    t.match(summary, 'there is no check: u\n')
    t.match(summary, "Repeat a failed check: npm run conformance -- --only '^failed-0$'\n")
    t.match(summary, /\n0 passed, 60 failed, 60 warned, 60 not applicable, 60 undecided\n$/)
    t.match(describeFailure(results[1]!, report.command), "Again: npm run conformance -- --only '^b$'")
  },
)

t.test('if a reason is long, the summary shows only its beginning', async t => {
  const long = { ...results[1]!, reason: `It began so. ${'x'.repeat(500)}` }
  const summary = summarize({ ...report, results: [long], outcome: { ...nothing, failed: [long] } })
  t.match(summary, /^ {2}b: It began so\. x+…$/m)
})

t.test('every report names known failures, and does not count them as failures', async t => {
  const expected = new Map([['b', 'fixed in the next release']])
  const outcome = compareWithExpected(results, expected, ['a', 'b'])
  const known: Report = { ...report, expected, outcome, exitCode: 3 }
  t.match(summarize(known), 'b: Seen <i>this</i>\\x00. Known: fixed in the next release')
  t.match(summarize(known), /1 passed, 0 failed, 1 warned, 1 not applicable, 1 undecided\n$/)
  t.match(toHtml(known), '1 passed, 0 failed, 1 warned, 1 not applicable, 1 undecided')
  t.notMatch(toHtml(known), '<article class="failed"')
  t.match(toHtml(known), 'Known: fixed in the next release')
  t.match(toJunit(known), 'tests="5" failures="0" errors="1" skipped="2"')
  t.match(toJunit(known), /<skipped message="known failure: .*fixed in the next release"/)
  const { counts, exitCode, checks } = JSON.parse(toJson(known))
  t.same([counts['known failure'], counts.failed, exitCode], [1, undefined, 3])
  t.match(checks[1], { verdict: 'failed', standing: 'known failure' })
  t.notMatch(describeFailures(known), 'FAILED b')
})

t.test(
  'every report shows a failure if a check on the list of known failures passes, or if the list has an unknown id',
  async t => {
    const expected = new Map([
      ['a', 'once broken'],
      ['gone', 'renamed'],
    ])
    const good = results.slice(0, 1)
    const stale: Report = { ...report, results: good, expected, outcome: compareWithExpected(good, expected, ['a']) }
    t.match(
      toJunit(stale),
      '<testsuites name="Conformance of http://localhost:3000" timestamp="1970-01-01T00:00:00.000Z" tests="2" failures="2"',
    )
    t.match(toHtml(stale), 'Remove it from the list')
    t.match(toHtml(stale), '<code>gone</code>')
    t.notMatch(toHtml(stale), 'Nothing to fix')
    t.match(summarize(stale), 'These known failures now pass. Remove them from the list: a\n')
    t.equal(describeFailures(stale), '', 'there is nothing to fix in the client')
    t.match(JSON.parse(toJson(stale)), {
      counts: { 'no longer fails': 1 },
      unknownExpectedFailures: ['gone'],
      checks: [{ standing: 'no longer fails' }],
    })
  },
)

t.test('the JUnit report shows an undecided check as an error, and the HTML report lists it', async t => {
  const open: Report = { ...report, results: [results[0]!, results[4]!] }
  t.match(toJunit(open), '<error message="undecided: nobody knows">')
  t.match(toJunit({ ...open, allowUndecided: true }), '<skipped message="undecided: nobody knows"/>')
  t.notMatch(toHtml(open), 'Nothing to fix')
  t.match(toHtml(open), /<h2>Undecided<\/h2>[\s\S]*nobody knows/)
})

t.test(
  'the report begins with the failures that must be fixed first, and describes identical failures only once',
  async t => {
    const failed = (id: string, more: Partial<Result> = {}): Result => ({ ...results[1]!, id, ...more })
    const printed = describeFailures({
      ...report,
      results: [
        failed('should', { verdict: 'warned', level: 'SHOULD' }),
        failed('must'),
        failed('alike'),
        failed('other', { reason: 'Something else.' }),
        failed('mixed', { reason: 'A page shows data of another visitor.', rule: 'visitors-apart' }),
        failed('dead', { reason: 'The process ended.', isLost: true }),
      ],
    })
    const places = ['FAILED dead', 'FAILED mixed', 'FAILED must', 'FAILED other', 'WARNED should'].map(words =>
      printed.indexOf(words),
    )
    t.same(
      places,
      places.toSorted((a, b) => a - b),
    )
    t.ok(places[0]! >= 0)
    t.match(printed, 'The same: alike')
    t.notMatch(printed, 'FAILED alike')
  },
)

t.test(
  'before the run, the command tests whether it can write the report files, and leaves no file behind',
  async t => {
    const folder = t.testdir({ kept: 'old' })
    const [json, kept] = [join(folder, 'new'), join(folder, 'kept')]
    t.same(problemsOfReportFiles({ json, junit: kept, html: undefined }), [])
    t.notOk(existsSync(json))
    t.equal(readFileSync(kept, 'utf8'), 'old')
    t.match(problemsOfReportFiles({ json: join(folder, 'no', 'such'), junit: folder, html: undefined }), [
      /--json .* cannot be written: ENOENT/,
      /--junit .* cannot be written: EISDIR/,
    ])
    t.match(problemsOfReportFiles({ json, junit: json, html: undefined }), [/same file/])
  },
)

t.test('if the output is not a terminal, the command prints a new progress line every few seconds', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  let said = ''
  const progress = showProgress(5, false, text => {
    said += text
  })
  progress.result(results[0]!)
  progress.result(results[1]!)
  t.equal(said, 'failed: b\n')
  mock.timers.tick(5000)
  t.match(said, /2 of 5 after \d+ s: 1 passed, 1 failed\n$/)
  progress.end()
  const length = said.length
  mock.timers.tick(60_000)
  t.equal(said.length, length)
})

t.test('a failure contains the output of the client, with hashes instead of secrets', async t => {
  const printed = recordOutput()
  printed.add('started\n')
  const clientProcess = {
    ...printed,
    isRunning: () => true,
    unexpectedEnds: () => [],
    restart: async () => {},
    stop: async () => {},
  }
  const clientSecret = new Secret('a-secret-of-22-characters')
  const platform = { steps: [], beginRound() {}, clientSecret } as unknown as Platform
  const fails = async () => {
    printed.add(`${'GET /\n'.repeat(40)}Traceback (most recent call last):\n  KeyError: a-secret-of-22-characters\n`)
    throw new Failed('It went wrong.', ['seen'])
  }
  const [result] = await runAll([check('a', fails)], { clientProcess, platform })
  t.equal(result!.evidence[0], 'seen')
  t.match(result!.evidence[1], /^The client printed, besides \d+ other lines:/)
  t.match(result!.evidence[1], /Traceback .*\n {4}KeyError: sha:[0-9a-f]{8}$/)
  t.notMatch(result!.evidence.join(), 'started')
})

t.test('the summary lists the reasons why checks do not apply, with the number of checks for each', async t => {
  const lacking = (id: string, reason: string): Result => ({ ...results[3]!, id, reason })
  const printed = summarize({
    ...report,
    results: [lacking('a', 'no form'), lacking('b', 'no replica'), lacking('c', 'no form')],
  })
  t.match(printed, 'Not applicable:\n  2: no form\n  1: no replica\n')
})

t.test('if a Cookie header is long, the evidence shows only its first cookies', async t => {
  const cookies = Array.from({ length: 50 }, (_, at) => `login-${at}=x`)
  const printed = describeHttpExchange({
    request: {
      method: 'GET',
      url: 'http://localhost/login',
      headers: { cookie: cookies.join('; '), 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document' },
      body: '',
    },
    response: { status: 302, headers: new Headers({ location: '/' }), setCookies: cookies, body: '' },
    startedAt: 0,
    durationMs: 1,
  })
  t.match(printed, /Cookie: login-0=sha:.*; and 44 more\n/)
  t.match(printed, 'Sec-Fetch: site=none, dest=document')
  t.match(printed, 'Set-Cookie: and 44 more')
  t.notMatch(printed, 'login-49')
})

t.test('if a check on the list of known failures passes, it must be removed from the list', async t => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'not-run']
  const expected = (...known: string[]) => compareWithExpected(results, new Map(known.map(id => [id, 'reason'])), ids)
  t.match(expected(), { failed: [{ id: 'b' }], nowPassing: [], unknown: [] })
  t.same(expected('b', 'not-run'), nothing)
  t.match(expected('b', 'a', 'gone'), { failed: [], nowPassing: ['a'], unknown: ['gone'] })
})

t.test('the evidence contains hashes instead of secrets, and equal secrets have equal hashes', async t => {
  const secret = 'S3cretS3cretS3cretS3cret'
  const jwt = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2lnbmF0dXJl'
  const printed = [
    describeHttpExchange({
      request: {
        method: 'POST',
        url: `http://localhost/exchangeToken?code=${secret}&state=${secret}`,
        headers: { cookie: `__Host-session=${secret}`, referer: `http://localhost/?code=${secret}` },
        body: `client_secret=${secret}&password=${secret}`,
      },
      response: {
        status: 302,
        headers: new Headers({ location: `/next?code=${secret}` }),
        setCookies: [`__Host-session=${secret}; HttpOnly; Max-Age=5`],
        body: '',
      },
      startedAt: 0,
      durationMs: 1,
    }),
    describeHttpExchange({
      request: {
        method: 'GET',
        url: `http://localhost/?state[]=${secret}&state[a][b]=${secret}&code%5B0%5D=${secret}`,
        headers: {},
        body: '',
      },
      response: { status: 200, headers: new Headers(), setCookies: [], body: `<p>{"access_token":"${secret}"} ${jwt}` },
      startedAt: 0,
      durationMs: 1,
    }),
    describeStep({
      listener: 'portal',
      request: {
        method: 'POST',
        url: '/api/exchangeToken',
        headers: { authorization: `Bearer ${jwt}` },
        body: { code: secret, code_verifier: secret, refresh_token: secret },
      },
      response: { status: 200 },
    } as unknown as LabStep),
  ].join('\n')
  t.notMatch(printed, secret)
  t.notMatch(printed, 'eyJ')
  t.match(printed, '__Host-session=sha:')
  t.match(printed, 'HttpOnly; Max-Age=5')
  const hashes = [...printed.matchAll(/\b(?:code|client_secret|__Host-session)=(sha:\w+)/g)].map(([, hash]) => hash)
  t.ok(hashes.length >= 6)
  t.equal(new Set(hashes).size, 1)
})

t.test('the evidence explains why the platform refused a request', async t => {
  const step = {
    listener: 'portal',
    request: { method: 'POST', url: '/api/exchangeToken', headers: {}, body: {} },
    response: { status: 401 },
    reason: 'code-used',
  } as unknown as LabStep
  const { found, fix, reference } = reasons['code-used']
  t.match(describeStep(step), `→ 401 (code-used)\n  ${found} ${fix} (${reference})`)
})

t.test('if the evidence quotes a log line, the secrets in the line are hidden', async t => {
  const [result] = await runAll([
    check('quotes', async () => {
      throw new Failed('It printed code=S3cretS3cret.', [
        'GET /exchangeToken?code=S3cretS3cret&state=S3cretS3cret HTTP/1.1',
      ])
    }),
  ])
  t.notMatch(JSON.stringify(result), 'S3cret')
  t.match(result?.evidence, [/code=sha:\w+&state=sha:\w+ HTTP/])
})

t.test('in a result, a value has the same hash in every piece of evidence', async t => {
  const secret = 'S3cretS3cretS3cretS3cret'
  const cookie = `state=${secret}`
  const [result] = await runAll([
    check('finds', async () => {
      throw new Failed('The client accepted the callback.', [
        describeHttpExchange({
          request: { method: 'GET', url: `http://localhost/?state=${secret}`, headers: { cookie }, body: cookie },
          response: { status: 200, headers: new Headers(), setCookies: [cookie], body: `{"state":"${secret}"}` },
          startedAt: 0,
          durationMs: 1,
        }),
        `The client printed the state=${secret}`,
      ])
    }),
  ])
  const hashes = result!.evidence.join('\n').match(/sha:\w+/g)!
  t.equal(hashes.length, 6)
  t.equal(new Set(hashes).size, 1)
})

const broken = [
  check('must', async () => {
    throw new Failed('It went wrong.')
  }),
  check(
    'should',
    async () => {
      throw new Failed('It went wrong.')
    },
    { rule: 'PG-21' },
  ),
  check(
    'advice',
    async () => {
      throw new Failed('It went wrong.')
    },
    { rule: 'links-apart' },
  ),
]

t.test('the summary has a separate line with the number of advice rules that the client does not follow', async t => {
  const found = await runAll([...broken, check('kept', async () => {}, { rule: 'links-apart' })])
  const lines = summarize({ ...report, results: found, outcome: nothing })
    .trimEnd()
    .split('\n')
  t.equal(lines.at(-2), 'Advice: 1 followed, 1 not followed, 0 not applicable, 0 undecided')
  t.equal(lines.at(-1), '0 passed, 1 failed, 1 warned, 0 not applicable, 0 undecided')
  t.match(toHtml({ ...report, results: found }), 'Advice: 1 followed, 1 not followed')
})

t.test('with --strict, a broken SHOULD or ignored advice counts as a failure, like a broken MUST', async t => {
  const settings = readSettings(['--strict'])
  const found = await runAll(broken, { settings })
  t.same(verdictsOf(found), { must: 'failed', should: 'failed', advice: 'failed' })
  const lines = summarize({ ...report, results: found })
    .trimEnd()
    .split('\n')
  t.equal(lines.at(-1), '0 passed, 3 failed, 0 warned, 0 not applicable, 0 undecided')
  t.notMatch(lines.join('\n'), 'Advice:')
})

t.test('if a check of an advice rule is undecided, the exit code changes only with --strict', async t => {
  const open = async () => {
    throw new Undecided('nobody knows')
  }
  const advice = [check('a', open, { rule: 'links-apart' })]
  t.equal(exitCodeOf(await runAll(advice), nothing, false), 0)
  t.equal(exitCodeOf(await runAll(advice, { settings: readSettings(['--strict']) }), nothing, false), 3)
})

t.test('if a check of an advice rule is undecided or was not run, the JUnit report skips it', async t => {
  const open: Result = {
    ...base,
    level: 'advice',
    id: 'a',
    verdict: 'undecided',
    reason: 'Unclear.',
    isUncounted: true,
    evidence: [],
    durationMs: 0,
  }
  for (const verdict of ['undecided', 'not run'] as const) {
    const own = [{ ...open, verdict }]
    t.equal(exitCodeOf(own, nothing, false), 0)
    t.match(toJunit({ ...report, results: own }), 'tests="1" failures="0" errors="0" skipped="1"', verdict)
  }
})

t.test('for each failure, every report shows the id, the source and the sentence of the rule', async t => {
  const [failed] = await runAll([check('a', broken[0]!.run, { rule: 'CL-21' })])
  const shown = 'Origin: RFC 9700, section 2.1, "Clients MUST prevent'
  const own = { ...report, results: [failed!], outcome: { ...nothing, failed: [failed!] } }
  t.match(describeFailure(failed!, 'run'), shown)
  t.match(toJunit(own), shown.replaceAll('"', '&quot;'))
  t.match(toHtml(own), shown.replaceAll('"', '&quot;'))
  t.match(JSON.parse(toJson(own)).checks[0].rule, { id: 'CL-21', level: 'MUST', source: 'RFC 9700, section 2.1' })
})

t.test(
  'the example of a failure in docs/conformance.md shows the current texts of the check and of its rule',
  async t => {
    const example = readFileSync('docs/conformance.md', 'utf8')
      .split('```')
      .find(block => block.startsWith('text\nFAILED '))!
    const check = checks.find(({ id }) => example.includes(`FAILED ${id} `))!
    const { level } = rules[check.rule]
    const result: Result = { ...check, level, verdict: 'failed', reason: '', evidence: [], durationMs: 0 }
    const isText = (line: string) => /^(FAILED| {2}(Why|Rule|Fix):)/.test(line)
    const expected = describeFailure(result, 'run').split('\n').filter(isText)
    t.same(example.split('\n').filter(isText), expected)
    t.equal(expected.length, 4)
  },
)
