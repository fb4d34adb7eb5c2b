// Clients with mistakes in the form for a new application: the client accepts the form from another site, twice, or
// from another visitor.
import { setTimeout as wait } from 'node:timers/promises'
import { type Behaviour, correct } from '../../behaviour.ts'
import {
  answerWith,
  anyForm,
  bodyWith,
  headersWith,
  laxSession,
  notInList,
  readable,
  sessionWith,
} from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { page } from '../../pages.ts'
import { callApi } from '../../platform.ts'
import { cookieOf, isCreationForm } from '../../requests.ts'

/**
 * Loses every second secret, as if the next page came from another process that does not know the secret. A check of
 * this client sees the loss only if it creates at least two applications.
 */
export const secretOfOneProcess: Partial<Behaviour> = {
  created(visit, ...rest) {
    const creations = Number(visit.memory.get('creations') ?? 0)
    visit.memory.set('creations', creations + 1)
    return creations % 2 === 0 ? correct.created(visit, ...rest) : page(visit, 410, 'The secret is gone', '')
  },
}

export const creating: Mistake[] = [
  mistake('forms-without-referrer-or-origin', 'create-works', {
    ...headersWith(() => ({ 'referrer-policy': 'no-referrer' })),
    isFromHere: ({ headers, settings }) => headers.origin === settings.publicUrl,
  }),
  mistake('own-form-without-sec-fetch-refused', 'create-old-browser', {
    isFromHere: ({ headers }) => ['same-origin', 'none'].includes(String(headers['sec-fetch-site'])),
  }),
  mistake(
    'referrer-policy-hides-the-origin',
    'create-old-browser',
    headersWith(() => ({ 'referrer-policy': 'no-referrer' })),
  ),
  mistake('create-without-an-envelope', 'create-envelope', {
    send: (visit, request) =>
      correct.send(
        visit,
        request.method === 'POST' && request.url.endsWith('/apps/v1')
          ? { ...request, body: JSON.stringify(JSON.parse(request.body!).data) }
          : request,
      ),
  }),
  mistake('form-sent-twice-creates-twice', ['create-once', 'create-once-at-once'], {
    ...notInList,
    shareCall: (_visit, _name, act) => act(),
  }),
  // A fast API has created the application before the client reads the list for the repeated form.
  mistake('form-compared-only-with-the-list', 'create-once-at-once', {
    async shareCall(visit, name, act) {
      if (!name.startsWith('create ')) return correct.shareCall(visit, name, act)
      if (visit.memory.has(name)) await wait(300)
      visit.memory.set(name, true)
      return act()
    },
  }),
  mistake('failed-form-forgotten', 'create-once-after-failure', {
    ...notInList,
    async shareCall(visit, name, act) {
      if (!name.startsWith('create ')) return correct.shareCall(visit, name, act)
      const known = visit.memory.get(name)
      if (known) return known as ReturnType<typeof act>
      const begun = act()
      visit.memory.set(name, begun)
      begun.catch(() => visit.memory.delete(name))
      return begun
    },
  }),
  mistake('created-without-a-redirect', 'create-reload', {
    ...notInList,
    created: visit => page(visit, 200, 'Created', ''),
    shareCall: (_visit, _name, act) => act(),
  }),
  mistake('secret-never-shown', 'create-shows-secret', {
    created: () => ({ status: 303, headers: { location: '/applications' } }),
  }),
  mistake('secret-in-the-memory-of-one-of-two-processes', 'create-shows-secret', secretOfOneProcess),
  mistake('secret-shown-at-every-visit', 'create-secret-once', {
    setCookie(visit, name, value, attributes) {
      if (name === '__Host-made') visit.memory.set('made', (value as { text: string }).text)
      return correct.setCookie(visit, name, value, attributes)
    },
    ...bodyWith((body, visit) => {
      const made = visit.memory.get('made')
      return visit.url.pathname === '/applications' && made
        ? body.replace('<ul>', `<p>${correct.html(`${made}`)}</p><ul>`)
        : body
    }),
  }),
  mistake('waiting-secret-replaced', 'create-secrets-of-two-tabs', {
    created: (visit, text, visitor) => correct.created({ ...visit, cookies: [] }, text, visitor),
  }),
  mistake('secret-in-a-readable-cookie', 'create-secret-cookie-sealed', {
    seal: (visit, name, value) => (name === '__Host-made' ? readable.write(value) : correct.seal(visit, name, value)),
    unseal: (visit, name, text) => (name === '__Host-made' ? readable.read(text) : correct.unseal(visit, name, text)),
  }),
  mistake('head-takes-the-secret', 'create-secret-head', {
    async aroundRequest(visit, next) {
      if (visit.method !== 'HEAD' || visit.url.pathname !== '/applications') return next()
      visit.method = 'GET'
      const answer = await next()
      visit.method = 'HEAD'
      return answer
    },
  }),
  mistake('secret-in-an-address', 'create-secret-not-in-address', {
    created: (_visit, made) => ({
      status: 303,
      headers: { location: `/applications?made=${encodeURIComponent(`${made}`)}` },
    }),
  }),
  mistake(
    'form-without-session-says-nothing',
    'create-no-session',
    answerWith(answer => (answer.status === 401 ? { status: 400, body: '<p>That did not work.</p>' } : answer)),
  ),
  mistake('form-sent-again-after-the-login', 'create-no-session', {
    keepDraft: visit =>
      visit.behaviour.setCookie(
        visit,
        '__Host-draft',
        visit.body,
        'Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=600',
      ),
    async aroundRequest(visit, next) {
      const answer = await next()
      const session = correct.readSession(visit)
      const draft = visit.behaviour.unseal(visit, '__Host-draft', cookieOf(visit, '__Host-draft') ?? '')
      if (!session || typeof draft !== 'string' || visit.url.pathname !== '/applications/new') return answer
      const { form: _, ...data } = Object.fromEntries(new URLSearchParams(draft))
      await callApi(visit, session, 'POST', '/apps/v1', { ...data, defaultRedirectUri: data.redirectUris })
      return answer
    },
  }),
  mistake('form-without-a-session-leads-to-the-login', 'create-no-session-says-so', {
    async aroundRequest(visit, next) {
      const isLost = visit.method === 'POST' && visit.url.pathname === '/applications' && !correct.readSession(visit)
      return isLost ? { status: 303, headers: { location: '/login?returnTo=%2Fapplications%2Fnew' } } : next()
    },
  }),
  mistake('form-without-a-session-leads-to-the-start', 'create-no-session-says-so', {
    async aroundRequest(visit, next) {
      const isLost = visit.method === 'POST' && visit.url.pathname === '/applications' && !correct.readSession(visit)
      return isLost ? { status: 303, headers: { location: '/' } } : next()
    },
  }),
  mistake('silent-login-after-a-refused-renewal', 'create-ended-session-says-so', {
    ...answerWith((answer, visit) =>
      isCreationForm(visit) && correct.readSession(visit) && answer.status === 401
        ? { status: 303, headers: { location: '/login?returnTo=/applications' } }
        : answer,
    ),
  }),
  mistake('create-by-a-link', 'create-by-get', {
    async aroundRequest(visit, next) {
      if (visit.method === 'GET' && visit.url.pathname === '/applications' && visit.query.has('form'))
        visit.method = 'POST'
      return next()
    },
    formOf: (visit, body) => body || visit.url.search.slice(1),
  }),
  mistake('post-from-another-site', ['create-cross-site', 'create-forged-fetch-site'], {
    ...anyForm,
    ...sessionWith(text => text.replace('Strict', 'None')),
    isFromHere: () => true,
  }),
  mistake(
    'post-from-anywhere',
    [
      'create-same-site',
      'create-forged-origin',
      'create-forged-origin-null',
      'create-forged-origin-port',
      'create-forged-host',
      'create-forged-fetch-site',
    ],
    { isFromHere: () => true, ...laxSession, ...anyForm },
  ),
  mistake('post-from-the-same-site', 'create-same-site', {
    ...anyForm,
    isFromHere: visit => visit.headers['sec-fetch-site'] === 'same-site' || correct.isFromHere(visit),
  }),
  mistake('form-without-a-token-accepted', 'create-same-site', {
    isFromHere: () => true,
    sessionAttributes: seconds => correct.sessionAttributes(seconds).replace('Strict', 'Lax'),
    refreshAttributes: seconds => correct.refreshAttributes(seconds).replace('Strict', 'Lax'),
    unseal: (visit, name, text) =>
      name === 'form' && text === ''
        ? { id: visit.url.href, visitor: correct.readSession(visit)?.visitor, use: 'create' }
        : correct.unseal(visit, name, text),
  }),
  mistake('post-from-nowhere', ['create-forged-origin-null', 'create-forged-fetch-site'], {
    ...anyForm,
    isFromHere: visit => visit.headers.origin === 'null' || correct.isFromHere(visit),
  }),
  mistake('post-from-another-port', 'create-forged-origin-port', {
    ...anyForm,
    isFromHere: visit =>
      correct.isFromHere(visit) ||
      new URL(visit.headers.origin ?? 'http://none').hostname === new URL(visit.settings.publicUrl).hostname,
  }),
  mistake('post-origin-is-the-host', 'create-forged-host', {
    ...anyForm,
    isFromHere: visit => correct.isFromHere(visit) || visit.headers.origin === `http://${visit.headers.host}`,
  }),
  mistake('post-origin-is-the-forwarded-host', 'create-forged-forwarded-host', {
    ...anyForm,
    isFromHere: visit =>
      correct.isFromHere(visit) || visit.headers.origin === `http://${visit.headers['x-forwarded-host']}`,
  }),
  mistake('form-loses-what-follows-a-quote', 'create-refused', {
    html: text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  }),
  mistake('form-of-another-visitor-taken', 'create-other-visitor', { isFormOf: () => true }),
]
