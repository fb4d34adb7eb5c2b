import { right } from '../parts.ts'
import { isRecord } from '../platform.ts'
import type { Visit } from '../visit.ts'
import { fault } from './fault.ts'

const printed = (name: string, checks: string | string[], what: (visit: Visit) => string) =>
  fault(name, checks, { describe: (visit, status) => `${visit.method} ${what(visit)} ${status}` })

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
  printed('form-printed', 'log-forms', ({ url, body }) => `${url.pathname} ${body}`),
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
  fault('credentials-printed', 'log-created-secret', {
    created(visit, made, visitor) {
      visit.settings.print(`created: ${made}`)
      return right.created(visit, made, visitor)
    },
  }),
  fault('answers-of-the-platform-printed', 'log-created-secret', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (isRecord(answer)) visit.settings.print(JSON.stringify(answer))
      return [status, answer]
    },
  }),
]
