import { page } from '../pages.ts'
import { right } from '../parts.ts'
import { fault, headersWith, sessionWith } from './fault.ts'

/** With nothing in the form that only this visitor's page has. */
const anyForm = { isFormOf: () => true }
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
    'page-content-security-policy',
    headersWith(() => ({ 'content-security-policy': undefined })),
  ),
  fault(
    'page-with-inline-scripts',
    'page-content-security-policy',
    headersWith(() => ({ 'content-security-policy': "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'" })),
  ),
  fault(
    'page-in-frames',
    'page-not-framed',
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
    'page-for-every-origin',
    'page-no-cors',
    headersWith(({ headers }) => ({
      'access-control-allow-origin': headers.origin ?? '*',
      'access-control-allow-credentials': 'true',
    })),
  ),
  fault('post-from-anywhere', 'create-same-site', { isFromHere: () => true, ...lax, ...anyForm }),
  fault('post-from-the-same-site', 'create-same-site', {
    ...anyForm,
    isFromHere: visit => visit.headers['sec-fetch-site'] === 'same-site' || right.isFromHere(visit),
  }),
  fault('post-from-nowhere', 'create-forged-origin-null', {
    ...anyForm,
    isFromHere: visit => visit.headers.origin === 'null' || right.isFromHere(visit),
  }),
  fault('post-origin-is-the-host', 'create-forged-host', {
    ...anyForm,
    isFromHere: visit => right.isFromHere(visit) || visit.headers.origin === `http://${visit.headers.host}`,
  }),
  fault('names-as-html', 'page-escapes-script', { html: text => text }),
  fault('names-half-escaped', 'page-escapes-double-quote', {
    html: text => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    itemOf: (visit, application) =>
      `<span title="${visit.parts.html(application.name)}">${right.itemOf(visit, application)}</span>`,
  }),
  fault('form-loses-what-follows-a-quote', 'create-refused', {
    html: text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  }),
  fault('not-found-repeats-the-address', 'not-found-escapes', {
    notFound: ({ url }) => `<p>There is no ${decodeURIComponent(url.pathname + url.search)}.</p>`,
  }),
  fault('links-of-any-kind', 'page-escapes-anything', {
    itemOf: (visit, application) =>
      `${right.itemOf(visit, { ...application, webPageUrl: '' })} <a href="${right.html(application.webPageUrl)}">web page</a>`,
  }),
  fault('icons-from-elsewhere', 'page-icon-not-loaded', {
    ...headersWith(() => ({
      'content-security-policy': "default-src 'none'; img-src *; form-action 'self'; frame-ancestors 'none'",
    })),
    itemOf: (visit, application) =>
      `<img src="${right.html(application.webPageUrl)}">${right.itemOf(visit, application)}`,
  }),
  fault('stack-in-a-page', 'errors-say-nothing', {
    wordsFor: words,
    applicationPath: id => {
      decodeURIComponent(id)
      return right.applicationPath(id)
    },
  }),
  fault('path-of-the-visitor-to-the-api', 'page-id-slashes', {
    applicationPath: id => `/apps/v1/${decodeURIComponent(id)}`,
  }),
  fault('created-without-a-redirect', 'create-reload', {
    created: visit => page(visit, 200, 'Created', ''),
    once: (_visit, _name, act) => act(),
  }),
  fault('forms-without-referrer-or-origin', 'create-works', {
    ...headersWith(() => ({ 'referrer-policy': 'no-referrer' })),
    isFromHere: ({ headers, settings }) => headers.origin === settings.publicUrl,
  }),
  fault('token-in-a-page', 'page-no-tokens', {
    itemOf: (visit, application) =>
      `${right.itemOf(visit, application)}<meta name="token" content="${right.readSession(visit)?.accessToken}">`,
  }),
  fault('form-of-another-visitor-taken', 'create-other-visitor', { isFormOf: () => true }),
  fault('form-sent-twice-creates-twice', 'create-once', { once: (_visit, _name, act) => act() }),
  fault(
    'page-after-sign-out-from-the-cache',
    'page-no-store',
    headersWith(() => ({ 'cache-control': 'private, max-age=300' })),
  ),
]
