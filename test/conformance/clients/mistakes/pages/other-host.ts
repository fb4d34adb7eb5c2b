// Clients that forget the security headers if a request has another Host.
import { type Behaviour, correct } from '../../behaviour.ts'
import { headersWith, hostOf } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { page } from '../../pages.ts'
import type { Answer, Visit } from '../../visit.ts'

const hasOwnHost = (visit: Visit) => hostOf(visit) === new URL(visit.settings.publicUrl).host

/** Answers requests with another Host in this way. The answers have only these headers. */
const toOtherHosts = (
  answerTo: (visit: Visit) => Answer,
  headers: (visit: Visit) => Record<string, string>,
): Partial<Behaviour> => ({
  aroundRequest: async (visit, next) => (hasOwnHost(visit) ? next() : answerTo(visit)),
  headers: visit => (hasOwnHost(visit) ? correct.headers(visit) : headers(visit)),
})

const refusal = (visit: Visit) => page(visit, 400, 'Unknown host', '<p>This host is not known here.</p>')

const withoutHeaders = () => ({})

export const otherHost: Mistake[] = [
  mistake(
    'pages-for-another-host-without-headers',
    ['other-host-page-headers', 'other-host-nosniff', 'other-host-policy'],
    { headers: visit => (hasOwnHost(visit) ? correct.headers(visit) : {}) },
  ),
  mistake(
    'pages-for-another-host-may-be-framed',
    'other-host-page-headers',
    headersWith(visit =>
      hasOwnHost(visit)
        ? {}
        : { 'x-frame-options': undefined, 'content-security-policy': "default-src 'none'; base-uri 'none'" },
    ),
  ),
  mistake(
    'other-host-redirected-without-headers',
    'other-host-nosniff',
    toOtherHosts(
      ({ settings, target }) => ({ status: 301, headers: { location: settings.publicUrl + target } }),
      withoutHeaders,
    ),
  ),
  mistake(
    'other-host-refused-without-headers',
    ['other-host-nosniff', 'other-host-policy'],
    toOtherHosts(refusal, withoutHeaders),
  ),
  mistake(
    'other-host-refused-with-one-header',
    'other-host-policy',
    toOtherHosts(refusal, () => ({ 'x-content-type-options': 'nosniff' })),
  ),
]
