// The program of a small client in plain Node. The environment variable MISTAKE selects one mistake that the client
// makes. Without MISTAKE the client is correct.
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

const { PORT, LOGIN_URL, API_URL, CLIENT_ID, CLIENT_SECRET, GROUP_ID, OTHER_GROUP_ID, MISTAKE } = process.env as Record<
  string,
  string
>

export type Mistake =
  | 'redirect URI with another path'
  | 'redirect URI with a slash at its end'
  | 'no cancel_url'
  | 'no state'
  | 'no state at the exchange'
  | 'another state at the exchange'
  | 'code exchanged twice'
  | 'code exchanged late'
  | 'wrong secret'
  | 'exchange in JSON'
  | 'exchange in the address'
  | 'opened at 127.0.0.1, registered at localhost'
  | 'PKCE challenge sent as the verifier'
  | 'no verifier'
  | 'no Bearer before the token'
  | 'expired token'
  | 'no envelope'
  | 'no groupId'
  | 'groupId of no group'
  | 'groupId of a group of others'
  | 'Strict cookie and a redirect'

const has = (mistake: Mistake) => MISTAKE === mistake

const origin = `http://localhost:${PORT}`
const callbacks: Partial<Record<Mistake, string>> = {
  'redirect URI with another path': `${origin}/callback`,
  'redirect URI with a slash at its end': `${origin}/exchangeToken/`,
}
const redirectUri = callbacks[MISTAKE as Mistake] ?? `${origin}/exchangeToken`

const random = () => randomBytes(32).toString('base64url')
const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

interface Session {
  accessToken: string
  refreshToken: string
  /** Milliseconds since 1970. */
  expiresAt: number
}

const sessions = new Map<string, Session>()

function cookieOf(request: IncomingMessage, name: string): string | undefined {
  const pairs = (request.headers.cookie ?? '').split('; ').map(pair => pair.split('='))
  return pairs.find(([key]) => key === name)?.[1]
}

function setCookie(response: ServerResponse, name: string, value: string, sameSite: 'Lax' | 'Strict'): void {
  response.appendHeader('set-cookie', `${name}=${value}; Path=/; HttpOnly; SameSite=${sameSite}`)
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { location }).end()
}

function showPage(response: ServerResponse, title: string, { main = '', head = '', status = 200 } = {}): void {
  response
    .writeHead(status, { 'content-type': 'text/html; charset=utf-8' })
    .end(`<!doctype html><title>${title}</title>${head}<h1>${title}</h1>${main}`)
}

function startLogin(response: ServerResponse): void {
  const [state, verifier] = [random(), random()]
  const parameters = new URLSearchParams({
    grant_type: 'authorization',
    response_type: 'code',
    client_id: CLIENT_ID!,
    redirect_uri: redirectUri,
    ...(!has('no cancel_url') && { cancel_url: `${origin}/cancelled` }),
    ...(!has('no state') && { state }),
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
  })
  setCookie(response, 'login', `${state}.${verifier}`, 'Lax')
  redirect(response, `${LOGIN_URL}/?${parameters}`)
}

async function callPortal(path: string, fields: Record<string, string>): Promise<Response> {
  const all = { client_id: CLIENT_ID!, client_secret: has('wrong secret') ? random() : CLIENT_SECRET!, ...fields }
  const url = `${LOGIN_URL}${path}`
  if (has('exchange in the address')) return fetch(`${url}?${new URLSearchParams(all)}`, { method: 'POST' })
  if (!has('exchange in JSON')) return fetch(url, { method: 'POST', body: new URLSearchParams(all) })
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(all) })
}

function exchangeCode(code: string, state: string, verifier: string): Promise<Response> {
  return callPortal('/api/exchangeToken', {
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    code,
    ...(!has('no state') && !has('no state at the exchange') && { state }),
    ...(has('another state at the exchange') && { state: random() }),
    ...(!has('no verifier') && { code_verifier: verifier }),
    ...(has('PKCE challenge sent as the verifier') && { code_verifier: challengeOf(verifier) }),
  })
}

async function finishLogin(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): Promise<void> {
  const [state, verifier] = (cookieOf(request, 'login') ?? '').split('.')
  const isOwn = state && verifier && (has('no state') || query.get('state') === state)
  if (query.has('error') || !isOwn) return showPage(response, 'Sign-in failed')
  // With this mistake the visitor must first follow a link. Meanwhile the test lets the code expire.
  if (has('code exchanged late') && !query.has('now'))
    return showPage(response, 'Almost there', { main: `<a href="/exchangeToken?${query}&now=1">Continue</a>` })
  const code = query.get('code') ?? ''
  const answer = await exchangeCode(code, state, verifier)
  if (has('code exchanged twice')) await exchangeCode(code, state, verifier)
  const tokens = (await answer.json()) as Tokens
  if (answer.status !== 200) return showPage(response, 'Sign-in failed')
  const id = random()
  keepTokens(id, tokens)
  setCookie(response, 'session', id, 'Strict')
  if (has('Strict cookie and a redirect')) return redirect(response, '/')
  showPage(response, 'Signing in', { head: '<meta http-equiv="refresh" content="0; url=/">' })
}

interface Tokens {
  access_token: string
  refresh_token: string
  expires_in: number
}

function keepTokens(id: string, { access_token, refresh_token, expires_in }: Tokens): void {
  const expiresAt = Date.now() + expires_in * 1000
  sessions.set(id, { accessToken: access_token, refreshToken: refresh_token, expiresAt })
}

/** Returns the access token of a session. If the token expires within half a minute, the client renews it first. */
async function tokenOf(id: string): Promise<string> {
  const session = sessions.get(id)!
  if (session.expiresAt - Date.now() < 30_000 && !has('expired token')) {
    const fields = { grant_type: 'refresh_token', refresh_token: session.refreshToken }
    const answer = await callPortal('/api/exchangeToken', fields)
    if (answer.status === 200) keepTokens(id, (await answer.json()) as Tokens)
  }
  return sessions.get(id)!.accessToken
}

async function callApi(id: string, method: string, path: string, body?: object): Promise<Response> {
  const token = await tokenOf(id)
  const authorization = has('no Bearer before the token') ? token : `Bearer ${token}`
  if (!body) return fetch(API_URL + path, { method, headers: { authorization } })
  const headers = { authorization, 'content-type': 'application/json' }
  return fetch(API_URL + path, { method, headers, body: JSON.stringify(body) })
}

async function showHome(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = cookieOf(request, 'session')
  if (!id || !sessions.has(id)) {
    if (has('Strict cookie and a redirect')) return redirect(response, '/login')
    return showPage(response, 'Welcome', { main: '<a href="/login">Sign in</a>' })
  }
  const answer = await callApi(id, 'GET', '/apps/v1')
  const buttons = ['create', 'logout'].map(
    name => `<form method="post" action="/${name}"><button>${name}</button></form>`,
  )
  const title = answer.status === 200 ? 'Your applications' : 'The list cannot be shown'
  showPage(response, title, { main: buttons.join('') })
}

async function create(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const groups: Partial<Record<Mistake, string>> = {
    'groupId of no group': 'the-first-group',
    'groupId of a group of others': OTHER_GROUP_ID!,
  }
  const data = {
    ...(!has('no groupId') && { groupId: groups[MISTAKE as Mistake] ?? GROUP_ID! }),
    name: 'Weather',
    description: 'Shows the weather.',
    webPageUrl: 'https://weather.example.test/',
    iconUrl: 'https://weather.example.test/icon.png',
    privacyPolicyUrl: 'https://weather.example.test/privacy',
    redirectUris: 'https://weather.example.test/exchangeToken',
    defaultRedirectUri: 'https://weather.example.test/exchangeToken',
    scopes: '',
    defaultScopes: '',
  }
  const context = 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/'
  const envelope = { context, type: 'App', data }
  const answer = await callApi(
    cookieOf(request, 'session') ?? '',
    'POST',
    '/apps/v1',
    has('no envelope') ? data : envelope,
  )
  showPage(response, answer.status === 201 ? 'Created' : 'Not created', { main: '<a href="/">Back</a>' })
}

async function signOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = cookieOf(request, 'session') ?? ''
  const session = sessions.get(id)
  sessions.delete(id)
  if (session) await callPortal('/api/revokeToken', { token: session.refreshToken })
  showPage(response, 'Signed out')
}

createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', origin)
  const route = `${request.method} ${pathname}`
  if (route === 'GET /') await showHome(request, response)
  else if (route === 'GET /login') startLogin(response)
  else if (route === 'GET /exchangeToken') await finishLogin(request, response, searchParams)
  else if (route === 'GET /cancelled')
    showPage(response, 'You did not sign in', { main: '<a href="/login">Sign in</a>' })
  else if (route === 'POST /create') await create(request, response)
  else if (route === 'POST /logout') await signOut(request, response)
  else showPage(response, 'Not found', { status: 404 })
}).listen(Number(PORT), '127.0.0.1', () => process.stdout.write('listening\n'))
