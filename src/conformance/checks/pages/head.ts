// Checks HEAD requests for public pages and for pages of visitors.
import type { HttpExchange } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { bodyOf, expect, fail, headerOf, setCookiesOf, statusOf } from '../../findings.ts'
import { isRenewal } from '../../platform-calls.ts'
import { openPagesAbout, openWithApplication } from '../../steps/application-pages.ts'
import { cookieHeader, typedAddress } from '../../steps/callback.ts'
import { sessionCookieNames } from '../../steps/ended-sessions.ts'
import { readSetCookie } from '../../steps/set-cookies.ts'

const rule = 'head-as-get'

async function head(context: CheckContext, url: string, cookie?: string) {
  const headers = { ...typedAddress, ...(cookie !== undefined && { cookie }) }
  return context.request(url, { method: 'HEAD', headers })
}

/** Fails if the client sends bytes that do not belong to an answer to HEAD, for example a body. */
function expectReadable(answer: HttpExchange, path: string): void {
  if (!('error' in answer.response)) return
  fail(
    `The answer to HEAD ${path} cannot be read, perhaps because a body follows its headers: ${answer.response.error}.`,
    answer,
  )
}

export const headRequests: CheckDefinition[] = [
  {
    id: 'head-of-visitor-pages',
    title:
      "The client answers a HEAD request for a visitor's page with status 405, and does not call the platform for this request",
    rule,
    why: 'Link checkers and browser extensions send HEAD requests. Many clients run the code of the page for such a request. This code then calls the platform, renews the session although the sender of the request does not store the new tokens, or deletes a message that the visitor has not seen.',
    fix: 'Accept only GET for pages of visitors. Many frameworks run the GET handler for HEAD: switch this off, or answer HEAD with 405 before the handler runs. The answer has no body.',
    needs: ['page'],
    async run(context) {
      const application = await openWithApplication(context)
      const { browser } = application
      const pages = await openPagesAbout(context, application)
      const { create } = context.settings
      const urls = [
        ...pages.filter(({ status }) => status === 200).map(({ url }) => url),
        ...(create ? [context.url(create)] : []),
      ]
      for (const url of urls) {
        await context.platform.settle()
        const { result: answer, steps: calls } = await context.during(() =>
          head(context, url, cookieHeader(context, browser, url)),
        )
        const path = new URL(url).pathname.replaceAll(application.id, '…')
        expectReadable(answer, path)
        expect(calls.length === 0, `For HEAD ${path}, the client called the platform.`, answer, ...calls.slice(0, 3))
        // The check accepts every status from 400 to 499, because each of these statuses tells the caller that the
        // client does not answer HEAD for this page.
        const isRefused = statusOf(answer) >= 400 && statusOf(answer) < 500
        expect(isRefused, `HEAD ${path} is answered with status ${statusOf(answer)}.`, answer)
      }
    },
  },
  {
    id: 'head-keeps-the-session',
    title: "A HEAD request for a visitor's page does not renew tokens or set a session cookie",
    rule,
    why: 'A program that sends HEAD ignores the cookies in the answer. If the client renews the tokens for such a request, the refresh token in the browser is used up, and the visitor is signed out.',
    fix: 'For pages of visitors, answer HEAD with 405 before any code reads the session.',
    needs: ['page'],
    async run(context) {
      // Uses a second session to find the names of the session cookies, because the search may use up a refresh token.
      // Other cookies may change, for example a cookie for form tokens.
      const sessionCookies = await sessionCookieNames(context, (await context.signedIn()).browser)
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      const { page, create } = context.settings
      for (const path of [page, create].filter(one => one !== '')) {
        const { result: answer, steps } = await context.during(() =>
          head(context, path, cookieHeader(context, browser, path)),
        )
        const renewals = steps.filter(isRenewal)
        expect(renewals.length === 0, `HEAD ${path} renewed the tokens.`, answer, ...renewals.slice(0, 1))
        const set = setCookiesOf(answer).map(line => readSetCookie(line).name)
        const changed = set.find(name => sessionCookies.includes(name))
        expect(changed === undefined, `The answer to HEAD ${path} sets the session cookie ${changed}.`, answer)
      }
    },
  },
  {
    id: 'head-of-start-page',
    title: 'The client answers a HEAD request for its start page like a GET request, but without a body',
    rule,
    why: 'Monitoring programs and link checkers send HEAD. If the answer differs from the answer to GET, they report that the client is down.',
    fix: 'For public pages, answer HEAD with the status and the headers of GET. Return no body: some servers send a body even for HEAD if the program returns one.',
    async run(context) {
      const get = await context.request('/', { headers: typedAddress })
      if (statusOf(get) !== 200) throw new NotApplicable('the client has no start page')
      const answer = await head(context, '/')
      expectReadable(answer, '/')
      expect(
        statusOf(answer) === 200,
        `GET / is answered with status 200, and HEAD / with status ${statusOf(answer)}.`,
        answer,
      )
      expect(bodyOf(answer) === '', 'The answer to HEAD / has a body.', answer)
      const [one, other] = [headerOf(get, 'content-type'), headerOf(answer, 'content-type')]
      expect(one === other, `GET / has the content type ${one}, and HEAD / has ${other ?? 'none'}.`, answer)
    },
  },
]
