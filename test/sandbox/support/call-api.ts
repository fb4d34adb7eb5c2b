// Calls the application API as a signed-in user, and checks every answer against the API's OpenAPI document.
import type { LightMyRequestResponse } from 'fastify'
import { type Browser, exchange, getAccessToken, locationOf, openBrowser, signIn } from './browser.ts'
import type { TestSandbox } from './build-test-sandbox.ts'
import { type CheckAnswer, readDescription } from './check-answer.ts'
import { submitForm } from './forms.ts'

type Api = Pick<TestSandbox, 'portal' | 'api'>
type Call = (
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  url: string,
  payload?: unknown,
  headers?: Record<string, string>,
) => Promise<LightMyRequestResponse>

export interface ApiCaller {
  userId: string
  accessToken: string
  /** Calls the API. Throws if the answer does not match the API's own OpenAPI document. */
  call: Call
}

/** All sandboxes of a process have the same OpenAPI document. */
let description: Promise<CheckAnswer> | undefined

/**
 * Returns a caller for the seeded user, with a token from a whole login. The user is the only member of the seeded
 * group.
 */
export async function callAsDeveloper(sandbox: Api): Promise<ApiCaller & { groupId: string }> {
  const caller = await callWith(sandbox, await getAccessToken(sandbox))
  const links = await caller.call('GET', `/identities/v1/${caller.userId}/links?type=MemberOf`)
  return { ...caller, groupId: links.json().ItemList[0].to }
}

/** Signs up another user, who is in no group. Returns a function that calls the API as this user. */
export async function callAsStranger(sandbox: Api, email = 'stranger@example.test'): Promise<ApiCaller> {
  const password = 'a long password of a stranger'
  const person = { email, password, firstName: 'S', lastName: 'T', termsAccepted: 'true' }
  await sandbox.portal.inject({
    method: 'POST',
    url: '/api/register',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(person).toString(),
  })
  const browser = openBrowser(sandbox)
  const consent = await signIn(browser, {}, { email, password })
  const arrival = new URL(locationOf(await browser.submit(consent, { decision: 'allow' })))
  const tokens = await exchange(sandbox, { code: arrival.searchParams.get('code') ?? '' })
  return callWith(sandbox, tokens.json().access_token)
}

/** Returns a caller with a token that the browser's user makes on the portal's token page. */
export async function callFromPortal(sandbox: Api, browser: Browser): Promise<ApiCaller> {
  const shown = await submitForm(browser, await browser.get('/account/token'), '/account/token')
  const accessToken = /data-copy="access token">([^<]+)</.exec(shown.body)?.[1]
  if (!accessToken) throw new Error(`no token: ${shown.statusCode} ${shown.body}`)
  return callWith(sandbox, accessToken)
}

/** Returns a caller with this access token. */
export async function callWith({ api }: Api, accessToken: string): Promise<ApiCaller> {
  description ??= readDescription(api)
  const checkAnswer = await description
  const call: Call = async (method, url, payload, headers) => {
    const answer = await api.inject({
      method,
      url,
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json', ...headers },
      ...(payload !== undefined && { payload: JSON.stringify(payload) }),
    })
    checkAnswer(method, url, answer)
    return answer
  }
  const { sub } = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString())
  return { userId: sub, accessToken, call }
}

/**
 * Makes a correct body for the call that creates an application. `fields` replaces values. The value undefined leaves a
 * field out.
 */
export function makeCreateBody(groupId: string, fields: Record<string, unknown> = {}) {
  return {
    context: 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/',
    type: 'App',
    data: {
      groupId,
      name: 'Weather',
      description: 'Shows the weather.',
      webPageUrl: 'https://weather.example.test/',
      iconUrl: 'https://weather.example.test/icon.png',
      privacyPolicyUrl: 'https://weather.example.test/privacy',
      redirectUris: 'https://weather.example.test/exchangeToken, http://localhost:3000/exchangeToken,',
      defaultRedirectUri: 'http://localhost:3000/exchangeToken',
      scopes: '',
      defaultScopes: '',
      ...fields,
    },
  }
}

/** Fields that only the API sets. If a caller sends these fields, the API ignores them (AP-06). */
export const forbiddenFields = {
  id: 'mine',
  '@id': 'mine',
  clientId: 'mine',
  clientSecret: 'mine',
  clientSecrets: ['mine'],
  createdBy: 'mine',
  createdAt: '1999-01-01T00:00:00Z',
  owner: 'mine',
  developer: 'mine',
  client: { clientId: 'mine', clientSecrets: ['mine'] },
  tokens: ['mine'],
  inLinks: [{ '@id': 'mine', from: 'mine' }],
  metadata: { createdBy: 'mine', createdAt: '1999-01-01T00:00:00Z' },
}
