import { request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { formPage, page, signOutForm } from '../pages.ts'
import { right } from '../parts.ts'
import { answerWith, bodyWith, crashIf, fault, headersWith, memoryOf, readable, sessionWith } from './fault.ts'

/** Accepts every form, and does not check the hidden token from the visitor's own page. */
const anyForm = { isFormOf: () => true }
const lax = sessionWith(text => text.replace('Strict', 'Lax'))
const words = (error: unknown) => (error instanceof Error ? `${error.message}\n${error.stack}` : String(error))

/** Behaves like servers that complete a relative Location with the Host header of the request. */
const redirectsFromHost = answerWith((answer, { headers }) => {
  const location = answer.headers?.location
  if (!location?.startsWith('/')) return answer
  return { ...answer, headers: { ...answer.headers, location: `http://${headers.host}${location}` } }
})

export const pages = [
  fault(
    'page-kept-in-caches',
    ['page-no-store', 'logout-back'],
    headersWith(() => ({ 'cache-control': undefined })),
  ),
  fault(
    'page-without-a-policy',
    'page-content-security-policy',
    headersWith(() => ({ 'content-security-policy': undefined })),
  ),
  fault(
    'page-with-inline-scripts',
    'page-content-security-policy',
    headersWith(() => ({ 'content-security-policy': "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'" })),
  ),
  fault(
    'page-in-frames',
    'page-not-framed',
    headersWith(() => ({
      'x-frame-options': undefined,
      'content-security-policy': "default-src 'none'; form-action 'self'; base-uri 'none'",
    })),
  ),
  fault(
    'page-sniffed',
    'page-nosniff',
    headersWith(() => ({ 'x-content-type-options': undefined })),
  ),
  fault(
    'page-for-every-origin',
    'page-no-cors',
    headersWith(({ headers }) => ({
      'access-control-allow-origin': headers.origin ?? '*',
      'access-control-allow-credentials': 'true',
    })),
  ),
  fault(
    'post-from-anywhere',
    [
      'create-same-site',
      'create-forged-origin',
      'create-forged-origin-null',
      'create-forged-origin-port',
      'create-forged-host',
      'create-forged-fetch-site',
    ],
    { isFromHere: () => true, ...lax, ...anyForm },
  ),
  fault('post-from-the-same-site', 'create-same-site', {
    ...anyForm,
    isFromHere: visit => visit.headers['sec-fetch-site'] === 'same-site' || right.isFromHere(visit),
  }),
  fault('own-form-without-sec-fetch-refused', 'create-old-browser', {
    isFromHere: ({ headers }) => ['same-origin', 'none'].includes(String(headers['sec-fetch-site'])),
  }),
  fault(
    'referrer-policy-hides-the-origin',
    'create-old-browser',
    headersWith(() => ({ 'referrer-policy': 'no-referrer' })),
  ),
  fault('post-from-nowhere', ['create-forged-origin-null', 'create-forged-fetch-site'], {
    ...anyForm,
    isFromHere: visit => visit.headers.origin === 'null' || right.isFromHere(visit),
  }),
  fault('post-origin-is-the-host', 'create-forged-host', {
    ...anyForm,
    isFromHere: visit => right.isFromHere(visit) || visit.headers.origin === `http://${visit.headers.host}`,
  }),
  fault('names-as-html', ['page-escapes-script', 'page-escapes-attribute', 'page-escapes-title'], {
    html: text => text,
  }),
  fault('names-half-escaped', 'page-escapes-double-quote', {
    html: text => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    itemOf: (visit, application) =>
      `<span title="${visit.parts.html(application.name)}">${right.itemOf(visit, application)}</span>`,
  }),
  fault('form-loses-what-follows-a-quote', 'create-refused', {
    html: text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  }),
  fault('not-found-repeats-the-address', 'not-found-escapes', {
    notFound: ({ url }) => `<p>There is no ${decodeURIComponent(url.pathname + url.search)}.</p>`,
  }),
  fault('links-of-any-kind', 'page-escapes-anything', {
    itemOf: (visit, application) =>
      `${right.itemOf(visit, { ...application, webPageUrl: '' })} <a href="${right.html(application.webPageUrl)}">web page</a>`,
  }),
  fault('icons-from-elsewhere', 'page-icon-not-loaded', {
    ...headersWith(() => ({
      'content-security-policy': "default-src 'none'; img-src *; form-action 'self'; frame-ancestors 'none'",
    })),
    itemOf: (visit, application) =>
      `<img src="${right.html(application.webPageUrl)}">${right.itemOf(visit, application)}`,
  }),
  fault('stack-in-a-page', ['errors-say-nothing', 'exchange-failed-no-stack', 'list-failed-no-stack'], {
    wordsFor: words,
    applicationPath: id => {
      decodeURIComponent(id)
      return right.applicationPath(id)
    },
  }),
  fault('path-of-the-visitor-to-the-api', ['page-id-slashes', 'page-id-dots', 'page-id-query', 'page-id-backslash'], {
    applicationPath: id => `/apps/v1/${decodeURIComponent(id)}`,
  }),
  fault('created-without-a-redirect', 'create-reload', {
    created: visit => page(visit, 200, 'Created', ''),
    once: (_visit, _name, act) => act(),
  }),
  fault('forms-without-referrer-or-origin', 'create-works', {
    ...headersWith(() => ({ 'referrer-policy': 'no-referrer' })),
    isFromHere: ({ headers, settings }) => headers.origin === settings.publicUrl,
  }),
  fault('token-in-a-page', 'page-no-tokens', {
    itemOf: (visit, application) =>
      `${right.itemOf(visit, application)}<meta name="token" content="${right.readSession(visit)?.accessToken}">`,
  }),
  fault('form-of-another-visitor-taken', 'create-other-visitor', { isFormOf: () => true }),
  fault('form-sent-twice-creates-twice', ['create-once', 'create-once-at-once'], {
    once: (_visit, _name, act) => act(),
  }),
  fault(
    'page-after-sign-out-from-the-cache',
    'page-no-store',
    headersWith(() => ({ 'cache-control': 'private, max-age=300' })),
  ),

  fault('strangers-ask-the-api', 'page-needs-login', {
    readSession: visit => right.readSession(visit) ?? { accessToken: 'none', visitor: '', expiresAt: 0 },
  }),
  fault('session-of-plain-json', 'page-forged-session', {
    readSession(visit) {
      const text = visit.cookies.find(([name]) => name === right.sessionCookie)?.[1] ?? ''
      const { access_token: accessToken } = (readable.read(text) ?? {}) as { access_token?: string }
      return right.readSession(visit) ?? (accessToken ? { accessToken, visitor: '', expiresAt: 0 } : undefined)
    },
  }),
  fault('link-from-elsewhere-is-signed-out', 'page-from-another-site', {
    comesFromElsewhere: () => false,
    askToSignIn: visit => page(visit, 401, 'Please sign in', '<a href="/login">Sign in</a>'),
  }),
  fault(
    'page-without-a-charset',
    'page-charset',
    answerWith(answer => ({ ...answer, headers: { ...answer.headers, 'content-type': 'text/html' } })),
  ),
  fault(
    'page-without-a-way-out',
    'page-shows-sign-out',
    bodyWith(body => body.replace(signOutForm, '')),
  ),
  fault(
    'page-with-a-script-of-others',
    'page-nothing-foreign',
    bodyWith(body => body.replace('<title>', '<script src="https://cdn.invalid/a.js"></script><title>')),
  ),
  fault('names-in-single-quotes', 'page-escapes-single-quote', {
    html: text => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
    itemOf: (visit, application) =>
      `<span title='${visit.parts.html(application.name)}'>${right.itemOf(visit, application)}</span>`,
  }),
  fault('names-are-templates', 'page-escapes-template', {
    itemOf: (visit, application) =>
      right
        .itemOf(visit, application)
        .replace(/\{\{(\d+)\*(\d+)\}\}/g, (_, one, other) => `${Number(one) * Number(other)}`),
  }),
  fault('links-without-rel', 'page-links-apart', {
    itemOf: (visit, application) => right.itemOf(visit, application).replace(' rel="noopener noreferrer nofollow"', ''),
  }),
  fault('id-sent-as-it-came', 'page-id-fragment', {
    applicationPath: id => `/apps/v1/${decodeURIComponent(id)}`,
    // Uses node:http, because fetch would normalize the path.
    send: (visit, { method, url, headers, body }) =>
      new Promise((resolve, reject) => {
        const { hostname, port, origin } = new URL(url)
        const call = request({ hostname, port, method, headers, path: url.slice(origin.length) }, async response => {
          const text = await new Response(response as never).text()
          resolve([response.statusCode!, visit.parts.parse(text, response.headers['content-type'] ?? '')])
        })
        call.on('error', reject).end(body)
      }),
  }),
  fault(
    'null-byte-in-an-id-is-a-crash',
    'page-id-null-byte',
    crashIf(({ url }) => url.pathname.includes('%00')),
  ),
  fault('id-decoded-twice', 'page-id-twice', {
    applicationPath: id => `/apps/v1/${decodeURIComponent(decodeURIComponent(id))}`,
  }),
  fault(
    'not-found-is-found',
    'not-found',
    answerWith(answer => (answer.status === 404 ? { ...answer, status: 200 } : answer)),
  ),
  fault('redirects-from-host', 'host-not-in-redirects', redirectsFromHost),
  fault('kept-redirects-from-host', 'host-not-believed', {
    ...redirectsFromHost,
    ...headersWith(({ url }) => (url.pathname === '/applications' ? { 'cache-control': 'public, max-age=60' } : {})),
  }),
  fault(
    'links-from-host',
    'host-not-believed',
    bodyWith((body, { headers }) =>
      body.replaceAll('href="/', `href="http://${headers['x-forwarded-host'] ?? headers.host}/`),
    ),
  ),
  fault('create-without-an-envelope', 'create-envelope', {
    send: (visit, request) =>
      right.send(
        visit,
        request.method === 'POST' && request.url.endsWith('/apps/v1')
          ? { ...request, body: JSON.stringify(JSON.parse(request.body!).data) }
          : request,
      ),
  }),
  fault('secret-never-shown', 'create-shows-secret', {
    created: () => ({ status: 303, headers: { location: '/applications' } }),
  }),
  fault('secret-in-an-address', 'create-secret-not-in-address', {
    created: (_visit, made) => ({
      status: 303,
      headers: { location: `/applications?made=${encodeURIComponent(`${made}`)}` },
    }),
  }),
  fault('create-by-a-link', 'create-by-get', {
    async around(visit, next) {
      if (visit.method === 'GET' && visit.url.pathname === '/applications' && visit.query.has('form'))
        visit.method = 'POST'
      return next()
    },
    formOf: (visit, body) => body || visit.url.search.slice(1),
  }),
  fault('post-from-another-site', ['create-cross-site', 'create-forged-fetch-site'], {
    ...anyForm,
    ...sessionWith(text => text.replace('Strict', 'None')),
    isFromHere: () => true,
  }),
  fault('post-from-another-port', 'create-forged-origin-port', {
    ...anyForm,
    isFromHere: visit =>
      right.isFromHere(visit) ||
      new URL(visit.headers.origin ?? 'http://none').hostname === new URL(visit.settings.publicUrl).hostname,
  }),
  fault(
    'form-without-session-says-nothing',
    'create-no-session',
    answerWith(answer => (answer.status === 401 ? { status: 400, body: '<p>That did not work.</p>' } : answer)),
  ),

  fault('edit-form-with-raw-quotes', 'edit-escapes', {
    attribute: (_visit, text) => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  }),
  fault('later-edit-overwrites', 'edit-overtaken', { isUnchanged: () => true }),
  fault(
    'overtaken-edit-loses-the-text',
    'edit-overtaken-kept',
    answerWith((answer, visit) =>
      visit.method === 'POST' && visit.url.pathname.endsWith('/edit') && answer.status === 409
        ? page(visit, 409, 'Somebody else has changed it', '<a href="/applications">Applications</a>')
        : answer,
    ),
  ),
  fault(
    'overtaken-edit-looks-saved',
    'edit-overtaken-kept',
    answerWith((answer, visit) =>
      visit.method === 'POST' && visit.url.pathname.endsWith('/edit') && answer.status === 409
        ? { status: 303, headers: { location: '/applications' } }
        : answer,
    ),
  ),
  fault('new-secret-for-another-site', 'forms-forged', {
    ...anyForm,
    isUseOf: () => true,
    isFromHere: visit => visit.url.pathname.endsWith('/secret') || right.isFromHere(visit),
  }),
  fault('remove-by-a-link', 'links-change-nothing', { asksBeforeRemoving: false }),
  fault('new-secret-by-a-link', 'links-change-nothing', {
    async around(visit, next) {
      if (visit.method === 'GET' && visit.url.pathname.endsWith('/secret')) visit.method = 'POST'
      return next()
    },
    isFromHere: () => true,
    formOf: (visit, body) => body || visit.url.search.slice(1),
  }),
  fault('id-of-a-form-decoded', 'form-id', {
    isUseOf: () => true,
    postedPath: id => `/apps/v1/${decodeURIComponent(id)}`,
  }),

  fault('id-in-the-query-of-a-form-not-encoded', 'form-id', {
    isUseOf: () => true,
    async around(visit, next) {
      if (visit.url.pathname === '/removals') visit.url = new URL('/applications/x/remove', visit.url)
      const answer = await next()
      const body = answer.body?.replace(/action="\/applications\/([^/"]+)\/remove"/, 'action="/removals?id=$1"')
      return { ...answer, ...(body && { body }) }
    },
    send: (visit, call) =>
      right.send(
        visit,
        call.method === 'DELETE' ? { ...call, url: `${visit.settings.apiUrl}/apps/v1/${visit.query.get('id')}` } : call,
      ),
  }),
  fault('secret-shown-at-every-visit', 'create-secret-once', {
    setCookie(visit, name, value, attributes) {
      if (name === '__Host-made') memoryOf(visit).set('made', (value as { text: string }).text)
      return right.setCookie(visit, name, value, attributes)
    },
    ...bodyWith((body, visit) => {
      const made = memoryOf(visit).get('made')
      return visit.url.pathname === '/applications' && made
        ? body.replace('<ul>', `<p>${right.html(`${made}`)}</p><ul>`)
        : body
    }),
  }),
  fault('refused-form-without-the-description', ['create-refused-all-fields', 'create-422-fields-all-fields'], {
    keptValue: (name, value) => (name === 'description' ? '' : value),
  }),
  fault(
    'failed-form-without-the-group',
    ['create-403-all-fields', 'create-404-all-fields', 'create-503-all-fields'],
    answerWith((answer, visit) => {
      if (visit.method !== 'POST' || visit.url.pathname !== '/applications' || answer.status < 400) return answer
      const values = new URLSearchParams(visit.body)
      values.delete('groupId')
      return formPage(visit, answer.status, {
        token: values.get('form') ?? '',
        groups: [],
        values,
        problem: 'Try again.',
      })
    }),
  ),
  fault('names-of-groups-as-html', 'create-group-escapes', {
    groupOption: ({ id, name }) => `<option value="${id}">${name}</option>`,
  }),
  fault('form-needs-the-list-of-groups', 'create-without-groups', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (request.url.includes('/links') && status !== 200) visit.body = 'no groups'
      return [status, answer]
    },
    ...answerWith((answer, visit) => (visit.body === 'no groups' ? page(visit, 502, 'No groups', '') : answer)),
  }),

  fault(
    'error-pages-without-headers',
    ['error-headers', 'error-not-framed', 'error-nosniff', 'error-content-security-policy'],
    {
      ...headersWith(() => ({
        'content-security-policy': undefined,
        'x-content-type-options': undefined,
        'x-frame-options': undefined,
      })),
      ...answerWith((answer, visit) =>
        answer.status < 400 ? { ...answer, headers: { ...right.headers(visit), ...answer.headers } } : answer,
      ),
    },
  ),
  fault('session-set-at-every-page', 'page-sets-no-session', {
    readSession(visit) {
      const session = right.readSession(visit)
      if (session && visit.setCookies.length === 0)
        visit.parts.setCookie(visit, right.sessionCookie, session, right.sessionAttributes(3600))
      return session
    },
  }),
  // These clients answer as slowly as if they used an exponential regular expression. But they only wait, because a
  // busy client would also block the suite, which runs in the same process.
  fault('long-name-takes-seconds', 'create-slow-values', {
    async around(visit, next) {
      const answer = await next()
      const name = new URLSearchParams(visit.body).get('name') ?? ''
      if (/^a{25,}!/.test(name)) await wait(4000)
      return answer
    },
  }),
  fault('many-spaces-take-seconds', 'create-long-values', {
    async around(visit, next) {
      const answer = await next()
      if (/ {20000}/.test(new URLSearchParams(visit.body).get('description') ?? '')) await wait(1200)
      return answer
    },
  }),
  fault('long-search-takes-seconds', 'query-slow-values', {
    async around(visit, next) {
      const isSlow = visit.url.pathname === '/applications' && /^a{25,}!/.test(visit.query.get('q') ?? '')
      if (isSlow) await wait(4000)
      return next()
    },
  }),
  fault('link-of-another-site-signs-in-again', 'page-cookie-from-another-site', {
    async around(visit, next) {
      const isLink = visit.headers['sec-fetch-site'] === 'cross-site' && visit.url.pathname === '/applications'
      return isLink && right.readSession(visit) ? right.askToSignIn(visit) : next()
    },
  }),
  fault('referer-of-another-site-before-the-session', 'page-cookie-from-another-site', {
    async around(visit, next) {
      const { referer = visit.settings.publicUrl } = visit.headers
      const isLink = !referer.startsWith(visit.settings.publicUrl) && visit.url.pathname === '/applications'
      return isLink && right.readSession(visit) ? right.askToSignIn(visit) : next()
    },
  }),
  fault('form-without-a-session-leads-to-the-login', 'create-no-session-says-so', {
    async around(visit, next) {
      const isLost = visit.method === 'POST' && visit.url.pathname === '/applications' && !right.readSession(visit)
      return isLost ? { status: 303, headers: { location: '/login?returnTo=%2Fapplications%2Fnew' } } : next()
    },
  }),
  fault('form-without-a-session-leads-to-the-start', 'create-no-session-says-so', {
    async around(visit, next) {
      const isLost = visit.method === 'POST' && visit.url.pathname === '/applications' && !right.readSession(visit)
      return isLost ? { status: 303, headers: { location: '/' } } : next()
    },
  }),
]
