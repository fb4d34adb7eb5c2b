// Clients that mishandle a wrong, slow or missing answer from the portal to the exchange.
import { type Behaviour, correct } from '../behaviour.ts'
import { askPortal, crashing, deadlineOfHeaders, showsPauseAsNumber, unlimited } from '../call-changes.ts'
import { notCaught } from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { type Call, call, isRecord } from '../platform.ts'
import { isCallback } from '../requests.ts'
import { PlatformError, Refusal, type Visit } from '../visit.ts'

/** The client follows the redirects that `isMet` selects, and sends the same request to the new address. */
const following = (isMet: (call: Call, status: number) => boolean): Partial<Behaviour> => ({
  send: (visit, request) =>
    call(
      {
        ...visit.behaviour,
        async readBody(response, most) {
          const location = response.headers.get('location')
          if (location === null || !isMet(request, response.status)) return correct.readBody(response, most)
          const { method, headers, body } = request
          return correct.readBody(await fetch(location, { method, headers, ...(body !== undefined && { body }) }), most)
        },
      },
      request,
    ),
})

type PortalError = { error: string }

const isExchange = ({ url }: Visit) => url.pathname === '/exchangeToken'

/**
 * Platform failures after which a faulty client breaks the connection to the visitor. `exchange` and `list`: the last
 * parts of the ids of the checks that find the mistake.
 */
const hangsUp: Record<string, { isMet: (error: Refusal) => boolean; exchange: string[]; list: string[] }> = {
  'broken-connection': {
    isMet: error => error instanceof PlatformError && [502, 504].includes(error.upstream),
    exchange: ['reset', 'reset-after', 'cut', 'endless-header', 'gzip'],
    list: ['reset', 'cut', 'endless-header', 'gzip'],
  },
  refusal: {
    isMet: error =>
      [403, 404].includes(error.status) ||
      (error instanceof PlatformError && error.upstream >= 400 && error.upstream < 500),
    exchange: ['400', '401', '403', '404', '429'],
    list: ['400', '403', '404', '429'],
  },
  'failure-of-the-platform': {
    isMet: error => error instanceof PlatformError && error.upstream >= 500,
    exchange: ['500', '502', '503', '504'],
    list: ['500', '502', '503'],
  },
  'unreadable-answer': {
    isMet: error => error instanceof PlatformError && [200, 502].includes(error.upstream),
    exchange: ['half', 'empty', 'html', 'not-an-object'],
    list: ['half', 'empty', 'html', 'not-an-object', 'not-a-list'],
  },
}

/** Asks for the name, and ignores failures, because the name is only for display. */
async function askForName(visit: Visit, accessToken: string, deadlineMs: number): Promise<void> {
  const behaviour = { ...visit.behaviour, deadlineMs }
  const headers = { authorization: `Bearer ${accessToken}` }
  await call(behaviour, { method: 'GET', url: `${visit.settings.loginUrl}/api/me`, headers, most: 65_536 }).catch(
    () => {},
  )
}

/**
 * Begins a new login after a failed login. The visitor is signed in at the portal, so the portal immediately redirects
 * back.
 */
function loops() {
  return {
    statusFor: (error: unknown) => (correct.statusFor(error) === 502 ? 302 : correct.statusFor(error)),
    headers: (visit: Visit) => ({ ...correct.headers(visit), ...(isExchange(visit) && { location: '/login' }) }),
  }
}

/** Asks for the name during the login, and again each time the visitor opens this page. */
const asksForNameAt = (path: string): Partial<Behaviour> => ({
  async exchange(visit, callback, login) {
    const tokens = await correct.exchange(visit, callback, login)
    await askForName(visit, tokens.accessToken, 1000)
    return tokens
  },
  async aroundRequest(visit, next) {
    const session = visit.url.pathname === path && correct.readSession(visit)
    if (session) await askForName(visit, session.accessToken, 1000)
    return next()
  },
})

export const portalFaults: Mistake[] = [
  mistake('portal-down-hangs-up', 'exchange-reset', {
    statusFor(error) {
      if (error instanceof PlatformError) throw error
      return correct.statusFor(error)
    },
  }),
  ...Object.entries(hangsUp).map(([name, { isMet, exchange, list }]) =>
    mistake(`${name}-hangs-up`, [...exchange.map(id => `exchange-${id}`), ...list.map(id => `list-${id}`)], {
      statusFor(error) {
        if (error instanceof Refusal && isMet(error)) throw error
        return correct.statusFor(error)
      },
    }),
  ),
  mistake('failed-exchange-caught-by-the-framework', ['exchange-503', 'exchange-html', 'exchange-401'], notCaught),
  mistake(
    'portal-waited-for-without-end',
    [
      'exchange-never',
      'refresh-slow',
      'exchange-drip',
      'exchange-slow-header',
      'list-slow-header',
      'refresh-slow-header',
    ],
    { deadlineMs: 86_400_000 },
  ),
  mistake('portal-deadline-for-headers-alone', 'exchange-drip', {
    async send(visit, request) {
      const headersCame = new AbortController()
      const timer = setTimeout(() => headersCame.abort(), 4000)
      const behaviour = {
        ...visit.behaviour,
        deadlineMs: 86_400_000,
        readBody(response: Response, most: number) {
          clearTimeout(timer)
          return correct.readBody(response, most)
        },
      }
      const tooLate = new Promise<never>((_, reject) => {
        headersCame.signal.onabort = () => reject(new PlatformError(504))
      })
      return Promise.race([call(behaviour, request), tooLate])
    },
  }),
  mistake('large-answers-without-bound-or-deadline', ['exchange-endless-body', 'list-endless-body'], {
    deadlineMs: 86_400_000,
    readBody: response => response.text(),
  }),
  mistake('portal-redirect-followed', ['exchange-redirect-307', 'exchange-redirect-302'], { redirects: 'follow' }),
  mistake(
    'redirect-308-followed',
    [
      'exchange-redirect-others',
      'refresh-redirect-308',
      'list-redirect-others',
      'every-call-redirect',
      'logout-revocation-redirect-308',
    ],
    following((_call, status) => status === 308),
  ),
  mistake(
    'redirect-303-followed',
    ['exchange-redirect-others', 'list-redirect-others'],
    following((_call, status) => status === 303),
  ),
  mistake(
    'portal-error-assumed-to-be-a-text',
    ['exchange-odd-answers', 'refresh-odd-answers'],
    crashing(({ url }, answer, status) => {
      if (url.endsWith('/api/exchangeToken') && status >= 400) (answer as PortalError).error.toUpperCase()
    }),
  ),
  mistake(
    'pause-of-the-exchange-is-a-number',
    'exchange-retry-after-odd',
    showsPauseAsNumber(({ body }) => body?.includes('grant_type=authorization_code') ?? false),
  ),
  mistake(
    'exchange-tried-again',
    [
      'exchange-reset-after-not-repeated',
      'exchange-503-after-not-repeated',
      'exchange-429-not-repeated',
      'exchange-empty-after-not-repeated',
    ],
    {
      async send(visit, request) {
        try {
          const [status, answer] = await correct.send(visit, request)
          if (status === 200 && answer !== undefined) return [status, answer]
        } catch {}
        return correct.send(visit, request)
      },
    },
  ),
  mistake(
    'deadline-ends-with-the-headers-of-the-portal',
    ['exchange-error-drip', 'refresh-error-drip'],
    deadlineOfHeaders(
      (_call, status) => status >= 400,
      ({ url }) => url.endsWith('/api/exchangeToken'),
    ),
  ),
  mistake(
    'error-of-the-portal-read-to-its-end',
    'exchange-error-bounded',
    unlimited(({ url }, status) => url.endsWith('/api/exchangeToken') && status >= 400),
  ),
  mistake('portal-answer-without-end', 'exchange-endless-body-left', { readBody: response => response.text() }),
  mistake('late-answer-left-open', ['exchange-endless-body-left', 'refresh-endless-body-left'], {
    deadlineMs: 86_400_000,
    readBody: response => response.text(),
    send: (visit, request) =>
      Promise.race([
        correct.send(visit, request),
        new Promise<never>((_, reject) => {
          setTimeout(() => reject(new PlatformError(504)), 2000).unref()
        }),
      ]),
  }),
  mistake('post-sent-again-after-a-timeout', ['exchange-never-not-repeated', 'refresh-never-not-repeated'], {
    async send(visit, request) {
      try {
        return await correct.send(visit, request)
      } catch (error) {
        if (!(error instanceof PlatformError) || error.upstream !== 504) throw error
        return correct.send(visit, request)
      }
    },
  }),
  mistake('exchange-sent-again-after-502-or-no-json', 'exchange-failed-not-repeated', {
    async send(visit, request) {
      const answer = await correct.send(visit, request)
      const isAgain = answer[0] === 502 || (answer[0] === 200 && answer[1] === undefined)
      return isAgain && isExchange(visit) ? correct.send(visit, request) : answer
    },
  }),
  mistake('token-response-of-any-size', ['exchange-large-refused', 'refresh-large-refused'], {
    deadlineMs: 10_000,
    readBody: response => response.text(),
  }),
  mistake('session-emptied-at-the-callback', 'exchange-failed-keeps-session', {
    beforeState: async visit => correct.dropSession(visit),
  }),
  mistake('failed-login-ends-the-session', 'exchange-failed-keeps-session', {
    wordsFor(error, visit) {
      if (isCallback(visit)) correct.dropSession(visit)
      return correct.wordsFor(error, visit)
    },
  }),
  mistake('session-lost-by-a-login-without-tokens', 'exchange-failed-keeps-session', {
    readTokens(visit, answer) {
      try {
        return correct.readTokens(visit, answer)
      } catch (error) {
        if (isCallback(visit)) correct.dropSession(visit)
        throw error
      }
    },
  }),
  mistake('portal-words-as-html', 'exchange-error-escaped', {
    async exchange(visit, callback, login) {
      try {
        return await correct.exchange(visit, callback, login)
      } catch (error) {
        throw new Refusal(502, `The portal said: ${(error as PlatformError).code}`)
      }
    },
    html: text => text,
  }),
  mistake('portal-words-shown', ['exchange-error-own-words', 'exchange-error-description'], {
    async exchange(visit, callback, login) {
      const [status, answer] = await correct.send(visit, {
        method: 'POST',
        url: `${visit.settings.loginUrl}/api/exchangeToken`,
        headers: correct.portalHeaders(visit),
        body: correct.exchangeForm(visit, callback, login).toString(),
        most: 65_536,
      })
      if (status !== 200) throw new Error(`The portal said: ${JSON.stringify(answer)}`)
      return correct.readTokens(visit, isRecord(answer) ? answer : {})
    },
    wordsFor: error => (error as Error).message,
  }),
  mistake('description-of-a-refused-exchange-shown', 'exchange-error-description', {
    async exchange(visit, callback, login) {
      const form = correct.exchangeForm(visit, callback, login)
      return correct.readTokens(visit, await askPortal(visit, form))
    },
  }),
  mistake('portal-down-is-a-crash', ['exchange-reset-status', 'exchange-html-status', 'exchange-503-status'], {
    async exchange(visit, callback, login) {
      try {
        return await correct.exchange(visit, callback, login)
      } catch (error) {
        throw error instanceof PlatformError ? new TypeError('fetch failed') : error
      }
    },
  }),
  mistake('refused-code-begins-anew', 'exchange-refused-no-loop', loops()),
  mistake('portal-given-up-for-ever', 'exchange-works-again', {
    async exchange(visit, callback, login) {
      const memory = visit.memory
      if (memory.has('down')) throw new PlatformError(503)
      return correct.exchange(visit, callback, login).catch((error: Error) => {
        memory.set('down', true)
        throw error
      })
    },
  }),
  mistake('retry-after-obeyed', 'exchange-retry-after', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (status !== 429 && status !== 503) return [status, answer]
      await new Promise(resolve => setTimeout(resolve, 8000))
      return correct.send(visit, request)
    },
  }),
  mistake('login-needs-the-name', 'me-down', {
    async exchange(visit, callback, login) {
      const tokens = await correct.exchange(visit, callback, login)
      const [status] = await correct.send(visit, {
        method: 'GET',
        url: `${visit.settings.loginUrl}/api/me`,
        headers: { authorization: `Bearer ${tokens.accessToken}` },
        most: 65_536,
      })
      if (status !== 200) throw new PlatformError(status)
      return tokens
    },
  }),
  mistake('name-waited-for-without-end', 'me-slow-header', {
    async exchange(visit, callback, login) {
      const tokens = await correct.exchange(visit, callback, login)
      await askForName(visit, tokens.accessToken, 86_400_000)
      return tokens
    },
  }),
  mistake('name-asked-for-each-page', 'name-once', asksForNameAt('/applications')),
  mistake('name-asked-for-each-start-page', ['name-once', 'name-not-asked-again'], asksForNameAt('/')),
]
