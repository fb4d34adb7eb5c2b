// Faults that only a client over https can have. https.test.ts judges them, because the other tests use plain http.
import type { Visit } from '../visit.ts'
import { answerWith, type Fault, fault, headersWith, memoryOf } from './fault.ts'

const hsts = (value: string) => headersWith(() => ({ 'strict-transport-security': value }))
const isRefused = (visit: Visit) => memoryOf(visit).get('refused') === visit

export const httpsFaults: Fault[] = [
  fault('no-hsts-behind-a-proxy', 'page-hsts', { ...headersWith(() => ({ 'strict-transport-security': undefined })) }),
  fault('no-hsts-with-refusals', 'page-hsts', {
    ...answerWith((answer, visit) => {
      if (answer.status >= 400) memoryOf(visit).set('refused', visit)
      return answer
    }),
    ...headersWith(visit => (isRefused(visit) ? { 'strict-transport-security': undefined } : {})),
  }),
  fault('hsts-for-subdomains', 'page-hsts-value', hsts('max-age=31536000; includeSubDomains')),
  fault('hsts-for-half-a-year', 'page-hsts-value', hsts('max-age=15552000')),
]
