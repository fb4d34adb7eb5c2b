// Plays a browser at the portal: keeps cookies, and sends the forms of its pages.
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { portalUrl, seeded, type TestSandbox } from './build-test-sandbox.ts'

export interface Browser {
  cookies: Map<string, string>
  get(url: string): Promise<LightMyRequestResponse>
  /**
   * `headers` are added to the headers that a browser sends with a form of its own page. The value undefined removes a
   * header.
   */
  post(
    url: string,
    fields: Record<string, string>,
    headers?: Record<string, string | undefined>,
  ): Promise<LightMyRequestResponse>
  /** Sends the form on the page with its hidden fields and the given fields. */
  submit(page: LightMyRequestResponse, fields: Record<string, string>): Promise<LightMyRequestResponse>
}

export function openBrowser({ portal }: { portal: FastifyInstance }): Browser {
  const cookies = new Map<string, string>()
  const send = async (options: {
    method: 'GET' | 'POST'
    url: string
    payload?: string
    headers?: Record<string, string>
  }) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await portal.inject({ ...options, headers: { ...(cookie && { cookie }), ...options.headers } })
    for (const { name, value, maxAge } of response.cookies) {
      if (value === '' || maxAge === 0) cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }
  const browser: Browser = {
    cookies,
    get: url => send({ method: 'GET', url }),
    post(url, fields, headers = {}) {
      const all = {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        origin: portalUrl,
        ...headers,
      }
      const sent = Object.fromEntries(
        Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
      )
      return send({ method: 'POST', url, payload: new URLSearchParams(fields).toString(), headers: sent })
    },
    submit(page, fields) {
      const action = /<form method="post" action="([^"]+)"/.exec(page.body)?.[1]
      if (!action) throw new Error(`there is no form on this page: ${page.statusCode} ${page.body}`)
      const hidden = [...page.body.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
      return browser.post(action, { ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])), ...fields })
    },
  }
  return browser
}

export type StartParameters = Record<string, string | undefined>

/** The address that starts a login of the seeded client. The value undefined leaves a parameter out. */
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

/** Does a whole login: signs in and allows. Resolves to the parameters that the client gets. */
export async function logIn(
  sandbox: Pick<TestSandbox, 'portal'>,
  parameters: StartParameters = {},
): Promise<URLSearchParams> {
  const browser = openBrowser(sandbox)
  const page = await signIn(browser, parameters)
  const answer = page.statusCode === 303 ? page : await browser.submit(page, { decision: 'allow' })
  return new URL(locationOf(answer)).searchParams
}

/** Where a redirect leads. */
export function locationOf(response: LightMyRequestResponse): string {
  const { location } = response.headers
  if (typeof location !== 'string') throw new Error(`no redirect: ${response.statusCode} ${response.body}`)
  return location
}

/** Exchanges a code for the seeded client. The value undefined leaves a field out. */
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

/** An access token of the seeded user, from a whole login. */
export async function getAccessToken(sandbox: Pick<TestSandbox, 'portal'>): Promise<string> {
  const code = (await logIn(sandbox)).get('code') ?? ''
  const response = await exchange(sandbox, { code })
  return (response.json() as { access_token: string }).access_token
}
