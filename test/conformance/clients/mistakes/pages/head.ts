// Clients that answer HEAD requests wrongly.
import { type Mistake, mistake } from '../../mistake.ts'

export const head: Mistake[] = [
  mistake('head-runs-the-page', ['head-of-visitor-pages', 'head-keeps-the-session'], {
    async aroundRequest(visit, next) {
      if (visit.method !== 'HEAD') return next()
      visit.method = 'GET'
      const answer = await next()
      visit.method = 'HEAD'
      return answer
    },
  }),
  mistake('head-of-the-start-page-refused', 'head-of-start-page', {
    async aroundRequest(visit, next) {
      return visit.method === 'HEAD' ? { status: 405, headers: { allow: 'GET' } } : next()
    },
  }),
]
