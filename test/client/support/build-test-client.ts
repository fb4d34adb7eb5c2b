// Builds a client with a scripted platform, a clock that the test moves, and a record of its log.
import { randomBytes } from 'node:crypto'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { pino } from 'pino'
import type { Test } from 'tap'
import type { Dispatcher } from 'undici'
import { buildClient, type ServerOptions } from '../../../src/client/app.ts'
import { type Config, readConfig } from '../../../src/client/config.ts'
import { productSettings } from '../../../src/client/settings.ts'
import { TestBrowser } from '../../support/test-browser.ts'
import { productEnvironment } from './product-environment.ts'
import { type Script, type ScriptedPlatform, startScriptedPlatform, tokenAnswer } from './scripted-platform.ts'
import { smallProduct } from './small-product.ts'
import { buildWith, type TestProduct } from './test-product.ts'
import './pseudo-texts.ts'

export const clientId = '7d9c1f0e-5f2e-4a57-9d0a-0f4b1b1f6b11'
export const clientSecret = 'a-client-credential-only-for-tests-0001'
export const publicUrl = 'http://localhost:3000'

export type Settings = {
  /** The platform's answers, keyed by route: see startScriptedPlatform. */
  scripts?: Record<string, Script>
  /** An existing platform, for a second replica. */
  platform?: ScriptedPlatform
  environment?: Record<string, string>
  clock?: TestClock
  /** Replaces the client's connections with connections that the test provides. */
  dispatcher?: Dispatcher
  observeRequests?: (client: FastifyInstance) => void
  requestDeadlineMs?: number
  /** The product of the client. The default is smallProduct. */
  product?: TestProduct
  /** A function that builds the client. If it is set, `product` is not used. */
  build?: (config: Config, options: ServerOptions) => Promise<FastifyInstance>
}

export class TestClock {
  #now = Date.parse('2026-03-01T12:00:00Z')
  read = () => new Date(this.#now)
  advance(seconds: number) {
    this.#now += seconds * 1000
  }
}

export type TestClient = Awaited<ReturnType<typeof buildTestClient>>

/** Builds the client with the small product, for all tests that do not depend on the product. */
export function buildTestClient(t: Test, settings: Settings = {}) {
  return buildClientAsItIs(t, { product: smallProduct, ...settings })
}

/** Builds the client. By default, the client has the product of app.ts. */
export async function buildClientAsItIs(t: Test, settings: Settings = {}) {
  const platform = settings.platform ?? (await startScriptedPlatform(t, { ...scripts(), ...settings.scripts }))
  const clock = settings.clock ?? new TestClock()
  const environment = {
    LOGIN_URL: platform.url,
    API_URL: platform.url,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    COOKIE_KEYS: randomBytes(32).toString('base64url'),
    LOG_LEVEL: 'trace',
    ...settings.environment,
  }
  const config: Config = readConfig(environment)
  const log: string[] = []
  const logger = pino({ level: config.logLevel }, { write: line => void log.push(line) })
  const { dispatcher, observeRequests, requestDeadlineMs } = settings
  const options = {
    logger,
    clock: clock.read,
    ...(dispatcher && { dispatcher }),
    ...(observeRequests && { observeRequests }),
    ...(requestDeadlineMs !== undefined && { requestDeadlineMs }),
  }
  const metadata = `GET /.well-known/oauth-authorization-server`
  const asked = platform.received(metadata).length
  const build = settings.build ?? (settings.product && buildWith(settings.product))
  const client = build
    ? await build(config, options)
    : await buildClient(readConfig({ ...productEnvironment, ...environment }, productSettings), options)
  await client.ready()
  t.teardown(() => client.close())
  // The client requests the metadata in the background. Wait for this request here. Otherwise a test could count this
  // request among the requests that the test causes.
  if (config.loginInternalUrl === platform.url && !dispatcher) await platform.waitForRequests(metadata, asked + 1)
  return { client, config, platform, clock, log, browser: new TestBrowser(client, publicUrl, clock.read) }
}

function scripts(): Record<string, Script> {
  return {
    'POST /api/exchangeToken': (request, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(tokenAnswer(request)))
    },
  }
}

/** Requests /login, and returns the parameters that the portal would get. */
export async function beginLogin(browser: TestBrowser, returnTo?: string): Promise<URLSearchParams> {
  const query = returnTo === undefined ? '' : `?${new URLSearchParams({ returnTo })}`
  const response = await browser.get(`/login${query}`)
  return new URL(String(response.headers.location)).searchParams
}

/**
 * Returns the address to which the portal sends the browser back. `change` replaces parameters. A parameter with the
 * value undefined is left out.
 */
export function callbackUrl(started: URLSearchParams, change: Record<string, string | undefined> = {}): string {
  const parameters = {
    code: 'Code0123456789Code0123456789ab',
    state: started.get('state') ?? '',
    redirect_uri: started.get('redirect_uri') ?? '',
    subject: 'visitor-1',
    client_id: clientId,
    ...change,
  }
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return `/exchangeToken?${new URLSearchParams(given)}`
}

/** Performs a whole login, and returns the page at the callback. This page opens the next page automatically. */
export async function signIn(browser: TestBrowser, returnTo?: string): Promise<LightMyRequestResponse> {
  const started = await beginLogin(browser, returnTo)
  return browser.get(callbackUrl(started), { site: 'cross-site' })
}
