// Clients that ask the portal for the name of the visitor, but mishandle the answer or a failure.
import { type Behaviour, correct } from '../behaviour.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { readName, withNameInCookie } from '../names.ts'
import { callApi } from '../platform.ts'
import { isCallback } from '../requests.ts'
import { type Answer, Refusal, type Session, type Visit } from '../visit.ts'

/** The session that the client has set in the answer to a request. */
const opened = new WeakMap<Visit, Session>()

type Ask = (visit: Visit, session: Session) => Promise<unknown>

/** Makes a mistake: the client asks for the name at the callback. */
const atLogin = (name: string, checks: string | string[], ask: Ask) =>
  mistake(name, checks, {
    async aroundRequest(visit, next) {
      const answer = await next()
      const session = opened.get(visit)
      if (!session) return answer
      try {
        await ask(visit, session)
        return answer
      } catch (error) {
        return failed(visit, error)
      }
    },
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      if (isCallback(visit)) opened.set(visit, session)
      return session
    },
  })

function failed(visit: Visit, error: unknown): Answer {
  visit.setCookies.length = 0
  const status = error instanceof Refusal ? error.status : 500
  return {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8' },
    body: '<p>That did not work.</p><a href="/">Start</a>',
  }
}

const calm =
  (ask: Ask): Ask =>
  (visit, session) =>
    ask(visit, session).catch(() => undefined)

/** Makes a client that asks for the name at the first page of a visitor, and shows the name on this page. */
function showing(change: Partial<Behaviour>, write: (name: string) => string = correct.html): Partial<Behaviour> {
  return {
    async aroundRequest(visit, next) {
      const session = correct.readSession(visit)
      if (!session || visit.url.pathname !== '/applications') return next()
      const known = `name of ${session.visitor} ${session.expiresAt}`
      const name = visit.memory.get(known) ?? (await readName(visit, session, change).catch(() => undefined))
      if (name !== undefined) visit.memory.set(known, name)
      const answer = await next()
      const isShown = name !== undefined && answer.body
      return isShown ? { ...answer, body: answer.body!.replace('<h1>', `<p>${write(String(name))}</p><h1>`) } : answer
    },
  }
}

/** Makes a client that keeps the visitor's name in a separate cookie. */
const inCookie = (name: string, checks: string, encode: (text: string) => string) =>
  mistake(name, checks, {
    async exchange(visit, callback, login) {
      const tokens = await correct.exchange(visit, callback, login)
      const session = { accessToken: tokens.accessToken, visitor: '', expiresAt: 0 }
      const first = await readName(visit, session).catch(() => undefined)
      if (first) visit.setCookies.push(`__Host-name=${encode(first)}; Path=/; HttpOnly; Secure; SameSite=Strict`)
      return tokens
    },
  })

export const name: Mistake[] = [
  atLogin('name-has-the-wrong-type', 'name-failures', async (visit, session) => {
    const settings = { ...visit.settings, apiUrl: visit.settings.loginUrl }
    const [, person] = await callApi({ ...visit, settings }, session, 'GET', '/api/me').catch(() => [0, {}])
    return (person as { firstName: string }).firstName.trim()
  }),
  atLogin('login-fails-without-the-name', 'name-failures-login', readName),
  mistake(
    'parts-of-the-name-joined',
    'name-incomplete',
    withNameInCookie(
      (_, ask) => ask().catch(() => undefined),
      ({ firstName, lastName }) => `${firstName} ${lastName}`,
    ),
  ),
  inCookie('name-in-a-cookie-unencoded', 'name-odd', text => text),
  inCookie('long-name-in-a-cookie', 'name-long-cookie', encodeURIComponent),
  atLogin('login-refused-because-of-a-long-name', 'name-long', async (visit, session) => {
    const first = await readName(visit, session)
    if (first && first.length > 200) throw new Refusal(502, 'The name is too long.')
  }),
  mistake('failed-name-ends-the-session', 'name-failure-keeps-session', {
    readSession(visit) {
      const session = correct.readSession(visit)
      if (session) opened.set(visit, session)
      return session
    },
    async aroundRequest(visit, next) {
      const answer = await next()
      const session = opened.get(visit)
      if (!session || visit.method !== 'GET') return answer
      const isNamed = await readName(visit, session).catch(() => undefined)
      if (isNamed === undefined) correct.dropSession(visit)
      return answer
    },
  }),
  atLogin(
    'name-without-a-deadline',
    ['name-never', 'name-endless-body'],
    calm((visit, session) =>
      readName(visit, session, { deadlineMs: 86_400_000, readBody: response => response.text() }),
    ),
  ),
  atLogin(
    'name-with-a-deadline-for-each-read',
    'name-drip',
    calm((visit, session) => readName(visit, session, { deadlineMs: 86_400_000 })),
  ),
  atLogin(
    'name-waited-for',
    'name-waits',
    calm((visit, session) => readName(visit, session, { deadlineMs: 4000 })),
  ),
  atLogin(
    'name-waited-for-two-seconds',
    'name-waits',
    calm((visit, session) => readName(visit, session, { deadlineMs: 2000 })),
  ),
  mistake(
    'name-asked-again-after-a-failure',
    'name-asked-once',
    withNameInCookie((_, ask) =>
      ask()
        .catch(ask)
        .catch(() => undefined),
    ),
  ),
  mistake('name-asked-until-it-comes', 'name-not-asked-again', showing({})),
  mistake(
    'name-is-markup',
    'name-escaped',
    showing({}, name => name),
  ),
  mistake('headers-of-the-name-passed-back', 'name-headers-not-passed-back', {
    async aroundRequest(visit, next) {
      const session = correct.readSession(visit)
      const answer = await next()
      if (!session || visit.url.pathname !== '/applications') return answer
      const headers = { authorization: `Bearer ${session.accessToken}` }
      const said = await fetch(`${visit.settings.loginUrl}/api/me`, { headers })
      const mark = said.headers.get('x-conformance-mark')
      return mark ? { ...answer, headers: { ...answer.headers, 'x-conformance-mark': mark } } : answer
    },
  }),
  mistake('name-read-to-its-end', 'name-large-refused', {
    async aroundRequest(visit, next) {
      const answer = await next()
      const session = correct.readSession(visit)
      if (!session || visit.url.pathname !== '/applications') return answer
      const response = await fetch(`${visit.settings.loginUrl}/api/me`, {
        headers: { authorization: `Bearer ${session.accessToken}` },
        redirect: 'manual',
      })
      const me = (await response.json()) as { firstName?: string }
      return { ...answer, body: `${answer.body ?? ''}<p>${correct.html(me.firstName ?? '')}</p>` }
    },
  }),
  mistake(
    'name-of-any-size',
    'name-large-refused',
    showing({ deadlineMs: 10_000, readBody: response => response.text() }),
  ),
  ...[302, 307].map(status =>
    atLogin(
      `name-redirect-${status}-followed`,
      `name-redirect-${status}`,
      calm((visit, session) => readName(visit, session, { redirects: 'follow' })),
    ),
  ),
  atLogin(
    'name-without-a-token',
    'name-bearer',
    calm((visit, session) => readName(visit, { ...session, accessToken: '' })),
  ),
]
