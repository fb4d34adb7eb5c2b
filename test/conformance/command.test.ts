// Tests the command of the conformance suite as its user runs it: the exit codes, the messages and the output.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { findFreePort } from '../support/free-port.ts'
import { serve, startsLogins } from './support/small-clients.ts'

// The tests run in parallel, because each test mostly waits.
t.jobs = 3

/** The environment of the command. All processes share one compile cache. */
const environment = {
  PATH: process.env.PATH,
  TMPDIR: process.env.TMPDIR,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
}

type Run = { code: number | null; output: string; errors: string; lastLine: string | undefined }

/** Runs the conformance command with the arguments. `more`: further variables of its environment. */
function conformance(args: string[], more: Record<string, string> = {}): Promise<Run> {
  return new Promise(resolve => {
    const child = execFile(
      process.execPath,
      ['src/conformance/main.ts', ...args],
      { env: { ...environment, ...more }, maxBuffer: 1e8 },
      (_error, output, errors) =>
        resolve({ code: child.exitCode, output, errors, lastLine: output.trimEnd().split('\n').at(-1) }),
    )
  })
}

/** In a starter without the applications product, /home is the page that calls the API. */
const pages = existsSync('src/client/applications') ? [] : ['--page', '/home', '--create', '']

t.test('the client of this project passes: no MUST and no SHOULD fails', async t => {
  const folder = t.testdir()
  const client = `http://localhost:${await findFreePort()}`
  const reports = ['json', 'junit', 'html'].flatMap(kind => [`--${kind}`, join(folder, kind)])
  const run = await conformance([
    ...pages,
    '--client',
    client,
    '--start',
    `"${process.execPath}" src/client/main.ts`,
    ...reports,
  ])
  t.equal(run.code, 0, run.output.slice(-4000) + run.errors)
  t.match(
    run.output,
    /LOGIN_URL=http:\/\/127\.0\.0\.1:\d+\n {2}API_URL=.*\n {2}CLIENT_ID=.*\n {2}CLIENT_SECRET=.*\n {2}REDIRECT_URI=/,
  )
  t.match(run.lastLine, /^\d+ passed, 0 failed, 0 warned, \d+ not applicable, 0 undecided$/)
  const { checks } = JSON.parse(readFileSync(join(folder, 'json'), 'utf8')) as { checks: { verdict: string }[] }
  t.ok(checks.length >= 120, `${checks.length} checks`)
  t.ok(checks.filter(({ verdict }) => verdict === 'passed').length > 120, 'nearly all checks apply')
  t.match(readFileSync(join(folder, 'junit'), 'utf8'), 'failures="0"')
  t.match(readFileSync(join(folder, 'html'), 'utf8'), 'Nothing to fix.')
  await t.rejects(fetch(client), 'the command has stopped the client that it started')
})

t.test('if a check of a MUST fails, the exit code is 1, unless the check is on the list of known failures', async t => {
  const client = await serve(t, (_request, response) => response.end('no login here'))
  const only = ['--client', client, '--only', '^(start-leads-to-portal|not-found-escapes)$']
  const failed = await conformance(only)
  t.equal(failed.code, 1)
  t.match(failed.output, 'FAILED start-leads-to-portal (MUST)')
  t.match(failed.output, /Why: {3}.*\n {2}Rule: {2}.*\n {2}Fix: {3}.*\n {2}Evidence:\n {4}GET http/)
  t.match(failed.output, `Again: node src/conformance/main.ts --client ${client} --only '^start-leads-to-portal$'`)
  t.equal(failed.lastLine, '1 passed, 1 failed, 0 warned, 0 not applicable, 0 undecided')

  const list = join(t.testdir(), 'known')
  writeFileSync(list, 'start-leads-to-portal it has no login yet\n')
  t.equal((await conformance([...only, '--expect-fail', list])).code, 0)
})

/** Runs the conformance command with --start, for a client whose source is `source`. */
async function judge(t: Test, source: string, ...args: string[]): Promise<Run> {
  const file = join(t.testdir({ 'client.mjs': source }), 'client.mjs')
  const client = `http://localhost:${await findFreePort()}`
  return conformance(['--client', client, '--start', `exec "${process.execPath}" "${file}"`, ...args])
}

t.test('with --replica start, the suite starts a second instance with the same keys and another port', async t => {
  const judgeTwo = async (variable = '') => {
    const client = `http://localhost:${await findFreePort()}`
    const start = `${variable} exec "${process.execPath}" src/client/main.ts`
    const only = '^(login-works|replica-login|replica-session)$'
    return conformance([...pages, '--client', client, '--replica', 'start', '--start', start, '--only', only])
  }
  const run = await judgeTwo()
  t.equal(run.lastLine, '3 passed, 0 failed, 0 warned, 0 not applicable, 0 undecided', run.output + run.errors)

  // The key depends on the port, so each instance has another key.
  const failed = await judgeTwo('COOKIE_KEYS=$(printf "%043d" "$PORT")')
  t.equal(failed.code, 1, failed.output + failed.errors)
  for (const id of ['replica-login', 'replica-session']) t.match(failed.output, `FAILED ${id} (MUST)`)
  t.match(failed.lastLine, /^1 passed, 2 failed/)
})

t.test('with --replica start, a client that does not use the variable PORT gets an error that says so', async t => {
  const port = await findFreePort()
  const file = join(t.testdir({ 'client.mjs': startsLogins('{}') }), 'client.mjs')
  const client = `http://localhost:${port}`
  const start = `exec env PORT=${port} "${process.execPath}" "${file}"`
  const run = await conformance(['--client', client, '--replica', 'start', '--start', start])
  t.equal(run.code, 2, run.output)
  t.match(run.errors, /second instance of the client does not answer at http:\/\/localhost:\d+\..* variable PORT/)
  t.match(run.errors, 'EADDRINUSE')
  await t.rejects(fetch(client), 'the command has stopped the first instance')
})

t.test('if the client exits at its first callback, the exit code is 1', async t => {
  const source = startsLogins(`{ console.error('\\u001b[31mboom'); process.exit(7) }`)
  const only = '^(login-works|start-leads-to-portal|callback-unknown-parameter)$'
  const run = await judge(t, source, '--only', only, '--allow-undecided')
  t.equal(run.code, 1, run.errors)
  t.equal(run.lastLine, '1 passed, 1 failed, 0 warned, 0 not applicable, 1 undecided')
  t.match(run.output, /FAILED login-works \(MUST\)[\s\S]*Seen: {2}The process of the client ended with exit code 7\./)
  t.match(run.output, '\\x1b[31mboom', 'the last output of the client is shown')
  t.notMatch(run.output, '\u001b', 'escape sequences from the client must not reach the terminal')
})

t.test(
  'if the first login after a start waits too long for the metadata, the check `metadata-never` fails',
  async t => {
    const source = `
    import { createServer } from 'node:http'
    const { LOGIN_URL, CLIENT_ID, PORT } = process.env
    const signal = AbortSignal.timeout(4000)
    const reading = fetch(LOGIN_URL + '/.well-known/oauth-authorization-server', { signal }).catch(() => {})
    createServer(async (_, response) => {
      await reading
      response.writeHead(302, { location: LOGIN_URL + '/?client_id=' + CLIENT_ID + '&state=' + Math.random() }).end()
    }).listen(Number(PORT), 'localhost')`
    const { code, output } = await judge(t, source, '--only', '^metadata-never$')
    t.equal(code, 1, output)
    t.match(output, /After a restart, the first login took [34]\.\d seconds longer than usual to begin\./)
  },
)

t.test('a client that the command starts gets the variable that makes Python print immediately', async t => {
  const source = startsLogins("{ console.error('PYTHONUNBUFFERED=' + process.env.PYTHONUNBUFFERED); process.exit(7) }")
  const { output } = await judge(t, source, '--only', '^login-works$')
  t.match(output, 'PYTHONUNBUFFERED=1')
})

t.test('if the client exits after its first answer, the report contains its exit code and its output', async t => {
  const source = `
    import { createServer } from 'node:http'
    createServer((_request, response) => {
      console.error('Error: no more room')
      response.writeHead(302, { location: process.env.LOGIN_URL })
      response.end(() => setTimeout(() => process.exit(9), 20))
    }).listen(process.env.PORT, 'localhost')`
  for (const id of ['login-works', 'callback-unknown-parameter']) {
    const { code, output } = await judge(t, source, '--only', `^${id}$`)
    t.equal(code, 1, output)
    const reason = 'the process of the client ended with exit code 9\\.'
    t.match(output, new RegExp(`FAILED ${id} \\(MUST\\)[\\s\\S]*Seen: .*${reason}`, 'i'))
    t.match(output, 'Error: no more room')
  }
})

t.test('if a check is undecided, the exit code is 3, or 0 with --allow-undecided', async t => {
  // This client redirects by a script, so the suite cannot see whether the client signs the visitor in. A
  // check that needs a login is then undecided.
  const page = '<!doctype html><title>One moment</title><script>location.replace("/applications")</script>'
  const source = startsLogins(`return response.setHeader('content-type', 'text/html').end('${page}')`)
  const args = ['--only', '^(list-429-not-repeated|start-leads-to-portal)$']
  const run = await judge(t, source, ...args)
  t.equal(run.code, 3, run.output)
  t.equal(run.lastLine, '1 passed, 0 failed, 0 warned, 0 not applicable, 1 undecided')
  t.equal((await judge(t, source, ...args, '--allow-undecided')).code, 0)
})

t.test('if the suite cannot run, the exit code is 2, and the message says why', async t => {
  const free = `http://localhost:${await findFreePort()}`
  const silent = await conformance(['--client', free, '--wait', '0'])
  t.match(silent, { code: 2, errors: `No client answered at ${free}/login` })
  const broken = await conformance(['--client', free, '--start', 'echo what is wrong; exit 3'])
  t.match(broken, { code: 2, errors: 'what is wrong' })
  const long = await conformance(['--client', free, '--start', 'echo the cause; seq 100; exit 3'])
  t.match(long.errors, /It printed:\nthe cause\n1\n[\s\S]*\n\(69 other lines\)\n81\n[\s\S]*\n100\n/)
  const colour = await conformance(['--client', free, '--start', "printf '\\033[31mred'; exit 3"])
  t.match(colour, { code: 2, errors: '\\x1b[31mred' })
  t.notMatch(colour.errors, '\u001b', 'escape sequences from the client must not reach the terminal')
  t.match(await conformance(['--client', 'nonsense']), { code: 2, errors: '--client must be an origin' })
  t.match(await conformance(['--help']), {
    code: 0,
    output: /--start CMD[\s\S]*Exit codes\n {2}0 .*\n {2}1 .*\n( {6}.*\n)* {2}2 .*\n {2}3 /,
    errors: /^$/,
  })
})

t.test('if the browser that --browser names is missing, the exit code is 2, and the message says so', async t => {
  const client = await serve(t, (_request, response) => response.end('here'))
  const missing = await conformance(['--client', client, '--browser', '/no/such/browser'])
  t.match(missing, { code: 2, errors: '--browser: there is no file /no/such/browser' })
  const noBrowser = await conformance(['--client', client, '--browser', process.execPath])
  t.match(noBrowser, { code: 2, errors: 'did not start as a browser' })
  t.match(await conformance(['--browser', 'firefox']), { code: 2, errors: '--browser must be chromium, or the path' })
})

t.test('if the client is too slow, the exit code is 2, and the message says so', async t => {
  const slow = await serve(t, () => {})
  const { code, errors } = await conformance(['--client', slow, '--wait', '1'])
  t.equal(code, 2)
  t.match(errors, `The client is too slow: it did not answer ${slow}/login within 5 seconds.`)
})

t.test(
  'if the address of the client is https but the client does not support https, the command ends immediately, and the message says so',
  async t => {
    const plain = await serve(t, (_request, response) => response.end('here'))
    const { code, errors } = await conformance(['--client', plain.replace('http:', 'https:')])
    t.equal(code, 2)
    t.match(errors, /https:\/\/localhost:\d+ does not speak https\..*--client http:\/\/localhost:\d+/)
  },
)

t.test('if the command cannot write a report file, it ends before the run, and the message says so', async t => {
  const client = await serve(t, (_request, response) => response.end('here'))
  const path = join(t.testdir(), 'no', 'such', 'folder.json')
  const { code, errors, output } = await conformance(['--client', client, '--json', path])
  t.equal(code, 2)
  t.match(errors, `--json ${path} cannot be written: ENOENT`)
  t.equal(output, '')
})

t.test('with --list, the command prints all checks and runs none', async t => {
  const { code, output } = await conformance(['--list', '--client', 'http://localhost:1'])
  t.equal(code, 0)
  t.equal(
    readFileSync('docs/conformance-checks.md', 'utf8'),
    output,
    'docs/conformance-checks.md is the output of --list',
  )
  t.ok(Number(/^(\d+) checks/m.exec(output)?.[1]) >= 120)
})

const list = `"${process.execPath}" src/conformance/main.ts --list`

t.test('if the output goes to a pipe, the command writes all its output before it ends', async t => {
  const child = spawn('sh', ['-c', `${list} | cat`], { env: environment })
  const output = await text(child.stdout)
  t.equal(output, readFileSync('docs/conformance-checks.md', 'utf8'))
  t.ok(output.length > 65_536, 'a pipe accepts only part of the output at once')
})

t.test('if the reader of the output ends early, the command prints no error', async t => {
  const child = spawn('sh', ['-c', `${list} | head -n 1`], { env: environment })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  t.equal(output, '# What the conformance suite checks\n')
  t.equal(errors, '')
})

t.test('if nobody reads the error output, the exit code is still correct', async t => {
  const child = spawn(process.execPath, ['src/conformance/main.ts', '--list'], { env: environment })
  child.stdout.resume()
  child.stderr.destroy()
  const [code] = await once(child, 'exit')
  t.equal(code, 0)
})

t.test(
  "with --client-at, the suite connects to the given address, for example of a container, instead of the client's public address",
  async t => {
    const client = await serve(t, (_request, response) => response.end('here'))
    const at = new URL(client)
    const own = `http://localhost:${await findFreePort()}`
    const run = await conformance([
      '--client',
      own,
      '--client-at',
      `127.0.0.1:${at.port}`,
      '--only',
      'not-found-escapes',
    ])
    t.equal(run.lastLine, '1 passed, 0 failed, 0 warned, 0 not applicable, 0 undecided', run.errors)
  },
)

t.test(
  'if another program uses the address of the client, a run with --client-at does not begin, and the message says why',
  async t => {
    const client = await serve(t, (_request, response) => response.end('here'))
    const folder = t.testdir()
    const run = await conformance(['--client', client, '--client-at', '127.0.0.1:1'], { TMPDIR: folder })
    t.match(run, { code: 2, errors: `With --client-at, the suite must listen at ${client}: listen EADDRINUSE` })
    t.notMatch(run.errors, '    at ', 'the message has no stack trace')
    t.same(readdirSync(folder), [], 'no temporary folder is left')
  },
)

t.test(
  'if the command gets SIGTERM while it waits for the client, it exits, and the message says that it was stopped',
  async t => {
    const client = `http://localhost:${await findFreePort()}`
    const child = spawn(process.execPath, ['src/conformance/main.ts', '--client', client], { env: environment })
    const errors = text(child.stderr)
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
      if (output.includes('Waiting for the client')) child.kill('SIGTERM')
    })
    const [code] = await once(child, 'exit')
    t.equal(code, 2)
    t.equal(await errors, 'The suite could not run:\nThe run was stopped.\n')
  },
)

t.test('if the command gets SIGTERM, it stops the client that it started, and then exits', async t => {
  const client = `http://localhost:${await findFreePort()}`
  const child = spawn(
    process.execPath,
    ['src/conformance/main.ts', '--client', client, '--start', `"${process.execPath}" src/client/main.ts`],
    { stdio: ['ignore', 'ignore', 'pipe'], env: environment },
  )
  const errors = text(child.stderr)
  for (;;) {
    const isThere = await fetch(`${client}/health/live`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isThere) break
    await wait(50)
  }
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  t.equal(code, 2)
  t.equal(await errors, 'The suite could not run:\nThe run was stopped.\n')
  await t.rejects(fetch(client), 'the client is gone')
})
