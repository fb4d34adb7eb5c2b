// Mistakes that only a client over https can make. https.test.ts judges them, because the other tests use plain http.

import { answerWith, headersWith } from './changes.ts'
import { type Mistake, mistake } from './mistake.ts'
import type { Visit } from './visit.ts'

const hsts = (value: string) => headersWith(() => ({ 'strict-transport-security': value }))
const isRefused = (visit: Visit) => visit.memory.get('refused') === visit

export const httpsMistakes: Mistake[] = [
  mistake('no-hsts-behind-a-proxy', 'page-hsts', {
    ...headersWith(() => ({ 'strict-transport-security': undefined })),
  }),
  mistake('no-hsts-with-refusals', 'page-hsts', {
    ...answerWith((answer, visit) => {
      if (answer.status >= 400) visit.memory.set('refused', visit)
      return answer
    }),
    ...headersWith(visit => (isRefused(visit) ? { 'strict-transport-security': undefined } : {})),
  }),
  mistake('hsts-for-subdomains', 'page-hsts-value', hsts('max-age=31536000; includeSubDomains')),
  mistake('hsts-for-half-a-year', 'page-hsts-value', hsts('max-age=15552000')),
]
