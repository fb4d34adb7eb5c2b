import { right } from '../parts.ts'
import { call, isRecord } from '../platform.ts'
import { PlatformFault, type Visit } from '../visit.ts'
import { fault } from './fault.ts'

const isExchange = ({ url }: Visit) => url.pathname === '/exchangeToken'

export const portalFaults = [
  fault('portal-redirect-followed', 'exchange-redirect-307', { redirects: 'follow' }),
  fault('portal-waited-for-without-end', 'exchange-never', { deadlineMs: 86_400_000 }),
  fault('portal-deadline-for-headers-alone', 'exchange-drip', {
    async send(visit, request) {
      const headersCame = new AbortController()
      const timer = setTimeout(() => headersCame.abort(), 4000)
      const parts = {
        ...visit.parts,
        deadlineMs: 86_400_000,
        readBody(response: Response, most: number) {
          clearTimeout(timer)
          return right.readBody(response, most)
        },
      }
      const tooLate = new Promise<never>((_, reject) => {
        headersCame.signal.onabort = () => reject(new PlatformFault(504))
      })
      return Promise.race([call(parts, request), tooLate])
    },
  }),
  fault('portal-answer-without-end', 'exchange-endless-body-left', { readBody: response => response.text() }),
  fault('exchange-tried-again', 'exchange-reset-after-not-repeated', {
    async send(visit, request) {
      try {
        const [status, answer] = await right.send(visit, request)
        if (status < 500) return [status, answer]
      } catch {}
      return right.send(visit, request)
    },
  }),
  fault('portal-words-shown', 'exchange-error-own-words', {
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
  fault('portal-down-is-a-crash', 'exchange-reset-status', {
    async exchange(visit, callback, login) {
      try {
        return await right.exchange(visit, callback, login)
      } catch (error) {
        throw (error as PlatformFault).upstream === 502 ? new TypeError('fetch failed') : error
      }
    },
  }),
  fault('portal-down-hangs-up', 'exchange-reset', {
    statusFor(error) {
      if (error instanceof PlatformFault) throw error
      return right.statusFor(error)
    },
  }),
  fault('refused-code-begins-anew', 'exchange-refused-no-loop', loops()),
  fault('retry-after-obeyed', 'exchange-retry-after', {
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
