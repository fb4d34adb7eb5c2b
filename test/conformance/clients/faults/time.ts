import { right } from '../parts.ts'
import { callApi, isRecord } from '../platform.ts'
import type { Session } from '../visit.ts'
import { fault } from './fault.ts'

export const time = [
  fault('session-ends-in-the-browser-only', 'time-session-ends-at-server', {
    readSession: visit =>
      visit.cookies
        .filter(([name]) => name === visit.parts.sessionCookie)
        .map(([, text]) => visit.parts.unseal(visit, visit.parts.sessionCookie, text) as Session | undefined)
        .find(session => session !== undefined),
  }),
  fault('refused-token-is-a-crash', 'time-token-ends-early', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (status === 401) throw new Error('The API refused the token.')
      return [status, answer]
    },
  }),
  fault('call-for-each-application', 'calls-of-a-page', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      const items = isRecord(answer) && Array.isArray(answer.ItemList) ? answer.ItemList : []
      if (request.url.endsWith('/apps/v1') && request.method === 'GET')
        for (const item of items) await right.send(visit, { ...request, url: `${request.url}/${item['@id']}` })
      return [status, answer]
    },
  }),
  fault('list-read-again-and-again-for-a-form', 'calls-of-a-form', {
    async send(visit, request) {
      const { body: _, ...rest } = request
      const isCreation = request.method === 'POST' && request.url.endsWith('/apps/v1')
      for (let count = 0; isCreation && count < 4; count++) await right.send(visit, { ...rest, method: 'GET' })
      return right.send(visit, request)
    },
  }),
  fault('login-with-many-calls', 'calls-of-a-login', {
    async exchange(visit, callback, login) {
      const tokens = await right.exchange(visit, callback, login)
      const session = { accessToken: tokens.accessToken, expiresAt: 0, visitor: '' }
      const settings = { ...visit.settings, apiUrl: visit.settings.loginUrl }
      for (let count = 0; count < 3; count++) await callApi({ ...visit, settings }, session, 'GET', '/api/me')
      return tokens
    },
  }),
]
