// Clients whose page behind the login is correct, but whose other answers lack a header or break a rule.
import { correct } from '../../behaviour.ts'
import { answerWith, bodyAt, bodyWith, headersWith, withStyle } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { signOutForm } from '../../pages.ts'
import type { Visit } from '../../visit.ts'

/** Changes the headers of all answers at the path. */
const headersAt = (path: string, change: (visit: Visit) => Record<string, string | undefined>) =>
  headersWith(visit => (visit.url.pathname === path ? change(visit) : {}))

const withoutPolicy = { 'content-security-policy': undefined }

export const everyPage: Mistake[] = [
  mistake(
    'start-page-in-frames',
    'every-page-not-framed',
    headersAt('/', () => ({ ...withoutPolicy, 'x-frame-options': undefined })),
  ),
  mistake(
    'refused-callback-without-a-type',
    'every-answer-content-type',
    answerWith((answer, { url }) =>
      url.pathname === '/exchangeToken' && answer.status >= 400 ? { ...answer, headers: {} } : answer,
    ),
  ),
  mistake(
    'page-of-a-declined-login-sniffed',
    ['every-page-headers', 'every-answer-nosniff'],
    headersAt('/cancelled', () => ({ 'x-content-type-options': undefined })),
  ),
  mistake(
    'form-without-a-policy',
    'every-page-policy',
    headersAt('/applications/new', () => withoutPolicy),
  ),
  mistake(
    'start-page-without-a-charset',
    'every-page-charset',
    answerWith((answer, { url }) =>
      url.pathname === '/' && answer.body ? { ...answer, headers: { 'content-type': 'text/html' } } : answer,
    ),
  ),
  mistake(
    'style-sheet-without-a-charset',
    'every-file-charset',
    withStyle({ 'content-type': 'text/css' }, 'p { margin: 0 }'),
  ),
  mistake(
    'style-sheet-kept-for-a-year-without-a-version',
    'every-file-versioned',
    withStyle(
      { 'content-type': 'text/css; charset=utf-8', 'cache-control': 'public, max-age=31536000, immutable' },
      'p { margin: 0 }',
    ),
  ),
  mistake(
    'pages-of-applications-kept-in-caches',
    'every-page-no-store',
    headersWith(({ url }) =>
      /^\/applications\/[\w-]{30,}/.test(url.pathname) ? { 'cache-control': 'private, max-age=60' } : {},
    ),
  ),
  mistake(
    'token-in-a-header',
    'every-page-no-secret',
    headersAt('/applications/new', visit => ({ 'x-access-token': correct.readSession(visit)?.accessToken })),
  ),
  mistake(
    'start-page-with-a-style-of-others',
    'every-page-nothing-foreign',
    bodyAt('/', body => body.replace('<title>', '<style>@import "https://fonts.invalid/a.css";</style><title>')),
  ),
  mistake(
    'style-sheet-with-a-font-of-others',
    'every-page-nothing-foreign',
    withStyle(
      { 'content-type': 'text/css; charset=utf-8' },
      '@font-face { font-family: A; src: url(https://fonts.invalid/a.woff2) }',
    ),
  ),
  mistake(
    'address-of-the-api-in-a-header',
    'every-answer-no-inside',
    answerWith((answer, { settings }) =>
      answer.status >= 500
        ? { ...answer, headers: { ...answer.headers, 'x-reason': `no answer from ${settings.apiUrl}` } }
        : answer,
    ),
  ),
  mistake(
    'generator-with-its-version',
    'every-answer-no-version',
    bodyWith(body => body.replace('<title>', '<meta name="generator" content="Example 4.18"><title>')),
  ),
  mistake(
    'not-found-names-the-server',
    'every-answer-no-version',
    answerWith(answer =>
      answer.status === 404 ? { ...answer, body: `${answer.body}<hr><center>nginx/1.18.0</center>` } : answer,
    ),
  ),
  mistake(
    'start-page-for-every-origin',
    'every-page-no-cors',
    headersAt('/', ({ headers }) => ({ 'access-control-allow-origin': headers.origin })),
  ),
  mistake(
    'form-without-a-way-out',
    'every-page-sign-out',
    bodyAt('/applications/new', body => body.replace(signOutForm, '')),
  ),
  mistake(
    'refused-form-without-a-sign-out-button',
    'every-page-sign-out',
    bodyWith((body, { method }) =>
      method === 'POST' ? body.replace(/<form method="post" action="\/logout">.*?<\/form>/, '') : body,
    ),
  ),
  mistake(
    'page-after-a-failed-call-without-sign-out',
    'failed-page-sign-out',
    answerWith(answer =>
      answer.status === 502 && answer.body ? { ...answer, body: answer.body.replace(signOutForm, '') } : answer,
    ),
  ),
]
