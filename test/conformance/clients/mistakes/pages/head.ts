// Clients that answer HEAD requests wrongly.
import { crashIf } from '../../changes.ts'
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
  // Some servers send the body that the program returns, even in an answer to HEAD.
  mistake('head-with-a-body', 'head-of-start-page', {
    ...crashIf(({ method }) => method === 'HEAD'),
    onCrash: (_error, response) => {
      const lines = [
        'HTTP/1.1 200 OK',
        'content-type: text/html; charset=utf-8',
        'content-length: 12',
        'connection: close',
      ]
      response.socket!.end(`${lines.join('\r\n')}\r\n\r\n<p>Hello</p>`)
    },
  }),
]
