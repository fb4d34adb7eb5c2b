import { page } from '../pages.ts'
import { right } from '../parts.ts'
import { fault, headersWith, sessionWith } from './fault.ts'

const lax = sessionWith(text => text.replace('Strict', 'Lax'))
const words = (error: unknown) => (error instanceof Error ? `${error.message}\n${error.stack}` : String(error))

export const pages = [
  fault(
    'page-kept-in-caches',
    'page-no-store',
    headersWith(() => ({ 'cache-control': undefined })),
  ),
  fault(
    'page-without-a-policy',
    'page-csp',
    headersWith(() => ({ 'content-security-policy': undefined })),
  ),
  fault(
    'page-with-inline-scripts',
    'page-csp',
    headersWith(() => ({ 'content-security-policy': "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'" })),
  ),
  fault(
    'page-in-frames',
    'page-framing',
    headersWith(() => ({
      'x-frame-options': undefined,
      'content-security-policy': "default-src 'none'; form-action 'self'; base-uri 'none'",
    })),
  ),
  fault(
    'page-sniffed',
    'page-nosniff',
    headersWith(() => ({ 'x-content-type-options': undefined })),
  ),
  fault(
    'page-referrer-everywhere',
    'page-referrer-policy',
    headersWith(() => ({ 'referrer-policy': 'unsafe-url' })),
  ),
  fault(
    'page-for-every-origin',
    'page-cors',
    headersWith(({ headers }) => ({
      'access-control-allow-origin': headers.origin ?? '*',
      'access-control-allow-credentials': 'true',
    })),
  ),
  fault('post-from-anywhere', 'page-csrf', { isFromHere: () => true, ...lax }),
  fault('post-from-the-same-site', 'page-csrf-same-site', {
    isFromHere: visit => visit.headers['sec-fetch-site'] === 'same-site' || right.isFromHere(visit),
  }),
  fault('post-from-nowhere', 'page-csrf-null', {
    isFromHere: visit => visit.headers.origin === 'null' || right.isFromHere(visit),
  }),
  fault('post-origin-is-the-host', 'page-csrf-host', {
    isFromHere: visit => right.isFromHere(visit) || visit.headers.origin === `http://${visit.headers.host}`,
  }),
  fault('post-as-text', 'page-content-type', { bodyTypes: ['application/x-www-form-urlencoded', 'text/plain'] }),
  fault('post-without-end', 'page-body-bounded', { longestBody: Number.POSITIVE_INFINITY }),
  fault('names-as-html', 'page-escaped', { html: text => text }),
  fault('names-half-escaped', 'page-escaped', { html: text => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;') }),
  fault('links-of-any-kind', 'page-links', {
    itemOf: (visit, application) =>
      `${right.itemOf(visit, { ...application, webPageUrl: '' })} <a href="${right.html(application.webPageUrl)}">web page</a>`,
  }),
  fault('icons-from-elsewhere', 'page-no-foreign-content', {
    ...headersWith(() => ({
      'content-security-policy': "default-src 'none'; img-src *; form-action 'self'; frame-ancestors 'none'",
    })),
    itemOf: (visit, application) =>
      `<img src="https://icons.invalid/${encodeURIComponent(application.name)}">${right.itemOf(visit, application)}`,
  }),
  fault('stack-in-a-page', 'page-no-stack', {
    wordsFor: words,
    applicationPath: id => {
      decodeURIComponent(id)
      return right.applicationPath(id)
    },
  }),
  fault('not-found-repeats-the-address', 'page-404-escaped', {
    statusFor: right.statusFor,
    wordsFor: (error, visit) => `${right.wordsFor(error, visit)} ${decodeURIComponent(visit.url.pathname)}`,
    html: text => (text.startsWith('There is no') ? text : right.html(text)),
  }),
  fault('path-of-the-visitor-to-the-api', 'page-path-ids', {
    applicationPath: id => `/apps/v1/${decodeURIComponent(id)}`,
  }),
  fault('created-without-a-redirect', 'create-redirects', { created: visit => page(visit, 200, 'Created', '') }),
  fault('deep-link-from-elsewhere-is-a-login', 'page-deep-link', { comesFromElsewhere: () => false }),
  fault('forms-without-referrer-or-origin', 'page-forms-work', {
    ...headersWith(() => ({ 'referrer-policy': 'no-referrer' })),
    isFromHere: ({ headers, settings }) => headers.origin === settings.publicUrl,
  }),
  fault('error-with-status-200', 'page-error-status', { statusFor: () => 200 }),
]
