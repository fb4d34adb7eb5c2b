// Bad requests to the login portal: to the calls for clients, to the calls on a user's behalf, and to the metadata.
import { exchange, getAccessToken, logIn } from '../support/browser.ts'
import { seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper } from '../support/call-api.ts'
import { newcomer } from '../support/forms.ts'
import {
  type BadRequest,
  badContentTypes,
  badJsonBodies,
  badTexts,
  changeFields,
  methods,
  toForm,
} from './bad-values.ts'

const dayMs = 86_400_000

export interface PortalScene {
  userId: string
  refreshToken: string
  accessToken: string
  expired: string
}

export async function setPortalScene(sandbox: TestSandbox): Promise<PortalScene> {
  const expired = await getAccessToken(sandbox)
  sandbox.passTime(2 * dayMs)
  const { userId } = await callAsDeveloper(sandbox)
  const tokens = (await exchange(sandbox, { code: (await logIn(sandbox)).get('code') ?? '' })).json()
  return { userId, refreshToken: tokens.refresh_token, accessToken: tokens.access_token, expired }
}

const asForm = { 'content-type': 'application/x-www-form-urlencoded' }
const asJson = { 'content-type': 'application/json' }
const client = { client_id: seeded.clientId, client_secret: seeded.clientSecret }
const someCode = 'a'.repeat(30)
const start = {
  grant_type: 'authorization',
  response_type: 'code',
  client_id: seeded.clientId,
  redirect_uri: seeded.redirectUri,
  cancel_url: seeded.cancelUrl,
  state: 'a-state',
  code_challenge: 'A'.repeat(43),
  code_challenge_method: 'S256',
}
const password = { email: seeded.email, password: seeded.password }

export function* portalRequests({ userId, accessToken, expired }: PortalScene): Generator<BadRequest> {
  const redeem = {
    grant_type: 'authorization_code',
    code: someCode,
    redirect_uri: seeded.redirectUri,
    state: 'a-state',
    code_verifier: 'a'.repeat(43),
    ...client,
  }
  const calls: [title: string, url: string, fields: Record<string, unknown>][] = [
    ['exchange', '/api/exchangeToken', redeem],
    ['renew', '/api/exchangeToken', { grant_type: 'refresh_token', refresh_token: someCode, scope: '', ...client }],
    ['revoke', '/api/revokeToken', { token: someCode, ...client }],
    ['register', '/api/register', newcomer],
    ['log in', '/api/authorize', { ...password, ...start }],
    ['allow', '/api/authorizeApplication', { userId, clientId: seeded.clientId, ...password }],
  ]
  for (const [title, url, fields] of calls) {
    yield* badFields(title, url, fields)
    yield* badPairs(title, url, fields)
    yield* badBodies(title, url, fields)
    for (const method of methods.filter(method => method !== 'POST'))
      yield { name: `${title}: ${method}`, method, url, headers: asForm }
  }
  yield* otherGrant(redeem)
  yield* badTerms()
  yield* badSenders({ userId, clientId: seeded.clientId })
  for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/jwks.json', '/api/me'])
    for (const method of methods.filter(method => method !== 'GET'))
      yield { name: `${method} ${path}`, method, url: path }
  for (const path of ['/.well-known/nothing', '/.well-known/', '/api/exchangetoken', '/api/nothing'])
    yield { name: `no such path: ${path}`, method: 'GET', url: path }
  const authorizations = {
    'an empty token': '',
    'a word': 'Bearer word',
    'another scheme': `Basic ${accessToken}`,
    'a broken token': `Bearer ${accessToken.slice(0, -6)}aaaaaa`,
    'an expired token': `Bearer ${expired}`,
  }
  yield { name: 'me: no token', method: 'GET', url: '/api/me' }
  yield { name: 'me: a token in the address', method: 'GET', url: `/api/me?access_token=${accessToken}` }
  for (const [words, authorization] of Object.entries(authorizations))
    yield { name: `me: ${words}`, method: 'GET', url: '/api/me', headers: { authorization } }
}

/** Sends bad fields as a form and as JSON. A form can contain only strings, but a form can repeat a field. */
function* badFields(title: string, url: string, fields: Record<string, unknown>): Generator<BadRequest> {
  const send = (name: string, body: object): BadRequest[] => [
    { name: `${title}: form, ${name}`, method: 'POST', url, headers: asForm, payload: toForm({ ...body }) },
    { name: `${title}: JSON, ${name}`, method: 'POST', url, headers: asJson, payload: JSON.stringify(body) },
  ]
  const inForms = ['left out', 'empty', 'a space', 'a word', 'with NUL', '2,049 characters']
  for (const name of Object.keys(fields)) {
    for (const [words, changed] of changeFields(fields, badTexts, [name])) {
      const [form, json] = send(words, changed)
      if (inForms.includes(words)) yield form!
      yield json!
    }
    yield send(`${name}: twice`, { ...fields, [name]: [fields[name], fields[name]] })[0]!
    const inAddress = `${url}?${name}=${encodeURIComponent(String(fields[name]))}`
    yield { ...send(`${name}: in the address`, fields)[0]!, url: inAddress }
  }
  yield* send('nothing', {})
  yield* send('an unknown field', { ...fields, other: ['a', 'b'] })
  yield {
    ...send('a header that says who calls', fields)[0]!,
    headers: { ...asForm, authorization: `Basic ${Buffer.from('a:b').toString('base64')}` },
  }
  yield {
    ...send('from a page of another site', fields)[0]!,
    headers: { ...asForm, origin: 'https://evil.example.test', 'sec-fetch-site': 'cross-site' },
  }
}

/** Requests with two wrong fields. The recorded answers show which of the two fields the portal names. */
function* badPairs(title: string, url: string, fields: Record<string, unknown>): Generator<BadRequest> {
  const names = Object.keys(fields)
  const kinds: [words: string, first: unknown, second: unknown][] = [
    ['left out and left out', undefined, undefined],
    ['left out and a number', undefined, 5],
    ['a number and left out', 5, undefined],
    ['empty and a word', '', 'word'],
    ['a word and an array', 'word', ['a', 'b']],
    ['2,049 characters and half a surrogate pair', 'x'.repeat(2049), 'a\ud800b'],
  ]
  for (const [index, first] of names.entries())
    for (const second of names.slice(index + 1))
      for (const [words, firstValue, secondValue] of kinds) {
        const body = { ...fields, [first]: firstValue, [second]: secondValue }
        yield post(`${title}: ${first} and ${second}: ${words}`, url, body)
      }
}

/**
 * Exchanges with the fields of two grant types, and fields with long strings of emoji. The portal counts a length in
 * UTF-16 units, and an emoji has two units.
 */
function* otherGrant(redeem: Record<string, unknown>): Generator<BadRequest> {
  const url = '/api/exchangeToken'
  const both = { ...redeem, refresh_token: someCode, scope: '' }
  for (const grantType of ['authorization_code', 'refresh_token', 'password'])
    for (const name of ['code', 'redirect_uri', 'state', 'code_verifier', 'refresh_token', 'scope'])
      for (const [words, value] of Object.entries(badTexts))
        yield post(`${grantType} with both grants' fields: ${name}: ${words}`, url, {
          ...both,
          grant_type: grantType,
          [name]: value,
        })
  for (const name of ['refresh_token', 'scope', 'code_verifier', 'email'])
    yield { ...post(`exchange: ${name} in the address`, url, redeem), url: `${url}?${name}=` }
  for (const length of [1024, 1025])
    for (const name of Object.keys(both))
      yield post(`exchange: ${name}: ${length} emoji`, url, { ...both, [name]: '🌦'.repeat(length) })
  const { client_secret: _, ...withoutSecret } = redeem
  yield post('exchange: an unknown grant and no secret', url, { ...withoutSecret, grant_type: 'password' })
}

/**
 * Sign-ups with different values of `termsAccepted`. The e-mail address is already used, so no request creates an
 * account.
 */
function* badTerms(): Generator<BadRequest> {
  for (const termsAccepted of [true, false, 'true', 'false', 'on', 'yes', '1', 'TRUE', ' true', 1, [true], ['true']])
    yield post(`register: terms ${JSON.stringify(termsAccepted)}`, '/api/register', {
      ...newcomer,
      email: seeded.email,
      termsAccepted,
    })
}

/**
 * Requests without a valid password. Such a request needs a session at the portal, and these requests have no session.
 */
function* badSenders(ids: Record<string, unknown>): Generator<BadRequest> {
  const url = '/api/authorizeApplication'
  yield post('allow: nobody says who they are', url, ids)
  for (const email of [undefined, '', seeded.email, 'no address', 'A@B@C'])
    for (const secret of [undefined, '', seeded.password, 'wrong'])
      if (email !== seeded.email || secret !== seeded.password)
        yield post(`allow: e-mail ${email}, password ${secret}`, url, { ...ids, email, password: secret })
  for (const email of ['no address', 'A@B@C', 'ü@example.test'])
    yield post(`log in: e-mail ${email}`, '/api/authorize', { ...start, email, password: 'wrong' })
}

function post(name: string, url: string, body: object): BadRequest {
  return { name, method: 'POST', url, headers: asJson, payload: JSON.stringify(body) }
}

function* badBodies(title: string, url: string, fields: Record<string, unknown>): Generator<BadRequest> {
  for (const [words, payload] of Object.entries(badJsonBodies))
    yield {
      name: `${title}: body, ${words}`,
      method: 'POST',
      url,
      headers: asJson,
      ...(payload !== undefined && { payload }),
    }
  const types = Object.entries(badContentTypes).filter(([, type]) => type !== asForm['content-type'])
  for (const [words, type] of types)
    yield {
      name: `${title}: content type, ${words}`,
      method: 'POST',
      url,
      headers: { 'content-type': type },
      payload: toForm(fields),
    }
  yield { name: `${title}: form, no body`, method: 'POST', url, headers: asForm }
  yield { name: `${title}: form, 33 KiB`, method: 'POST', url, headers: asForm, payload: `a=${'x'.repeat(33 * 1024)}` }
}
