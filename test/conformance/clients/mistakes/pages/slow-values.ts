// Clients with a regular expression that needs seconds or minutes for some values.
import { setTimeout as pause } from 'node:timers/promises'
import { type Mistake, mistake } from '../../mistake.ts'

export const slowValues: Mistake[] = [
  mistake('many-spaces-take-seconds', 'create-long-values', {
    async aroundRequest(visit, next) {
      const answer = await next()
      if (/ {20000}/.test(new URLSearchParams(visit.body).get('description') ?? '')) await pause(1200)
      return answer
    },
  }),
  // These clients answer as slowly as if they used an exponential regular expression. But they only wait, because a
  // busy client would also block the suite, which runs in the same process.
  mistake('long-name-takes-seconds', 'create-slow-values', {
    async aroundRequest(visit, next) {
      const answer = await next()
      const name = new URLSearchParams(visit.body).get('name') ?? ''
      if (/^a{25,}!/.test(name)) await pause(4000)
      return answer
    },
  }),
  mistake('empty-entry-of-a-list-takes-seconds', 'create-slow-values', {
    async aroundRequest(visit, next) {
      const answer = await next()
      const list = new URLSearchParams(visit.body).get('redirectUris') ?? ''
      if (/^a{25,},,/.test(list)) await pause(4000)
      return answer
    },
  }),
  mistake('long-search-takes-seconds', 'query-slow-values', {
    async aroundRequest(visit, next) {
      const isSlow = visit.url.pathname === '/applications' && /^a{25,}!/.test(visit.query.get('q') ?? '')
      if (isSlow) await pause(4000)
      return next()
    },
  }),
]
