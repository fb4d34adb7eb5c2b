// Runs the compose files with Docker Compose. Tests a login, containers that are stopped and started again, and
// containers that die.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import t from 'tap'
import { allow, enterPassword } from '../browser/support/sign-in.ts'
import { sessionUnder } from '../sandbox/lab/support/session-in-document.ts'
import { findFreePort, findFreePorts } from '../support/free-port.ts'
import { openPage } from '../support/open-page.ts'
import {
  buildImages,
  docker,
  findBusy,
  openSetup,
  type Setup,
  type StandIns,
  until,
  whyNoCompose,
} from './support/docker.ts'

const skip = whyNoCompose() ?? false
if (skip) t.comment(`the compose files are not run: ${skip}`)
// The time limit is long, because the build installs all packages from the lock file.
t.setTimeout(600_000)

let standIns: Promise<StandIns> | undefined
/**
 * Builds the images once for all tests of this file. Resolves to the compose files that replace the images of these
 * services.
 */
async function build(...services: string[]): Promise<string[]> {
  standIns ??= buildImages(t)
  const files = await standIns
  return services.flatMap(service => files[service] ?? [])
}

/** Reads the values that the container make-secrets has printed. */
async function readSecrets({ logOf }: Setup) {
  const log = await logOf('make-secrets')
  const printed = (label: string) => new RegExp(`^${label}: (.*)$`, 'm').exec(log)?.[1]?.trim() ?? ''
  return {
    publicUrl: printed('Open'),
    person: { email: printed('E-mail'), password: printed('Password') },
    labUrl: printed('Lab'),
    labToken: printed('Lab token'),
  }
}

const isReady = (origin: string) => () => fetch(`${origin}/health/ready`).then(({ ok }) => ok)

async function fillApplication(page: Page, name: string): Promise<void> {
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByLabel('Redirect URIs').fill('http://localhost:5000/exchangeToken')
}

const pressCreate = (page: Page) => page.getByRole('button', { name: 'Create application' }).click()

/** Reads the names of all applications from the list page. */
async function listNames(page: Page, publicUrl: string): Promise<string[]> {
  await page.goto(`${publicUrl}/applications`)
  await page.getByRole('heading', { name: 'Your applications' }).waitFor()
  return (await page.locator('ul.list a.name').allTextContents()).sort()
}

t.test(
  'compose.yaml: a person can sign in; all containers stop with status 0; and when they start again, all data is still there',
  { skip },
  async t => {
    const files = ['compose.yaml', ...(await build('database'))]
    const [PORT, PORTAL_PORT, API_PORT, LAB_PORT] = await findFreePorts(4)
    const setup = openSetup(t, files, {
      PORT: `${PORT}`,
      PORTAL_PORT: `${PORTAL_PORT}`,
      API_PORT: `${API_PORT}`,
      LAB_PORT: `${LAB_PORT}`,
    })
    await setup.up()
    const { publicUrl, person, labUrl, labToken } = await readSecrets(setup)
    t.equal(publicUrl, `http://localhost:${PORT}`)
    await until('the client is ready', isReady(publicUrl))

    const { page, troubles } = await openPage(t)
    await page.goto(publicUrl)
    await page.getByRole('link', { name: 'Sign in' }).click()
    await enterPassword(page, person)
    await allow(page)
    await page.waitForURL(`${publicUrl}/applications`)
    await page.getByRole('link', { name: 'New application' }).click()
    await fillApplication(page, 'Weather station')
    await pressCreate(page)
    await page.getByRole('heading', { name: 'Weather station is registered' }).waitFor()
    const names = await listNames(page, publicUrl)
    t.ok(names.includes('Weather station'))

    const logins = (headers: Record<string, string>) => fetch(`${labUrl}/lab/v1/logins`, { headers })
    t.equal((await logins({})).status, 401, 'the laboratory must ask for its token')
    const answer = await logins({ authorization: `Bearer ${labToken}` })
    t.match(await answer.json(), { logins: [{ outcome: 'signed in' }] }, 'the laboratory must have recorded the login')
    const lab = await openPage(t, { httpCredentials: { username: 'anything', password: labToken } })
    t.equal(
      (await lab.page.goto(labUrl))?.status(),
      200,
      'a browser must be able to open the laboratory with the token as the password',
    )

    const running = await setup.inspectAll()
    t.equal(running.length, 4)
    for (const { Config, HostConfig, NetworkSettings } of running) {
      const service = Config.Labels['com.docker.compose.service']
      t.match(HostConfig, { ReadonlyRootfs: true, CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges:true'] }, service)
      t.match([HostConfig.Memory, HostConfig.PidsLimit], [256 * 1024 * 1024, 100], service)
      const published = Object.values(NetworkSettings.Ports).flatMap(ports => ports ?? [])
      for (const { HostIp } of published) t.equal(HostIp, '127.0.0.1', service)
    }
    t.equal(await reachDatabaseFrom(setup, 'sandbox'), 'reached')
    t.equal(await reachDatabaseFrom(setup, 'client'), 'not reached')

    await setup.compose('stop')
    const stopped = await setup.inspectAll()
    for (const { Config, State } of stopped)
      t.match(State, { Running: false, ExitCode: 0 }, Config.Labels['com.docker.compose.service'])

    await setup.up()
    await until('the client is ready again', isReady(publicUrl))
    t.strictSame(await readSecrets(setup), { publicUrl, person, labUrl, labToken }, 'the secrets must be the same')
    t.strictSame(
      await listNames(page, publicUrl),
      names,
      'the visitor must be signed in, and all applications must be there',
    )
    t.same(troubles, [])
  },
)

async function reachDatabaseFrom({ compose, addressOf }: Setup, service: string): Promise<string> {
  const host = await addressOf('database')
  const program = `const say = what => { console.log(what); process.exit() }
    require('net').connect({ host: '${host}', port: 5432, timeout: 1000 })
      .on('connect', () => say('reached')).on('timeout', () => say('not reached')).on('error', () => say('not reached'))`
  return (await compose('exec', '-T', service, 'node', '-e', program)).trim()
}

t.test(
  'compose.sandbox.yaml: the sandbox runs without the client, so that a client in another language can use it',
  { skip },
  async t => {
    await build()
    const [PORTAL_PORT, API_PORT, LAB_PORT] = await findFreePorts(3)
    const LAB_TOKEN = 'a-token-that-is-long-enough'
    const setup = openSetup(t, ['compose.sandbox.yaml'], {
      PORTAL_PORT: `${PORTAL_PORT}`,
      API_PORT: `${API_PORT}`,
      LAB_PORT: `${LAB_PORT}`,
      LAB_TOKEN,
    })
    await setup.up('--wait')
    const LAB = `http://127.0.0.1:${LAB_PORT}`
    t.equal((await fetch(`${LAB}/lab/v1/logins`)).status, 401)

    const { program, printed } = sessionUnder('In a shell', 'sh')
    const settings = { PATH: process.env.PATH, LAB, LAB_TOKEN }
    const { stdout } = await promisify(execFile)('sh', ['-euc', program], { env: settings })
    t.equal(stdout, printed, 'the session must print the output that the document shows')

    await setup.compose('stop')
    await setup.up('--wait')
    const logins = await fetch(`${LAB}/lab/v1/logins`, { headers: { authorization: `Bearer ${LAB_TOKEN}` } })
    t.match(await logins.json(), { logins: [] }, 'the laboratory must be empty each time the sandbox starts')
  },
)

t.test(
  'compose.scale.yaml: if containers die and the database stops, visitors stay signed in and no data is lost',
  { skip },
  async t => {
    const files = ['compose.yaml', 'compose.scale.yaml', ...(await build('database', 'proxy'))]
    const HTTPS_PORT = String(await findFreePort())
    // Docker's own networks are in 172.16.0.0/12 and 192.168.0.0/16, so this network cannot overlap with them.
    const PROXY_NETWORK = `10.213.${process.pid % 250}`
    const setup = openSetup(t, files, { HTTPS_PORT, PROXY_NETWORK })
    await setup.up()
    const { publicUrl, person } = await readSecrets(setup)
    t.equal(publicUrl, `https://client.localhost:${HTTPS_PORT}`)
    // The proxy makes its own certificate authority, which the browser does not trust.
    const { page, context } = await openPage(t, { ignoreHTTPSErrors: true })

    const balanced = () =>
      until('the balancer sends requests only to running containers', async () => {
        for (const name of ['client', 'portal', 'api'])
          for (let i = 0; i < 4; i++)
            if ((await post(HTTPS_PORT, `${name}.localhost`, '/health/live')) >= 500) return false
        return true
      })
    await balanced()
    // If Docker adds or removes a network interface, Chromium stops loading a page. So the test tries again.
    await until('Chromium loads pages', async () => (await page.goto(publicUrl))?.status() === 200)

    await t.test(
      'CK-12: if one of two clients and one of two sandboxes die during a login, the login continues',
      async () => {
        await page.getByRole('link', { name: 'Sign in' }).click()
        await page.getByLabel('E-mail').first().waitFor()
        const began = await setup.containerThatLogged('client', '"route":"/login"')
        await docker(['kill', began])
        const [sandbox] = await setup.containersOf('sandbox')
        await docker(['kill', sandbox!])
        await balanced()
        await enterPassword(page, person)
        await allow(page)
        await page.waitForURL(`${publicUrl}/applications`)
        await page.getByRole('heading', { name: 'Your applications' }).waitFor()
        await docker(['start', began, sandbox!])
        await setup.healthy('client')
        await setup.healthy('sandbox')
        await balanced()
      },
    )

    const names = await listNames(page, publicUrl)

    await t.test(
      'PG-15: if a client dies while it creates an application and the form is sent again, there is only one application',
      async t => {
        await page.getByRole('link', { name: 'New application' }).click()
        await fillApplication(page, 'Weather station')
        const clients = await setup.clientProcesses()
        const applications = await setup.holdWrites('applications')
        const answered = page.waitForResponse(response => response.request().method() === 'POST')
        // The test does not wait for this promise yet, because it resolves only when the answer has arrived.
        const pressed = pressCreate(page)
        await applications.somebodyWaits()
        process.kill(findBusy(clients), 'SIGKILL')
        t.equal((await answered).status(), 502, 'the visitor must see an error from the balancer')
        await pressed
        await applications.letGo()
        const other = await context.newPage()
        await until('the application is there', async () => (await listNames(other, publicUrl)).length > names.length)
        // Docker starts the client again. Until the client listens, the balancer may answer with 502.
        await setup.healthy('client')
        await balanced()
        // The browser sends the same fields again. This time, the other client gets them.
        const sent = [...new URLSearchParams((await answered).request().postData() ?? '')]
        await other.evaluate(`{
          const form = Object.assign(document.createElement('form'), { method: 'post', action: '/applications' })
          for (const [name, value] of ${JSON.stringify(sent)})
            form.append(Object.assign(document.createElement('textarea'), { name, value }))
          document.body.append(form)
          form.submit()
        }`)
        await other.waitForURL(/\/applications\/[\w-]+$/)
        await other.getByRole('heading', { name: 'Weather station' }).waitFor()
        t.same(
          await listNames(page, publicUrl),
          [...names, 'Weather station'].sort(),
          'there must be exactly one new application',
        )
      },
    )

    await t.test(
      'RF-02: if one of two clients dies while it renews a session, the visitor stays signed in at the other client',
      async t => {
        for (const round of ['once', 'and once more']) {
          // Deletes the session cookie, as the browser does when the access token expires. The refresh token remains.
          await context.clearCookies({ name: /^__Host-session/ })
          const clients = await setup.clientProcesses()
          const tokens = await setup.holdWrites('spent_refresh_tokens')
          const shown = page.goto(`${publicUrl}/applications`)
          await tokens.somebodyWaits()
          process.kill(findBusy(clients), 'SIGKILL')
          await tokens.letGo()
          t.equal((await shown)?.status(), 200, round)
          t.same(await listNames(page, publicUrl), [...names, 'Weather station'].sort())
          await setup.healthy('client')
          await balanced()
        }
      },
    )

    await t.test(
      'while the database is stopped, pages and logins get a 503 answer; after the database has started again, everything works',
      async t => {
        const visitor = await openPage(t, { ignoreHTTPSErrors: true })
        await visitor.page.goto(publicUrl)
        await visitor.page.getByRole('link', { name: 'Sign in' }).click()
        await visitor.page.getByLabel('E-mail').first().waitFor()

        await setup.compose('stop', 'database')
        const refused = await page.goto(`${publicUrl}/applications`)
        t.match(refused?.status(), 503)
        const login = visitor.page.waitForResponse(response => response.request().method() === 'POST')
        await enterPassword(visitor.page, person)
        t.equal((await login).status(), 503, 'the portal cannot check the password')

        await setup.compose('start', 'database')
        await until('the list is shown again', async () => (await page.reload())?.status() === 200)
        t.same(await listNames(page, publicUrl), [...names, 'Weather station'].sort())
        await visitor.page.reload()
        await visitor.page.waitForURL(`${publicUrl}/applications`)
        t.same(
          await listNames(visitor.page, publicUrl),
          [...names, 'Weather station'].sort(),
          'the login must continue',
        )
      },
    )

    const reused = await setup.query('select count(*) from grants where revoked_at is not null')
    t.equal(reused, '0', 'the portal must not have ended a session')
  },
)

/**
 * Sends a POST without a body, and resolves to the status. The test uses POST, as browsers do for forms, because not
 * every version of the proxy repeats a POST.
 */
async function post(port: string, servername: string, path: string): Promise<number> {
  const headers = { host: `${servername}:${port}`, connection: 'close' }
  const options = { host: '127.0.0.1', port, servername, path, headers, method: 'POST', rejectUnauthorized: false }
  const [answer] = (await once(request(options).end(), 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode ?? 0
}
