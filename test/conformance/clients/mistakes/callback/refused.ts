// Clients that give a wrong answer to a callback that signs nobody in, or change the session after such a callback.
import { correct } from '../../behaviour.ts'
import { answerWith, headersWith, usingUp } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { isCallback, isCancelled, isRefusedCallback } from '../../requests.ts'
import { PlatformError, Refusal, type Visit } from '../../visit.ts'

export const refused: Mistake[] = [
  mistake('error-begins-a-new-login', 'callback-error-page', {
    ...answerWith((answer, visit) =>
      isRefusedCallback(answer, visit, 'error') ? { status: 302, headers: { location: '/login' } } : answer,
    ),
  }),
  mistake('error-of-another-kind-is-a-crash', 'callback-error-page', {
    checkError({ query }) {
      const error = query.get('error')
      if (error && error !== 'access_denied') throw new TypeError(`no text for ${error}`)
      if (error) throw new Refusal(400, 'The login portal did not sign you in.')
    },
  }),
  ...(['/exchangeToken', '/cancelled'] as const).map(path =>
    mistake(
      `new-login-five-seconds-after-an-error-at-${path.slice(1)}`,
      path === '/cancelled' ? 'declined' : 'callback-error-page',
      answerWith((answer, visit) =>
        visit.url.pathname === path && visit.query.has('error')
          ? { ...answer, headers: { ...answer.headers, refresh: '5; url=/login' } }
          : answer,
      ),
    ),
  ),
  ...['login_required', 'invalid_scope'].map(error =>
    mistake(
      `${error}-begins-a-new-login`,
      'callback-error-page',
      answerWith((answer, visit) =>
        isCallback(visit) && visit.query.get('error') === error
          ? { status: 302, headers: { location: '/login' } }
          : answer,
      ),
    ),
  ),
  mistake(
    'new-login-five-seconds-after-a-failed-exchange',
    'callback-failures-no-loop',
    answerWith((answer, visit) =>
      isCallback(visit) && answer.status >= 500
        ? { ...answer, headers: { ...answer.headers, refresh: '5; url=/login' } }
        : answer,
    ),
  ),
  mistake('refused-code-begins-a-new-login', 'callback-failures-no-loop', {
    async exchange(visit, callback, login) {
      try {
        return await correct.exchange(visit, callback, login)
      } catch (error) {
        if ((error as PlatformError).code === 'invalid_grant') visit.memory.set('again', true)
        throw error
      }
    },
    ...answerWith((answer, visit) => {
      if (!isCallback(visit) || !visit.memory.get('again')) return answer
      visit.memory.delete('again')
      return { status: 302, headers: { location: '/login' } }
    }),
  }),
  ...['unusable-token', 'failed-exchange'].map(name =>
    mistake(`${name}-begins-a-new-login`, 'callback-failures-no-loop', {
      async exchange(visit, callback, login) {
        try {
          return await correct.exchange(visit, callback, login)
        } catch (error) {
          const isUnusable = (error as PlatformError).upstream === 502
          visit.memory.set('again', isUnusable === (name === 'unusable-token'))
          throw error
        }
      },
      ...answerWith((answer, visit) => {
        if (!isCallback(visit) || !visit.memory.get('again')) return answer
        visit.memory.delete('again')
        return { status: 302, headers: { location: '/login' } }
      }),
    }),
  ),
  mistake('failed-exchange-without-a-page', 'callback-refused-answer', {
    ...answerWith((answer, visit) =>
      isCallback(visit) && answer.status === 502
        ? { status: 500, headers: { 'content-type': 'text/plain' }, body: 'Internal Server Error' }
        : answer,
    ),
  }),
  mistake('failed-login-shows-the-code', 'callback-refused-closed', {
    wordsFor: (error, visit) => `${correct.wordsFor(error, visit)} ${visit.query.get('code') ?? ''}`,
  }),
  mistake('failed-login-loads-from-elsewhere', 'callback-refused-closed', {
    ...answerWith((answer, visit) =>
      isRefusedCallback(answer, visit)
        ? { ...answer, body: `${answer.body}<img src="https://analytics.invalid/a.png">` }
        : answer,
    ),
  }),
  mistake('failed-login-tells-its-address', 'callback-refused-closed', {
    ...answerWith((answer, visit) =>
      isRefusedCallback(answer, visit)
        ? { ...answer, headers: { ...answer.headers, 'referrer-policy': 'unsafe-url' } }
        : answer,
    ),
  }),
  ...(
    [
      ['another-issuer', visit => visit.query.get('iss') !== visit.settings.loginUrl && visit.query.has('code')],
      ['no-subject', visit => !visit.query.has('subject') && visit.query.has('code')],
      ['two-codes', visit => visit.query.getAll('code').length > 1],
    ] as [string, (visit: Visit) => boolean][]
  ).map(([name, isMet]) =>
    mistake(
      `link-with-the-code-on-the-page-for-${name}`,
      'callback-refused-closed',
      answerWith((answer, visit) =>
        isCallback(visit) && answer.status === 400 && isMet(visit)
          ? { ...answer, body: `${answer.body}<a href="${correct.html(visit.url.search)}">Try again</a>` }
          : answer,
      ),
    ),
  ),
  mistake('state-on-the-page-for-a-used-callback', 'callback-refused-closed', {
    isFirstUse(visit, state) {
      const isUsed = visit.memory.has(`used ${state}`)
      visit.memory.set(`used ${state}`, true)
      if (isUsed) throw new Refusal(400, `The login ${state} was finished before.`)
      return true
    },
  }),
  mistake('failed-login-kept-in-caches', 'callback-refused-no-store', {
    ...answerWith((answer, visit) =>
      isRefusedCallback(answer, visit)
        ? { ...answer, headers: { ...answer.headers, 'cache-control': 'private' } }
        : answer,
    ),
  }),
  mistake('cancelled-login-in-a-frame', 'callback-not-framed', {
    ...headersWith(({ url }) =>
      url.pathname === '/cancelled'
        ? { 'content-security-policy': "default-src 'none'", 'x-frame-options': undefined }
        : {},
    ),
  }),
  mistake('frame-policy-with-every-site', 'callback-not-framed', {
    ...headersWith(({ url }) =>
      url.pathname === '/cancelled'
        ? { 'content-security-policy': "default-src 'none'; frame-ancestors 'self' *" }
        : {},
    ),
  }),
  mistake('only-frames-refused', ['callback-navigation-only', 'start-navigation-only'], {
    isNavigation: ({ headers }) => headers['sec-fetch-dest'] !== 'iframe',
  }),
  mistake(
    'prefetch-uses-up-the-state',
    'callback-navigation-only',
    usingUp(visit => String(visit.headers['sec-purpose'] ?? '').includes('prefetch')),
  ),
  mistake('callback-without-a-query-ends-the-session', 'callback-forged-keeps-session', {
    async beforeState(visit) {
      if (!visit.query.has('state') && !visit.query.has('error')) correct.dropSession(visit)
    },
  }),
  mistake('forged-callback-ends-a-session-that-comes-with-it', 'callback-forged-keeps-session', {
    findLogin(visit, state) {
      const login = correct.findLogin(visit, state)
      if (!login && visit.cookies.some(([name]) => name === correct.sessionCookie)) correct.dropSession(visit)
      return login
    },
  }),
  mistake('cancelled-login-ends-the-session', 'declined-keeps-session', {
    async aroundRequest(visit, next) {
      if (visit.url.pathname === '/cancelled') correct.dropSession(visit)
      return next()
    },
  }),
  mistake('declined-second-login-ends-the-session', 'second-login-fails-keeps-session', {
    ...answerWith((answer, visit) => {
      if (isCancelled(visit) && correct.findLogin(visit, visit.query.get('state') ?? '')) correct.dropSession(visit)
      return answer
    }),
  }),
  mistake('error-of-a-second-login-ends-the-session', 'second-login-fails-keeps-session', {
    checkError(visit) {
      if (visit.query.has('error')) correct.dropSession(visit)
      correct.checkError(visit)
    },
  }),
  mistake('second-login-without-a-code-ends-the-session', 'second-login-fails-keeps-session', {
    readCallback(visit) {
      if (!visit.query.has('code')) correct.dropSession(visit)
      return correct.readCallback(visit)
    },
  }),
  mistake('second-login-for-another-client-ends-the-session', 'second-login-fails-keeps-session', {
    checkClient(visit) {
      try {
        correct.checkClient(visit)
      } catch (error) {
        if (error instanceof Refusal) correct.dropSession(visit)
        throw error
      }
    },
  }),
  mistake('state-unchecked-for-the-signed-in', 'state-signed-in-browser', {
    findLogin: (visit, state) =>
      correct.findLogin(visit, state) ??
      (correct.readSession(visit) && { state, verifier: '', returnTo: '/applications', at: Date.now() }),
  }),
  mistake('session-ended-before-the-exchange', 'exchange-failure-keeps-session', {
    exchange(visit, callback, login) {
      correct.dropSession(visit)
      return correct.exchange(visit, callback, login)
    },
  }),
  mistake('refused-code-ends-the-session', 'exchange-failure-keeps-session', {
    async exchange(visit, callback, login) {
      try {
        return await correct.exchange(visit, callback, login)
      } catch (error) {
        if (error instanceof PlatformError && error.code === 'invalid_grant') correct.dropSession(visit)
        throw error
      }
    },
  }),
]
