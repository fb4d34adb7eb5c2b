// Another correct client. It is built differently from the small client wherever possible: sessions in memory, other
// addresses, JSON instead of pages, a token in each form, Lax cookies and redirects, no PKCE and no renewal.
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Settings } from './visit.ts'

type Visitor = { token: string; endsAt: number; formToken: string }
type Begun = { browser: string; next: string; endsAt: number }
type Answer = { status: number; json?: unknown; html?: string; headers?: Record<string, string>; cookies?: string[] }

const random = () => randomBytes(24).toString('hex')
const common = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'",
  'referrer-policy': 'strict-origin-when-cross-origin',
  'x-content-type-options': 'nosniff',
}

/** The options with which the conformance command judges this client. */
export const otherClientOptions = [
  ...['--login', '/auth/start', '--callback', '/auth/done', '--page', '/my/apps.json', '--logout', 'POST /auth/leave'],
  ...['--create', '/my/apps/add', '--return-to', 'next'],
]

/** Returns a server that does not listen yet. */
export function buildOtherClient(settings: Settings): Server {
  const { publicUrl, loginUrl, apiUrl, clientId, clientSecret } = settings
  const callback = `${publicUrl}/auth/done`
  const begun = new Map<string, Begun>()
  const visitors = new Map<string, Visitor>()
  const forms = new Set<string>()

  const server = createServer(async (request, response) => {
    const url = URL.parse(publicUrl + (request.url ?? '/'))
    const answer: Answer = url
      ? await route(request, url).catch(() => ({
          status: 502,
          json: { problem: 'Something went wrong. Try again later.' },
        }))
      : { status: 400 }
    const { status, json, html, headers, cookies } = answer
    const type = html === undefined ? 'application/json; charset=utf-8' : 'text/html; charset=utf-8'
    response.writeHead(status, {
      ...common,
      'content-type': type,
      ...headers,
      ...(cookies && { 'set-cookie': cookies }),
    })
    response.end(html ?? JSON.stringify(json ?? { status }))
    settings.print(`${request.method} ${status}`)
  })
  server.on('checkExpectation', (_request, response) => response.writeHead(417, common).end())
  // The answer to a request that the HTTP parser refuses.
  server.on('clientError', (_error, socket) => {
    if (!socket.writable) return void socket.destroy()
    socket.end(
      'HTTP/1.1 400 Bad Request\r\nconnection: close\r\nx-content-type-options: nosniff\r\ncontent-length: 0\r\n\r\n',
    )
  })
  return server

  async function route(request: IncomingMessage, { pathname, searchParams }: URL): Promise<Answer> {
    const cookies = cookiesOf(request)
    const visitor = visitorOf(cookies.get('sid'))
    switch (`${request.method} ${pathname}`) {
      case 'HEAD /':
      case 'GET /':
        return {
          status: 200,
          html: '<!doctype html><title>Apps</title><a href="/auth/start">Enter</a> <a href="/my">Me</a>',
        }
      case 'GET /auth/start':
        return start(cookies.get('browser'), searchParams.get('next') ?? '')
      case 'GET /auth/done':
        return finish(cookies.get('browser'), searchParams)
      case 'GET /auth/declined':
        return { status: 200, json: { message: 'You have not signed in.' } }
      case 'GET /my/apps.json':
        return visitor ? show(visitor, cookies.get('sid')!) : { status: 401, json: { signIn: '/auth/start' } }
      case 'GET /my':
        return visitor
          ? { status: 200, html: leaveForm(visitor) }
          : { status: 303, headers: { location: '/auth/start' } }
      case 'GET /my/apps/add':
        return visitor ? { status: 200, html: addForm(visitor) } : { status: 303, headers: { location: '/auth/start' } }
      case 'POST /my/apps/add':
        return add(visitor, await formOf(request))
      case 'POST /auth/leave':
        return leave(cookies.get('sid'), visitor, await formOf(request))
      default:
        return { status: 404, json: { message: 'There is nothing here.' } }
    }
  }

  /** Keeps the login in memory, together with the value of the cookie that identifies the browser. */
  function start(known: string | undefined, next: string): Answer {
    const state = random()
    const browser = known && /^[0-9a-f]{48}$/.test(known) ? known : random()
    for (const [key, login] of begun) if (login.endsAt < Date.now()) begun.delete(key)
    begun.set(state, { browser, next: isLocal(next) ? next : '/my/apps.json', endsAt: Date.now() + 300_000 })
    const query = new URLSearchParams({
      response_type: 'code',
      grant_type: 'authorization',
      client_id: clientId,
      redirect_uri: callback,
      cancel_url: `${publicUrl}/auth/declined`,
      state,
    })
    return {
      status: 303,
      headers: { location: `${loginUrl}/?${query}` },
      cookies: [`browser=${browser}; Path=/auth; HttpOnly; Secure; SameSite=Lax; Max-Age=300`],
    }
  }

  async function finish(browser: string | undefined, query: URLSearchParams): Promise<Answer> {
    const names = [...query.keys()]
    const state = query.get('state') ?? ''
    const login = begun.get(state)
    const isOurs = login && browser && login.browser === browser && login.endsAt > Date.now()
    if (new Set(names).size !== names.length || !isOurs)
      return { status: 400, json: { message: 'Please start again.' } }
    begun.delete(state)
    const [code, subject] = [query.get('code') ?? '', query.get('subject') ?? '']
    const isUsableCallback = [code, subject].every(text => /^[\w-]{1,2000}$/.test(text))
    if (query.has('error') || query.get('client_id') !== clientId || !isUsableCallback)
      return { status: 400, json: { message: 'You were not signed in. Please start again.' } }
    const tokens = await post(`${loginUrl}/api/exchangeToken`, {
      grant_type: 'authorization_code',
      code,
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uri: callback,
      state,
    })
    const { access_token: token, token_type: type, expires_in: seconds } = tokens
    const isUsable =
      typeof token === 'string' && /^[\w.~+/=-]+$/.test(token) && typeof seconds === 'number' && seconds > 0
    if (tokens.state !== state || !isUsable || `${type}`.toLowerCase() !== 'bearer')
      return { status: 502, json: { message: 'The portal did not answer as it should.' } }
    const sid = random()
    const lasts = Math.floor(Math.min(seconds, 34_560_000))
    visitors.set(sid, { token, endsAt: Date.now() + lasts * 1000, formToken: random() })
    return {
      status: 303,
      headers: { location: login.next, 'referrer-policy': 'no-referrer' },
      // This cookie is allowed to live longer than the access token, because it contains no token, and the session on
      // the server ends with the access token.
      cookies: [`sid=${sid}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=2592000`],
    }
  }

  function visitorOf(sid: string | undefined): Visitor | undefined {
    const visitor = visitors.get(sid ?? '')
    if (visitor && visitor.endsAt > Date.now()) return visitor
    visitors.delete(sid ?? '')
    return undefined
  }

  async function show(visitor: Visitor, sid: string): Promise<Answer> {
    const { status, json } = await ask('GET', `${apiUrl}/apps/v1`, { authorization: `Bearer ${visitor.token}` })
    if (status === 401) visitors.delete(sid)
    if (status !== 200)
      return { status: status === 401 || status === 403 ? status : 502, json: { signIn: '/auth/start' } }
    const items = (json as { ItemList?: unknown } | null)?.ItemList
    if (!Array.isArray(items)) return { status: 502, json: { message: 'The API did not answer as it should.' } }
    return { status: 200, json: { apps: items.map(item => ({ name: `${item?.data?.name ?? ''}` })) } }
  }

  async function add(visitor: Visitor | undefined, form: URLSearchParams | undefined): Promise<Answer> {
    if (!visitor) return { status: 401, json: { signIn: '/auth/start' } }
    if (form?.get('token') !== visitor.formToken)
      return { status: 403, json: { message: 'This form was not sent from here.' } }
    const id = form.get('once') ?? ''
    if (!forms.delete(id)) return { status: 409, json: { message: 'This was sent before. Look at your list.' } }
    const { token: _, once: __, ...data } = Object.fromEntries(form)
    if (!data.defaultRedirectUri) delete data.defaultRedirectUri
    const body = JSON.stringify({
      context: 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/',
      type: 'App',
      data,
    })
    const headers = { authorization: `Bearer ${visitor.token}`, 'content-type': 'application/json' }
    const { status, json } = await ask('POST', `${apiUrl}/apps/v1`, headers, body)
    if (status === 401) return { status: 401, json: { signIn: '/auth/start' } }
    if (status === 201) return { status: 200, json: { made: (json as { client?: unknown } | null)?.client ?? {} } }
    return {
      status: status === 422 ? 422 : 502,
      json: { message: 'The application was perhaps not made. Look at your list.' },
    }
  }

  function leave(sid: string | undefined, visitor: Visitor | undefined, form: URLSearchParams | undefined): Answer {
    const gone = ['sid=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0']
    if (visitor && form?.get('token') !== visitor.formToken)
      return { status: 403, json: { message: 'This form was not sent from here.' } }
    visitors.delete(sid ?? '')
    // Deletes the cookie only if the request has a session. Otherwise, another site could sign the visitor out with a
    // form: the form arrives without the cookie, but the answer would delete the cookie.
    return { status: 303, headers: { location: '/' }, ...(visitor && { cookies: gone }) }
  }

  function leaveForm({ formToken }: Visitor): string {
    return `<!doctype html><title>Me</title><form method="post" action="/auth/leave"><input type="hidden" name="token" value="${formToken}"><button>Leave</button></form>`
  }

  function addForm({ formToken }: Visitor): string {
    const once = random()
    forms.add(once)
    const names = [
      'groupId',
      'name',
      'description',
      'webPageUrl',
      'iconUrl',
      'privacyPolicyUrl',
      'redirectUris',
      'scopes',
      'defaultScopes',
    ]
    const inputs = names.map(name => `<p>${name} <input name="${name}"></p>`).join('')
    return `<!doctype html><title>Add</title><form method="post"><input type="hidden" name="token" value="${formToken}"><input type="hidden" name="once" value="${once}">${inputs}<input type="submit" value="Add"></form>`
  }
}

async function post(url: string, fields: Record<string, string>): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const { status, json } = await ask('POST', url, headers, new URLSearchParams(fields).toString())
  return status === 200 && typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {}
}

/**
 * Opens a new connection for each call, because the platform may close an idle connection at any time. Rejects if the
 * answer is not JSON, is too large or comes too late.
 */
async function ask(method: string, url: string, headers: Record<string, string>, body?: string) {
  const response = await fetch(url, {
    method,
    headers: { ...headers, connection: 'close' },
    signal: AbortSignal.timeout(3000),
    redirect: 'error',
    ...(body !== undefined && { body }),
  })
  let text = ''
  let size = 0
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > 4_000_000) throw new Error('too much')
    text += decoder.decode(chunk, { stream: true })
  }
  return { status: response.status, json: JSON.parse(text || 'null') as unknown }
}

/** Returns undefined if the body is not a form or is too large. */
async function formOf(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > 50_000) return undefined
  }
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded')
  return isForm ? new URLSearchParams(text) : undefined
}

function isLocal(path: string): boolean {
  return /^\/(?!\/)[\w/.?=&%-]*$/.test(path) && !path.includes('//') && !path.includes('..') && path.length < 300
}

/** If several cookies have the same name, the client uses the last value. */
function cookiesOf({ headers }: IncomingMessage): Map<string, string> {
  const pairs = (headers.cookie ?? '').split(';').map(pair => pair.trim().split(/=(.*)/s))
  return new Map(pairs.map(([name = '', value = '']) => [name, value]))
}
