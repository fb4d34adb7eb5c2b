// Changes to the small client that several mistakes need.
import { createHash } from 'node:crypto'
import { type Behaviour, correct, keepLogin } from './behaviour.ts'
import { page } from './pages.ts'
import { isRecord } from './platform.ts'
import { cookieOf, isCallback } from './requests.ts'
import type { Answer, Login, Visit } from './visit.ts'

/** The same visit to a client with this change. */
export const behaving = (visit: Visit, change: Partial<Behaviour>): Visit => ({
  ...visit,
  behaviour: { ...visit.behaviour, ...change },
})

/** Throws an error before the client answers, so that the connection breaks. */
export function crashIf(isMet: (visit: Visit) => boolean): Partial<Behaviour> {
  return {
    async aroundRequest(visit, next) {
      if (isMet(visit)) throw new Error('not caught')
      return next()
    },
  }
}

/** Changes every answer. */
export function answerWith(change: (answer: Answer, visit: Visit) => Answer): Partial<Behaviour> {
  return { aroundRequest: async (visit, next) => change(await next(), visit) }
}

/** After a removal, the list says once that the application has been removed. */
export const saysRemoved = answerWith((answer, { method, url }) => {
  if (method === 'POST' && url.pathname.endsWith('/remove') && answer.status === 303)
    return { ...answer, headers: { location: '/applications?removed' } }
  if (url.search !== '?removed' || !answer.body) return answer
  return { ...answer, body: answer.body.replace('</h1>', '</h1><p>The application has been removed.</p>') }
})

/** Changes the HTML of every page. */
export function bodyWith(change: (body: string, visit: Visit) => string): Partial<Behaviour> {
  return answerWith((answer, visit) => ({ ...answer, ...(answer.body && { body: change(answer.body, visit) }) }))
}

/** Changes the query of the redirect to the portal. */
export function startWith(change: (query: URLSearchParams, visit: Visit) => void): Partial<Behaviour> {
  return {
    startQuery(visit, state, verifier) {
      const query = correct.startQuery(visit, state, verifier)
      change(query, visit)
      return query
    },
  }
}

/** Changes the fields of the exchange. */
export function exchangeWith(change: (form: URLSearchParams, visit: Visit) => void): Partial<Behaviour> {
  return {
    exchangeForm(visit, callback, login) {
      const form = correct.exchangeForm(visit, callback, login)
      change(form, visit)
      return form
    },
  }
}

/** Changes the headers of every answer. Leaves out a header whose value is undefined. */
export function headersWith(change: (visit: Visit) => Record<string, string | undefined>): Partial<Behaviour> {
  return {
    headers(visit) {
      const headers = Object.entries({ ...correct.headers(visit), ...change(visit) })
      return Object.fromEntries(headers.filter(([, value]) => value !== undefined)) as Record<string, string>
    },
  }
}

/** Changes the headers of the answers that `isMeant` selects. Leaves out a header whose value is undefined. */
export function headersWhere(
  isMeant: (answer: Answer, visit: Visit) => boolean,
  change: Record<string, string | undefined>,
): Partial<Behaviour> {
  const meant = new WeakSet<Visit>()
  return {
    ...answerWith((answer, visit) => {
      if (isMeant(answer, visit)) meant.add(visit)
      return answer
    }),
    ...headersWith(visit => (meant.has(visit) ? change : {})),
  }
}

/** Changes the attributes of both session cookies. */
export function sessionWith(change: (attributes: string) => string): Partial<Behaviour> {
  return {
    sessionAttributes: seconds => change(correct.sessionAttributes(seconds)),
    refreshAttributes: seconds => change(correct.refreshAttributes(seconds)),
  }
}

/** An encoding without a key, so that anyone can read and write the value. */
export const readable = {
  write: (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url'),
  read(text: string): unknown {
    try {
      return JSON.parse(Buffer.from(text, 'base64url').toString())
    } catch {
      return undefined
    }
  },
}

export const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url')

// ---- Errors
/** Answers as a framework does if nobody catches an error. */
export const notCaught = answerWith(answer =>
  [502, 503, 504].includes(answer.status) ? { status: 500, body: 'Internal Server Error' } : answer,
)

// ---- Logins
/** The attributes with which a client deletes a login cookie. */
export const loginDeletion = 'Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0'

/** The logins in the cookies of this browser. */
export const loginsOf = (visit: Visit): Login[] =>
  visit.cookies
    .map(([name, text]) => correct.unsealLogin(visit, name, text) as Login | undefined)
    .filter(login => login?.verifier !== undefined)
    .map(login => login!)

/** If a page needs a session, the client redirects from this page to the portal without using the login path. */
export const beginsAtPage = (change: (visit: Visit) => Record<string, string>) => ({
  askToSignIn(visit: Visit) {
    const state = correct.newState(visit)
    const verifier = correct.newVerifier(visit)
    keepLogin(visit, { state, verifier, returnTo: visit.url.pathname + visit.url.search, at: Date.now() })
    const location = `${visit.settings.loginUrl}/?${correct.startQuery(visit, state, verifier)}`
    return { status: 302, headers: { location, ...change(visit) } }
  },
})

/** Uses up the state of each callback that `isMet` selects, although the client refuses this callback. */
export const usingUp = (isMet: (visit: Visit) => boolean) => ({
  async aroundRequest(visit: Visit, next: () => Promise<Answer>) {
    const state = visit.query.get('state') ?? ''
    if (isCallback(visit) && isMet(visit)) visit.memory.set(`used ${state}`, true)
    return next()
  },
  findLogin: (visit: Visit, state: string) =>
    visit.memory.has(`used ${state}`) ? undefined : correct.findLogin(visit, state),
})

/** The host that a framework reads from the request, if it trusts the headers of a proxy. */
export const hostOf = ({ headers }: Visit) => `${headers['x-forwarded-host'] ?? headers.host}`

/** Refuses a request whose host has another name than the client, as many frameworks do. Accepts every port. */
export const allowedHostsOnly: Partial<Behaviour> = {
  async aroundRequest(visit, next) {
    const isAllowed = URL.parse(`http://${hostOf(visit)}`)?.hostname === new URL(visit.settings.publicUrl).hostname
    return isAllowed ? next() : page(visit, 400, 'Unknown host', '')
  },
}

export const toHttps = (address: string) => address.replace(/^http:/, 'https:')

// ---- Sessions
export const laxSession = sessionWith(text => text.replace('Strict', 'Lax'))

/** The content of the session cookie, even if the session has expired. */
export function contentOf(visit: Visit): Record<string, unknown> | undefined {
  const text = cookieOf(visit, correct.sessionCookie)
  const content = text && correct.unseal(visit, correct.sessionCookie, text)
  return isRecord(content) ? content : undefined
}

/** Changes the client, but only for renewals. */
export function renewing(change: Partial<Behaviour>): Partial<Behaviour> {
  return { renew: (visit, refreshToken) => correct.renew(behaving(visit, change), refreshToken) }
}

/** If a renewal fails, the connection to the visitor breaks. */
export const crashingRenewal: Partial<Behaviour> = {
  async renew(visit, refreshToken) {
    try {
      return await correct.renew(visit, refreshToken)
    } catch {
      throw new TypeError('Cannot read properties of undefined')
    }
  },
}

// ---- Forms and pages
/**
 * Accepts every form, and does not check whether the form contains the hidden token of a page that this visitor got.
 */
export const anyForm = { isFormOf: () => true }

/** Does not look in the list for an application that the same form has already created. */
export const notInList: Partial<Behaviour> = { isCreated: async () => false }

export const namesOwnAddress = (text: string | undefined, { settings }: Visit) =>
  text?.includes(settings.publicUrl) === true

/** Changes the HTML of the page at the path. */
export const bodyAt = (path: string, change: (body: string, visit: Visit) => string) =>
  bodyWith((body, visit) => (visit.url.pathname === path ? change(body, visit) : body))

/** Adds this style sheet of the client to all pages. */
export const withStyle = (
  headers: Record<string, string>,
  body: string,
  address = '/style.css',
): Partial<Behaviour> => ({
  async aroundRequest(visit, next) {
    if (visit.url.pathname + visit.url.search === address) return { status: 200, headers, body }
    const answer = await next()
    const link = `<link rel="stylesheet" href="${address}">`
    return answer.body ? { ...answer, body: answer.body.replace('<title>', `${link}<title>`) } : answer
  },
})

/** Adds the text to a page without encoding it. */
export const addRaw = (body: string, text: string | null) => body.replace('</body>', `<p>${text ?? ''}</p></body>`)
