// Sends the sandbox far more requests than any real load. The sandbox must say when to try again, must not use more and
// more memory, and must recover.
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { memoryOf } from '../../support/process-status.ts'
import { preload, underLimit } from '../../support/start-conditions.ts'
import { openNoMoreFiles } from '../../support/without-files.ts'
import { exchange, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, makeSqliteUrl, seeded } from '../support/build-test-sandbox.ts'
import { newcomer, readHiddenFields } from '../support/forms.ts'
import { type SandboxProcess, startSandbox } from '../support/start-sandbox.ts'

/** Makes password hashes cheap in the sandbox process, because these tests need many hashes. */
const quickHashes = preload(`
  import crypto from 'node:crypto'
  import { syncBuiltinESMExports } from 'node:module'
  const { argon2 } = crypto
  crypto.argon2 = (name, cost, done) => argon2(name, { ...cost, memory: 8, passes: 1 }, done)
  syncBuiltinESMExports()
`)

type Answers = { statusCode: number; headers: NodeJS.Dict<unknown> }[]

/** Sends a thousand requests, twenty at a time, and checks the health of the sandbox after each hundred. */
async function sendAThousand(
  t: Test,
  sandbox: Pick<SandboxProcess, 'portal'>,
  send: (index: number) => Promise<Answers[number]>,
) {
  const answers: Answers = []
  for (let first = 0; first < 1_000; first += 20) {
    answers.push(...(await Promise.all(Array.from({ length: 20 }, (_, index) => send(first + index)))))
    if (first % 100 === 0) t.equal((await sandbox.portal.inject('/health/ready')).statusCode, 200)
  }
  return answers
}

/**
 * Checks that at most about `most` requests are processed, that every later answer is 429, and that each 429 says when
 * to try again.
 */
function endsIn429(t: Test, answers: Answers, most: number) {
  const refused = answers.filter(({ statusCode }) => statusCode === 429)
  // Twenty requests are sent at the same time, so the portal can process up to twenty requests more than the limit.
  t.ok(answers.length - refused.length <= most + 20, `${answers.length - refused.length} requests were processed`)
  t.ok(answers.slice(most + 20).every(({ statusCode }) => statusCode === 429))
  t.ok(refused.every(({ headers }) => /^[1-9]\d*$/.test(String(headers['retry-after']))))
}

const from = (index: number) => ({ 'x-forwarded-for': `10.0.${index >> 8}.${index & 255}` })

t.test(
  'DO-06: if one address sends 1,000 wrong exchanges, the portal processes only 100 of them, and always accepts the right secret',
  async t => {
    const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t) })
    const wrong = (index: number) =>
      sandbox.portal.inject({
        method: 'POST',
        url: '/api/exchangeToken',
        headers: from(index),
        payload: { grant_type: 'authorization_code', client_id: `client-${index}`, client_secret: 'wrong', code: 'x' },
      })
    endsIn429(t, await sendAThousand(t, sandbox, wrong), 100)
    const before = memoryOf(sandbox.pid)
    endsIn429(t, await sendAThousand(t, sandbox, wrong), 0)
    const more = memoryOf(sandbox.pid) - before
    t.ok(more < 32, `the sandbox uses ${more} MiB more than before`)
    t.equal(
      (await exchange(sandbox, { code: 'none' })).json().error,
      'invalid_grant',
      'an exchange with the right secret must still be processed',
    )
  },
)

t.test(
  'DO-06: if one address sends 1,000 sign-ins with wrong passwords, the portal processes only 100 of them',
  async t => {
    const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t), nodeOptions: quickHashes })
    const browser = openBrowser(sandbox)
    const fields = readHiddenFields(await browser.get(startUrl()), '/sign-in')
    const wrong = (index: number) =>
      browser.post(
        '/sign-in',
        { ...fields, email: `${index}@example.test`, password: 'wrong' },
        { headers: from(index) },
      )
    endsIn429(t, await sendAThousand(t, sandbox, wrong), 100)
    const before = memoryOf(sandbox.pid)
    endsIn429(t, await sendAThousand(t, sandbox, wrong), 0)
    const more = memoryOf(sandbox.pid) - before
    t.ok(more < 48, `the sandbox uses ${more} MiB more than before`)
  },
)

t.test('DO-06: if one address sends 1,000 sign-ups, the portal processes only 100 of them', async t => {
  const sandbox = await buildTestSandbox(t)
  const browser = openBrowser(sandbox)
  const fields = readHiddenFields(await browser.get(startUrl()), '/sign-up')
  const answers = await sendAThousand(t, sandbox, index =>
    browser.post('/sign-up', { ...newcomer, ...fields, email: `${index}@example.test` }, { headers: from(index) }),
  )
  endsIn429(t, answers, 100)
})

t.test(
  'F-37: if no file descriptor is free, the sandbox refuses new connections, serves open connections, and recovers',
  async t => {
    const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t), prefix: underLimit(100) })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.teardown(() => agent.destroy())
    /** Sends all requests over the same connection. */
    const visit = (path: string) =>
      new Promise<number | undefined>((resolve, reject) =>
        get({ host: '127.0.0.1', port: sandbox.portalPort, path, agent }, answer => {
          answer.resume().on('end', () => resolve(answer.statusCode))
        }).on('error', reject),
      )
    const visits = async () => [await visit(startUrl()), await visit('/health/ready')]
    t.strictSame(await visits(), [200, 200])

    let refused = 0
    const flood = Array.from({ length: 300 }, () =>
      connect(sandbox.portalPort, '127.0.0.1')
        .on('error', () => undefined)
        .on('close', () => {
          refused += 1
        }),
    )
    for (let last = -1; refused === 0 || last !== refused; await setTimeout(300)) last = refused
    // The number of refused connections varies, because some connections get a file descriptor that has just become
    // free.
    t.ok(refused > 0, `${refused} refused`)
    t.strictSame(await visits(), [200, 200], 'requests on an open connection must succeed')

    for (const socket of flood) socket.destroy()
    const isBack = () =>
      sandbox.api.inject('/health/live').then(
        () => true,
        () => false,
      )
    while (!(await isBack())) await setTimeout(20)
    t.strictSame(await visits(), [200, 200])
    t.match((await signIn(openBrowser(sandbox))).body, seeded.email)
    t.equal(await sandbox.stop(), 0)
  },
)

t.test(
  'F-37: if the sandbox cannot open any more files, it can still show a page that it has not shown before',
  async t => {
    const { portal } = await buildTestSandbox(t)
    await portal.inject('/health/live')
    openNoMoreFiles(t)
    for (const [path, status] of [
      ['/?client_id=nobody', 400],
      ['/terms', 200],
      ['/nowhere', 404],
    ] as const) {
      const page = await portal.inject(path)
      t.equal(page.statusCode, status, path)
      t.match(page.body, '</html>', path)
      t.notMatch(page.body, 'EMFILE', path)
    }
  },
)
