// Checks how the client behaves if the portal answers a renewal wrongly or not at all.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, fail, setCookiesOf } from '../../findings.ts'
import { isAcceptedCall, isRenewal } from '../../platform-calls.ts'
import { cookieHeader, typedAddress } from '../../steps/callback.ts'
import { failurePages } from '../../steps/failure-pages.ts'
import { runsScript } from '../../steps/page-content.ts'
import { redirectAway, requestAtTrap } from '../../steps/redirect-trap.ts'
import { expectBack, type Renewing, renewNow, renewUnder } from '../../steps/renewals.ts'
import { asksToSignIn, expiredSession, isSession, renewalIn, visitPage } from '../../steps/sessions.ts'
import { cookiesOf, readableTextsIn, readSetCookie, wrongAgeOf } from '../../steps/set-cookies.ts'
import { expectUnprinted } from '../../steps/unprinted.ts'
import { fieldsOf, tokensIssuedIn, tokensOf } from '../../tokens.ts'
import { answers } from './answers.ts'

const needs: CheckDefinition['needs'] = ['page']

/** Makes a check that visits one page while the portal answers the renewal with the fault. */
function under(
  definition: Omit<CheckDefinition, 'run'>,
  fault: [name: string, options?: Record<string, unknown>, times?: number | 'always'] | undefined,
  judge: (visit: Renewing, context: CheckContext) => void | Promise<void>,
): CheckDefinition {
  return {
    ...definition,
    needs: definition.needs ?? needs,
    async run(context) {
      const [name, options, times] = fault ?? []
      await judge(await renewUnder(context, name, options, times), context)
    },
  }
}

// ---- What is sent

const requests: CheckDefinition[] = [
  under(
    {
      id: 'refresh-form',
      title: 'The client sends a renewal as a form with POST',
      rule: 'renewal-form',
      why: 'A portal may refuse any other method or content type. The renewal then fails, and the visitor has to sign in again.',
      fix: 'Send the fields with POST as a form (application/x-www-form-urlencoded), not as JSON.',
    },
    undefined,
    ({ renewal }) => {
      const { method, headers } = renewal.request
      expect(method === 'POST', `The client sent the renewal with ${method}.`, renewal)
      expect(
        /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? ''),
        `The content type is ${headers['content-type']}.`,
        renewal,
      )
    },
  ),
  under(
    {
      id: 'refresh-fields-once',
      title: 'A renewal contains no field twice',
      rule: 'token-parameters-once',
      why: 'If a renewal contains a field twice, a portal may refuse the request or use the wrong value. The renewal then fails.',
      fix: 'Set each field once.',
    },
    undefined,
    ({ renewal }) => {
      const repeated = Object.entries(fieldsOf(renewal)).filter(([, value]) => Array.isArray(value))
      expect(
        repeated.length === 0,
        `The renewal contains these fields twice: ${repeated.map(([name]) => name).join(', ')}.`,
        renewal,
      )
    },
  ),
  under(
    {
      id: 'refresh-one-authentication',
      title: 'A renewal contains the client secret only once, in the form or in the Authorization header',
      rule: 'one-authentication',
      why: 'A portal may refuse a request that authenticates with two methods. The renewal then fails.',
      fix: 'Send client_secret only in the form, and do not send an Authorization header.',
    },
    undefined,
    ({ renewal }) => {
      const { headers, body } = renewal.request
      const isInForm = 'client_secret' in ((body ?? {}) as object)
      expect(
        !(isInForm && headers.authorization !== undefined),
        'The renewal has an Authorization header in addition to client_secret.',
        renewal,
      )
    },
  ),
  {
    id: 'refresh-own-headers',
    title: "The client does not copy any header from the visitor's browser into a renewal",
    rule: 'UP-12',
    why: "A copied header can tell the portal something about the visitor. With a copied header, a visitor can also change the client's request.",
    fix: 'Send only the headers that the call needs.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const cookie = cookieHeader(context, browser, context.settings.page)
      const canary = 'conformance-canary'
      const headers = {
        ...typedAddress,
        cookie: `${cookie}; canary=${canary}`,
        'x-canary': canary,
        authorization: `Basic ${canary}`,
      }
      const { steps } = await context.during(() => context.request(context.settings.page, { headers }))
      const renewal = steps.find(isRenewal)
      // Finds out whether the client renews at all: visits the same page with a normal browser.
      if (!renewal) {
        renewalIn(context, await visitPage(context, (await expiredSession(context)).browser))
        throw new Undecided('The client made no renewal for a page request with additional headers.')
      }
      expect(
        !JSON.stringify(renewal.request.headers).includes(canary) && renewal.request.headers.cookie === undefined,
        'The renewal contained a cookie or a header that the browser sent.',
        renewal,
      )
    },
  },
]

// ---- An answer that does not arrive, or redirects elsewhere

const notFollowed = (status: number, why: string) => ({
  id: `refresh-redirect-${status}`,
  title: `If the portal redirects a renewal (status ${status}), the client does not follow the redirect`,
  rule: 'UP-02' as const,
  why: `A client that follows the redirect sends the refresh token and the secret to an address that it has not chosen. ${why}`,
  fix: 'Switch off redirects for this call, and treat every 3xx as a failure.',
})

const redirects: CheckDefinition[] = [302, 307].map(status =>
  under(
    notFollowed(status, 'Many HTTP libraries follow redirects by default.'),
    [`refresh-redirect-${status}`],
    (_, context) => {
      const trapped = requestAtTrap(context, `refresh-redirect-${status}`)
      expect(
        trapped === undefined,
        `The client followed the redirect with ${trapped?.request.method}.`,
        ...(trapped ? [trapped] : []),
      )
    },
  ),
)

const otherRedirect: CheckDefinition = {
  ...notFollowed(308, 'Some clients refuse only 302 and 307.'),
  needs,
  async run(context) {
    const { options, expectNotFollowed } = redirectAway(context, 308)
    await renewUnder(context, 'refresh-answer', options)
    expectNotFollowed()
  },
}

const slowAnswers: [fault: string, what: string, options?: Record<string, unknown>][] = [
  ['drip', 'the portal answers a renewal one byte at a time', { seconds: 0.2 }],
  ['endless-body', 'the answer to a renewal never ends'],
  ['endless-header', 'the answer to a renewal has a header that never ends'],
  ['slow-header', 'the headers of the answer to a renewal come one byte at a time'],
]

const deadlines = slowAnswers.map(
  ([fault, what, options = {}]): CheckDefinition => ({
    id: `refresh-${fault}`,
    title: `If ${what}, the visitor gets an answer in time`,
    rule: 'UP-03',
    why: 'Without a deadline, the client waits until the portal finishes its answer. Meanwhile, the visitor waits, and the request uses a socket and memory. This check allows 20 seconds.',
    fix: 'Set one deadline for the whole renewal, including the body of the answer. A timeout for each read is not enough.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order(`refresh-${fault}`, { times: 5, options })
      const { page, steps } = await visitPage(context, browser)
      // The sandbox records the renewal only after the client has closed the connection.
      await context.platform.settle(2000)
      expect(page.status !== 0, `The browser got no answer: ${page.error}.`, page)
      if (context.timesMet(`refresh-${fault}`) === 0)
        renewalIn(context, { page, steps: [...steps, ...context.arrived('refresh')] })
    },
  }),
)

const survival = (fault: string, what: string) => ({
  id: `refresh-kept-on-${fault}`,
  title: `If the portal answers a renewal ${what}, the session does not end`,
  rule: 'RF-05' as const,
  why: 'The refresh token is still valid, so a later renewal can succeed. Only a permanent refusal may end the session.',
  fix: 'Keep the cookies, and answer with a page that offers to try again.',
  longestMs: 90_000,
})

const temporaryFailures: [fault: string, what: string][] = [
  ['401', 'with status 401 and invalid_client'],
  ['502', 'with status 502'],
  ['504', 'with status 504'],
  ['half', 'with JSON that is cut off in the middle'],
  ['empty', 'with an empty body'],
  ['not-an-object', 'with null'],
]

const survivals = temporaryFailures.map(([fault, what]) =>
  under(survival(fault, what), [`refresh-${fault}`, {}, 1], (visit, context) => expectBack(context, visit)),
)

const survivalOfHeader: CheckDefinition = {
  ...survival('endless-header', 'with a header that never ends'),
  needs,
  async run(context) {
    const { browser } = await expiredSession(context)
    await context.order('refresh-endless-header', { times: 1 })
    const { page, steps } = await visitPage(context, browser)
    expect(page.status !== 0, `The request for the page got no answer: ${page.error}.`, page)
    // The sandbox records the renewal only after the client has closed the connection. Some clients keep it open for a
    // while after their answer to the visitor.
    if (context.timesMet('refresh-endless-header') === 0) renewalIn(context, { page, steps })
    await expectBack(context, { browser, page })
  },
}

const notRepeated: CheckDefinition[] = [
  under(
    {
      id: 'refresh-429-not-repeated',
      title:
        'If the portal answers a renewal with 429 (too many calls), the client does not repeat the renewal at once',
      rule: 'UP-07',
      why: 'A client that repeats the renewal at once makes the overload of the portal worse, and the visitor waits longer.',
      fix: 'Do not renew again for this request. Show a page that says when the visitor can try again.',
    },
    ['refresh-429', { retryAfter: 3600 }, 20],
    ({ renewals }) =>
      expect(
        renewals.length <= 2,
        `During one visit, the client sent ${renewals.length} renewals.`,
        ...renewals.slice(0, 3),
      ),
  ),
  ...['reset-after', '503-after'].map(fault =>
    under(
      {
        id: `refresh-${fault}-not-repeated`,
        title: `If the answer to a renewal is lost (${fault}), the client does not repeat the renewal`,
        rule: 'renewal-not-repeated',
        why: 'Perhaps the portal has already replaced the refresh token. If the client then sends the old refresh token, the portal can revoke all tokens of the session.',
        fix: 'Never repeat a POST automatically. Renew again at the next visit.',
      },
      [`refresh-${fault}`],
      ({ renewals }) =>
        expect(
          renewals.length === 1,
          `During one visit, the client sent ${renewals.length} renewals.`,
          ...renewals.slice(0, 3),
        ),
    ),
  ),
  under(
    {
      id: 'refresh-retry-after',
      title: 'If the portal answers a renewal with a Retry-After of one hour, the visitor gets an answer in time',
      rule: 'UP-03',
      why: 'If the client waits for the time in Retry-After, the visitor waits for an hour, and the request uses a socket.',
      fix: 'Answer at once with a page that says when to try again.',
      longestMs: 90_000,
    },
    ['refresh-503', { retryAfter: 3600 }],
    ({ renewals }) =>
      expect(
        renewals.length <= 2,
        `During one visit, the client sent ${renewals.length} renewals.`,
        ...renewals.slice(0, 3),
      ),
  ),
]

const sizes: CheckDefinition[] = [
  {
    id: 'refresh-endless-body-left',
    title: 'The client closes the connection if the answer to a renewal grows too large',
    rule: 'bounded-answers',
    why: 'A token response is a few kilobytes long. Without a limit, one very long answer can fill the memory before the deadline passes.',
    fix: 'Count the bytes of the body while you read it, and stop at about 64 KiB.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-endless-body')
      const { page, steps } = await visitPage(context, browser)
      await context.platform.settle(2000)
      const recorded = () => context.arrived('refresh').find(({ fault }) => fault?.name === 'refresh-endless-body')
      const isMet = context.timesMet('refresh-endless-body') > 0
      // Some clients close the connection only a few seconds after they have answered the visitor.
      for (let tries = 0; tries < 5 && isMet && !recorded(); tries++) await context.pause(1000)
      expect(
        recorded() || !isMet || page.status === 0,
        'Seven seconds after its answer to the visitor, the client still has not closed the connection to the portal.',
        page,
      )
      const renewal = recorded() ?? renewalIn(context, { page, steps })
      // The sandbox sends about 1.5 MB per second.
      const took = renewal.durationMs
      expect(took < 3500, `The client read the endless answer for ${(took / 1000).toFixed(1)} seconds.`, renewal)
    },
  },
  under(
    {
      id: 'refresh-gzip-bomb',
      title: 'If the answer to a renewal is compressed, the client limits the size of the decompressed answer',
      rule: 'UP-04',
      why: 'A few compressed kilobytes can become gigabytes. These gigabytes fill the memory that all visitors share.',
      fix: 'Do not ask for compression, or count the decompressed bytes and stop at a limit.',
    },
    ['refresh-gzip-bomb', {}, 1],
    ({ steps }) => expect(!steps.some(isAcceptedCall), 'An answer of 32 MiB renewed the session.', ...steps.slice(-2)),
  ),
  ...[5, 9].map(size =>
    under(
      {
        id: `refresh-access-token-${size}-kb`,
        title: `If a renewal returns an access token of ${size} KB, the visitor stays signed in, or a page says that the renewal failed`,
        rule: 'CK-03',
        why: 'A browser silently ignores a cookie of more than 4,096 bytes, and keeps the old cookie.',
        fix: 'Split a long token into several cookies, or keep the token on the server. Or answer with a page that says that the token is too long.',
      },
      [`refresh-access-token-${size}-kb`],
      async ({ page, browser }, context) => {
        for (const { cookie, exchange } of cookiesOf(page.trail))
          expect(
            cookie.name.length + cookie.value.length <= 4096,
            `The cookie ${cookie.name} is ${cookie.name.length + cookie.value.length} bytes long.`,
            exchange,
          )
        if (page.status >= 400 || asksToSignIn(context, page)) return
        const next = await visitPage(context, browser)
        const isAgain = next.steps.some(isRenewal)
        expect(
          next.steps.some(isAcceptedCall) && !isAgain,
          'On the next page, the visitor is not signed in with the new token.',
          next.page,
          ...next.steps,
        )
      },
    ),
  ),
]

// ---- The fields of the answer

const lifetimes: [fault: string, what: string, options?: Record<string, unknown>][] = [
  ['missing', 'is missing'],
  ['null', 'is null'],
  ['words', 'is a word'],
  ['text', 'is a number in quotes'],
  ['true', 'is true instead of a number'],
  ['negative', 'is negative'],
  ['zero', 'is zero'],
  ['fraction', 'is half a second'],
  ['huge', 'is 1e300'],
  ['trillion', 'is 1,000,000,000,000', { value: 1e12 }],
]

const oddLifetimes: CheckDefinition[] = lifetimes.map(([fault, what, options]) =>
  under(
    {
      id: `refresh-expires-in-${fault}`,
      title: `If the expires_in of a renewal ${what}, the client sets no cookie with a wrong lifetime, and does not renew again and again`,
      rule: 'CL-19',
      why: 'Browsers ignore a Max-Age such as NaN, and keep the session cookie until the visitor closes the browser. A lifetime of zero seconds causes endless renewals.',
      fix: 'Use expires_in only if it is a finite number above 0, and limit it to a maximum. Otherwise, refuse the answer or use a default lifetime.',
    },
    [options ? 'refresh-expires-in' : `refresh-expires-in-${fault}`, options],
    async ({ page, browser, renewals }, context) => {
      expect(page.error === undefined, `The browser got no page: ${page.error}.`, page)
      expect(page.status !== 500, 'The answer has status 500.', page)
      expect(
        renewals.length <= 2,
        `During one visit, the client sent ${renewals.length} renewals.`,
        ...renewals.slice(0, 3),
      )
      for (const { cookie, exchange } of cookiesOf(page.trail)) {
        const wrong = wrongAgeOf(cookie)
        expect(wrong === undefined, `The cookie ${cookie.name} ${wrong}.`, exchange)
      }
      const next = await visitPage(context, browser)
      expect(next.page.status > 0 && !next.page.error, `The next page did not load: ${next.page.error}.`, next.page)
      expect(next.page.status !== 500, 'The next page has status 500.', next.page)
    },
  ),
)

/**
 * Matches the Authorization header that a program sends if it does not check the token. For example, the token can be
 * missing, null or a number, or can have two lines.
 */
const noTokens =
  /^bearer\s*(undefined|null|none|nil|nan|false|true|12345|\[?'?a'?\]?|one.*|two.*|t\S*k\S*n|\[object object\])?\s*$/i

const unusable: [fault: string, what: string, rule: CheckDefinition['rule']][] = [
  ['access-token-missing', 'has no access token', 'CL-18'],
  ['access-token-null', 'has null as its access token', 'CL-18'],
  ['access-token-empty', 'has an empty access token', 'CL-18'],
  ['access-token-number', 'has a number as its access token', 'CL-18'],
  ['access-token-list', 'has a list as its access token', 'CL-18'],
  ['access-token-with-newline', 'has an access token with a line break', 'CL-18'],
  ['access-token-not-ascii', 'has an access token with characters that no header can contain', 'CL-18'],
  ['token-type-mac', 'has a token_type other than Bearer', 'token-type-understood'],
  ['token-type-missing', 'has no token_type', 'token-type-required'],
]

const unusables: CheckDefinition[] = unusable.map(([fault, what, rule]) => ({
  id: `refresh-${fault}`,
  title: `If the answer to a renewal ${what}, the client does not use the tokens in this answer`,
  rule,
  why: fault.startsWith('token-type')
    ? 'token_type is required. A client must not use a token of a type that it does not know.'
    : 'A client that uses such a value as a token creates a session that cannot work, or sends a broken header.',
  fix: 'Check the answer to a renewal in the same way as the answer to an exchange, before you store anything from it.',
  needs,
  async run(context) {
    const expired = await expiredSession(context)
    const browser = await context.inTurn(async () => {
      const before = context.platform.steps.length
      const { browser, page, renewal } = await renewNow(context, expired, `refresh-${fault}`, {}, 2)
      expect(page.status !== 500, 'The answer has status 500.', page)
      // If the client has kept the faulty token, the next visit uses it.
      const next = await visitPage(context, browser)
      const brought = tokensOf(renewal)?.access_token
      const isOfIt = ({ request: { headers } }: LabStep) => {
        const { authorization = 'none' } = headers
        return fault.startsWith('token-type') ? authorization.split(' ')[1] === brought : noTokens.test(authorization)
      }
      // The sandbox does not know which user such a call is for, so the check looks at all calls. `inTurn` ensures that
      // no other check makes the client send such a value at the same time.
      const calls = context.platform.steps.slice(before).filter(step => step.listener === 'api' && isOfIt(step))
      expect(
        calls.length === 0,
        'The client calls the API with the faulty token of this renewal.',
        ...calls.slice(0, 2),
      )
      expect(next.page.status > 0 && !next.page.error, `The next page did not load: ${next.page.error}.`, next.page)
      return browser
    })
    // If a client has kept a token that no header can contain, the client makes no call and fails on every visit.
    await context.dropFaults()
    const end = performance.now() + 15_000
    for (;;) {
      const { page, steps } = await visitPage(context, browser)
      const isOffered = page.stoppedAt !== undefined || (page.status < 500 && asksToSignIn(context, page))
      if (steps.some(isAcceptedCall) || isOffered) return
      if (performance.now() > end)
        fail(
          `Although the portal works again, the visitor is not signed in, and the client does not offer to sign in. The visit ends with ${describePage(page)}.`,
          ...page.trail.slice(-2),
        )
      await context.pause(3000)
    }
  },
}))

// ---- Refusals

/** Refusals after which no later renewal can succeed. */
const finalRefusals: [status: number, error: string, id: string, because: string][] = [
  [401, 'invalid_grant', 'invalid-grant-401', 'the portal has refused the refresh token'],
  [400, 'unsupported_grant_type', 'unsupported-grant-type', 'the portal supports only the exchange of codes'],
  [401, 'unsupported_grant_type', 'unsupported-grant-type-401', 'the portal supports only the exchange of codes'],
  [400, 'unauthorized_client', 'unauthorized-client-400', 'the portal forbids renewals for this client'],
  [401, 'unauthorized_client', 'unauthorized-client-401', 'the portal forbids renewals for this client'],
]

/**
 * Expects three things: the client does not send the refused refresh token again, it offers to sign in, and a new login
 * works.
 */
async function expectDropped(context: CheckContext, { browser, person, page }: Renewing): Promise<void> {
  const pages = [page, (await visitPage(context, browser)).page]
  const renewals = context.arrived('refresh').filter(({ response }) => response.status >= 400)
  expect(
    pages.some(one => asksToSignIn(context, one)),
    `Two visits ended with ${pages.map(describePage).join(' and ')}. Neither page offers to sign in.`,
    ...pages,
  )
  expect(
    renewals.length <= 1,
    `During two visits, the client sent the refused refresh token ${renewals.length} times.`,
    ...renewals.slice(0, 3),
  )
  await context.signIn(browser, { person })
  expect(await context.isSignedIn(browser), 'A new login does not work.')
}

const refusals: CheckDefinition[] = [
  ...finalRefusals.map(
    ([status, error, id, because]): CheckDefinition => ({
      id: `refresh-dropped-on-${id}`,
      title: `If the portal refuses a renewal with status ${status} and ${error}, the client offers to sign in, and the login works`,
      rule: error === 'invalid_grant' ? 'RF-05' : 'refused-for-good',
      why: `No later renewal with this refresh token can succeed: ${because}. If the client shows an error each time, the visitor cannot sign in again.`,
      fix: 'Look at the error field of the answer, not at the status. Delete the refresh token, and offer to sign in.',
      needs,
      async run(context) {
        const visit = await renewUnder(context, `refresh-${status}`, { error }, 'always')
        if (!String(visit.renewal.response.body).includes(error))
          throw new Undecided('The portal did not refuse the renewal in this way.')
        await expectDropped(context, visit)
      },
    }),
  ),
  ...[404, 405, 501].map(
    (status): CheckDefinition => ({
      id: `refresh-dropped-on-${status}`,
      title: `If the portal answers a renewal with status ${status}, the client offers to sign in, and the login works`,
      rule: 'no-renewals',
      why: `A portal that offers no renewals can answer with status ${status}. In that case, no later renewal can succeed. If the client shows an error each time, the visitor cannot sign in again.`,
      fix: 'After status 404, 405 or 501, delete the refresh token and offer to sign in. The body may be a web page, so check the status before you read the body.',
      needs,
      async run(context) {
        const answer = { status, body: '<h1>There is nothing here</h1>' }
        const visit = await renewUnder(context, 'refresh-answer', answer, 'always')
        if (visit.renewal.response.status !== status)
          throw new Undecided('The portal did not refuse the renewal in this way.')
        await expectDropped(context, visit)
      },
    }),
  ),
  under(
    {
      id: 'refresh-error-escaped',
      title: 'If the portal refuses a renewal with an error message that contains markup, the page escapes the markup',
      rule: 'PG-07',
      why: 'If a page does not escape text from another server, a script in the text can run.',
      fix: 'Show your own words, or escape the text.',
    },
    ['refresh-400', { error: '<img src=x onerror=alert(1)>' }],
    ({ page }) =>
      expect(!runsScript(page, 'alert(1)'), 'The page contains the error text of the portal without escaping.', page),
  ),
  under(
    {
      id: 'refresh-error-own-words',
      title: 'After a failed renewal, the page does not show the error text of the portal',
      rule: 'generic-errors',
      why: 'Error text is meant for developers, and may contain details that help an attacker.',
      fix: 'Log the error code. Show your own sentence and a link to a new login.',
    },
    ['refresh-400', { error: 'words_of_the_portal_4711' }],
    ({ page }) =>
      expect(!page.body.includes('words_of_the_portal'), 'The page shows the error text of the portal.', page),
  ),
  under(
    {
      id: 'refresh-error-description',
      title: 'If the portal refuses a renewal and describes the error, the page does not show this description',
      rule: 'PG-20',
      why: "The description is for developers, and may contain details that help an attacker. Many libraries put the portal's whole answer into their error message.",
      fix: 'Show your own sentence and a link to a new login. Do not show the message of an error that a library throws.',
    },
    [
      'refresh-answer',
      {
        status: 400,
        body: JSON.stringify({ error: 'invalid_request', error_description: 'Words of the portal 4713' }),
        type: 'application/json; charset=utf-8',
      },
    ],
    ({ page }) =>
      expect(
        !page.body.includes('Words of the portal 4713'),
        "The page shows the error_description in the portal's answer.",
        page,
      ),
  ),
  ...failurePages(
    {
      place: 'refresh',
      call: 'the renewal',
      needs,
      meet: async (context, failure) => (await renewUnder(context, `refresh-${failure}`)).page,
    },
    ['reset', 'html', '500'],
  ),
]

// ---- The new tokens

const newTokens: CheckDefinition[] = [
  under(
    {
      id: 'refresh-tokens-not-in-browser',
      title:
        'If the client sends the new tokens of a renewal to the browser, it sends them only in cookies that no script can read',
      rule: 'CK-08',
      why: 'Scripts and browser extensions can read everything on a page.',
      fix: 'Keep tokens in HttpOnly cookies or on the server. Do not write a token into a page, an address or any header except Set-Cookie.',
    },
    undefined,
    ({ page, renewal }) => {
      const tokens = tokensOf(renewal)
      if (!tokens) throw new ReportedElsewhere('the portal refused the renewal')
      const secrets = [tokens.access_token, tokens.refresh_token].filter(token => typeof token === 'string')
      for (const one of page.trail) {
        if (!('status' in one.response)) continue
        const { body, headers } = one.response
        const open = setCookiesOf(one).filter(line => !readSetCookie(line).isHttpOnly)
        const values = open.map(line => readSetCookie(line).value)
        for (const text of [one.request.url, body, ...headers.values(), ...open, ...values].flatMap(readableTextsIn))
          expect(!secrets.some(secret => text.includes(secret)), 'An answer contains a new token.', one)
      }
    },
  ),
  {
    id: 'refresh-cookies-guarded',
    title:
      'After a renewal, the session cookies have the same HttpOnly, Secure and SameSite attributes as after the login',
    rule: 'CK-01',
    why: 'Each Set-Cookie replaces all attributes of the earlier cookie, so a renewal can remove the protection of the session.',
    fix: 'Set the cookies after a login and after a renewal with the same function.',
    needs,
    async run(context) {
      const { browser, page: landed } = await expiredSession(context)
      const before = new Map(cookiesOf(landed.trail).map(({ cookie }) => [cookie.name, cookie]))
      const visit = await visitPage(context, browser)
      renewalIn(context, visit)
      const renewed = cookiesOf(visit.page.trail).filter(({ cookie }) => !cookie.isDeletion)
      for (const { cookie, exchange } of renewed) {
        const first = before.get(cookie.name)
        if (!first) {
          // The name of the cookie may depend on the token.
          const isGuarded = cookie.isHttpOnly && cookie.isSecure && (cookie.sameSite ?? 'none') !== 'none'
          if (isGuarded && cookie.domain === undefined) continue
          if (!(await isSession(context, browser, cookie.name))) continue
          expect(cookie.isHttpOnly, `The renewal sets the cookie ${cookie.name} without HttpOnly.`, exchange)
          expect(cookie.isSecure, `The renewal sets the cookie ${cookie.name} without Secure.`, exchange)
          expect(cookie.domain === undefined, `The renewal sets the cookie ${cookie.name} with a Domain.`, exchange)
          fail(`The renewal sets the cookie ${cookie.name} without SameSite, or with SameSite=None.`, exchange)
        }
        for (const [name, was, is] of [
          ['HttpOnly', first.isHttpOnly, cookie.isHttpOnly],
          ['Secure', first.isSecure, cookie.isSecure],
          ['SameSite', first.sameSite !== undefined, cookie.sameSite !== undefined && cookie.sameSite !== 'none'],
        ] as const)
          expect(
            is || !was,
            `The cookie ${cookie.name} had ${name} after the login, but not after the renewal.`,
            exchange,
          )
        expect(cookie.domain === first.domain, `The cookie ${cookie.name} has the Domain ${cookie.domain}.`, exchange)
      }
      if (renewed.length === 0) throw new NotApplicable('a renewal sets no cookie')
    },
  },
  {
    id: 'refresh-cookies-strict',
    title: 'If the session cookies are SameSite=Strict after the login, they are also Strict after a renewal',
    rule: 'cookie-strict',
    why: 'Each Set-Cookie replaces all attributes of the earlier cookie, so a renewal can remove the protection of the session.',
    fix: 'Set the cookies after a login and after a renewal with the same function.',
    needs,
    async run(context) {
      const { browser, page: landed } = await expiredSession(context)
      const strict = cookiesOf(landed.trail).filter(({ cookie }) => cookie.sameSite === 'strict')
      const visit = await visitPage(context, browser)
      renewalIn(context, visit)
      const renewed = cookiesOf(visit.page.trail).filter(
        ({ cookie }) => !cookie.isDeletion && strict.some(one => one.cookie.name === cookie.name),
      )
      if (renewed.length === 0) throw new NotApplicable('a renewal sets no cookie that was Strict after the login')
      for (const { cookie, exchange } of renewed)
        expect(
          cookie.sameSite === 'strict',
          `The cookie ${cookie.name} was SameSite=Strict after the login, but is not after the renewal.`,
          exchange,
        )
    },
  },
  {
    id: 'refresh-not-logged',
    title: 'The client does not print tokens or its secret, whether a renewal succeeds or fails',
    rule: 'LG-02',
    why: 'Logs are kept for a long time, and people who must not know a token can read them.',
    fix: 'Log the path and the status of a call. From headers and bodies, log only the fields in a fixed list.',
    needs: ['page', 'process'],
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-400', { times: 1, options: { error: 'temporarily_unavailable' } })
      renewalIn(context, await visitPage(context, browser))
      await context.dropFaults()
      await visitPage(context, browser)
      await expectUnprinted(context, 'a token', context.arrived().flatMap(tokensIssuedIn))
      await expectUnprinted(context, 'the client secret', [context.platform.clientSecret.reveal()])
    },
  },
]

export const renewalFaults: CheckDefinition[] = [
  ...requests,
  ...redirects,
  otherRedirect,
  ...deadlines,
  ...survivals,
  survivalOfHeader,
  ...notRepeated,
  ...sizes,
  ...oddLifetimes,
  ...unusables,
  ...refusals,
  ...newTokens,
  ...answers,
]
