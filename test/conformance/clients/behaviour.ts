// The correct behaviour of the small client, at each point where real clients make mistakes. A mistake replaces one or
// more of these functions and values.
import { createHash, randomBytes } from 'node:crypto'
import type { Server, ServerOptions, ServerResponse } from 'node:http'
import { type Application, type Group, goOn, page } from './pages.ts'
import { type Call, call, callApi, callPortal, isRecord } from './platform.ts'
import { cookieOf } from './requests.ts'
import { seal, unseal } from './seal.ts'
import {
  type Answer,
  type Callback,
  type Login,
  PlatformError,
  Refusal,
  type Session,
  type Settings,
  type Tokens,
  type Visit,
} from './visit.ts'

export interface Behaviour extends CorrectBehaviour {}
type CorrectBehaviour = typeof correct
type RequestRedirects = 'manual' | 'follow'

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
const random = () => randomBytes(32).toString('base64url')
const loginPrefix = '__Host-login-'
const longestCookie = 4096
const longestLifetimeSeconds = 400 * 86_400

export const correct = {
  // ---- Starting a login
  startMethods: ['GET'] as string[],
  newState: (_: Visit): string => random(),
  newVerifier: (_: Visit): string => random(),
  startQuery({ settings }: Visit, state: string, verifier: string): URLSearchParams {
    return new URLSearchParams({
      grant_type: 'authorization',
      response_type: 'code',
      client_id: settings.clientId,
      redirect_uri: settings.redirectUri,
      cancel_url: `${settings.publicUrl}/cancelled`,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
  },
  portalStart: ({ settings }: Visit): string => `${settings.loginUrl}/`,
  isNavigation({ headers }: Visit): boolean {
    const isDocument = (headers['sec-fetch-dest'] ?? 'document') === 'document'
    return isDocument && !String(headers['sec-purpose'] ?? '').includes('prefetch')
  },
  /**
   * Returns a safe return address. Accepts only some characters and uses the parsed path, because browsers remove tabs
   * and turn backslashes into slashes.
   */
  localPath(text: string | null, { settings }: Visit): string {
    const url = text && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,200}$/.test(text) && URL.parse(text, settings.publicUrl)
    if (!url || url.origin !== settings.publicUrl || url.pathname.startsWith('//')) return '/applications'
    return url.pathname + url.search
  },
  afterStart: (_visit: Visit, answer: Answer): Answer => answer,
  mostLogins: 5,
  loginAttributes: 'Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=600',
  /** Each login has its own cookie, so that several tabs can have logins at the same time. */
  loginCookie: (state: string): string => loginPrefix + createHash('sha256').update(state).digest('hex').slice(0, 12),
  sealLogin: (visit: Visit, name: string, login: Login): string =>
    seal(visit.settings.key, `${name} ${registrationOf(visit)}`, login),
  unsealLogin: (visit: Visit, name: string, text: string): unknown =>
    unseal(visit.settings.key, `${name} ${registrationOf(visit)}`, text),

  // ---- Coming back
  callbackMethods: ['GET'] as string[],
  /**
   * Returns the value of a parameter. Refuses a parameter that occurs twice, because an attacker may have added the
   * second value.
   */
  singleParameter(query: URLSearchParams, name: string): string {
    if (query.getAll(name).length > 1) throw new Refusal(400, `The answer of the login portal contains ${name} twice.`)
    return query.get(name) ?? ''
  },
  findLogin(visit: Visit, state: string): Login | undefined {
    const name = visit.behaviour.loginCookie(state)
    const logins = openAll(visit, name, visit.behaviour.unsealLogin) as Login[]
    return state ? logins.find(login => login.state === state && Date.now() - login.at < 600_000) : undefined
  },
  /**
   * The sign-in link on the page after a failed or declined login. After the login, the visitor gets to the page that
   * they wanted.
   */
  signInLink(visit: Visit): string {
    const logins = visit.cookies
      .filter(([name]) => name.startsWith(loginPrefix))
      .flatMap(([name, text]) => (visit.behaviour.unsealLogin(visit, name, text) as Login | undefined) ?? [])
      .sort((one, other) => other.at - one.at)
    const login = logins.find(({ state }) => state === visit.query.get('state')) ?? logins[0]
    return login ? `/login?returnTo=${encodeURIComponent(login.returnTo)}` : '/login'
  },
  /** Whether this is the first callback of its login, or a repetition of the first callback. */
  isFirstUse({ memory, url }: Visit, state: string): boolean {
    const name = `callback ${state}`
    const known = memory.get(name)
    if (known !== undefined) return known === url.search
    memory.set(name, url.search)
    return true
  },
  forgetLogin(visit: Visit, state: string): void {
    visit.setCookies.push(
      `${visit.behaviour.loginCookie(state)}=; ${visit.behaviour.loginAttributes.replace('600', '0')}`,
    )
  },
  readCallback({ query, behaviour }: Visit): Callback {
    const [code, subject] = [behaviour.singleParameter(query, 'code'), behaviour.singleParameter(query, 'subject')]
    if (!/^[\x21-\x7e]{1,2048}$/.test(code)) throw new Refusal(400, 'The login portal did not send a usable code.')
    if (!subject || subject.length > 2048) throw new Refusal(400, 'The login portal did not say whose login this is.')
    return {
      code,
      subject,
      state: behaviour.singleParameter(query, 'state'),
      redirectUri: behaviour.singleParameter(query, 'redirect_uri'),
    }
  },
  checkClient({ query, settings, behaviour }: Visit): void {
    if (behaviour.singleParameter(query, 'client_id') !== settings.clientId)
      throw new Refusal(400, 'This answer is for another application.')
    // RFC 9207: if the callback contains iss, it must be the address of the configured portal.
    if (query.has('iss') && behaviour.singleParameter(query, 'iss') !== settings.loginUrl)
      throw new Refusal(400, 'This answer comes from another login portal.')
  },
  checkError({ query, behaviour }: Visit): void {
    if (behaviour.singleParameter(query, 'error') !== '')
      throw new Refusal(400, 'The login portal did not sign you in.')
  },
  /** Runs before the state is compared. The correct client does nothing here. */
  beforeState: async (_: Visit): Promise<void> => {},
  afterLogin: (visit: Visit, login: Login): Answer => goOn(visit, login.returnTo),

  // ---- The exchange, and all other calls to the platform
  exchangeForm({ settings }: Visit, { code, state }: Callback, login: Login): URLSearchParams {
    return new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      client_id: settings.clientId,
      client_secret: settings.clientSecret,
      redirect_uri: settings.redirectUri,
      state,
      code_verifier: login.verifier,
    })
  },
  portalUrl: ({ settings }: Visit, path: string, _form: URLSearchParams): string => settings.loginUrl + path,
  portalHeaders: (_: Visit): Record<string, string> => ({ 'content-type': 'application/x-www-form-urlencoded' }),
  encode: (form: URLSearchParams): string => form.toString(),
  redirects: 'manual' as RequestRedirects,
  deadlineMs: 4000,
  /** The correct client does not decompress answers, because a small compressed answer can become very large. */
  unpacks: false as boolean,
  /**
   * Whether the platform has closed the connection before its answer. It may close an idle connection just when the
   * client uses this connection again, so the client sends a GET request once more.
   */
  isConnectionLost: ({ cause }: Error): boolean =>
    isRecord(cause) && ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(`${cause.code}`),
  send: (visit: Visit, request: Call): Promise<[number, unknown]> => call(visit.behaviour, request),
  async readBody(response: Response, most: number): Promise<string> {
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      if (size > most) throw new PlatformError(502)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString()
  },
  parse(text: string, type: string): unknown {
    if (!type.startsWith('application/json')) return undefined
    try {
      return JSON.parse(text)
    } catch {
      return undefined
    }
  },
  isStateOf: (answer: Record<string, unknown>, state: string): boolean => answer.state === state,
  isBearer: (type: unknown): boolean => typeof type === 'string' && type.toLowerCase() === 'bearer',
  isToken: (token: unknown): token is string => typeof token === 'string' && /^[\w.~+/-]+=*$/.test(token),
  /** Returns expires_in in whole seconds, from 1 second to 400 days. Throws if the value is not a positive number. */
  lifetime(value: unknown): number {
    if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0) throw new PlatformError(502)
    return Math.min(Math.max(Math.floor(value), 1), longestLifetimeSeconds)
  },
  readTokens({ behaviour }: Visit, answer: Record<string, unknown>): Tokens {
    const { access_token: accessToken, refresh_token: refreshToken } = answer
    if (!behaviour.isToken(accessToken) || !behaviour.isBearer(answer.token_type)) throw new PlatformError(502)
    const seconds = behaviour.lifetime(answer.expires_in)
    return { accessToken, refreshToken: behaviour.isToken(refreshToken) ? refreshToken : undefined, seconds }
  },
  async exchange(visit: Visit, callback: Callback, login: Login): Promise<Tokens> {
    const { behaviour } = visit
    const answer = await callPortal(visit, '/api/exchangeToken', behaviour.exchangeForm(visit, callback, login))
    if (!behaviour.isStateOf(answer, login.state)) throw new PlatformError(502)
    return behaviour.readTokens(visit, answer)
  },

  // ---- The session
  sessionCookie: '__Host-session',
  refreshCookie: '__Host-refresh',
  /** Contains hashes of the tokens that the platform has refused permanently. */
  refusedCookie: '__Host-refused',
  sessionAttributes: (seconds: number): string => `Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age=${seconds}`,
  refreshAttributes: (seconds: number): string => `Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age=${seconds}`,
  refreshSeconds: 30 * 86_400,
  seal: (visit: Visit, name: string, value: unknown): string => seal(visit.settings.key, name, value),
  unseal: (visit: Visit, name: string, text: string): unknown => unseal(visit.settings.key, name, text),
  /**
   * The id of the visitor. With this id, the client refuses forms of other visitors. The id comes from the access
   * token, whose signature is not checked, because the token came directly from the portal.
   */
  visitorOf({ accessToken }: Tokens, _: Visit): string {
    try {
      const { sub } = JSON.parse(Buffer.from(accessToken.split('.')[1]!, 'base64url').toString())
      return typeof sub === 'string' ? sub : random()
    } catch {
      return random()
    }
  },
  keepSession(visit: Visit, tokens: Tokens): Session {
    const { behaviour } = visit
    const { accessToken, refreshToken, seconds } = tokens
    const session = { accessToken, visitor: behaviour.visitorOf(tokens, visit), expiresAt: Date.now() + seconds * 1000 }
    behaviour.setCookie(visit, behaviour.sessionCookie, session, behaviour.sessionAttributes(seconds))
    if (refreshToken) {
      const endsAt = behaviour.loginEnd(visit)
      const seconds = Math.max(1, Math.floor((endsAt - Date.now()) / 1000))
      behaviour.setCookie(
        visit,
        behaviour.refreshCookie,
        { refreshToken, endsAt },
        behaviour.refreshAttributes(seconds),
      )
    } else if (visit.url.pathname === '/exchangeToken') {
      // The next renewal must not use the refresh token of an earlier visitor. The callback request carries no Strict
      // cookies, so the client deletes this cookie in any case.
      visit.setCookies.push(`${behaviour.refreshCookie}=; ${behaviour.refreshAttributes(0)}`)
    }
    return session
  },
  /** The time at which the cookie with the refresh token expires. A renewal does not change this time. */
  loginEnd(visit: Visit): number {
    const isLogin = visit.url.pathname === '/exchangeToken'
    return (isLogin ? undefined : readGrant(visit)?.endsAt) ?? Date.now() + visit.behaviour.refreshSeconds * 1000
  },
  /** Refuses a cookie that is too long, because browsers would ignore it and keep the old cookie. */
  setCookie(visit: Visit, name: string, value: unknown, attributes: string): void {
    const text = visit.behaviour.seal(visit, name, value)
    if (name.length + text.length > longestCookie)
      throw new Refusal(502, 'The platform sent more data than a browser can keep in a cookie.')
    visit.setCookies.push(`${name}=${text}; ${attributes}`)
  },
  readSession(visit: Visit): Session | undefined {
    const sessions = openAll(visit, visit.behaviour.sessionCookie, visit.behaviour.unseal).filter(isRecord)
    return (sessions as Session[]).find(
      ({ accessToken, expiresAt }) => expiresAt > Date.now() && !isRefused(visit, accessToken),
    )
  },
  readRefresh(visit: Visit): string | undefined {
    const grant = readGrant(visit)
    return grant && !isRefused(visit, grant.refreshToken) ? grant.refreshToken : undefined
  },
  /**
   * Ends the session whose refresh token the portal has refused permanently. Does not delete the cookies of the
   * session: if another instance has just replaced this token, the browser already has the new cookies. Instead, the
   * client remembers the refused tokens in another cookie, and ignores them from now on.
   */
  endRefusedSession(visit: Visit, refreshToken: string): void {
    const { behaviour, setCookies } = visit
    const accessToken = behaviour.readSession(visit)?.accessToken
    const hashes = [refreshToken, accessToken].filter(token => token !== undefined).map(hashOf)
    setCookies.push(`${behaviour.refusedCookie}=${hashes.join('.')}; ${behaviour.sessionAttributes(600)}`)
  },
  dropSession({ behaviour, setCookies }: Visit): void {
    setCookies.push(`${behaviour.sessionCookie}=; ${behaviour.sessionAttributes(0)}`)
    setCookies.push(`${behaviour.refreshCookie}=; ${behaviour.refreshAttributes(0)}`)
  },
  readCookies(header: string): [string, string][] {
    return header.split(/; */).map(pair => {
      const [name, ...value] = pair.split('=')
      return [name!.trim(), value.join('=').trim()]
    })
  },
  /**
   * Runs `act` once for simultaneous requests with the same name. Keeps the result for ten seconds for later requests.
   */
  async shareCall<T>({ memory }: Visit, name: string, act: () => Promise<T>): Promise<T> {
    const known = memory.get(name)
    if (known) return known as Promise<T>
    const begun = act()
    memory.set(name, begun)
    const forget = () => void setTimeout(() => memory.delete(name), 10_000).unref()
    begun.then(forget, forget)
    return begun
  },
  async renew(visit: Visit, refreshToken: string): Promise<Tokens> {
    const { behaviour, settings } = visit
    const tokens = await behaviour.shareCall(visit, `renew ${hashOf(refreshToken)}`, async () => {
      const answer = await callPortal(visit, '/api/exchangeToken', behaviour.renewalForm(settings, refreshToken))
      return behaviour.readTokens(visit, answer)
    })
    if (!visit.memory.has(`signed out ${hashOf(refreshToken)}`)) return tokens
    // The visitor has signed out during the renewal.
    await behaviour.revoke(visit, tokens.refreshToken ?? tokens.accessToken)
    throw new PlatformError(401, 'invalid_grant')
  },
  /** Remembers a sign-out, so that a renewal that is still running does not continue the session. */
  noteSignOut(visit: Visit, token: string): void {
    visit.memory.set(`signed out ${hashOf(token)}`, Promise.resolve())
  },
  /** If the visitor has signed out while this request was running, the answer sets no session cookies. */
  dropLateSession(visit: Visit): void {
    const token = visit.behaviour.readRefresh(visit)
    if (token === undefined || !visit.memory.has(`signed out ${hashOf(token)}`)) return
    const isOfSession = (line: string) => /^__Host-(session|refresh)/.test(line) && !line.includes('Max-Age=0')
    visit.setCookies = visit.setCookies.filter(line => !isOfSession(line))
  },
  renewalForm: ({ clientId, clientSecret }: Settings, refreshToken: string): URLSearchParams =>
    new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: clientId,
      client_secret: clientSecret,
    }),
  /** Whether the portal has refused the refresh token permanently. Other failures of the portal are temporary. */
  isPermanentRefusal: ({ upstream, code }: PlatformError): boolean =>
    ['invalid_grant', 'unsupported_grant_type', 'unauthorized_client'].includes(code) ||
    [404, 405, 501].includes(upstream),
  mostRenewals: 1,
  askToSignIn(visit: Visit): Answer {
    // After a sign-out, the client shows a link. A redirect to the portal would sign the visitor in again without
    // asking for a password.
    if (visit.cookies.some(([name]) => name === '__Host-left'))
      return page(visit, 401, 'You have signed out', '<a href="/login">Sign in</a>')
    const here = encodeURIComponent(visit.url.pathname + visit.url.search)
    return { status: 302, headers: { location: `/login?returnTo=${here}` } }
  },
  /**
   * Whether the request comes from another site. Browsers do not send Strict cookies with such a request, so the client
   * answers with a page that loads the same address again.
   */
  comesFromElsewhere: ({ headers }: Visit): boolean => headers['sec-fetch-site'] === 'cross-site',

  // ---- Forms
  isFromHere({ headers, settings }: Visit): boolean {
    const site = headers['sec-fetch-site']
    return site === undefined ? headers.origin === settings.publicUrl : site === 'same-origin' || site === 'none'
  },
  bodyTypes: ['application/x-www-form-urlencoded'] as string[],
  isFormType: ({ behaviour }: Visit, type: string): boolean =>
    behaviour.bodyTypes.includes(type.split(';')[0]!.trim().toLowerCase()),
  longestBody: 65_536,
  /** Returns the text from which the client reads the fields of a form. */
  formOf: (_visit: Visit, body: string): string => body,
  isFormOf: (form: Record<string, unknown>, visitor: string): boolean => form.visitor === visitor,
  /** Whether the form was made for this action. */
  isUseOf: (form: Record<string, unknown>, use: string): boolean => form.use === use,
  /** Returns true if nobody has changed the application since the visitor opened the form. */
  isUnchanged: (shown: string, stored: string): boolean => shown === stored,
  /** The values that the edit form shows. A faulty client also shows values that the API does not return. */
  knownValues: (values: URLSearchParams): URLSearchParams => values,
  /**
   * Returns the values that the client sends to the API. `shown`: the values that the form showed when it was opened.
   * If the form could not show a value and the visitor typed nothing, the client leaves out the field, so that the API
   * keeps the stored value.
   */
  changedValues(typed: URLSearchParams, shown: string): URLSearchParams {
    const known = new URLSearchParams(shown)
    return new URLSearchParams([...typed].filter(([name, value]) => value !== '' || known.has(name)))
  },
  /**
   * Whether the API's list has an application that has the values of the form and was created after the form was
   * shown. If the client cannot read the list, the form counts as new.
   */
  async isCreated(visit: Visit, session: Session, values: URLSearchParams, shownAt: number): Promise<boolean> {
    const [, answer] = await callApi(visit, session, 'GET', '/apps/v1').catch(() => [0, undefined])
    const applications = isRecord(answer) && Array.isArray(answer.ItemList) ? answer.ItemList.filter(isRecord) : []
    return applications.some(({ data, metadata }) => {
      if (!isRecord(data) || !isRecord(metadata) || !(Date.parse(`${metadata.createdAt}`) >= shownAt)) return false
      return ['name', 'description', 'webPageUrl', 'iconUrl', 'privacyPolicyUrl'].every(
        name => data[name] === values.get(name),
      )
    })
  },
  asksBeforeRemoving: true as boolean,
  /** The value that a field gets when the client shows a form again. */
  keptValue: (_name: string, value: string): string => value,
  attribute: ({ behaviour }: Visit, text: string): string => behaviour.html(text),
  groupItem: ({ name }: Group): string => `<li>${correct.html(name)}</li>`,
  groupOption: ({ id, name }: Group): string => `<option value="${correct.html(id)}">${correct.html(name)}</option>`,
  /** The field in which a visitor chooses the group of a new application. */
  groupField: ({ behaviour }: Visit, groups: Group[], chosen: string): string =>
    `<label>groupId <input name="groupId" value="${behaviour.html(chosen)}" list="groups"></label>` +
    `<datalist id="groups">${groups.map(behaviour.groupOption).join('')}</datalist>`,
  /**
   * A faulty client keeps the form of a visitor whose session has ended. The correct client shows the form again
   * immediately and keeps nothing.
   */
  keepDraft: (_: Visit): void => {},
  draftOf: (_: Visit): URLSearchParams => new URLSearchParams(),
  /** Whether this visitor created the application. Another visitor must not see its secret. */
  isHandOverOf: (made: Record<string, unknown>, visitor: string): boolean => made.visitor === visitor,
  created: (visit: Visit, text: unknown, visitor: string): Answer => {
    const { behaviour } = visit
    // Another tab may have created an application whose secret no page has shown yet.
    const kept = cookieOf(visit, '__Host-made')
    const waiting = kept && behaviour.unseal(visit, '__Host-made', kept)
    const isOwn = isRecord(waiting) && behaviour.isHandOverOf(waiting, visitor)
    behaviour.setCookie(
      visit,
      '__Host-made',
      { text: isOwn ? `${waiting.text} ${text}` : text, visitor },
      'Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age=60',
    )
    return { status: 303, headers: { location: '/applications' } }
  },
  groupCreated: (_visit: Visit): Answer => ({ status: 303, headers: { location: '/groups' } }),
  groupFailed: (_visit: Visit, error: unknown): Answer => {
    throw error
  },
  groupWithoutSession: (visit: Visit): Answer =>
    page(visit, 401, 'Nothing was created', '<p>Your session has ended.</p><a href="/login">Sign in</a>'),

  // ---- Signing out
  signOutMethods: ['POST'] as string[],
  revokes: true,
  /** The longest time in milliseconds that a visitor who signs out waits for the revocation. */
  revocationMs: 1000,
  tokenToRevoke: (visit: Visit): string | undefined =>
    visit.behaviour.readRefresh(visit) ?? visit.behaviour.readSession(visit)?.accessToken,
  endSession: (visit: Visit): void => visit.behaviour.dropSession(visit),
  /** Revokes the token. Ignores failures, so that visitors can sign out while the portal is down. */
  async revoke(visit: Visit, token: string): Promise<void> {
    const { clientId, clientSecret } = visit.settings
    const form = new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret })
    const behaviour = { ...visit.behaviour, deadlineMs: visit.behaviour.revocationMs }
    await callPortal({ ...visit, behaviour }, '/api/revokeToken', form).catch(() => {})
  },
  signedOut({ setCookies }: Visit): Answer {
    setCookies.push('__Host-left=1; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=600')
    return { status: 303, headers: { location: '/' } }
  },

  // ---- Pages
  html: (text: string): string => text.replace(/[&<>"']/g, char => `&#${char.codePointAt(0)};`),
  itemOf({ behaviour }: Visit, { id, name, webPageUrl }: Application): string {
    const site = /^https?:\/\//i.test(webPageUrl)
      ? ` <a href="${behaviour.html(webPageUrl)}" rel="noopener noreferrer nofollow">web page</a>`
      : ''
    return `<a href="/applications/${encodeURIComponent(id)}">${behaviour.html(name)}</a>${site}`
  },
  readList(answer: unknown): Application[] {
    if (!isRecord(answer) || !Array.isArray(answer.ItemList)) throw new PlatformError(502)
    return answer.ItemList.filter(isRecord).map(item => {
      const data = isRecord(item.data) ? item.data : {}
      const { name, webPageUrl } = data
      return {
        id: typeof item['@id'] === 'string' ? item['@id'] : '',
        name: typeof name === 'string' && name ? name : '(no name)',
        webPageUrl: typeof webPageUrl === 'string' ? webPageUrl : '',
      }
    })
  },
  clientIdIn({ clientId }: Record<string, unknown>): string {
    if (typeof clientId !== 'string') throw new PlatformError(502)
    return clientId
  },
  secretIn(made: unknown): string {
    if (!isRecord(made) || typeof made.clientSecret !== 'string') throw new PlatformError(502)
    return made.clientSecret
  },
  notFound: (_: Visit): string => '',
  applicationPath: (id: string): string | undefined => (/^[\w-]{1,100}$/.test(id) ? `/apps/v1/${id}` : undefined),
  /** The API path for an id that comes from the address of a posted form. */
  postedPath: (id: string): string | undefined => correct.applicationPath(id),
  headers: ({ settings }: Visit): Record<string, string> => ({
    // The client listens on http behind a proxy, so only the configured address says whether visitors use https.
    ...(settings.publicUrl.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }),
  serverOptions: {} as ServerOptions,
  /** Runs when a visitor has broken the connection. */
  onLost: (_: Server): void => {},
  /** Runs when a visitor has left before the answer was complete. */
  onLeft: (_server: Server, _visit: Visit): void => {},
  /** If true, the client answers a request with an unknown Expect as usual. Otherwise, Node answers it with 417. */
  ignoresExpectations: true as boolean,
  /** The status of an answer to a request that the HTTP parser refuses. */
  parserStatus: '400 Bad Request',
  /** The headers of an answer to a request that the HTTP parser refuses. */
  parserHeaders: (_: Error): Record<string, string> => ({
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }),
  /** The text that the error page shows. */
  wordsFor: (error: unknown, _: Visit): string =>
    error instanceof Refusal ? error.message : 'Something went wrong here. Please try again.',
  statusFor: (error: unknown): number => (error instanceof Refusal ? error.status : 500),

  /** Runs around every request. If `aroundRequest` throws an error, onCrash breaks the connection. */
  aroundRequest: (_visit: Visit, next: () => Promise<Answer>): Promise<Answer> => next(),

  // ---- What is printed
  logLine: ({ method, url }: Visit, status: number): string => JSON.stringify({ method, path: url.pathname, status }),
  /** `request`: what arrived of a request that the HTTP parser refuses. */
  logUnreadable: (_settings: Settings, _request: string): void => {},
  logMessage: (visit: Visit, message: string): void => visit.settings.print(JSON.stringify({ message })),
  onCrash: (_error: unknown, response: ServerResponse): void => void response.destroy(),
}

/**
 * Returns the settings to which a login is bound. A login can be finished only if the client still has these settings.
 */
function registrationOf({ settings }: Visit): string {
  return `${settings.loginUrl} ${settings.clientId} ${settings.redirectUri}`
}

/** Whether the platform has refused this token permanently. */
function isRefused({ cookies, behaviour }: Visit, token: string): boolean {
  return cookies.some(([name, hashes]) => name === behaviour.refusedCookie && hashes.split('.').includes(hashOf(token)))
}

/** Returns the refresh token of the visitor, and the time at which it expires. */
function readGrant(visit: Visit): { refreshToken: string; endsAt: number } | undefined {
  const { refreshCookie, unseal } = visit.behaviour
  const grants = openAll(visit, refreshCookie, unseal).filter(isRecord)
  for (const { refreshToken, endsAt } of grants)
    if (typeof refreshToken === 'string' && typeof endsAt === 'number' && endsAt > Date.now())
      return { refreshToken, endsAt }
  return undefined
}

/**
 * Unseals all cookies with the name, and returns the contents. There can be several cookies, because another website
 * can set a cookie with the same name.
 */
function openAll(visit: Visit, name: string, open: (visit: Visit, name: string, text: string) => unknown): unknown[] {
  return visit.cookies
    .filter(([key]) => key === name)
    .map(([, text]) => open(visit, name, text))
    .filter(value => value !== undefined)
}

/** Sets the login cookie, and deletes the oldest login cookies if there are too many. */
export function keepLogin(visit: Visit, login: Login): void {
  const { behaviour, cookies, setCookies } = visit
  const kept = cookies
    .filter(([name]) => name.startsWith(loginPrefix))
    .map(([name, text]) => ({ name, at: (behaviour.unsealLogin(visit, name, text) as Login | undefined)?.at ?? 0 }))
    .sort((one, other) => other.at - one.at)
  for (const { name } of kept.slice(behaviour.mostLogins - 1))
    setCookies.push(`${name}=; ${behaviour.loginAttributes.replace('600', '0')}`)
  const name = behaviour.loginCookie(login.state)
  setCookies.push(`${name}=${behaviour.sealLogin(visit, name, login)}; ${behaviour.loginAttributes}`)
}
