// Clients that keep expired sessions, or that make too many calls.
import { correct } from '../behaviour.ts'
import { sendWith } from '../call-changes.ts'
import { contentOf } from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { callApi, isRecord } from '../platform.ts'
import { isApplication, isRead } from '../requests.ts'
import type { Session } from '../visit.ts'

export const time: Mistake[] = [
  mistake('session-end-not-checked-on-pages-of-an-application', 'time-session-ends-at-server', {
    readSession: visit =>
      isApplication(visit) ? (contentOf(visit) as Session | undefined) : correct.readSession(visit),
  }),
  mistake('session-ends-in-the-browser-only', 'time-session-ends-at-server', {
    readSession: visit =>
      visit.cookies
        .filter(([name]) => name === visit.behaviour.sessionCookie)
        .map(([, text]) => visit.behaviour.unseal(visit, visit.behaviour.sessionCookie, text) as Session | undefined)
        .find(session => session !== undefined),
  }),
  mistake('form-of-an-expired-session-carried-out', 'time-form-ends-at-server', {
    readSession(visit) {
      if (visit.method !== 'POST') return correct.readSession(visit)
      const [sealed] = visit.cookies.flatMap(([name, text]) => (name === correct.sessionCookie ? [text] : []))
      return sealed === undefined
        ? undefined
        : (correct.unseal(visit, correct.sessionCookie, sealed) as ReturnType<typeof correct.readSession>)
    },
  }),
  mistake('refused-token-is-a-crash', 'time-token-ends-early', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (status === 401) throw new Error('The API refused the token.')
      return [status, answer]
    },
  }),
  mistake('form-asks-for-every-group', 'calls-of-a-page', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (!request.url.includes('/links') || !isRecord(answer) || !Array.isArray(answer.ItemList))
        return [status, answer]
      for (const { to } of answer.ItemList)
        await correct.send(visit, { ...request, url: `${visit.settings.apiUrl}/identities/v1/${to}` })
      return [status, answer]
    },
  }),
  mistake(
    'three-calls-for-one-application',
    'calls-of-a-page',
    sendWith(isRead, async (_visit, _call, send) => {
      await send()
      await send()
      return send()
    }),
  ),
  mistake('call-for-each-application', 'calls-of-a-page', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      const items = isRecord(answer) && Array.isArray(answer.ItemList) ? answer.ItemList : []
      if (request.url.endsWith('/apps/v1') && request.method === 'GET')
        for (const item of items) await correct.send(visit, { ...request, url: `${request.url}/${item['@id']}` })
      return [status, answer]
    },
  }),
  mistake(
    'two-calls-for-one-application',
    'calls-after-expiry',
    sendWith(isRead, async (_visit, _call, send) => {
      await send()
      return send()
    }),
  ),
  mistake('login-with-many-calls', 'calls-of-a-login', {
    async exchange(visit, callback, login) {
      const tokens = await correct.exchange(visit, callback, login)
      const session = { accessToken: tokens.accessToken, expiresAt: 0, visitor: '' }
      const settings = { ...visit.settings, apiUrl: visit.settings.loginUrl }
      for (let count = 0; count < 3; count++) await callApi({ ...visit, settings }, session, 'GET', '/api/me')
      return tokens
    },
  }),
]
