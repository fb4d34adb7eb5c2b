// Clients that follow a rule on the page behind the login, but not on another page or for another origin.
import { setTimeout as pause } from 'node:timers/promises'
import { decodeSafely } from '../../../../../src/conformance/steps/set-cookies.ts'
import { correct } from '../../behaviour.ts'
import { bodyWith, headersWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { isEditOrRemoval } from '../../requests.ts'
import type { Visit } from '../../visit.ts'

const hasSession = (visit: Visit) => correct.readSession(visit) !== undefined

/** Adds Access-Control-Allow-Origin to the answers that `isMet` selects. */
const allows = (origin: (visit: Visit) => string | undefined, isMet: (visit: Visit) => boolean = () => true) =>
  headersWith(visit => (isMet(visit) ? { 'access-control-allow-origin': origin(visit) } : {}))

function pathIfAnyLineIsRight(id: string): string | undefined {
  const decoded = decodeSafely(id)
  return /^[\w-]{1,100}$/m.test(decoded) ? `/apps/v1/${decoded}` : undefined
}

export const otherPlaces: Mistake[] = [
  mistake(
    'form-without-a-referrer',
    'forms-referrer-policy',
    headersWith(({ url }) => (url.pathname === '/applications/new' ? { 'referrer-policy': 'no-referrer' } : {})),
  ),
  mistake(
    'form-without-a-referrer-by-a-meta-element',
    'forms-referrer-policy',
    bodyWith(body => body.replace('<title>', '<meta name="referrer" content="no-referrer"><title>')),
  ),
  // Behaves like a server that decodes the two dots of an id, and leaves them in the path of the call.
  mistake('id-encoded-without-a-check', 'page-id-on-every-page', {
    async aroundRequest(visit, next) {
      const [, id] = /^\/applications\/(%2e%2e)(\/|$)/.exec(visit.target) ?? []
      if (id === undefined) return next()
      visit.url = new URL(visit.settings.publicUrl + visit.target.replace(id, 'dots'))
      visit.behaviour = { ...visit.behaviour, applicationPath: () => `/apps/v1/${encodeURIComponent('..')}` }
      return next()
    },
  }),
  mistake('id-checked-only-on-one-page', 'page-id-on-every-page', {
    async aroundRequest(visit, next) {
      if (isEditOrRemoval(visit))
        visit.behaviour = { ...visit.behaviour, applicationPath: id => `/apps/v1/${decodeURIComponent(id)}` }
      return next()
    },
  }),
  mistake('only-one-line-of-an-id-is-checked', 'page-id-on-every-page', { applicationPath: pathIfAnyLineIsRight }),
  mistake(
    'pages-for-a-development-server',
    ['visitor-pages-no-cors', 'page-no-cors', 'every-page-no-cors'],
    allows(() => 'http://localhost:5173'),
  ),
  mistake(
    'form-for-every-port-of-the-host',
    'visitor-pages-no-cors',
    allows(
      ({ headers }) => (/^https?:\/\/localhost(:\d+)?$/.test(headers.origin ?? '') ? headers.origin : undefined),
      ({ url }) => url.pathname === '/applications/new',
    ),
  ),
  mistake('start-page-greets-and-is-kept', 'visitor-name-no-store', {
    ...headersWith(({ url }) => (url.pathname === '/' ? { 'cache-control': 'private, max-age=60' } : {})),
    ...bodyWith((body, visit) =>
      visit.url.pathname === '/' && hasSession(visit)
        ? `${body}<p>Hello ${correct.html(correct.readSession(visit)!.visitor)}</p>`
        : body,
    ),
  }),
  mistake('many-requests-are-a-crash', 'many-requests-at-once', {
    async aroundRequest(visit, next) {
      const memory = visit.memory
      const running = Number(memory.get('running') ?? 0) + 1
      memory.set('running', running)
      await pause(5)
      memory.set('running', Number(memory.get('running')) - 1)
      if (running > 15) throw new Error('concurrent map writes')
      return next()
    },
  }),
  mistake('long-form-without-a-length-read', 'forms-long-body', {
    async aroundRequest(visit, next) {
      if (visit.headers['content-length'] === undefined)
        visit.behaviour = { ...visit.behaviour, longestBody: 1_000_000 }
      return next()
    },
  }),
  mistake('long-change-read', 'forms-long-body', {
    async aroundRequest(visit, next) {
      if (isEditOrRemoval(visit)) visit.behaviour = { ...visit.behaviour, longestBody: 1_000_000 }
      return next()
    },
  }),
]
