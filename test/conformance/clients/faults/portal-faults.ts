import { right } from '../parts.ts'
import { call, callPortal, isRecord } from '../platform.ts'
import type { PlatformFault, Visit } from '../visit.ts'
import { fault } from './fault.ts'

const isExchange = ({ url }: Visit) => url.pathname === '/exchangeToken'

export const portalFaults = [
  fault('portal-redirect-followed', 'portal-redirect', { redirects: 'follow' }),
  fault('portal-waited-for-without-end', 'portal-never', { deadlineMs: 86_400_000 }),
  fault('portal-drip-waited-for', 'portal-drip', {
    async readBody(response, most) {
      // A deadline of the headers alone: the body may take as long as it likes.
      return right.readBody(response, most)
    },
    async send(visit, request) {
      return call({ ...visit.parts, deadlineMs: 86_400_000 }, request)
    },
  }),
  fault('portal-answer-without-end', 'portal-endless', { readBody: response => response.text() }),
  fault('exchange-tried-again', 'portal-no-retry', {
    async send(visit, request) {
      try {
        const [status, answer] = await right.send(visit, request)
        if (status < 500) return [status, answer]
      } catch {}
      return right.send(visit, request)
    },
  }),
  fault('portal-words-shown', 'portal-words-hidden', {
    async exchange(visit, callback, login) {
      const [status, answer] = await right.send(visit, {
        method: 'POST',
        url: `${visit.settings.loginUrl}/api/exchangeToken`,
        headers: right.portalHeaders(visit),
        body: right.exchangeForm(visit, callback, login).toString(),
        most: 65_536,
      })
      if (status !== 200) throw new Error(`The portal said: ${JSON.stringify(answer)}`)
      return right.readTokens(visit, isRecord(answer) ? answer : {})
    },
    wordsFor: error => (error as Error).message,
  }),
  fault('portal-down-is-a-crash', 'portal-reset', {
    async exchange(visit, callback, login) {
      try {
        return await right.exchange(visit, callback, login)
      } catch (error) {
        throw (error as PlatformFault).upstream === 502 ? new TypeError('fetch failed') : error
      }
    },
  }),
  fault('portal-down-hangs-up', 'portal-reset', {
    async exchange(visit, callback, login) {
      try {
        return await right.exchange(visit, callback, login)
      } catch (error) {
        visit.parts = {
          ...visit.parts,
          headers: () => {
            throw error
          },
        }
        throw error
      }
    },
  }),
  fault('html-is-a-session', 'portal-html', {
    parse: text => {
      try {
        return JSON.parse(text)
      } catch {
        return { access_token: 'undefined', token_type: 'Bearer', expires_in: 60 }
      }
    },
    isStateOf: (answer, state) => answer.state === undefined || answer.state === state,
  }),
  fault('refused-code-begins-anew', 'portal-no-loop', {
    async exchange(visit, callback, login) {
      return right.exchange(visit, callback, login)
    },
    wordsFor: right.wordsFor,
    ...loops(),
  }),
  fault('session-before-the-exchange', 'portal-no-session', {
    async beforeState(visit) {
      if (isExchange(visit) && right.findLogin(visit, visit.query.get('state') ?? ''))
        right.keepSession(visit, { accessToken: 'pending', refreshToken: undefined, seconds: 60 })
    },
  }),
  fault('retry-after-obeyed', 'portal-retry-after', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (status !== 429 && status !== 503) return [status, answer]
      await new Promise(resolve => setTimeout(resolve, 8000))
      return right.send(visit, request)
    },
  }),
]

/** Whoever is refused is sent to the portal again, which sends him back at once. */
function loops() {
  return {
    statusFor: (error: unknown) => (right.statusFor(error) === 502 ? 302 : right.statusFor(error)),
    headers: (visit: Visit) => ({ ...right.headers(visit), ...(isExchange(visit) && { location: '/login' }) }),
  }
}

export { callPortal }
