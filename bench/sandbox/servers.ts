// The servers that the bench compares: our sandbox with a SQLite file, and servers from npm that store their data in
// memory.
import type { ChildProcess } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { openStore } from '../../src/sandbox/store/open-store.ts'
import { findCredentials } from '../../src/sandbox/store/users.ts'
import { Secret } from '../../src/sandbox/values/secret.ts'
import { findFreePort } from '../../test/support/free-port.ts'
import { type Environment, readOutput, startMeasuredChild } from '../child.ts'
import { repeat } from '../numbers.ts'
import { addApplications, issueCodes } from './fill.ts'
import { client, codeChallenge, state, toExchangeForm, user } from './login.ts'

export interface Server {
  child: ChildProcess
  /** Makes codes of finished logins. The bench does not measure the time that this takes. */
  issueCodes(count: number): Promise<string[]>
  exchange(code: string): Promise<void>
  /** Gets a list of 20 applications from the sandbox, or /userinfo from another server, with the access token. */
  read(): Promise<void>
}

/** How many exchanges run at the same time. This simulates many visitors. */
export const atOnce = 32
const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const agent = new Agent({ connections: atOnce, pipelining: 1 })

/**
 * Starts the sandbox as in production, where a response is sent only after its data is on the disk. With `silent`,
 * neither the sandbox nor the other servers write a log.
 */
export async function startSandbox(
  path: string,
  applications: number,
  logLevel: 'info' | 'silent',
  more: Environment = {},
): Promise<Server> {
  const databaseUrl = `sqlite:${path}`
  const [portalPort, apiPort] = [await findFreePort(), await findFreePort()]
  const child = startMeasuredChild(pathOf('../../src/sandbox/main.ts'), {
    HOST: '127.0.0.1',
    PORTAL_PORT: String(portalPort),
    API_PORT: String(apiPort),
    LOG_LEVEL: logLevel,
    DATABASE_URL: databaseUrl,
    SEED_CLIENT_ID: client.id,
    SEED_CLIENT_SECRET: client.secret,
    SEED_REDIRECT_URIS: client.redirectUri,
    SEED_USER_EMAIL: user.email,
    SEED_USER_PASSWORD: user.password,
    ...more,
  })
  // Read the log, because a server soon stops and waits if nothing reads its log.
  child.stdout?.resume()
  const origin = `http://127.0.0.1:${portalPort}`
  while (!(await isReady(origin))) {
    if (child.exitCode !== null) throw new Error('The sandbox did not start. See the reason above.')
    await wait(50)
  }
  const store = await openStore(new Secret(databaseUrl), { clock: () => new Date(), onLost: console.error })
  child.once('exit', () => void store.close())
  const userId = (await findCredentials(store.read, user.email))!.userId
  await addApplications(store, userId, applications)
  const exchangeUrl = `${origin}/api/exchangeToken`
  const [code] = await issueCodes(store, userId, 1)
  const tokens = await call(exchangeUrl, { form: toExchangeForm(code!) })
  const accessToken = JSON.parse(tokens).access_token
  return {
    child,
    issueCodes: count => issueCodes(store, userId, count),
    exchange: async code => void (await call(exchangeUrl, { form: toExchangeForm(code) })),
    read: async () => void (await call(`http://127.0.0.1:${apiPort}/apps/v1`, { accessToken })),
  }
}

/** With the scope `openid`, the token response contains an ID token. With `applications`, the access token is a JWT. */
export async function startOidcProvider(scope: string): Promise<Server> {
  const { child, url } = await startPeer('servers/oidc-provider.ts', { SCOPE: scope })
  let accessToken: Promise<string> | undefined
  return {
    child,
    async issueCodes(count) {
      // The store of oidc-provider has room for few records, so it drops the old access token when these codes are
      // exchanged.
      accessToken = undefined
      return JSON.parse(await call(`${url}/bench/codes?count=${count}`))
    },
    exchange: async code => void (await call(`${url}/token`, { form: toExchangeForm(code) })),
    async read() {
      accessToken ??= call(`${url}/bench/access-token`)
      await call(`${url}/me`, { accessToken: await accessToken })
    },
  }
}

export async function startMockServer(): Promise<Server> {
  const { child, url } = await startPeer('servers/oauth2-mock-server.ts')
  return {
    child,
    issueCodes: count => repeat(count, () => logIn(url)),
    exchange: async code => void (await call(`${url}/token`, { form: toExchangeForm(code) })),
    read: async () => void (await call(`${url}/userinfo`, { accessToken: 'any' })),
  }
}

/** Returns the code of a login. This server does not ask the user anything. */
async function logIn(url: string): Promise<string> {
  const parameters = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: client.redirectUri,
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  }
  const { headers, body } = await request(`${url}/authorize?${new URLSearchParams(parameters)}`, { dispatcher: agent })
  await body.dump()
  return new URL(String(headers.location)).searchParams.get('code')!
}

async function startPeer(script: string, environment: Environment = {}) {
  const child = startMeasuredChild(pathOf(script), environment)
  const [url] = await readOutput(child, /listening at (http:\/\/127\.0\.0\.1:\d+);/)
  return { child, url: url! }
}

const isReady = (origin: string) =>
  call(`${origin}/health/ready`).then(
    () => true,
    () => false,
  )

/** Returns the body of the answer. Throws an error if the status is not 200. */
async function call(url: string, { accessToken = '', form = '' } = {}): Promise<string> {
  const headers = {
    ...(accessToken && { authorization: `Bearer ${accessToken}` }),
    ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
  }
  const { statusCode, body } = await request(url, {
    dispatcher: agent,
    headers,
    ...(form && { method: 'POST', body: form }),
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}: ${text}`)
  return text
}
