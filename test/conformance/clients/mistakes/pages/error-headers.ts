// Clients that forget the security headers of answers that refuse a request.
import { correct } from '../../behaviour.ts'
import { answerWith, headersWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'

export const errorHeaders: Mistake[] = [
  mistake(
    'long-form-refused-without-headers',
    'error-headers',
    headersWith(({ headers }) =>
      Number(headers['content-length'] ?? 0) > 65_536
        ? { 'content-security-policy': undefined, 'x-content-type-options': undefined, 'x-frame-options': undefined }
        : {},
    ),
  ),
  mistake(
    'error-pages-without-headers',
    ['error-headers', 'error-not-framed', 'error-nosniff', 'error-content-security-policy'],
    {
      ...headersWith(() => ({
        'content-security-policy': undefined,
        'x-content-type-options': undefined,
        'x-frame-options': undefined,
      })),
      ...answerWith((answer, visit) =>
        answer.status < 400 ? { ...answer, headers: { ...correct.headers(visit), ...answer.headers } } : answer,
      ),
    },
  ),
]
