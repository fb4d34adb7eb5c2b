// Checks on the headers and contents of every answer that the suite can get. Many clients send the right headers with
// the page behind the login, but forget them with other answers.
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { bodyOf, expect, headerOf, isRedirect, statusOf } from '../../findings.ts'
import { namesAddress } from '../../steps/addresses.ts'
import { isNotFramed } from '../../steps/frames.ts'
import {
  foreignLoads,
  foreignLoadsOfStyle,
  isErrorPage,
  saysInside,
  showsInside,
  versions,
} from '../../steps/page-content.ts'
import { offersSignOut } from '../../steps/sign-out.ts'
import { marks, type Tour, type TourAnswer, takeTour, typeOf } from '../../steps/tour.ts'
import { tokensOf } from '../../tokens.ts'

const needs: CheckDefinition['needs'] = ['page']

const isPage = ({ exchange }: TourAnswer) =>
  /html/i.test(typeOf(exchange)) && bodyOf(exchange).trim() !== '' && !isRedirect(exchange)
const isStyle = ({ exchange }: TourAnswer) => /^\s*text\/css/i.test(typeOf(exchange))
const hasBody = ({ exchange }: TourAnswer) => bodyOf(exchange) !== ''

function nameOf({ what, exchange }: TourAnswer): string {
  return `The answer to ${what} (${exchange.request.method} ${new URL(exchange.request.url).pathname}, status ${statusOf(exchange)})`
}

/**
 * Makes a check that looks at every answer. `wrong` returns the mistake in an answer as the end of a sentence. For
 * example, it returns "has no content type" for the sentence "The answer to the callback has no content type." It
 * returns undefined for a correct answer.
 */
function everyAnswer(
  definition: Omit<CheckDefinition, 'run'>,
  wrong: (answer: TourAnswer, tour: Tour, context: CheckContext) => string | undefined,
): CheckDefinition {
  return {
    needs,
    ...definition,
    async run(context) {
      const tour = await takeTour(context)
      for (const answer of tour.answers) {
        const said = wrong(answer, tour, context)
        expect(said === undefined, `${nameOf(answer)} ${said}.`, answer.exchange)
      }
    },
  }
}

const hasNosniff = ({ exchange }: Pick<TourAnswer, 'exchange'>) =>
  /nosniff/i.test(headerOf(exchange, 'x-content-type-options') ?? '')

/** Ends the check if the page behind the login has no nosniff header, because other checks report this. */
function requireNosniff({ page }: Tour): void {
  if (!/nosniff/i.test(page.headers.get('x-content-type-options') ?? ''))
    throw new NotApplicable('even the page behind the login does not have the header')
}

const isStyleOrScript = ({ exchange }: TourAnswer) =>
  /^\s*(text\/css|(text|application)\/javascript)/i.test(typeOf(exchange))

const weekSeconds = 7 * 86_400

/** Whether browsers use the answer for more than a week without asking the client for a newer one. */
function isKeptForWeeks({ exchange }: TourAnswer): boolean {
  const control = headerOf(exchange, 'cache-control') ?? ''
  const seconds = Number(/\bmax-age\s*=\s*"?(\d+)/i.exec(control)?.[1] ?? 0)
  return seconds > weekSeconds && !/\bno-(cache|store)\b/i.test(control)
}

/**
 * Whether the address may contain a version or a hash of the content. There are many formats, so a query, a digit or a
 * capital letter is enough.
 */
function mayHaveVersion(address: string): boolean {
  const { pathname, search } = new URL(address)
  return search !== '' || /[0-9A-Z]/.test(pathname)
}

/** A meta element that names the program that made the page, with its version. */
const generator = /<meta\s+name=["']?generator["']?\s+content=["']([^"'>]*\d+\.\d+[^"'>]*)/i

/**
 * All strings by which a check recognizes the secret in an answer: the secret itself, its encoded forms, and the
 * signature of a token.
 */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const signature = secret.split('.').length === 3 ? [secret.split('.')[2]!] : []
  return [secret, encodeURIComponent(secret), bytes.toString('base64'), bytes.toString('base64url'), ...signature]
}

/** All strings by which a check recognizes the client secret or a token that the portal issued during the check. */
function secretsOf(context: CheckContext): string[] {
  const tokens = context.arrived('exchange', 'refresh').flatMap(step => {
    const { access_token: access, refresh_token: refresh } = tokensOf(step) ?? {}
    return [access, refresh].filter(token => typeof token === 'string')
  })
  return [...tokens, context.platform.clientSecret.reveal()].flatMap(formsOf)
}

export const everyPage: CheckDefinition[] = [
  everyAnswer(
    {
      id: 'every-page-not-framed',
      title: 'Other sites cannot show any page of the client in a frame',
      rule: 'PG-08',
      why: 'Another site can hide the page in a frame, so that visitors press its buttons without seeing them.',
      fix: "Send frame-ancestors 'none' or X-Frame-Options: DENY with every page. Set the header in one function that runs for every answer.",
    },
    (answer, _tour, { settings }) =>
      isPage(answer) && !isNotFramed(name => headerOf(answer.exchange, name), settings.client)
        ? 'may be shown in a frame of another site'
        : undefined,
  ),
  everyAnswer(
    {
      id: 'every-answer-content-type',
      title: 'Every page has a content type',
      rule: 'PG-09',
      why: 'Without a content type, the browser guesses the type, and can treat plain text as a page with scripts.',
      fix: 'Send Content-Type with every answer that has a body, including errors.',
    },
    // Without a content type, a browser treats an answer as a page only if the answer begins with `<`.
    ({ exchange }) =>
      bodyOf(exchange).trimStart().startsWith('<') && typeOf(exchange) === ''
        ? 'is a page and has no Content-Type'
        : undefined,
  ),
  everyAnswer(
    {
      id: 'every-page-headers',
      title: 'If the page behind the login has X-Content-Type-Options: nosniff, every page has this header',
      rule: 'PG-09',
      why: 'Browsers must not guess the type of a page. If a client sets its headers in one template or one handler, other pages do not have them.',
      fix: 'Set the headers in one function that runs for every answer, before the routes and the error handler.',
    },
    (answer, tour) => {
      requireNosniff(tour)
      const isOwn = answer.kind !== 'file' && !isRedirect(answer.exchange) && hasBody(answer)
      return isOwn && !hasNosniff(answer) ? 'has no X-Content-Type-Options: nosniff' : undefined
    },
  ),
  everyAnswer(
    {
      id: 'every-answer-nosniff',
      title: 'If the page behind the login has X-Content-Type-Options: nosniff, every answer has this header',
      rule: 'nosniff',
      why: 'Browsers must not guess the type of any answer. Files and redirects often come from different code than pages.',
      fix: 'Send X-Content-Type-Options: nosniff with every answer, including files and redirects.',
    },
    (answer, tour) => {
      requireNosniff(tour)
      return hasNosniff(answer) ? undefined : 'has no X-Content-Type-Options: nosniff'
    },
  ),
  everyAnswer(
    {
      id: 'every-page-policy',
      title: 'If the page behind the login has a Content-Security-Policy, every page has one',
      rule: 'content-security-policy',
      why: 'One page without the policy is enough for an attacker, because all pages share the cookies.',
      fix: 'Send the Content-Security-Policy with every page. Set the header in one function that runs for every answer.',
    },
    (answer, { page }) => {
      if (!page.headers.has('content-security-policy'))
        throw new NotApplicable('even the page behind the login does not have a policy')
      return isPage(answer) && headerOf(answer.exchange, 'content-security-policy') === undefined
        ? 'has no Content-Security-Policy'
        : undefined
    },
  ),
  everyAnswer(
    {
      id: 'every-page-charset',
      title: 'The Content-Type header of every page names the charset',
      rule: 'charset',
      why: 'Without a charset, the browser guesses. An attacker can then write text that becomes markup if the browser picks a wrong charset.',
      fix: 'Send Content-Type: text/html; charset=utf-8 with every page, including errors.',
    },
    ({ kind, exchange }) => {
      const isText = /^\s*(text\/(html|plain)|$)/i.test(typeOf(exchange)) && bodyOf(exchange) !== ''
      const isNamed = /charset=/i.test(typeOf(exchange))
      return kind !== 'file' && isText && !isRedirect(exchange) && !isNamed ? 'has no charset' : undefined
    },
  ),
  everyAnswer(
    {
      id: 'every-file-charset',
      title: 'Every style sheet or text file that a page loads declares its charset',
      rule: 'charset',
      why: 'Without a charset, the browser guesses how to read letters outside ASCII in the file.',
      fix: 'Send Content-Type: text/css; charset=utf-8 with every style sheet, and add charset=utf-8 to the type of every other text file.',
    },
    ({ kind, exchange }) =>
      kind === 'file' && /^\s*text\//i.test(typeOf(exchange)) && !/charset=/i.test(typeOf(exchange))
        ? 'declares no charset'
        : undefined,
  ),
  everyAnswer(
    {
      id: 'every-file-versioned',
      title:
        'If browsers may use a style sheet or script for more than a week without asking, its address contains a version or a hash',
      rule: 'versioned-files',
      why: 'After an update of the client, visitors see new pages with old styles, or old scripts break the new pages.',
      fix: 'Write a hash of the content or a version into the address, as in style.3f9a1c.css or style.css?v=12. Or send a short max-age or no-cache, and an ETag.',
    },
    answer =>
      answer.kind === 'file' &&
      isStyleOrScript(answer) &&
      isKeptForWeeks(answer) &&
      !mayHaveVersion(answer.exchange.request.url)
        ? `has Cache-Control: ${headerOf(answer.exchange, 'cache-control')}, and its address contains no version and no hash`
        : undefined,
  ),
  everyAnswer(
    {
      id: 'every-page-no-store',
      title: "Every answer with the visitor's data has Cache-Control: no-store",
      rule: 'PG-11',
      why: 'Without no-store, the Back button shows the page even after the visitor has signed out, and a proxy may send the page to other people.',
      fix: 'Send Cache-Control: no-store with every answer to a signed-in visitor, including refused forms and new secrets.',
    },
    ({ kind, exchange }) => {
      const isData = kind === 'visitor' && marks.some(mark => bodyOf(exchange).includes(mark))
      const control = headerOf(exchange, 'cache-control')
      return isData && !/no-store/i.test(control ?? '')
        ? `contains the visitor's data, and ${control === undefined ? 'there is no Cache-Control' : `Cache-Control is ${control}`}`
        : undefined
    },
  ),
  everyAnswer(
    {
      id: 'every-page-no-secret',
      title: 'No body or header of an answer contains a token or the client secret',
      rule: 'CK-08',
      why: 'Scripts, browser extensions and proxies can read everything in an answer.',
      fix: 'Keep tokens and the client secret on the server. If a cookie must contain a token, encrypt the token.',
    },
    ({ exchange }, _tour, context) => {
      const headers = 'headers' in exchange.response ? [...exchange.response.headers.values()] : []
      const texts = [bodyOf(exchange), ...headers]
      return secretsOf(context).some(secret => texts.some(text => text.includes(secret)))
        ? 'contains a token or the client secret'
        : undefined
    },
  ),
  everyAnswer(
    {
      id: 'every-page-nothing-foreign',
      title: 'No page of the client loads anything from another site',
      rule: 'PG-22',
      why: 'If a page loads a script or style from another site, that site can see and do everything that the visitor can.',
      fix: 'Serve scripts, styles, fonts and images from the client itself.',
    },
    (answer, _tour, { settings }) => {
      const read = isPage(answer) ? foreignLoads : isStyle(answer) ? foreignLoadsOfStyle : () => []
      const [foreign] = read(answer.exchange, settings.client)
      return foreign === undefined ? undefined : `loads ${foreign}`
    },
  ),
  everyAnswer(
    {
      id: 'every-answer-no-inside',
      title: 'No body or header of an answer contains the address of the API or a network error',
      rule: 'PG-20',
      why: 'Such an answer tells an attacker how the client is built and which hosts it can reach.',
      fix: 'In the body and the headers of an error answer, write only fixed words and a request id. Keep the details in the log.',
    },
    ({ exchange }, _tour, { platform }) => {
      const headers = 'headers' in exchange.response ? [...exchange.response.headers] : []
      const found = headers.find(
        ([name, value]) => !/^content-security-policy/.test(name) && saysInside(value, platform.apiUrl),
      )
      if (found) return `has the header ${found[0]}: ${found[1]}`
      const isFailure = statusOf(exchange) >= 400
      return isFailure && (showsInside(exchange) || namesAddress(bodyOf(exchange), platform.apiUrl))
        ? 'shows the address of the API, a stack trace or a network error'
        : undefined
    },
  ),
  everyAnswer(
    {
      id: 'every-answer-no-version',
      title: 'No body or header of an answer contains the version of the server or of a framework',
      rule: 'no-server-version',
      why: 'The version tells an attacker which published vulnerabilities to try.',
      fix: 'Switch off default error pages, and headers that contain a version.',
    },
    ({ exchange, kind }) => {
      const headers = 'headers' in exchange.response ? [...exchange.response.headers] : []
      const found = headers.map(([name, value]) => `${name}: ${value}`).find(line => versions.test(line))
      if (found !== undefined) return `has the header ${found}`
      // Looks for server names only in public pages, because other pages contain text that people typed.
      const said =
        generator.exec(bodyOf(exchange))?.[1] ?? (kind === 'public' ? versions.exec(bodyOf(exchange))?.[0] : undefined)
      return said === undefined ? undefined : `contains ${said}`
    },
  ),
  everyAnswer(
    {
      id: 'page-hsts',
      title: 'If the client uses https, every answer has a Strict-Transport-Security header',
      rule: 'hsts',
      needs: ['page', 'https'],
      why: 'If a visitor types the address without https, the browser sends the first request over http, unless it has seen this header before.',
      fix: 'Send Strict-Transport-Security: max-age=31536000 with every answer, including errors and redirects. Behind a proxy, requests arrive over http, so look at the configured address to decide whether to send the header.',
    },
    ({ exchange }) => {
      return headerOf(exchange, 'strict-transport-security') === undefined
        ? 'has no Strict-Transport-Security'
        : undefined
    },
  ),
  everyAnswer(
    {
      id: 'page-hsts-value',
      title: 'The Strict-Transport-Security header applies for at least one year, and only to the host of the client',
      rule: 'PG-10',
      needs: ['page', 'https'],
      why: 'If the time is short, the browser of a visitor who comes back later sends its first request over http again. With includeSubDomains, browsers no longer open any subdomain of this host over http, and nobody can undo this before the time ends.',
      fix: 'Send Strict-Transport-Security: max-age=31536000, without includeSubDomains and without preload. Some libraries add includeSubDomains by default.',
    },
    ({ exchange }) => {
      const value = headerOf(exchange, 'strict-transport-security')
      // If the header is missing, the check `page-hsts` reports this.
      if (value === undefined) return undefined
      const seconds = Number(/(?:^|;)\s*max-age\s*=\s*"?(\d+)/i.exec(value)?.[1] ?? 0)
      const isOwn = !/includesubdomains|preload/i.test(value)
      return seconds >= 31_536_000 && isOwn ? undefined : `has Strict-Transport-Security: ${value}`
    },
  ),
  {
    id: 'every-page-no-cors',
    title: 'No page of the client has an Access-Control-Allow-Origin that lets other sites read the page',
    rule: 'PG-19',
    why: "With this header, a script on another site can read the page and the visitor's data.",
    fix: 'Do not send Access-Control-Allow-Origin with any answer. This includes answers to OPTIONS, errors and forms.',
    needs,
    async run(context) {
      const { login, callback, page, create, logout } = context.settings
      const paths = ['/', login, callback, page, create, logout?.path ?? '', '/there-is-nothing-here-conformance']
      for (const path of new Set(paths.filter(one => one !== '')))
        for (const method of ['GET', 'OPTIONS', 'POST'])
          for (const origin of ['https://evil.example', 'null', `${context.settings.client}.evil.example`]) {
            const headers = {
              origin,
              'sec-fetch-mode': 'cors',
              'sec-fetch-site': 'cross-site',
              'sec-fetch-dest': 'empty',
              ...(method === 'OPTIONS' && { 'access-control-request-method': 'POST' }),
            }
            const answer = await context.request(path, { method, headers })
            const allowed = headerOf(answer, 'access-control-allow-origin')
            expect(
              allowed === undefined || allowed === context.settings.client,
              `${method} ${path} with Origin: ${origin} is answered with Access-Control-Allow-Origin: ${allowed}.`,
              answer,
            )
          }
    },
  },
  {
    id: 'every-page-sign-out',
    title: 'Every page for signed-in visitors, including the page of a refused form, has a sign-out form or link',
    rule: 'PG-21',
    why: 'Visitors must see on every page that they are signed in, and must be able to sign out.',
    fix: 'Put the sign-out form or link into the layout of all pages.',
    needs: ['page', 'logout'],
    async run(context) {
      const { answers } = await takeTour(context)
      const path = context.settings.logout!.path.split('?')[0]!
      // The check does not judge other pages with an error status, because visitors without a session can get these
      // pages, too.
      const isForVisitor = ({ what, exchange }: TourAnswer) => what === 'a refused form' || statusOf(exchange) === 200
      const pages = answers.filter(answer => answer.kind === 'visitor' && isPage(answer) && isForVisitor(answer))
      for (const answer of pages)
        expect(
          bodyOf(answer.exchange).includes(path),
          `${nameOf(answer)} has no sign-out form or link.`,
          answer.exchange,
        )
    },
  },
  {
    id: 'failed-page-sign-out',
    title: 'If the API fails while a signed-in visitor opens a page, the error page has a sign-out form or link',
    rule: 'PG-21',
    why: 'The visitor is still signed in, and may want to leave the computer while the platform does not work.',
    fix: 'Use the layout of the other pages for error pages, too. If the visitor is signed in, this layout has the sign-out form or link.',
    needs: ['page', 'logout'],
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('api-503', { times: 'always' })
      const page = await browser.newTab().visit(context.url(context.settings.page), context.beforePortal)
      await context.platform.settle()
      if (context.timesMet('api-503') === 0 || !isErrorPage(page))
        throw new NotApplicable('the client shows no error page for this failure')
      expect(offersSignOut(context, page), 'The error page has no sign-out form or link.', page)
    },
  },
]
