// Signs in at the portal with a test browser, and exchanges the code.
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { TestBrowser } from '../../support/test-browser.ts'
import { portalUrl, seeded, type TestSandbox } from './build-test-sandbox.ts'

export type Browser = TestBrowser

/** Opens a test browser without cookies. */
export function openBrowser({ portal }: { portal: Pick<FastifyInstance, 'inject'> }): Browser {
  return new TestBrowser(portal, portalUrl)
}

export type StartParameters = Record<string, string | undefined>

/** Returns the address that starts a login of the seeded client. The value undefined leaves a parameter out. */
export function startUrl(parameters: StartParameters = {}): string {
  const all = {
    grant_type: 'authorization',
    response_type: 'code',
    client_id: seeded.clientId,
    redirect_uri: seeded.redirectUri,
    cancel_url: seeded.cancelUrl,
    state: 'a-state',
    ...parameters,
  }
  const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return `/?${new URLSearchParams(given)}`
}

/** Starts a login and signs in. Resolves to the consent page, or to the redirect if consent was given before. */
export async function signIn(
  browser: Browser,
  parameters: StartParameters = {},
  { email = seeded.email, password = seeded.password } = {},
): Promise<LightMyRequestResponse> {
  const page = await browser.get(startUrl(parameters))
  const answer = await browser.submit(page, { email, password })
  return answer.statusCode === 303 ? browser.get(locationOf(answer)) : answer
}

/** Signs in and gives consent. Resolves to the parameters that the client gets. */
export async function logIn(
  sandbox: Pick<TestSandbox, 'portal'>,
  parameters: StartParameters = {},
): Promise<URLSearchParams> {
  const browser = openBrowser(sandbox)
  const page = await signIn(browser, parameters)
  const answer = page.statusCode === 303 ? page : await browser.submit(page, { decision: 'allow' })
  return new URL(locationOf(answer)).searchParams
}

/** Returns the address to which the answer redirects the browser. */
export function locationOf(response: LightMyRequestResponse): string {
  const { location } = response.headers
  if (typeof location !== 'string') throw new Error(`no redirect: ${response.statusCode} ${response.body}`)
  return location
}

/** Exchanges a code for tokens, as the seeded client. The value undefined leaves a field out. */
export async function exchange(
  { portal }: { portal: FastifyInstance },
  fields: Record<string, string | undefined>,
): Promise<LightMyRequestResponse> {
  const all = {
    grant_type: 'authorization_code',
    client_id: seeded.clientId,
    client_secret: seeded.clientSecret,
    redirect_uri: seeded.redirectUri,
    state: 'a-state',
    ...fields,
  }
  const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return portal.inject({
    method: 'POST',
    url: '/api/exchangeToken',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(given).toString(),
  })
}

/** Makes a whole login, and resolves to an access token of the seeded user. */
export async function getAccessToken(sandbox: Pick<TestSandbox, 'portal'>): Promise<string> {
  const code = (await logIn(sandbox)).get('code') ?? ''
  const response = await exchange(sandbox, { code })
  return (response.json() as { access_token: string }).access_token
}
