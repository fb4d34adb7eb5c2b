// Checks on every answer that the client gave to a browser during the run. Some clients forget a header in only
// one case, and perhaps no other check looks at the headers in that case.
import type { MistakeKind } from '../../answer-mistakes.ts'
import type { CheckDefinition } from '../../check.ts'
import { expect } from '../../findings.ts'
import type { RuleId } from '../../rules/rules.ts'
import { failEachCall } from './fail-each-call.ts'

interface Row {
  id: string
  title: string
  rule: RuleId
  why: string
  fix: string
  kind: MistakeKind
}

const rows: Row[] = [
  {
    id: 'run-not-framed',
    title: 'During the whole run, no page can be shown in a frame on another site',
    rule: 'PG-08',
    why: 'Another site can hide the page in a frame, so that visitors press its buttons without seeing them. Often, only one page lacks the header that prevents this, for example the page after a failed login.',
    fix: "Send frame-ancestors 'none' or X-Frame-Options: DENY with every page, whatever its status. Set the header in one function that runs for every answer.",
    kind: 'framed',
  },
  {
    id: 'run-content-types',
    title: 'During the whole run, every page has a content type',
    rule: 'PG-09',
    why: 'Without a content type, the browser guesses the type, and can treat plain text as a page with scripts.',
    fix: 'Send Content-Type with every answer that has a body, including errors.',
    kind: 'no type',
  },
  {
    id: 'run-nosniff',
    title:
      'During the whole run, if the page behind the login has X-Content-Type-Options: nosniff, every page has this header',
    rule: 'PG-09',
    why: 'Browsers must not guess the type of a page. Often, only one page lacks the header, because an error handler creates this page.',
    fix: 'Set the header in one function that runs for every answer, before the routes and the error handler.',
    kind: 'no nosniff',
  },
  {
    id: 'run-cookies-not-kept',
    title: 'During the whole run, no cache may keep an answer that sets a cookie of a login or a session',
    rule: 'CK-17',
    why: 'A cache that keeps the answer also keeps the cookie. A page that renews the session sets new cookies, too.',
    fix: 'Send Cache-Control: no-store with every answer that sets a cookie. The values private and no-cache allow caches to keep the answer.',
    kind: 'kept with a cookie',
  },
  {
    id: 'run-cookie-attributes',
    title:
      'During the whole run, no answer sets a cookie of the login or the session with weaker attributes than the login did',
    rule: 'CK-01',
    why: 'Browsers use the attributes from the last answer. Many clients set the cookie in separate code when they renew the session or show an error.',
    fix: 'Set each cookie in one function, and call this function for the login, the renewal and all other answers.',
    kind: 'weak cookie',
  },
  {
    id: 'run-data-not-kept',
    title: "During the whole run, every answer with a visitor's data has Cache-Control: no-store",
    rule: 'PG-11',
    why: 'Without no-store, the Back button shows the page even after the visitor has signed out, and a proxy may send the page to other people.',
    fix: 'Send Cache-Control: no-store with every answer to a signed-in visitor, including refused forms and error pages.',
    kind: 'kept with data',
  },
  {
    id: 'run-visitors-apart',
    title: 'During the whole run, no page shows the name of a visitor to another visitor',
    rule: 'visitors-apart',
    why: 'A client that keeps the data of a page in a shared variable shows the data of one visitor to the next visitor, perhaps only if a call fails.',
    fix: 'Keep the data of a request only in variables of this request. Never change an object that several requests use.',
    kind: 'other visitor',
  },
  {
    id: 'run-no-cors',
    title:
      'During the whole run, no answer has an Access-Control-Allow-Origin header that lets other sites read the answer',
    rule: 'PG-19',
    why: "With this header, a script on another site can read the answer and the visitor's data.",
    fix: 'Do not send Access-Control-Allow-Origin with any page, redirect or error.',
    kind: 'cors',
  },
  {
    id: 'run-no-inside',
    title: 'During the whole run, no answer contains the address of the API, a stack trace or a network error',
    rule: 'PG-20',
    why: 'Such an answer tells an attacker how the client is built and which hosts it can reach. Often, only one failure leads to such an answer.',
    fix: 'In the body and the headers of an error answer, write only fixed words and a request id. Keep the details in the log.',
    kind: 'inside',
  },
  {
    id: 'run-no-version',
    title: 'During the whole run, no header names the version of the server or of a framework',
    rule: 'no-server-version',
    why: 'An attacker who knows the version knows which published vulnerabilities to try.',
    fix: 'Remove the version from the headers of all answers, including the answers of error handlers.',
    kind: 'version',
  },
  {
    id: 'run-cookies-not-in-addresses',
    title: 'During the whole run, no link, form or redirect contains the value of a session cookie in its address',
    rule: 'SE-04',
    why: 'Addresses end up in logs, in the browser history and in the Referer of other requests. Anyone who opens such an address then has the session. Some frameworks write the session id into addresses until they know that the browser accepts cookies.',
    fix: 'Let the framework send the session id only in cookies, and switch off session ids in addresses.',
    kind: 'cookie in address',
  },
  {
    id: 'run-own-redirects',
    title: 'During the whole run, the client never redirects to a site that a request names',
    rule: 'CL-25',
    why: "With such a redirect, an attacker can make a link that leads first to the client, and then to a copy of the client's pages.",
    fix: 'Redirect only to fixed addresses, or to a path of the client that you have checked. Never redirect to an address from a header or a parameter of a request.',
    kind: 'away',
  },
  {
    id: 'run-form-referrers',
    title: 'During the whole run, no page with a form has Referrer-Policy: no-referrer',
    rule: 'PG-03',
    why: 'With this policy, browsers send Origin: null with the form. A client or a proxy that compares Origin then refuses the form.',
    fix: 'Send Referrer-Policy: same-origin or strict-origin-when-cross-origin with pages that have a form. Send no-referrer only with the page at the callback.',
    kind: 'no referrer',
  },
  {
    id: 'run-allow',
    title: 'During the whole run, every answer with status 405 has an Allow header',
    rule: 'allow-header',
    why: 'Without this header, a program that gets the answer cannot learn which methods the address supports.',
    fix: 'Send Allow with every answer with status 405, for example Allow: GET.',
    kind: 'no allow',
  },
]

export const everyAnswer: CheckDefinition[] = rows.map(({ kind, ...definition }) => ({
  ...definition,
  isAlone: true,
  async run(context) {
    await failEachCall(context)
    const mistake = context.platform.answerMistakes.first(kind)
    expect(!mistake, `${mistake?.reason}`, `${mistake?.evidence}`)
  },
}))
