// Makes the examples of docs/reference/platform.md from requests to a sandbox and from the sandbox's responses. Values
// that differ in each run are replaced with names.
import { STATUS_CODES } from 'node:http'
import { createSandbox, type RunningSandbox } from '../src/sandbox/create-sandbox.ts'

/** Only these response headers are in the examples. */
const shownHeaders = ['content-type', 'cache-control', 'www-authenticate', 'etag', 'retry-after', 'location']

interface Call {
  method?: string
  path: string
  form?: Record<string, string>
  json?: object
  token?: string | undefined
  ifMatch?: string
  /** The part that the example leaves out, because another example shows the same part. */
  leaveOut?: 'request' | 'body of the answer'
}

/** Returns the examples as Markdown, keyed by their names. */
export async function makeExamples(): Promise<Record<string, string>> {
  let now = new Date('2026-01-01T12:00:00Z')
  const sandbox = await createSandbox({ clock: () => now })
  // The sandbox sorts groups by age, so a new group must not have the same age as the first group.
  now = new Date('2026-01-01T12:01:00Z')
  try {
    return await runExamples(sandbox)
  } finally {
    await sandbox.close()
  }
}

async function runExamples(sandbox: RunningSandbox): Promise<Record<string, string>> {
  const { portalUrl, apiUrl, client, user } = sandbox
  const redirectUri = client.redirectUris[0]!
  /** The parts of each example: its request, and in most examples its response. */
  const texts: Record<string, string[]> = {}
  /** The names that the examples show instead of values that differ in every run. */
  const names = new Map([
    [portalUrl, 'https://login.example'],
    [apiUrl, 'https://api.example'],
    [sandbox.labUrl, 'https://laboratory.example'],
    [client.id, 'CLIENT_ID'],
    [client.secret, 'CLIENT_SECRET'],
    [user.email, 'ada@example.test'],
  ])

  /**
   * Sends a request, and stores the request and its answer as the example with this name. Returns the answer's body and
   * ETag.
   */
  async function send(name: string, base: string, request: Call) {
    const { path, form, json, token, ifMatch, leaveOut } = request
    const method = request.method ?? (form || json ? 'POST' : 'GET')
    const headers = new Headers()
    if (token) headers.set('Authorization', `Bearer ${token}`)
    if (ifMatch) headers.set('If-Match', ifMatch)
    if (form) headers.set('Content-Type', 'application/x-www-form-urlencoded')
    if (json) headers.set('Content-Type', 'application/json')
    const body = form ? String(new URLSearchParams(form)) : json ? JSON.stringify(json) : null
    const answer = await fetch(base + path, { method, headers, body })
    const answerBody = await answer.text()
    const shownBody = form ? body!.replaceAll('&', '\n&') : json ? JSON.stringify(json, null, 2) : ''
    const data = answerBody ? JSON.parse(answerBody) : undefined
    const status = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`
    const hasBody = data && leaveOut !== 'body of the answer'
    const sent = message([`${method} ${path} HTTP/1.1`, `Host: ${base}`, ...linesOf(headers)], shownBody)
    const head = [status, ...linesOf(answer.headers, shownHeaders)]
    const received = message(head, hasBody ? JSON.stringify(data, null, 2) : '')
    texts[name] = leaveOut === 'request' ? [received] : [sent, received]
    return { ...data, etag: answer.headers.get('etag') ?? '' }
  }

  const askPortal = (name: string, request: Call) => send(name, portalUrl, request)
  const askApi = (name: string, request: Call) => send(name, apiUrl, request)

  await askPortal('metadata', { path: '/.well-known/oauth-authorization-server' })

  // The login.
  const state = 'Zk3v0pY1m4Qx7tRwB8dN2g'
  const start = new URLSearchParams({
    grant_type: 'authorization',
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirectUri,
    cancel_url: 'http://localhost:3000/cancelled',
    state,
  })
  texts.start = [`GET /?${String(start).replaceAll('&', '\n    &')} HTTP/1.1\nHost: ${portalUrl}`]
  const back = new URL(await sandbox.signIn(`${portalUrl}/?${start}`))
  texts.callback = [`GET ${back.pathname}${back.search.replaceAll('&', '\n    &')} HTTP/1.1\nHost: ${back.origin}`]
  const code = back.searchParams.get('code')!
  const userId = back.searchParams.get('subject')!
  names.set(code, 'CODE').set(userId, 'USER_ID')

  // The exchange.
  const credentials = { client_id: client.id, client_secret: client.secret }
  const exchange = { grant_type: 'authorization_code', code, ...credentials, redirect_uri: redirectUri, state }
  const path = '/api/exchangeToken'
  await askPortal('wrong secret', { path, form: { ...exchange, client_secret: 'not-the-secret' } })
  const tokens = await askPortal('exchange', { path, form: exchange })
  names.set(tokens.access_token, 'ACCESS_TOKEN').set(tokens.refresh_token, 'REFRESH_TOKEN')
  await askPortal('name', { path: '/api/me', token: tokens.access_token })
  const renewal = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, ...credentials }
  const renewed = await askPortal('renewal', { path, form: renewal })
  names.set(renewed.access_token, 'NEXT_ACCESS_TOKEN').set(renewed.refresh_token, 'NEXT_REFRESH_TOKEN')
  const token: string = renewed.access_token

  // Groups and applications.
  const context = 'https://standards.oftrust.net/v2/Context/Identity/'
  const group = { context: `${context}Group/`, type: 'Group', data: { name: 'Tools' } }
  const { '@id': groupId } = await askApi('group', { path: '/identities/v1', token, json: group })
  names.set(groupId, 'GROUP_ID')
  await askApi('groups', { path: `/identities/v1/${userId}/links?type=MemberOf`, token })
  const data = {
    groupId,
    name: 'Compass',
    description: '',
    webPageUrl: '',
    iconUrl: '',
    privacyPolicyUrl: '',
    redirectUris: 'https://compass.example/exchangeToken',
    defaultRedirectUri: 'https://compass.example/exchangeToken',
    scopes: '',
    defaultScopes: '',
  }
  const envelope = { context: `${context}Digital/Software/App/`, type: 'App' }
  const application = { ...envelope, data }
  const made = await askApi('create', { path: '/apps/v1', token, json: application })
  const one = `/apps/v1/${made['@id']}`
  names.set(made['@id'], 'APP_ID').set(made.client.clientSecrets[0], 'NEW_CLIENT_SECRET')
  await askApi('refused fields', {
    path: '/apps/v1',
    token,
    json: { ...envelope, data: { ...data, name: '', iconUrl: 'x' } },
  })
  await askApi('no token', { path: '/apps/v1' })
  const { etag } = await askApi('get', { path: one, token })
  const change = { name: 'Compass 2', redirectUris: data.redirectUris }
  const update: Call = { method: 'PUT', path: one, token, ifMatch: etag, json: { ...envelope, data: change } }
  await askApi('change', { ...update, leaveOut: 'body of the answer' })
  await askApi('late change', { ...update, leaveOut: 'request' })
  const { clientSecret } = await askApi('new secret', { method: 'POST', path: `${one}/refreshSecret`, token })
  names.set(clientSecret, 'NEXT_CLIENT_SECRET')
  await askApi('remove', { method: 'DELETE', path: one, token })
  await askPortal('revocation', { path: '/api/revokeToken', form: { token: renewed.refresh_token, ...credentials } })

  return Object.fromEntries(
    Object.entries(texts).map(([name, messages]) => [name, messages.map(text => toExample(text, names)).join('\n')]),
  )
}

function message(head: string[], body: string): string {
  return body ? `${head.join('\n')}\n\n${body}` : head.join('\n')
}

function linesOf(headers: Headers, shown?: string[]): string[] {
  const all = [...headers].filter(([name]) => !shown || shown.includes(name))
  return all.map(([name, value]) => `${name}: ${value}`)
}

/**
 * Replaces each value in `names` with its name. All other ids become `ID`, all other tokens become `TOKEN`, and ports
 * are removed.
 */
function toExample(text: string, names: Map<string, string>): string {
  // An address or a token may be part of a longer value, and may be percent-encoded in a form or an address.
  const longestFirst = [...names].toSorted(([one], [other]) => other.length - one.length)
  let example = text
  for (const [value, name] of longestFirst)
    example = example.replaceAll(value, name).replaceAll(encodeURIComponent(value), encodeURIComponent(name))
  example = example
    .replace(/^Host: https?:\/\//gm, 'Host: ')
    .replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'TOKEN')
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'ID')
  return `\`\`\`http\n${example}\n\`\`\`\n`
}
