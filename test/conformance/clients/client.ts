// The small client: a correct client of the platform, written with node:http and sealed cookies. Tests replace part of
// its behaviour with a mistake (mistakes.ts).
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type Behaviour, correct, keepLogin } from './behaviour.ts'
import {
  applicationPage,
  editPage,
  fields,
  formPage,
  type Group,
  goOn,
  groupsPage,
  listPage,
  page,
  removePage,
  signOutForm,
} from './pages.ts'
import { callApi, isRecord } from './platform.ts'
import { type Answer, PlatformError, Refusal, type Session, type Settings, type Visit } from './visit.ts'

type Handler = (visit: Visit) => Promise<Answer>

const sessionEnded = 'Your session has ended. Please sign in again.'

/** Returns a server that does not listen yet. */
export function buildClient(settings: Settings, behaviour: Behaviour = correct): Server {
  const memory: Visit['memory'] = new Map()
  const server = createServer({ requestTimeout: 20_000, ...behaviour.serverOptions }, async (request, response) => {
    try {
      const visit = readVisit(request, { settings, behaviour, memory })
      response.on('close', () => {
        if (!response.writableFinished) behaviour.onLeft(server, visit)
      })
      const answer = await behaviour.aroundRequest(visit, () => answerTo(visit, request))
      behaviour.dropLateSession(visit)
      response.writeHead(answer.status, {
        ...behaviour.headers(visit),
        ...answer.headers,
        ...(visit.setCookies.length > 0 && { 'set-cookie': visit.setCookies }),
      })
      response.end(visit.method === 'HEAD' ? undefined : answer.body)
      settings.print(behaviour.logLine(visit, answer.status))
    } catch (error) {
      behaviour.onCrash(error, response)
    }
  })
  if (behaviour.ignoresExpectations)
    server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // The answer to a request that the HTTP parser refuses.
  server.on('clientError', (error: Error & { rawPacket?: Buffer }, socket) => {
    behaviour.logUnreadable(settings, `${error.rawPacket}`)
    if (!socket.writable) behaviour.onLost(server)
    if (!socket.writable) return void socket.destroy()
    const headers = { connection: 'close', 'content-length': '0', ...behaviour.parserHeaders(error) }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    socket.end(`HTTP/1.1 ${behaviour.parserStatus}\r\n${lines.join('\r\n')}\r\n\r\n`)
  })
  return server
}

function readVisit(request: IncomingMessage, common: Pick<Visit, 'settings' | 'behaviour' | 'memory'>): Visit {
  const { method = 'GET', headers, url: target = '/' } = request
  // Puts the client's address before the path. Otherwise, URL.parse would read a path that begins with two slashes as
  // an address on another host.
  const url = URL.parse(target.startsWith('/') ? common.settings.publicUrl + target : target) ?? new URL('http://none/')
  const cookies = common.behaviour.readCookies(headers.cookie ?? '')
  return { ...common, method, headers, target, url, query: url.searchParams, cookies, body: '', setCookies: [] }
}

async function answerTo(visit: Visit, request: IncomingMessage): Promise<Answer> {
  const { behaviour } = visit
  try {
    const [methods, handler] = routeOf(visit)
    if (!methods.includes(visit.method)) {
      const refusal = page(visit, 405, 'Method not allowed', '')
      return { ...refusal, headers: { ...refusal.headers, allow: methods.join(', ') } }
    }
    if (visit.method === 'POST') visit.body = behaviour.formOf(visit, await readForm(visit, request))
    return await handler(visit)
  } catch (error) {
    if (!(error instanceof Refusal)) behaviour.logMessage(visit, `failed: ${(error as Error).name}`)
    const link = visit.url.pathname === '/exchangeToken' ? behaviour.signInLink(visit) : '/login'
    const words = `<p>${behaviour.html(behaviour.wordsFor(error, visit))}</p><a href="${behaviour.html(link)}">Sign in</a> <a href="/">Start</a>`
    return page(visit, behaviour.statusFor(error), 'That did not work', words + signOutForm)
  }
}

function routeOf({ behaviour, url: { pathname } }: Visit): [string[], Handler] {
  if (pathname === '/') return [['GET', 'HEAD'], home]
  if (pathname === '/login') return [behaviour.startMethods, startLogin]
  if (pathname === '/exchangeToken') return [behaviour.callbackMethods, finishLogin]
  if (pathname === '/cancelled') return [['GET'], cancelled]
  if (pathname === '/logout') return [behaviour.signOutMethods, signOut]
  if (pathname === '/applications') return [['GET', 'POST'], visit => (visit.method === 'POST' ? create : list)(visit)]
  if (pathname === '/groups') return [['GET', 'POST'], visit => (visit.method === 'POST' ? createGroup : groups)(visit)]
  if (pathname === '/applications/new') return [['GET'], newApplication]
  const [, , id = '', action] = pathname.split('/')
  if (pathname === `/applications/${id}/${action}` && action !== undefined && Object.hasOwn(actions, action))
    return actions[action as keyof typeof actions](id)
  if (pathname.startsWith('/applications/')) return [['GET'], details]
  return [['GET'], async visit => page(visit, 404, 'Not found', `${behaviour.notFound(visit)}<a href="/">Start</a>`)]
}

/** Reads the body of a form. Before that, refuses a form from another site. */
async function readForm(visit: Visit, request: IncomingMessage): Promise<string> {
  const { behaviour, headers } = visit
  if (!behaviour.isFromHere(visit)) throw new Refusal(403, 'This form was not sent from a page of this site.')
  // A GET request has no content type. Only a faulty client reads a form from a GET request.
  if (request.method === 'POST' && !behaviour.isFormType(visit, headers['content-type'] ?? ''))
    throw new Refusal(415, 'This page accepts only forms.')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > behaviour.longestBody) throw new Refusal(413, 'This form is too large.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const home: Handler = async visit =>
  page(visit, 200, 'A client', '<a href="/login">Sign in</a> <a href="/applications">Applications</a>')

const cancelled: Handler = async visit =>
  page(
    visit,
    200,
    'You did not sign in',
    `<p>Nothing was given to this application.</p><a href="${visit.behaviour.html(visit.behaviour.signInLink(visit))}">Sign in</a>`,
  )

const startLogin: Handler = async visit => {
  const { behaviour, query } = visit
  if (!behaviour.isNavigation(visit)) throw new Refusal(403, 'Signing in works only in a window of its own.')
  const [state, verifier] = [behaviour.newState(visit), behaviour.newVerifier(visit)]
  const start = `${behaviour.portalStart(visit)}?${behaviour.startQuery(visit, state, verifier)}`
  keepLogin(visit, { state, verifier, returnTo: behaviour.localPath(query.get('returnTo'), visit), at: Date.now() })
  return behaviour.afterStart(visit, { status: 302, headers: { location: start } })
}

const finishLogin: Handler = async visit => {
  const { behaviour, query } = visit
  if (!behaviour.isNavigation(visit)) throw new Refusal(403, 'Signing in works only in a window of its own.')
  await behaviour.beforeState(visit)
  const state = behaviour.singleParameter(query, 'state')
  const login = behaviour.findLogin(visit, state)
  if (!login) throw new Refusal(400, 'This login was not begun in this browser, or it has ended. Are cookies allowed?')
  behaviour.forgetLogin(visit, state)
  if (!behaviour.isFirstUse(visit, state)) throw new Refusal(400, 'This login was finished before.')
  behaviour.checkError(visit)
  behaviour.checkClient(visit)
  const callback = behaviour.readCallback(visit)
  // Makes one exchange for each callback, even if the browser repeats the request after its connection has broken.
  const tokens = await behaviour.shareCall(visit, `exchange ${state} ${callback.code}`, () =>
    behaviour.exchange(visit, callback, login),
  )
  behaviour.keepSession(visit, tokens)
  return behaviour.afterLogin(visit, login)
}

/**
 * Returns the session, and renews it first if the access token has expired. Returns undefined if the visitor has to
 * sign in.
 */
async function openSession(visit: Visit): Promise<Session | undefined> {
  return visit.behaviour.readSession(visit) ?? (await renewSession(visit))
}

async function renewSession(visit: Visit): Promise<Session | undefined> {
  const { behaviour } = visit
  const refreshToken = behaviour.readRefresh(visit)
  if (refreshToken === undefined) return undefined
  try {
    return behaviour.keepSession(visit, await behaviour.renew(visit, refreshToken))
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    if (!behaviour.isPermanentRefusal(error))
      throw new Refusal(503, 'Your session cannot be renewed just now. Please try again.')
    behaviour.endRefusedSession(visit, refreshToken)
    return undefined
  }
}

function askToSignIn(visit: Visit): Answer {
  if (!visit.behaviour.comesFromElsewhere(visit)) return visit.behaviour.askToSignIn(visit)
  return goOn(visit, visit.behaviour.localPath(visit.url.pathname + visit.url.search, visit))
}

/**
 * Calls the API. If the API refuses the access token, the client renews it once and repeats the call. If the repeated
 * call also fails, the client asks the visitor to sign in.
 */
async function ask(visit: Visit, session: Session, method: string, path: string, content?: object): Promise<unknown> {
  const { behaviour } = visit
  let [status, answer] = await callApi(visit, session, method, path, content)
  for (let renewals = 0; status === 401 && renewals < behaviour.mostRenewals; renewals++) {
    const renewed = await renewSession(visit)
    // If there is a refresh token, the portal has refused it, and renewSession has ended the session.
    if (!renewed && behaviour.readRefresh(visit)) throw new Refusal(401, sessionEnded)
    if (!renewed) break
    ;[status, answer] = await callApi(visit, renewed, method, path, content)
  }
  if (status === 401) {
    behaviour.dropSession(visit)
    throw new Refusal(401, sessionEnded)
  }
  if (status === 403) throw new Refusal(403, 'The platform does not allow you to do that.')
  if (status === 404) throw new Refusal(404, 'There is no such application.')
  if (status === 422 && (method === 'POST' || method === 'PUT')) throw new Refusal(422, problemsIn(answer))
  if (status !== 200 && status !== 201 && status !== 204) throw new PlatformError(status)
  return answer
}

function problemsIn(answer: unknown): string {
  const error = isRecord(answer) && isRecord(answer.error) ? answer.error : {}
  const names = isRecord(error.message) ? Object.keys(error.message).join(', ') : ''
  return `Please look at these fields again: ${names}`
}

const list: Handler = async visit => {
  const session = await openSession(visit)
  if (!session) return askToSignIn(visit)
  const applications = visit.behaviour.readList(await ask(visit, session, 'GET', '/apps/v1'))
  const kept = visit.cookies.find(([name]) => name === '__Host-made')?.[1]
  const made = kept && visit.behaviour.unseal(visit, '__Host-made', kept)
  const isOwn = isRecord(made) && visit.behaviour.isHandOverOf(made, session.visitor)
  if (kept) visit.setCookies.push('__Host-made=; Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age=0')
  return listPage(visit, applications, isOwn ? `${made.text}` : '')
}

const details: Handler = async visit => {
  const path = visit.behaviour.applicationPath(visit.url.pathname.slice('/applications/'.length))
  if (!path) throw new Refusal(404, 'There is no such application.')
  const session = await openSession(visit)
  if (!session) return askToSignIn(visit)
  const [application] = visit.behaviour.readList({ ItemList: [await ask(visit, session, 'GET', path)] })
  const id = application?.id ?? ''
  return applicationPage(visit, id, application?.name ?? '(no name)', newForm(visit, session.visitor, `secret ${id}`))
}

/**
 * Reads an application from the API. Returns the values for the fields of the edit form, without the fields that the
 * API does not return.
 */
async function valuesOf(visit: Visit, session: Session, path: string): Promise<URLSearchParams> {
  const application = await ask(visit, session, 'GET', path)
  const { data, client } = isRecord(application) ? application : {}
  const all = { ...(isRecord(data) && data), ...(isRecord(client) && client) }
  const values = new URLSearchParams()
  for (const name of fields) {
    const value = all[name]
    if (typeof value === 'string') values.set(name, value)
  }
  return visit.behaviour.knownValues(values)
}

/**
 * Changes an application. The hidden token of the form contains the sealed values that the form showed when it was
 * opened.
 */
function edit(id: string): [string[], Handler] {
  const open: Handler = async visit => {
    const path = pathOf(visit, id)
    const session = await openSession(visit)
    if (!session) return askToSignIn(visit)
    const values = await valuesOf(visit, session, path)
    const token = newForm(visit, session.visitor, `edit ${id}`, `${values}`)
    return editPage(visit, 200, id, { token, groups: [], values, problem: '' })
  }
  const save: Handler = async visit => {
    const { behaviour } = visit
    const path = pathOf(visit, id)
    const session = await requireSession(visit)
    const values = new URLSearchParams(visit.body)
    const form = readOwnForm(visit, session, `edit ${id}`)
    const stored = `${await valuesOf(visit, session, path)}`
    if (!behaviour.isUnchanged(`${form.shown}`, stored)) {
      const token = newForm(visit, session.visitor, `edit ${id}`, stored)
      const problem = 'Somebody else has changed this application. Nothing was saved.'
      return editPage(visit, 409, id, { token, groups: [], values, problem, stored: new URLSearchParams(stored) })
    }
    try {
      await ask(visit, session, 'PUT', path, envelope(behaviour.changedValues(values, `${form.shown}`)))
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 422) throw error
      const token = newForm(visit, session.visitor, `edit ${id}`, stored)
      return editPage(visit, 422, id, { token, groups: [], values, problem: error.message })
    }
    return { status: 303, headers: { location: `/applications/${id}` } }
  }
  return [['GET', 'POST'], visit => (visit.method === 'POST' ? save : open)(visit)]
}

function remove(id: string): [string[], Handler] {
  return [
    ['GET', 'POST'],
    async visit => {
      const path = pathOf(visit, id)
      const session = visit.method === 'POST' ? await requireSession(visit) : await openSession(visit)
      if (!session) return askToSignIn(visit)
      if (visit.method === 'GET' && visit.behaviour.asksBeforeRemoving)
        return removePage(visit, id, newForm(visit, session.visitor, `remove ${id}`))
      if (visit.method === 'POST') readOwnForm(visit, session, `remove ${id}`)
      await ask(visit, session, 'DELETE', path)
      return { status: 303, headers: { location: '/applications' } }
    },
  ]
}

function newSecret(id: string): [string[], Handler] {
  return [
    ['POST'],
    async visit => {
      const { behaviour } = visit
      const path = pathOf(visit, id)
      const session = await requireSession(visit)
      const form = readOwnForm(visit, session, `secret ${id}`)
      const made = await behaviour.shareCall(visit, `secret ${form.id}`, () =>
        ask(visit, session, 'POST', `${path}/refreshSecret`),
      )
      return behaviour.created(visit, `New client secret ${behaviour.secretIn(made)}`, session.visitor)
    },
  ]
}

const actions = { edit, remove, secret: newSecret }

/** Returns the API path of the application. Refuses an invalid id. */
function pathOf({ behaviour, method }: Visit, id: string): string {
  const path = method === 'POST' ? behaviour.postedPath(id) : behaviour.applicationPath(id)
  if (!path) throw new Refusal(404, 'There is no such application.')
  return path
}

async function requireSession(visit: Visit): Promise<Session> {
  const session = await openSession(visit)
  if (!session) throw new Refusal(401, 'Your session has ended; nothing was changed.')
  return session
}

function readOwnForm(visit: Visit, session: Session, use: string): Record<string, unknown> {
  const { behaviour } = visit
  const form = behaviour.unseal(visit, 'form', new URLSearchParams(visit.body).get('form') ?? '')
  if (!isRecord(form) || !behaviour.isUseOf(form, use))
    throw new Refusal(400, 'This form is not one of ours. Please open it again.')
  if (!behaviour.isFormOf(form, session.visitor)) throw new Refusal(409, 'Somebody else is signed in now.')
  return form
}

async function groupsOf(visit: Visit, session: Session): Promise<Group[]> {
  const path = `/identities/v1/${encodeURIComponent(session.visitor)}/links?type=MemberOf`
  const [, answer] = await callApi(visit, session, 'GET', path).catch(() => [0, undefined])
  const links = isRecord(answer) && Array.isArray(answer.ItemList) ? answer.ItemList.filter(isRecord) : []
  return links.flatMap(({ to, data }) => {
    const { name, status } = isRecord(data) ? data : {}
    return typeof to === 'string'
      ? { id: to, name: typeof name === 'string' ? name : '', isOwn: status === 'maker' }
      : []
  })
}

const groups: Handler = async visit => {
  const session = await openSession(visit)
  if (!session) return askToSignIn(visit)
  return groupsPage(visit, await groupsOf(visit, session), newForm(visit, session.visitor, 'group'))
}

const createGroup: Handler = async visit => {
  const session = await openSession(visit)
  if (!session) return visit.behaviour.groupWithoutSession(visit)
  readOwnForm(visit, session, 'group')
  const data = { name: new URLSearchParams(visit.body).get('name') ?? '' }
  const context = 'https://standards.oftrust.net/v2/Context/Identity/Group/'
  try {
    await ask(visit, session, 'POST', '/identities/v1', { context, type: 'Group', data })
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 422) return visit.behaviour.groupFailed(visit, error)
    return groupsPage(visit, [], newForm(visit, session.visitor, 'group'), data.name, error.message)
  }
  return visit.behaviour.groupCreated(visit)
}

/** `use`: the only action for which the form is valid. `shown`: the values that the form shows when it is opened. */
function newForm(visit: Visit, visitor: string, use = 'create', shown = ''): string {
  return visit.behaviour.seal(visit, 'form', { id: randomUUID(), visitor, use, shown, at: Date.now() })
}

const newApplication: Handler = async visit => {
  const session = await openSession(visit)
  if (!session) return askToSignIn(visit)
  const groups = await groupsOf(visit, session)
  const token = newForm(visit, session.visitor)
  return formPage(visit, 200, { token, groups, values: visit.behaviour.draftOf(visit), problem: '' })
}

const create: Handler = async visit => {
  const { behaviour } = visit
  const values = new URLSearchParams(visit.body)
  const session = await openSession(visit)
  const view = { token: values.get('form') ?? '', groups: [], values }
  if (!session) behaviour.keepDraft(visit)
  if (!session) return formPage(visit, 401, { ...view, problem: 'Your session has ended; nothing was created.' })
  const form = behaviour.unseal(visit, 'form', view.token)
  if (!isRecord(form) || !behaviour.isUseOf(form, 'create'))
    throw new Refusal(400, 'This form is not one of ours. Please open it again.')
  if (!behaviour.isFormOf(form, session.visitor)) throw new Refusal(409, 'Somebody else is signed in now.')
  try {
    // Makes one call for each form id, even if the browser repeats the form or the first call has failed.
    const text = await behaviour.shareCall(visit, `create ${form.id}`, async () => {
      // Another instance may already have carried out this form, or this instance may have done so before a restart.
      if (await behaviour.isCreated(visit, session, values, Number(form.at))) return 'This form was sent before.'
      return credentialsIn(visit, await ask(visit, session, 'POST', '/apps/v1', envelope(values)))
    })
    return behaviour.created(visit, text, session.visitor)
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 422) throw error
    return formPage(visit, 422, { ...view, token: newForm(visit, session.visitor), problem: error.message })
  }
}

function envelope(values: URLSearchParams): object {
  const { form: _, ...data } = Object.fromEntries(values)
  if (!data.defaultRedirectUri) delete data.defaultRedirectUri
  const context = 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/'
  return { context, type: 'App', data }
}

/** Returns the text with the client secret, for the only page that shows this secret. */
function credentialsIn({ behaviour }: Visit, made: unknown): string {
  const client = isRecord(made) && isRecord(made.client) ? made.client : {}
  const secrets = Array.isArray(client.clientSecrets) ? client.clientSecrets.join(' ') : ''
  return `Created. Client ID ${behaviour.clientIdIn(client)}, client secret ${secrets}`
}

const signOut: Handler = async visit => {
  const { behaviour } = visit
  const token = behaviour.tokenToRevoke(visit)
  if (token) behaviour.noteSignOut(visit, token)
  behaviour.endSession(visit)
  if (behaviour.revokes && token) await behaviour.revoke(visit, token)
  return behaviour.signedOut(visit)
}
