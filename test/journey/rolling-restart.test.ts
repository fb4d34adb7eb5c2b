// Restarts replicas of the client and of the sandbox one after another, while visitors sign in and create applications.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { upstreamTexts } from '../../src/client/upstream-texts.ts'
import { productEnvironment } from '../client/support/product-environment.ts'
import { openDatabases } from '../sandbox/support/each-database.ts'
import { findFreePorts } from '../support/free-port.ts'
import { HttpBrowser, hiddenFields } from './support/http-browser.ts'
import { logIn } from './support/log-in.ts'
import { person, registration } from './support/start-both.ts'
import { startSwitch } from './support/switch.ts'

/**
 * The time for which a visitor stays on a page. With a shorter time, the visitors' requests would only keep the machine
 * busy.
 */
const readMs = 50

type Replica = { child: ChildProcess; exited: Promise<unknown[]> }

/** Resolves when the process is ready. */
async function startReplica(
  t: Test,
  main: string,
  environment: Record<string, string>,
  origin: string,
): Promise<Replica> {
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      LOG_LEVEL: 'warn',
      PRESTOP_DELAY: '1',
      ...environment,
    },
    stdio: 'inherit',
  })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  for (;;) {
    const isReady = await fetch(`${origin}/health/ready`).then(
      response => response.ok,
      () => false,
    )
    if (isReady) return { child, exited }
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${main} has not started`)
    await wait(50)
  }
}

t.test(
  'F-29, CK-12: while two clients and two sandboxes on one PostgreSQL restart one after another, no request fails',
  async t => {
    const [, postgres] = await openDatabases(t)
    const databaseUrl = await postgres!.make(t)
    const ports = await findFreePorts(9)
    const [clientPort, portalPort, apiPort, ...own] = ports
    const publicUrl = `http://localhost:${clientPort}`
    const portalUrl = `http://127.0.0.1:${portalPort}`
    const apiUrl = `http://127.0.0.1:${apiPort}`

    const sandboxes = [own.slice(0, 2), own.slice(2, 4)].map(([portal, api]) => ({
      main: 'src/sandbox/main.ts',
      origin: `http://localhost:${portal}`,
      apiOrigin: `http://localhost:${api}`,
      environment: {
        PORTAL_PORT: String(portal),
        API_PORT: String(api),
        PORTAL_URL: portalUrl,
        API_URL: apiUrl,
        DATABASE_URL: databaseUrl,
        SEED_CLIENT_ID: registration.clientId,
        SEED_CLIENT_SECRET: registration.clientSecret,
        SEED_REDIRECT_URIS: `${publicUrl}/exchangeToken`,
        SEED_USER_EMAIL: person.email,
        SEED_USER_PASSWORD: person.password,
      },
    }))
    const clients = own
      .slice(4, 6)
      .map(port => ({
        main: 'src/client/main.ts',
        origin: `http://localhost:${port}`,
        environment: {
          ...productEnvironment,
          PORT: String(port),
          PUBLIC_URL: publicUrl,
          LOGIN_URL: portalUrl,
          API_URL: apiUrl,
          CLIENT_ID: registration.clientId,
          CLIENT_SECRET: registration.clientSecret,
          COOKIE_KEYS: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
        },
      }))
    const all = [...sandboxes, ...clients]
    const replicas: Replica[] = []
    for (const { main, environment, origin } of all) replicas.push(await startReplica(t, main, environment, origin))
    const clientSwitch = await startSwitch(
      t,
      clientPort!,
      clients.map(({ origin }) => origin),
    )
    await startSwitch(
      t,
      portalPort!,
      sandboxes.map(({ origin }) => origin),
    )
    await startSwitch(
      t,
      apiPort!,
      sandboxes.map(({ apiOrigin }) => apiOrigin),
    )

    const failures: string[] = []
    let done = 0
    let isOver = false
    /**
     * One visitor signs in, creates an application, reads pages repeatedly, and signs out. Each request goes to another
     * replica.
     */
    async function visit(name: string): Promise<void> {
      const browser = new HttpBrowser()
      const note = (what: string, page: { status: number; url: string; text: string }, isGood: boolean) => {
        done++
        if (!isGood)
          failures.push(`${name}: ${what}: ${page.status} ${page.url} ${/<h1>([^<]*)/.exec(page.text)?.[1] ?? ''}`)
      }
      await browser.get(publicUrl)
      const page = await logIn(browser, { publicUrl, portalUrl, person })
      note('signing in', page, page.status === 200 && page.url === `${publicUrl}/applications`)
      const openForm = () => browser.get(`${publicUrl}/applications/new`)
      let form = await openForm()
      // The form waits two seconds for the visitor's groups. On a busy machine, the API can need longer, and the visitor
      // then opens the form again. If another problem prevented the groups, the test fails.
      while (form.text.includes(upstreamTexts.api.timeout)) form = await openForm()
      note('the form', form, form.status === 200 && form.text.includes('<option'))
      const groupId = /<option value="([^"]+)"/.exec(form.text)?.[1] ?? ''
      const fields = { ...hiddenFields(form, '/applications'), groupId, name, redirectUris: 'http://localhost:1/x' }
      const created = await browser.follow(await browser.post(`${publicUrl}/applications`, fields))
      note('creating', created, created.status === 200 && created.text.includes('is registered'))
      do {
        const list = await browser.get(`${publicUrl}/applications?q=${name}`)
        note('the list', list, list.status === 200 && list.text.includes(name))
        await wait(readMs)
      } while (!isOver)
      const out = await browser.follow(await browser.post(`${publicUrl}/logout`, {}))
      note('signing out', out, out.status === 200 && out.text.includes('You are signed out'))
    }

    const visits = ['first', 'second', 'third'].map(visit)
    for (const [index, { main, environment, origin }] of all.entries()) {
      await wait(300)
      replicas[index]!.child.kill('SIGTERM')
      t.same(await replicas[index]!.exited, [0, null], `${main} must end with exit code 0`)
      await startReplica(t, main, environment, origin)
    }
    isOver = true
    await Promise.all(visits)
    await visit('after-all-restarts')
    t.same(failures, [])
    t.ok(done > 20, `${done} pages`)
    for (const [origin, count] of clientSwitch.served) t.ok(count > 5, `${origin} served ${count} requests`)
  },
)
