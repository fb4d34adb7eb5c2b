// More faults of logins. The other lists contain a fault for the same rules, but here the client breaks the rule in
// another way: in another situation, in another part of a request, or with a repeated value.
import { goOn, page } from '../pages.ts'
import { right } from '../parts.ts'
import { Refusal, type Visit } from '../visit.ts'
import { answerWith, bodyWith, type Fault, fault } from './fault.ts'

const isCallback = (visit: Visit) => visit.url.pathname === '/exchangeToken'
const basic = ({ settings }: Visit) =>
  `Basic ${Buffer.from(`${settings.clientId}:${settings.clientSecret}`).toString('base64')}`

export const otherWays: Fault[] = [
  fault('login-starts-with-put', 'start-other-methods', { startMethods: ['GET', 'PUT'] }),
  fault('login-starts-with-an-own-form', ['start-other-methods', 'start-post-own'], { startMethods: ['GET', 'POST'] }),
  fault('prerendering-counts-as-a-navigation', ['start-navigation-only', 'callback-navigation-only'], {
    isNavigation: visit => visit.headers['sec-purpose'] === 'prefetch;prerender' || right.isNavigation(visit),
  }),
  fault('callback-with-any-method', 'callback-post', { callbackMethods: ['GET', 'POST', 'PUT'] }),
  fault('decline-begins-a-new-login', 'declined', {
    ...answerWith((answer, visit) =>
      visit.url.pathname === '/cancelled' ? { status: 302, headers: { location: '/login' } } : answer,
    ),
  }),
  fault('decline-without-a-state-refused', 'declined', {
    ...answerWith((answer, visit) =>
      visit.url.pathname === '/cancelled' && !visit.query.has('state') ? page(visit, 400, 'Bad request', '') : answer,
    ),
  }),
  fault('same-code-twice-accepted', 'callback-code-twice', {
    one(query, name) {
      const values = [...new Set(query.getAll(name))]
      if (values.length > 1) throw new Refusal(400, `The answer of the login portal contains ${name} twice.`)
      return values[0] ?? ''
    },
  }),
  fault('redirect-uri-of-the-callback-if-it-is-own', 'callback-redirect-uri-other', {
    exchangeForm(visit, callback, login) {
      const form = right.exchangeForm(visit, callback, login)
      const isOwn = callback.redirectUri.startsWith(`${visit.settings.publicUrl}/`)
      if (isOwn) form.set('redirect_uri', callback.redirectUri)
      return form
    },
  }),
  fault('scope-in-the-callback-refused', 'callback-unknown-parameter', {
    checkClient(visit) {
      right.checkClient(visit)
      if (visit.query.has('scope')) throw new Refusal(400, 'The answer of the login portal has a scope.')
    },
  }),
  fault(
    'error-in-a-comment',
    'callback-escapes-error',
    bodyWith((body, visit) => `${body}${isCallback(visit) ? `<!-- ${visit.query.get('error')} -->` : ''}`),
  ),
  fault('return-to-the-referer', 'return-to-referer', {
    localPath: (text, visit) => (text === null && visit.headers.referer) || right.localPath(text, visit),
  }),
  fault('redirect-to-the-wanted-page', 'login-lands-signed-in', {
    comesFromElsewhere: () => false,
    arrive: (visit, { returnTo }) =>
      returnTo === '/applications' ? goOn(visit, returnTo) : { status: 302, headers: { location: returnTo } },
  }),
  fault('login-cookie-kept-after-an-error', 'state-once-on-replica', {
    forgetLogin(visit, state) {
      if (!visit.query.has('error')) right.forgetLogin(visit, state)
    },
  }),
  fault('exchange-tried-again-with-basic', 'exchange-one-authentication', {
    async send(visit, request) {
      const answer = await right.send(visit, request)
      if (answer[0] !== 401 || !request.url.endsWith('/api/exchangeToken')) return answer
      return right.send(visit, { ...request, headers: { ...request.headers, authorization: basic(visit) } })
    },
  }),
  fault(
    'client-secret-on-the-page-of-the-callback',
    'login-no-secret',
    bodyWith((body, visit) =>
      isCallback(visit) ? `${body}<script>const secret = "${visit.settings.clientSecret}"</script>` : body,
    ),
  ),
  fault('refresh-cookie-ends-with-the-access-token', ['cookie-refresh-age', 'refresh-works'], {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      visit.setCookies = visit.setCookies.map(line =>
        line.startsWith('__Host-refresh=') ? line.replace(/Max-Age=\d+/, `Max-Age=${tokens.seconds}`) : line,
      )
      return session
    },
  }),
]
