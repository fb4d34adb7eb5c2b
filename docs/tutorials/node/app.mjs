// A client of the platform: sign in, list applications, create one, sign out.
import { createHash, randomUUID } from 'node:crypto'
import cookies from '@fastify/cookie'
import forms from '@fastify/formbody'
import fastify from 'fastify'
import { EncryptJWT, jwtDecrypt } from 'jose'
import * as openid from 'openid-client'

const { LOGIN_URL, API_URL, CLIENT_ID, CLIENT_SECRET, SESSION_KEY, PORT = '3000' } = process.env
const { PUBLIC_URL = `http://localhost:${PORT}` } = process.env
const redirectUri = `${PUBLIC_URL}/exchangeToken`
const cancelUrl = `${PUBLIC_URL}/cancelled`
// Each login is sealed with these settings. If one of them changes, the client refuses the logins that began before.
const settings = [LOGIN_URL, CLIENT_ID, redirectUri].join(' ')

// Fastify's own request log is off, because it contains addresses, and the address of the callback contains the code.
const app = fastify({ logger: true, disableRequestLogging: true, bodyLimit: 64 * 1024, exposeHeadRoutes: false })
await app.register(cookies)
await app.register(forms)

// ---- Calls to the platform ---------------------------------------------------------------------------------------------

/** Thrown when the session is over and the visitor has to sign in again. */
class SignedOut extends Error {}

/** Thrown when the platform does not give a usable answer. The visitor can try again. */
class PlatformFault extends Error {}

/** Logs only names and messages, because the errors of openid-client also contain the parameters of the callback. */
function logFault(request, error) {
  const cause = error.cause?.message
  request.log.warn({ code: error.code, cause }, error.message)
}

const maxBytes = 8 * 1024 * 1024

/** Calls fetch with limits: ten seconds for the whole answer, 8 MB, no redirects. */
async function boundedFetch(url, options = {}) {
  const response = await fetch(url, { ...options, redirect: 'manual', signal: AbortSignal.timeout(10_000) })
  const chunks = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new PlatformFault('The answer has more than 8 MB')
    chunks.push(chunk)
  }
  const { status, headers } = response
  const hasBody = ![101, 204, 205, 304].includes(status)
  return new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers })
}

const platform = new openid.Configuration(
  {
    issuer: LOGIN_URL,
    authorization_endpoint: `${LOGIN_URL}/`,
    token_endpoint: `${LOGIN_URL}/api/exchangeToken`,
    revocation_endpoint: `${LOGIN_URL}/api/revokeToken`,
    code_challenge_methods_supported: ['S256'],
  },
  CLIENT_ID,
  undefined,
  openid.ClientSecretPost(CLIENT_SECRET),
)
platform[openid.customFetch] = boundedFetch
// The sandbox uses plain http. Leave this line out for a platform on https.
if (LOGIN_URL.startsWith('http:')) openid.allowInsecureRequests(platform)

// ---- Pages -------------------------------------------------------------------------------------------------------------

const escapeHtml = text => String(text).replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
const signOutForm = '<form method="post" action="/logout"><button>Sign out</button></form>'

function page(reply, title, content, { status = 200, head = '' } = {}) {
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .send(
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>` +
        `<meta name="viewport" content="width=device-width, initial-scale=1">${head}</head>` +
        `<body><main><h1>${escapeHtml(title)}</h1>${content}</main></body></html>`,
    )
}

const signInPage = (reply, title, status) => page(reply, title, '<p><a href="/login">Sign in</a></p>', { status })
const goOn = path => `<meta http-equiv="refresh" content="0; url=${escapeHtml(path)}">`
const pathOf = request => request.url.split('?')[0]

app.addHook('onRequest', async (request, reply) => {
  reply.headers({
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    // The address of the callback contains the code.
    'referrer-policy': pathOf(request) === '/exchangeToken' ? 'no-referrer' : 'same-origin',
  })
  // Browsers send Origin with every POST from a page.
  if (request.method === 'POST' && request.headers.origin !== PUBLIC_URL)
    return page(reply, 'This form came from another site', '', { status: 403 })
})

app.setErrorHandler((error, request, reply) => {
  if (error instanceof SignedOut) {
    // A link on another site led here, so the browser did not send its Strict cookies. This page opens the address
    // again, and the browser then sends them.
    if (request.method === 'GET' && request.headers['sec-fetch-site'] === 'cross-site')
      return page(reply, 'One moment', '', { head: goOn(pathOf(request)) })
    endSession(reply)
    return signInPage(reply, 'You are not signed in', 401)
  }
  logFault(request, error)
  if (error.statusCode >= 400 && error.statusCode < 500)
    return page(reply, 'This request cannot be read', '', { status: error.statusCode })
  const again = `<p><a href="${escapeHtml(pathOf(request))}">Try again</a></p>`
  return page(reply, 'The platform does not answer as it should', again + signOutForm, { status: 502 })
})

// ---- Cookies -----------------------------------------------------------------------------------------------------------

const key = createHash('sha256').update(SESSION_KEY).digest()
const maxSeconds = 400 * 24 * 60 * 60
const flags = { path: '/', secure: true, httpOnly: true }

/** Encrypts the value for one cookie. `unseal` accepts the result only in this cookie, and only during its lifetime. */
async function seal(name, value, seconds) {
  return await new EncryptJWT(value)
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .setAudience(name)
    .setExpirationTime(Math.floor(Date.now() / 1000) + seconds)
    .encrypt(key)
}

/** Returns the sealed value. Returns undefined if we did not seal this string, or if it has expired. */
async function unseal(name, text) {
  try {
    const { payload } = await jwtDecrypt(text ?? '', key, { audience: name, keyManagementAlgorithms: ['dir'] })
    return payload
  } catch {
    return undefined
  }
}

// Each login has a cookie whose name contains the state, so that several tabs can sign in at the same time. The cookie
// is Lax, because the browser must send it when the portal redirects.
const loginCookie = state => `__Host-login-${state}`
const isLoginCookie = name => name.startsWith('__Host-login-')

// The refresh token lives longer than the access token, so it has a separate cookie.
const sessionCookie = '__Host-session'
const refreshCookie = '__Host-refresh'
const refreshSeconds = 14 * 24 * 60 * 60
// Browsers do not keep a cookie of more than 4,096 bytes. Sealing makes a token a third longer.
const maxToken = 2700

async function readSession({ cookies }) {
  const session = await unseal(sessionCookie, cookies[sessionCookie])
  const refresh = await unseal(refreshCookie, cookies[refreshCookie])
  if (session) return { ...session, refreshToken: refresh?.refreshToken, refreshEndsAt: refresh?.refreshEndsAt }
  if (refresh) return { ...refresh, accessToken: '', endsAt: 0 }
  return undefined
}

/** Sets the cookies. Each cookie lives as long as its token, and browsers send it only from our own pages. */
async function keepSession(reply, { accessToken, endsAt, refreshToken, refreshEndsAt, sessionId }) {
  const seconds = Math.round((endsAt - Date.now()) / 1000)
  const session = await seal(sessionCookie, { accessToken, endsAt, sessionId }, seconds)
  reply.setCookie(sessionCookie, session, { ...flags, sameSite: 'strict', maxAge: seconds })
  if (!refreshToken) return
  // A renewal does not extend the lifetime of this cookie. Otherwise a stolen copy could be used forever.
  const secondsLeft = Math.round((refreshEndsAt - Date.now()) / 1000)
  const refresh = await seal(refreshCookie, { refreshToken, refreshEndsAt, sessionId }, secondsLeft)
  reply.setCookie(refreshCookie, refresh, { ...flags, sameSite: 'strict', maxAge: secondsLeft })
}

function endSession(reply) {
  for (const name of [sessionCookie, refreshCookie]) reply.clearCookie(name, { ...flags, sameSite: 'strict' })
}

/** Returns the values that we keep from the portal's answer. openid-client has checked the status and the token_type. */
function readTokens(answer) {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = answer
  if (typeof seconds !== 'number' || seconds <= 0) throw new PlatformFault('The token has no lifetime')
  if (!/^[\x21-\x7e]+$/.test(accessToken)) throw new PlatformFault('The access token does not fit into a header')
  if (accessToken.length > maxToken || (refreshToken ?? '').length > maxToken)
    throw new PlatformFault('A token does not fit into a cookie')
  return { accessToken, refreshToken, endsAt: Date.now() + Math.min(seconds, maxSeconds) * 1000 }
}

// ---- Signing in --------------------------------------------------------------------------------------------------------

app.get('/', (_request, reply) =>
  page(
    reply,
    'Applications',
    '<p><a href="/applications">Your applications</a></p><p><a href="/login">Sign in</a></p>',
  ),
)

app.get('/login', async (request, reply) => {
  // The client keeps at most five pending logins, because the browser sends the cookies of all of them.
  for (const name of Object.keys(request.cookies).filter(isLoginCookie).slice(0, -4))
    reply.clearCookie(name, { ...flags, sameSite: 'lax' })
  const state = openid.randomState()
  const verifier = openid.randomPKCECodeVerifier()
  const name = loginCookie(state)
  reply.setCookie(name, await seal(name, { verifier, settings }, 600), { ...flags, sameSite: 'lax', maxAge: 600 })
  const url = openid.buildAuthorizationUrl(platform, {
    // The platform requires two parameters that OAuth does not define.
    grant_type: 'authorization',
    cancel_url: cancelUrl,
    redirect_uri: redirectUri,
    state,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  return reply.redirect(url.href, 302)
})

app.get('/cancelled', (_request, reply) => signInPage(reply, 'You did not sign in', 200))

app.get('/exchangeToken', async (request, reply) => {
  const refuse = () => signInPage(reply, 'This is not the answer to a login of this browser', 400)
  const address = new URL(request.url, PUBLIC_URL)
  const state = address.searchParams.get('state')
  const name = loginCookie(state)
  const login = await unseal(name, request.cookies[name])
  if (login?.settings !== settings) return refuse()
  reply.clearCookie(name, { ...flags, sameSite: 'lax' })
  // Every code consists of printable ASCII characters. A callback with an error has no code.
  if (!/^[\x20-\x7e]{0,2048}$/.test(address.searchParams.get('code') ?? '')) return refuse()
  if ((address.searchParams.get('subject') ?? '').length > 2048) return refuse()
  if ((address.searchParams.get('client_id') ?? CLIENT_ID) !== CLIENT_ID) return refuse()
  if (new Set(address.searchParams.keys()).size !== address.searchParams.size) return refuse()

  let answer
  try {
    // openid-client compares state and iss and sends the verifier. The platform also needs the state in the exchange.
    const checks = { expectedState: state, pkceCodeVerifier: login.verifier }
    answer = await openid.authorizationCodeGrant(platform, address, checks, { state })
  } catch (error) {
    logFault(request, error)
    const isRefused = error instanceof openid.AuthorizationResponseError || error.code === 'OAUTH_INVALID_RESPONSE'
    if (isRefused || error instanceof openid.ResponseBodyError) return refuse()
    throw new PlatformFault('The exchange failed', { cause: error })
  }
  if (answer.state !== state) throw new PlatformFault('The answer belongs to another login')
  const refreshEndsAt = Date.now() + refreshSeconds * 1000
  await keepSession(reply, { ...readTokens(answer), refreshEndsAt, sessionId: randomUUID() })
  // A page and not a redirect: browsers do not send a Strict cookie after a redirect that began at the portal.
  return page(reply, 'You are signed in', '<p><a href="/applications">Go on</a></p>', { head: goOn('/applications') })
})

app.post('/logout', async (request, reply) => {
  const session = await readSession(request)
  endSession(reply)
  for (const name of Object.keys(request.cookies).filter(isLoginCookie))
    reply.clearCookie(name, { ...flags, sameSite: 'lax' })
  if (session)
    await openid
      .tokenRevocation(platform, session.refreshToken ?? session.accessToken)
      .catch(error => logFault(request, error))
  return signInPage(reply, 'You are signed out', 200)
})

// ---- Calling the API ---------------------------------------------------------------------------------------------------

const shared = new Map()

/** Runs `work` for the first request with this key. Requests that come later get the same promise. */
function once(id, work) {
  if (!shared.has(id)) {
    for (const old of [...shared.keys()].slice(0, -1000)) shared.delete(old)
    shared.set(id, work())
  }
  return shared.get(id)
}

/** Returns new tokens. Requests with the same refresh token share one renewal, because it replaces the token. */
async function renew({ refreshToken, refreshEndsAt, sessionId }) {
  if (!refreshToken) throw new SignedOut()
  const id = createHash('sha256').update(refreshToken).digest('hex')
  try {
    const answer = await once(id, () => openid.refreshTokenGrant(platform, refreshToken))
    return { refreshToken, ...withoutUndefined(readTokens(answer)), refreshEndsAt, sessionId }
  } catch (error) {
    // The next request tries to renew again.
    shared.delete(id)
    // Only these errors and statuses end a session. After any other failure, such as a 503 answer, the visitor stays
    // signed in.
    const final = ['invalid_grant', 'unauthorized_client', 'unsupported_grant_type', 404, 405, 501]
    const isRefusal = error instanceof openid.ResponseBodyError
    const status = isRefusal ? error.status : error.cause?.status
    if (final.includes(status) || (isRefusal && final.includes(error.error))) throw new SignedOut()
    throw new PlatformFault('The renewal failed', { cause: error })
  }
}

const withoutUndefined = object => JSON.parse(JSON.stringify(object))

app.decorateRequest('session', null)

/** Runs before each page that needs a session. Renews a session that is about to end. */
async function requireSession(request, reply) {
  request.session = await readSession(request)
  if (!request.session) throw new SignedOut()
  if (request.session.endsAt < Date.now() + 30_000 && request.session.refreshToken) await renewSession(request, reply)
}

async function renewSession(request, reply) {
  request.session = await renew(request.session)
  await keepSession(reply, request.session)
}

/**
 * Calls the platform for the visitor. Returns the status and the JSON. If the API refuses the token, the function
 * renews the session once.
 */
async function call(request, reply, method, url, body, mayRenew = true) {
  const headers = { authorization: `Bearer ${request.session.accessToken}` }
  if (body) headers['content-type'] = 'application/json'
  let status
  let answer
  try {
    const response = await boundedFetch(url, { method, headers, body: body && JSON.stringify(body) })
    status = response.status
    if (status !== 401) answer = await response.json()
  } catch (error) {
    throw new PlatformFault('No usable answer', { cause: error })
  }
  if (status !== 401) return { status, answer }
  if (!mayRenew) throw new SignedOut()
  await renewSession(request, reply)
  return call(request, reply, method, url, body, false)
}

/** Returns the valid records of a list, and leaves out all other values. */
function readList({ status, answer }) {
  if (status !== 200 || !Array.isArray(answer?.ItemList)) throw new PlatformFault(`The list came with status ${status}`)
  return answer.ItemList.filter(item => typeof item === 'object' && item !== null)
}

const textOf = value => (typeof value === 'string' ? value : '')

app.get('/applications', { onRequest: requireSession }, async (request, reply) => {
  const list = readList(await call(request, reply, 'GET', `${API_URL}/apps/v1`))
  const rows = list.map(({ data }) => `<li>${escapeHtml(textOf(data?.name) || 'Unnamed')}</li>`).join('')
  const content = rows ? `<ul>${rows}</ul>` : '<p>You have no applications yet.</p>'
  const create = '<p><a href="/applications/new">New application</a></p>'
  return page(reply, 'Your applications', content + create + signOutForm)
})

// ---- Creating an application -------------------------------------------------------------------------------------------

const labels = {
  name: 'Name',
  description: 'Description',
  webPageUrl: 'Web page',
  iconUrl: 'Icon',
  privacyPolicyUrl: 'Privacy policy',
  redirectUris: 'Redirect URIs, separated by commas',
  scopes: 'Scopes',
  defaultScopes: 'Default scopes',
}
const envelope = { context: 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/', type: 'App' }

async function loadGroups(request, reply) {
  const { answer: person } = await call(request, reply, 'GET', `${LOGIN_URL}/api/me`)
  const personId = person?.['@id']
  if (typeof personId !== 'string') throw new PlatformFault('The portal does not say who this is')
  const path = `/identities/v1/${encodeURIComponent(personId)}/links?type=MemberOf`
  const links = readList(await call(request, reply, 'GET', API_URL + path))
  return links.map(({ to, data }) => ({ id: textOf(to), name: textOf(data?.name) })).filter(({ id }) => id)
}

/** Returns the page with the form. It shows the typed values, and can create only one application for this visitor. */
async function formPage(request, reply, values, problems, status) {
  const token = await seal('form', { formId: randomUUID(), sessionId: request.session.sessionId }, 3600)
  const groups = await loadGroups(request, reply)
  const options = groups.map(
    ({ id, name }) =>
      `<option value="${escapeHtml(id)}"${id === values.groupId ? ' selected' : ''}>${escapeHtml(name || id)}</option>`,
  )
  const fields = Object.entries(labels).map(
    ([name, label]) =>
      `<p><label>${label}<br><input name="${name}" value="${escapeHtml(textOf(values[name]))}"></label></p>`,
  )
  const listed = problems.map(problem => `<li>${escapeHtml(problem)}</li>`).join('')
  const content =
    `<ul role="alert">${listed}</ul><form method="post" action="/applications">` +
    `<input type="hidden" name="form" value="${token}">` +
    `<p><label>Group<br><select name="groupId" required><option value="">Choose a group</option>` +
    `${options.join('')}</select></label></p>${fields.join('')}` +
    `<button>Create</button></form>${signOutForm}`
  return { title: 'New application', content, status }
}

app.get('/applications/new', { onRequest: requireSession }, async (request, reply) => {
  const { title, content } = await formPage(request, reply, {}, [], 200)
  return page(reply, title, content)
})

app.post('/applications', { onRequest: requireSession }, async (request, reply) => {
  const values = request.body ?? {}
  const token = await unseal('form', textOf(values.form))
  const { title, content, status } =
    token?.sessionId === request.session.sessionId
      ? // Browsers send a form again if the connection breaks, and people press a button twice.
        await once(token.formId, () => createFromForm(request, reply, values))
      : await formPage(request, reply, values, ['This form is too old. Check it and send it again.'], 400)
  return page(reply, title, content, { status })
})

/** Returns the title, content and status of the page that answers the form. */
async function createFromForm(request, reply, values) {
  const data = Object.fromEntries(['groupId', ...Object.keys(labels)].map(name => [name, textOf(values[name])]))
  let client
  try {
    const { status, answer } = await call(request, reply, 'POST', `${API_URL}/apps/v1`, { ...envelope, data })
    if ([400, 403, 404, 409, 422].includes(status)) return formPage(request, reply, values, problemsIn(answer), status)
    client = answer.client
    if (typeof client.clientSecrets[0] !== 'string') throw new PlatformFault(`The API answered with ${status}`)
  } catch (error) {
    if (error instanceof SignedOut) throw error
    logFault(request, error)
    // The API may have created the application. Sending the form again must not create a second application.
    const link = '<p><a href="/applications">Check whether it is in the list</a> before you create it again.</p>'
    return { title: 'It is not known whether the application was created', content: link + signOutForm, status: 502 }
  }
  const content =
    `<p>Copy the secret now. It is shown only once.</p><dl><dt>Client ID</dt><dd>${escapeHtml(textOf(client.clientId))}</dd>` +
    `<dt>Client secret</dt><dd>${escapeHtml(client.clientSecrets[0])}</dd></dl>` +
    `<p><a href="/applications">Your applications</a></p>${signOutForm}`
  return { title: 'The application was created', content, status: 200 }
}

/** Returns the sentences of a refusal. A refusal has one sentence, or a list of sentences for each field. */
function problemsIn(answer) {
  const message = answer?.error?.message
  if (typeof message !== 'object' || message === null) return [textOf(message) || 'The API refused this application.']
  return Object.entries(message).map(([field, texts]) => `${labels[field] ?? field}: ${[texts].flat().join(' ')}`)
}

await app.listen({ host: 'localhost', port: Number(PORT) })
