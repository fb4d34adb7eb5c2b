import { right } from '../parts.ts'
import { type Call, isRecord } from '../platform.ts'
import type { Visit } from '../visit.ts'
import { fault } from './fault.ts'

const printed = (name: string, checks: string | string[], what: (visit: Visit) => string) =>
  fault(name, checks, { describe: (visit, status) => `${visit.method} ${what(visit)} ${status}` })

/** Makes a call. If the call fails and `isMeant` is true, the client prints the whole call. */
async function printFailed(visit: Visit, request: Call, isMeant: boolean): Promise<[number, unknown]> {
  const print = () => isMeant && visit.settings.print(`failed: ${JSON.stringify(request)}`)
  try {
    const answered = await right.send(visit, request)
    if (answered[0] >= 400 || !isRecord(answered[1])) print()
    return answered
  } catch (error) {
    print()
    throw error
  }
}

export const log = [
  printed('query-printed', ['log-code', 'log-refused-callback'], ({ url }) => url.pathname + url.search),
  printed(
    'state-printed',
    'log-state',
    ({ url, query }) => `${url.pathname} state=${query.get('state')} code=${query.get('code')}`,
  ),
  printed('cookies-printed', 'log-cookies', ({ url, headers }) => `${url.pathname} ${headers.cookie}`),
  printed('set-cookies-printed', 'log-cookies', ({ url, setCookies }) => `${url.pathname} ${setCookies.join(' ')}`),
  printed(
    'settings-printed',
    'log-client-secret',
    ({ url, settings }) => `${url.pathname} ${JSON.stringify(settings)}`,
  ),
  printed('form-printed', ['log-forms', 'log-form-tokens'], ({ url, body }) => `${url.pathname} ${body}`),
  printed(
    'field-of-a-form-printed',
    'log-one-line-form',
    ({ url, body }) => `${url.pathname} ${new URLSearchParams(body).get('description')}`,
  ),
  printed('field-of-a-change-printed', 'log-one-line-form', ({ url, body }) =>
    url.pathname.endsWith('/edit') ? `${url.pathname} ${new URLSearchParams(body).get('description')}` : url.pathname,
  ),
  printed('line-of-a-page-query-printed', 'log-one-line', ({ url, query }) =>
    url.pathname === '/applications' ? `${url.pathname} ${query.get('x')}` : '',
  ),
  printed(
    'line-of-a-cookie-printed',
    'log-one-line',
    ({ url, cookies }) => `${url.pathname} ${decodeURIComponent(cookies.find(([name]) => name === 'x')?.[1] ?? '')}`,
  ),
  fault('refused-form-printed', 'log-refused-form', {
    wordsFor(error, visit) {
      if (visit.body) visit.settings.print(`form refused: ${visit.body}`)
      return right.wordsFor(error, visit)
    },
  }),
  fault('return-address-printed', 'log-one-line', {
    afterStart(visit, answer) {
      visit.settings.print(`login for ${visit.query.get('returnTo')}`)
      return answer
    },
  }),
  printed('lines-of-strangers-printed', 'log-one-line', ({ url }) => decodeURIComponent(url.pathname)),
  fault('tokens-printed', 'log-tokens', {
    readTokens(visit, answer) {
      visit.settings.print(`tokens: ${JSON.stringify(answer)}`)
      return right.readTokens(visit, answer)
    },
  }),
  fault('calls-printed', 'log-tokens', {
    send(visit, request) {
      visit.settings.print(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
      return right.send(visit, request)
    },
  }),
  fault('exchange-printed', 'log-client-secret', {
    send(visit, request) {
      if (request.method === 'POST') visit.settings.print(`${request.url} ${request.body}`)
      return right.send(visit, request)
    },
  }),
  fault('failed-exchange-printed', 'log-failed-exchange', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (status >= 400) visit.settings.print(`failed: ${JSON.stringify(request)}`)
      return [status, answer]
    },
  }),
  fault('refused-tokens-printed', 'log-refused-tokens', {
    async exchange(visit, callback, login) {
      let answer: unknown
      const send = async (...call: Parameters<typeof right.send>): ReturnType<typeof right.send> => {
        const answered = await right.send(...call)
        answer = answered[1]
        return answered
      }
      try {
        return await right.exchange({ ...visit, parts: { ...visit.parts, send } }, callback, login)
      } catch (error) {
        visit.settings.print(`refused: ${JSON.stringify(answer)}`)
        throw error
      }
    },
  }),
  fault('refused-renewal-printed', 'log-refused-renewal', {
    readTokens(visit, answer) {
      try {
        return right.readTokens(visit, answer)
      } catch (error) {
        visit.settings.print(`refused: ${JSON.stringify(answer)}`)
        throw error
      }
    },
  }),
  ...['error', 'error_description', 'error_uri', 'subject', 'client_id', 'iss', 'code'].map(name =>
    fault(`${name}-of-a-callback-printed`, 'log-one-line-callback', {
      forgetLogin(visit, state) {
        visit.settings.print(`callback with ${name} ${visit.query.get(name)}`)
        right.forgetLogin(visit, state)
      },
    }),
  ),
  fault('reason-of-a-cancelled-login-printed', 'log-one-line-callback', {
    async around(visit, next) {
      if (visit.url.pathname === '/cancelled')
        visit.settings.print(`cancelled: ${visit.query.get('error_description')}`)
      return next()
    },
  }),
  ...['401', '403', '500', 'reset', 'html'].map(kind =>
    fault(`call-that-fails-is-printed-${kind}`, `log-api-${kind}`, {
      send: (visit, request) => printFailed(visit, request, request.url.includes('/apps/v1')),
    }),
  ),
  fault('creation-that-fails-is-printed', 'log-api-form-refused', {
    send: (visit, request) =>
      printFailed(visit, request, request.method === 'POST' && request.url.endsWith('/apps/v1')),
  }),
  fault('revocation-that-fails-is-printed', 'log-failed-revocation', {
    send: (visit, request) => printFailed(visit, request, request.url.endsWith('/api/revokeToken')),
  }),
  fault('credentials-printed', 'log-created-secret', {
    created(visit, made, visitor) {
      visit.settings.print(`created: ${made}`)
      return right.created(visit, made, visitor)
    },
  }),
  fault('answers-of-the-platform-printed', ['log-created-secret', 'log-texts-of-the-api'], {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (isRecord(answer)) visit.settings.print(JSON.stringify(answer))
      return [status, answer]
    },
  }),
]
