// Clients that follow a rule on the page behind the login, but not on another page, for another origin, or in the log
// of a failed login.
import { setTimeout as wait } from 'node:timers/promises'
import { right } from '../parts.ts'
import { isRecord } from '../platform.ts'
import type { Visit } from '../visit.ts'
import { answerWith, bodyWith, type Fault, fault, headersWith, memoryOf } from './fault.ts'

const isEdit = ({ url }: Visit) => /^\/applications\/[^/]+\/(edit|remove)$/.test(url.pathname)
const hasSession = (visit: Visit) => right.readSession(visit) !== undefined
const cookieOf = ({ cookies }: Visit, name: string) => cookies.find(([key]) => key === name)?.[1]

/** Adds Access-Control-Allow-Origin to the answers that `isMet` selects. */
const allows = (origin: (visit: Visit) => string | undefined, isMet: (visit: Visit) => boolean = () => true) =>
  headersWith(visit => (isMet(visit) ? { 'access-control-allow-origin': origin(visit) } : {}))

export const otherPlaces: Fault[] = [
  fault(
    'form-without-a-referrer',
    'forms-referrer-policy',
    headersWith(({ url }) => (url.pathname === '/applications/new' ? { 'referrer-policy': 'no-referrer' } : {})),
  ),
  fault(
    'form-without-a-referrer-by-a-meta-element',
    'forms-referrer-policy',
    bodyWith(body => body.replace('<title>', '<meta name="referrer" content="no-referrer"><title>')),
  ),
  // Behaves like a server that decodes the two dots of an id, and leaves them in the path of the call.
  fault('id-encoded-without-a-check', 'page-id-on-every-page', {
    async around(visit, next) {
      const [, id] = /^\/applications\/(%2e%2e)(\/|$)/.exec(visit.target) ?? []
      if (id === undefined) return next()
      visit.url = new URL(visit.settings.publicUrl + visit.target.replace(id, 'dots'))
      visit.parts = { ...visit.parts, applicationPath: () => `/apps/v1/${encodeURIComponent('..')}` }
      return next()
    },
  }),
  fault('id-checked-only-on-one-page', 'page-id-on-every-page', {
    async around(visit, next) {
      if (isEdit(visit)) visit.parts = { ...visit.parts, applicationPath: id => `/apps/v1/${decodeURIComponent(id)}` }
      return next()
    },
  }),
  fault(
    'pages-for-a-development-server',
    ['visitor-pages-no-cors', 'page-no-cors', 'every-page-no-cors'],
    allows(() => 'http://localhost:5173'),
  ),
  fault(
    'form-for-every-port-of-the-host',
    'visitor-pages-no-cors',
    allows(
      ({ headers }) => (/^https?:\/\/localhost(:\d+)?$/.test(headers.origin ?? '') ? headers.origin : undefined),
      ({ url }) => url.pathname === '/applications/new',
    ),
  ),
  fault('start-page-greets-and-is-kept', 'visitor-name-no-store', {
    ...headersWith(({ url }) => (url.pathname === '/' ? { 'cache-control': 'private, max-age=60' } : {})),
    ...bodyWith((body, visit) =>
      visit.url.pathname === '/' && hasSession(visit)
        ? `${body}<p>Hello ${right.html(right.readSession(visit)!.visitor)}</p>`
        : body,
    ),
  }),
  fault('links-that-begin-with-http', 'page-addresses-not-linked', {
    itemOf: (visit, application) =>
      right.itemOf(visit, { ...application, webPageUrl: '' }) +
      (application.webPageUrl.startsWith('http')
        ? ` <a href="${right.html(application.webPageUrl)}">web page</a>`
        : ''),
  }),
  fault('links-with-https-on-any-line', 'page-addresses-not-linked', {
    itemOf: (visit, application) =>
      right.itemOf(visit, { ...application, webPageUrl: '' }) +
      (/^https?:\/\//m.test(application.webPageUrl)
        ? ` <a href="${right.html(application.webPageUrl)}">web page</a>`
        : ''),
  }),
  fault(
    'flash-cookie-as-html',
    'request-escapes',
    bodyWith((body, visit) => `${body}${decodeURIComponent(cookieOf(visit, 'flash') ?? '')}`),
  ),
  fault(
    'long-form-refused-without-headers',
    'error-headers',
    headersWith(({ headers }) =>
      Number(headers['content-length'] ?? 0) > 65_536
        ? { 'content-security-policy': undefined, 'x-content-type-options': undefined, 'x-frame-options': undefined }
        : {},
    ),
  ),
  fault('long-form-without-a-length-read', 'forms-long-body', {
    async around(visit, next) {
      if (visit.headers['content-length'] === undefined) visit.parts = { ...visit.parts, longestBody: 1_000_000 }
      return next()
    },
  }),
  fault('long-change-read', 'forms-long-body', {
    async around(visit, next) {
      if (isEdit(visit)) visit.parts = { ...visit.parts, longestBody: 1_000_000 }
      return next()
    },
  }),
  fault('many-requests-are-a-crash', 'many-requests-at-once', {
    async around(visit, next) {
      const memory = memoryOf(visit)
      const running = Number(memory.get('running') ?? 0) + 1
      memory.set('running', running)
      await wait(5)
      memory.set('running', Number(memory.get('running')) - 1)
      if (running > 15) throw new Error('concurrent map writes')
      return next()
    },
  }),
  fault('states-printed-when-they-differ', 'log-state-of-failed-login', {
    findLogin(visit, state) {
      const login = right.findLogin(visit, state)
      if (!login) visit.settings.print(`unknown state ${state}`)
      return login
    },
  }),
  fault('both-states-of-an-exchange-printed', 'log-state-of-failed-login', {
    isStateOf(answer, state) {
      const isSame = right.isStateOf(answer, state)
      if (!isSame) printed?.(`got ${answer.state}, wanted ${state}`)
      return isSame
    },
    async around(visit, next) {
      printed = visit.settings.print
      return next()
    },
  }),
  fault('redirects-to-the-portal-printed', 'run-log-states', {
    afterStart(visit, answer) {
      visit.settings.print(`redirect to ${answer.headers?.location}`)
      return answer
    },
  }),
  fault(
    'changed-name-printed',
    'log-changed-application',
    answerWith((answer, visit) => {
      if (isEdit(visit) && visit.method === 'POST')
        visit.settings.print(`${new URLSearchParams(visit.body).get('name')}: ${answer.status}`)
      return answer
    }),
  ),
  fault('name-of-a-removed-application-printed', 'log-changed-application', {
    async send(visit, call) {
      const [status, answer] = await right.send(visit, call)
      const data = isRecord(answer) && isRecord(answer.data) ? answer.data : {}
      if (isEdit(visit) && call.method === 'GET') visit.settings.print(`opened ${data.name}`)
      return [status, answer]
    },
  }),
  fault('new-secret-printed', 'log-new-secret', {
    created(visit, text, visitor) {
      if (visit.url.pathname.endsWith('/secret')) visit.settings.print(`${text}`)
      return right.created(visit, text, visitor)
    },
  }),
]

let printed: ((line: string) => void) | undefined
