import { right } from '../parts.ts'
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
]
