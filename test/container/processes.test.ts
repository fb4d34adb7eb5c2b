// Runs the client and the sandbox as processes with the limits of a container: without outgoing connections and with
// limited memory. Also tests wrong settings, and how the processes stop.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { giveTokens, startScriptedPlatform } from '../client/support/scripted-platform.ts'
import { findFreePort, findFreePorts } from '../support/free-port.ts'
import { readOutput } from '../support/read-output.ts'
import { instructionsOf, readDockerfile } from './support/read-dockerfile.ts'

// The time limit is long, because the sandbox needs a long time to hash passwords on a busy machine.
t.setTimeout(120_000)

const watch = fileURLToPath(new URL('support/watch-process.ts', import.meta.url))
const limitKiB = 256 * 1024
const registration = { id: 'process-test', secret: 'a-client-credential-only-for-tests-0004' }
const person = { email: 'developer@example.test', password: 'correct horse battery staple' }

/**
 * This setting turns on a compile cache, with which the processes start faster. The images have no compile cache, so
 * the tests that measure memory do not use this setting.
 */
const quickStart = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '' }

/** Returns the environment variables that the image of the client or the sandbox sets. */
function imageEnvironment(part: string): Record<string, string> {
  const { stages } = readDockerfile('Dockerfile')
  const lines = instructionsOf(stages, part).filter(({ name }) => name === 'ENV')
  return Object.fromEntries(lines.map(({ text }) => text.split('=', 2)))
}

/** Runs the client or the sandbox with these settings, and without the environment variables of this machine. */
function start(t: Test, part: 'client' | 'sandbox', settings: Record<string, string>) {
  const child = spawn(process.execPath, ['--import', watch, `src/${part}/main.ts`], {
    env: { ...imageEnvironment(part), HOST: 'localhost', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const { output, closed, waitForOutput } = readOutput(child)
  return {
    closed,
    output,
    waitForOutput,
    /** Resolves to the exit code and the largest memory use of the process. */
    async stop() {
      child.kill('SIGTERM')
      const [code] = await closed
      return { code, peakKiB: Number(/peak of (\d+) KiB/.exec(output())?.[1]) }
    },
  }
}

async function startClient(t: Test, settings: Record<string, string>, port?: number) {
  port ??= await findFreePort()
  const publicUrl = `http://localhost:${port}`
  const client = start(t, 'client', {
    PORT: `${port}`,
    LOGIN_URL: 'http://127.0.0.1:1',
    API_URL: 'http://127.0.0.1:1',
    CLIENT_ID: registration.id,
    CLIENT_SECRET: registration.secret,
    COOKIE_KEYS: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
    ...settings,
  })
  await client.waitForOutput('listening')
  return { ...client, publicUrl }
}

async function startSandbox(t: Test, clientUrl = 'http://localhost:3000', settings: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [portalPort, apiPort] = await findFreePorts(2)
  const [portalUrl, apiUrl] = [`http://127.0.0.1:${portalPort}`, `http://127.0.0.1:${apiPort}`]
  const sandbox = start(t, 'sandbox', {
    PORTAL_PORT: `${portalPort}`,
    API_PORT: `${apiPort}`,
    PORTAL_URL: portalUrl,
    API_URL: apiUrl,
    DATABASE_URL: `sqlite:${folder}/sandbox.db`,
    SEED_CLIENT_ID: registration.id,
    SEED_CLIENT_SECRET: registration.secret,
    SEED_REDIRECT_URIS: `${clientUrl}/exchangeToken`,
    SEED_USER_EMAIL: person.email,
    SEED_USER_PASSWORD: person.password,
    ...settings,
  })
  await sandbox.waitForOutput('ready')
  return { ...sandbox, portalUrl, apiUrl }
}

/**
 * Stops the program with SIGTERM, as Docker stops a container. Checks that its exit code is 0, and that it used no more
 * memory than compose.yaml allows.
 */
async function endsWithinLimit(t: Test, { stop }: { stop: () => Promise<{ code: number | null; peakKiB: number }> }) {
  const { code, peakKiB } = await stop()
  t.equal(code, 0)
  t.ok(peakKiB < limitKiB, `${Math.round(peakKiB / 1024)} MiB at most`)
}

/** Opens a page with the headers of a browser. With `fetch`, the test could not set these Sec-Fetch headers. */
async function visit(url: string, cookie = '') {
  const headers = {
    'sec-fetch-site': 'same-origin',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
    cookie,
  }
  const { statusCode, headers: answered, body } = await request(url, { headers })
  const cookies = [answered['set-cookie'] ?? []].flat().map(line => line.split(';', 1)[0])
  return {
    status: statusCode,
    location: String(answered.location),
    cookie: cookies.join('; '),
    text: await body.text(),
  }
}

/** Begins a login and opens the callback, to which the portal would redirect the browser. */
async function comeBack(publicUrl: string) {
  const start = await visit(`${publicUrl}/login`)
  const state = new URL(start.location).searchParams.get('state') ?? ''
  const query = new URLSearchParams({ code: 'c'.repeat(30), subject: 'visitor-1', client_id: registration.id, state })
  return visit(`${publicUrl}/exchangeToken?${query}`, start.cookie)
}

/** Answers with JSON that never ends: sends spaces until the client closes the connection. */
function sendWithoutEnd(_request: unknown, response: ServerResponse): void {
  const megabyte = Buffer.alloc(1024 * 1024, ' ')
  response.writeHead(200, { 'content-type': 'application/json' })
  const forever = new Readable({
    read() {
      this.push(megabyte)
    },
  })
  pipeline(forever, response, () => {})
}

t.test(
  'SC-05: the client and the sandbox start and show their pages without outgoing connections, and their pages load nothing from other sites',
  async t => {
    const port = await findFreePort()
    const sandbox = await startSandbox(t, `http://localhost:${port}`, quickStart)
    const addresses = { LOGIN_URL: sandbox.portalUrl, API_URL: sandbox.apiUrl }
    const client = await startClient(t, { ...addresses, ...quickStart }, port)
    const { location: signIn } = await visit(`${client.publicUrl}/login`)
    for (const url of [client.publicUrl, signIn, sandbox.apiUrl]) {
      const { status, text: html } = await visit(url)
      t.equal(status, 200, url)
      for (const [, address] of html.matchAll(/<(?:link|script|img|iframe)\b[^>]*?\b(?:href|src)="([^"]+)"/g)) {
        const asset = new URL(address!, url)
        t.equal(asset.origin, new URL(url).origin, `${url} loads ${address}`)
        t.equal((await visit(asset.href)).status, 200, `${address} must exist`)
      }
    }
    for (const { output } of [client, sandbox]) t.notMatch(output(), 'refused to connect')
  },
)

t.test('SC-05: the support file watch-process.ts refuses an outgoing connection of the client', async t => {
  const client = await startClient(t, { LOGIN_URL: 'https://portal.example', ...quickStart })
  await visit(`${client.publicUrl}/login`)
  t.match(client.output(), 'refused to connect to portal.example')
})

t.test(
  'CT-02, CT-04: if 64 logins get endless token responses at the same time, the client needs less than 256 MiB',
  async t => {
    const platform = await startScriptedPlatform(t, { 'POST /api/exchangeToken': sendWithoutEnd })
    const client = await startClient(t, { LOGIN_URL: platform.url, API_URL: platform.url })
    const pages = await Promise.all(Array.from({ length: 64 }, () => comeBack(client.publicUrl)))
    t.same(new Set(pages.map(({ status }) => status)), new Set([502]))
    await endsWithinLimit(t, client)
  },
)

t.test(
  'CT-02, CT-04: if 4 requests get endless lists from the API at the same time, the client needs less than 256 MiB',
  async t => {
    const platform = await startScriptedPlatform(t, {
      'POST /api/exchangeToken': giveTokens(),
      'GET /apps/v1': sendWithoutEnd,
    })
    const client = await startClient(t, { LOGIN_URL: platform.url, API_URL: platform.url })
    const { cookie } = await comeBack(client.publicUrl)
    const list = () => visit(`${client.publicUrl}/applications`, cookie)
    const pages = await Promise.all(Array.from({ length: 4 }, list))
    t.same(new Set(pages.map(({ status }) => status)), new Set([502]))
    await endsWithinLimit(t, client)
  },
)

t.test('CT-02, CT-04: if 200 people sign in at the same time, the sandbox needs less than 256 MiB', async t => {
  const sandbox = await startSandbox(t)
  const body = new URLSearchParams({
    ...person,
    grant_type: 'authorization',
    response_type: 'code',
    client_id: registration.id,
    redirect_uri: 'http://localhost:3000/exchangeToken',
    cancel_url: 'http://localhost:3000/cancelled',
  })
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => fetch(`${sandbox.portalUrl}/api/authorize`, { method: 'POST', body })),
  )
  const statuses = answers.map(({ status }) => status)
  // The status 403 means that the password was right, but the person has not given consent.
  t.same(new Set(statuses), new Set([403, 503]))
  await endsWithinLimit(t, sandbox)
})

t.test(
  'CT-08: if settings are wrong, the sandbox ends immediately, and names each wrong setting without its value',
  async t => {
    const wrong = {
      HOST: 'hunter 2',
      PORTAL_PORT: 'hunter2',
      API_PORT: '65536',
      PRESTOP_DELAY: 'hunter2',
      PORTAL_URL: 'http://hunter2.example',
      API_URL: 'hunter2',
      DATABASE_URL: 'mysql://hunter2',
      SEED_CLIENT_ID: 'hunter 2',
      SEED_CLIENT_SECRET: 'hunter2',
      SEED_REDIRECT_URIS: 'http://hunter2.example/exchangeToken',
      SEED_USER_EMAIL: 'hunter2',
      SEED_USER_PASSWORD: 'hunter2',
      LOG_LEVEL: 'hunter2',
    }
    const files = {
      DATABASE_URL_FILE: '/hunter2',
      SEED_CLIENT_SECRET_FILE: '/hunter2',
      SEED_USER_PASSWORD_FILE: '/hunter2',
    }
    for (const settings of [wrong, files]) {
      const { closed, output } = start(t, 'sandbox', { ...settings, ...quickStart })
      t.same(await closed, [1, null])
      for (const name of Object.keys(settings)) t.match(output(), new RegExp(`^ +${name}\\b`, 'm'), name)
      t.notMatch(output(), /hunter|^ +at /m)
    }
  },
)
