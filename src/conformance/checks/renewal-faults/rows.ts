// How the client handles a portal that answers a renewal wrongly or not at all.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { NotApplicable, type Row, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, setCookiesOf } from '../../findings.ts'
import { cookieHeader, typedAddress } from '../../steps/callback.ts'
import { failurePages } from '../../steps/failure-pages.ts'
import { runsScript } from '../../steps/page-content.ts'
import { requestAtTrap } from '../../steps/redirect-trap.ts'
import { expectBack, type Renewing, renewUnder } from '../../steps/renewals.ts'
import { asksToSignIn, expiredSession, renewalIn, visitPage } from '../../steps/sessions.ts'
import { cookiesOf, readSetCookie, wrongAgeOf } from '../../steps/set-cookies.ts'
import { tokensOf } from '../../steps/tokens.ts'

const needs: Row['needs'] = ['page']

const isCall = ({ kind, response }: LabStep) => (kind === 'api' || kind === 'me') && response.status < 400

/** A check of one visit whose renewal meets a fault. */
function under(
  row: Omit<Row, 'run'>,
  fault: [name: string, options?: Record<string, unknown>, times?: number | 'always'] | undefined,
  judge: (visit: Renewing, context: CheckContext) => void | Promise<void>,
): Row {
  return {
    ...row,
    needs: row.needs ?? needs,
    async run(context) {
      const [name, options, times] = fault ?? []
      await judge(await renewUnder(context, name, options, times), context)
    },
  }
}

// ---- What is sent

const requests: Row[] = [
  under(
    {
      id: 'refresh-form',
      title: 'A renewal is a form, sent with POST',
      rule: 'renewal-form',
      why: 'The token endpoint takes POST and application/x-www-form-urlencoded.',
      fix: 'POST the fields form-encoded (application/x-www-form-urlencoded), not as JSON.',
    },
    undefined,
    ({ renewal }) => {
      const { method, headers } = renewal.request
      expect(method === 'POST', `It was sent with ${method}.`, renewal)
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
      title: 'No field of a renewal is repeated',
      rule: 'token-parameters-once',
      why: 'Parameters must not be included more than once.',
      fix: 'Set each field once.',
    },
    undefined,
    ({ renewal }) => {
      const repeated = Object.entries((renewal.request.body ?? {}) as object).filter(([, value]) =>
        Array.isArray(value),
      )
      expect(repeated.length === 0, `Repeated: ${repeated.map(([name]) => name).join(', ')}.`, renewal)
    },
  ),
  under(
    {
      id: 'refresh-one-authentication',
      title: 'A renewal authenticates the client in one way',
      rule: 'one-authentication',
      why: 'A client must not use more than one method in a request.',
      fix: 'Send client_secret only in the form, and no Authorization header.',
    },
    undefined,
    ({ renewal }) => {
      const { headers, body } = renewal.request
      const isInForm = 'client_secret' in ((body ?? {}) as object)
      expect(!(isInForm && headers.authorization !== undefined), 'There is an Authorization header, too.', renewal)
    },
  ),
  {
    id: 'refresh-own-headers',
    title: "A renewal passes on no header of the visitor's browser",
    rule: 'UP-12',
    why: 'Headers that are passed on leak data about the visitor, and let a visitor change what the client sends.',
    fix: 'Send only the headers that the call needs.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const before = new Set(context.arrived())
      const cookie = cookieHeader(context, browser, context.settings.page)
      const canary = 'conformance-canary'
      await context.request(context.settings.page, {
        headers: {
          ...typedAddress,
          cookie: `${cookie}; canary=${canary}`,
          'x-canary': canary,
          authorization: `Basic ${canary}`,
        },
      })
      await context.platform.settle()
      const renewal = context.arrived('refresh').find(step => !before.has(step))
      // The same visit in a browser shows whether the client renews at all.
      if (!renewal) {
        renewalIn(context, await visitPage(context, (await expiredSession(context)).browser))
        throw new Undecided('A request with other headers renewed nothing.')
      }
      expect(
        !JSON.stringify(renewal.request.headers).includes(canary) && renewal.request.headers.cookie === undefined,
        'The renewal contained something that the browser sent.',
        renewal,
      )
    },
  },
]

// ---- An answer that does not arrive, or leads elsewhere

const redirects: Row[] = [302, 307].map(status =>
  under(
    {
      id: `refresh-redirect-${status}`,
      title: `A renewal follows no redirect (${status})`,
      rule: 'UP-02',
      why: 'A client that follows the redirect sends the refresh token and the secret to any host that it names. Many HTTP libraries follow redirects by default.',
      fix: 'Switch redirects off for this call, and treat every 3xx as a failure.',
    },
    [`refresh-redirect-${status}`],
    (_, context) => {
      const trapped = requestAtTrap(context, `refresh-redirect-${status}`)
      expect(
        trapped === undefined,
        `The redirect was followed, by ${trapped?.request.method}.`,
        ...(trapped ? [trapped] : []),
      )
    },
  ),
)

const deadlines: Row[] = [
  ['drip', 'an answer that comes one byte at a time', { seconds: 0.2 }],
  ['endless-body', 'an answer without end', {}],
  ['endless-header', 'a header without end', {}],
].map(
  ([fault, what, options]): Row => ({
    id: `refresh-${fault}`,
    title: `A renewal meets ${what}: the visitor gets an answer in time`,
    rule: 'UP-03',
    why: 'Without a deadline the client waits for as long as the other side likes, and holds the visitor, a socket and memory. This check allows 20 seconds.',
    fix: 'Give the call one deadline that includes the body.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order(`refresh-${fault}`, { times: 5, options: options as Record<string, unknown> })
      const { page, steps } = await visitPage(context, browser)
      // The sandbox reports it when the client closes the connection.
      await context.platform.settle(2000)
      expect(page.status !== 0, `The browser had no answer: ${page.fault}.`, page)
      renewalIn(context, { page, steps: [...steps, ...context.arrived('refresh')] })
    },
  }),
)

const survivals: Row[] = [
  ['401', 'with status 401 and invalid_client'],
  ['502', 'with status 502'],
  ['504', 'with status 504'],
  ['half', 'with JSON that ends in the middle'],
  ['empty', 'with nothing'],
  ['not-an-object', 'with null'],
  ['endless-header', 'with a header without end'],
].map(([fault, what]) =>
  under(
    {
      id: `refresh-kept-on-${fault}`,
      title: `A renewal that is answered ${what} ends no session`,
      rule: 'RF-05',
      why: 'The refresh token is still valid, and the portal will recover. Only a permanent refusal ends a session.',
      fix: 'Keep the cookies, and answer with a page that offers to try again.',
      longestMs: 90_000,
    },
    [`refresh-${fault}`, {}, 1],
    async (visit, context) => {
      if (fault === 'endless-header') await context.platform.settle(2000)
      await expectBack(context, visit)
    },
  ),
)

const single: Row[] = [
  under(
    {
      id: 'refresh-429-not-repeated',
      title: 'A renewal that is refused because of too many calls is not sent again at once',
      rule: 'UP-07',
      why: 'Immediate retries make an overload worse.',
      fix: 'Show a page that says when to try again. Repeat no call at once.',
    },
    ['refresh-429', { retryAfter: 3600 }, 20],
    ({ renewals }) => expect(renewals.length <= 2, `One visit sent ${renewals.length}.`, ...renewals.slice(0, 3)),
  ),
  ...['reset-after', '503-after'].map(fault =>
    under(
      {
        id: `refresh-${fault}-not-repeated`,
        title: `A renewal whose answer is lost (${fault}) is not sent again automatically`,
        rule: 'renewal-not-repeated',
        why: 'Nobody knows whether the portal has replaced the refresh token, and using an old one may end all tokens.',
        fix: 'Retry no POST automatically. The next visit tries again.',
      },
      [`refresh-${fault}`],
      ({ renewals }) => expect(renewals.length === 1, `One visit sent ${renewals.length}.`, ...renewals.slice(0, 3)),
    ),
  ),
  under(
    {
      id: 'refresh-retry-after',
      title: 'The client does not wait for an hour when the portal asks for it in Retry-After',
      rule: 'UP-03',
      why: 'A client that sleeps for as long as Retry-After says holds a visitor and a socket for any time that the other side likes.',
      fix: 'Tell the visitor when to try again, and do not wait.',
      longestMs: 90_000,
    },
    ['refresh-503', { retryAfter: 3600 }],
    ({ renewals }) => expect(renewals.length <= 2, `One visit sent ${renewals.length}.`, ...renewals.slice(0, 3)),
  ),
]

const sizes: Row[] = [
  {
    id: 'refresh-endless-body-left',
    title: 'The client closes the connection if the answer to a renewal grows too large',
    rule: 'bounded-answers',
    why: 'A token response has a few kilobytes. Without a limit one answer can fill the memory before any deadline.',
    fix: 'Count the bytes of the body while reading, and stop at about 64 KiB.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-endless-body')
      const { page, steps } = await visitPage(context, browser)
      await context.platform.settle(2000)
      const renewal = renewalIn(context, { page, steps: [...steps, ...context.arrived('refresh')] })
      // About 1.5 MB a second.
      const took = renewal.durationMs
      expect(took < 2500, `The client read for ${(took / 1000).toFixed(1)} seconds.`, renewal)
    },
  },
  under(
    {
      id: 'refresh-gzip-bomb',
      title: 'The client limits how much it unpacks of the answer to a renewal',
      rule: 'bounded-answers',
      why: 'A few kilobytes can unpack to any size, in the memory that all visitors share.',
      fix: 'Ask for no compression, or count the bytes after unpacking.',
    },
    ['refresh-gzip-bomb', {}, 1],
    ({ steps }) => expect(!steps.some(isCall), 'An answer of 32 MiB renewed the session.', ...steps.slice(-2)),
  ),
  ...[5, 9].map(size =>
    under(
      {
        id: `refresh-access-token-${size}-kb`,
        title: `A new access token of ${size} KB is either kept whole or refused with a page that says so`,
        rule: 'CK-03',
        why: 'A browser silently drops a cookie of more than 4,096 bytes, and keeps the old one.',
        fix: 'Split a longer one into several cookies, keep it at the server, or say that the token is too large.',
      },
      [`refresh-access-token-${size}-kb`],
      async ({ page, browser }, context) => {
        for (const { cookie, exchange } of cookiesOf(page.trail))
          expect(
            cookie.name.length + cookie.value.length <= 4096,
            `The cookie ${cookie.name} has ${cookie.name.length + cookie.value.length} bytes.`,
            exchange,
          )
        if (page.status >= 400 || asksToSignIn(context, page)) return
        const next = await visitPage(context, browser)
        const isAgain = next.steps.some(({ kind }) => kind === 'refresh')
        expect(next.steps.some(isCall) && !isAgain, 'The next page is not signed in with it.', next.page, ...next.steps)
      },
    ),
  ),
]

// ---- Members of the answer

const lifetimes: [fault: string, what: string, options?: Record<string, unknown>][] = [
  ['missing', 'is missing'],
  ['null', 'is null'],
  ['words', 'is a word'],
  ['text', 'is a number in quotes'],
  ['true', 'is true'],
  ['negative', 'is negative'],
  ['zero', 'is zero'],
  ['fraction', 'is half a second'],
  ['huge', 'is infinite'],
  ['trillion', 'is 1,000,000,000,000', { value: 1e12 }],
]

const oddLifetimes: Row[] = lifetimes.map(([fault, what, options]) =>
  under(
    {
      id: `refresh-expires-in-${fault}`,
      title: `A renewal whose expires_in ${what} causes neither a wrong cookie nor endless renewals`,
      rule: 'CL-19',
      why: 'Max-Age=NaN is not a Max-Age, so such a session never ends. A lifetime that is over at once causes endless renewals.',
      fix: 'Use expires_in only if it is a finite number above 0, and cap it. Otherwise refuse the answer or assume a lifetime.',
    },
    [options ? 'refresh-expires-in' : `refresh-expires-in-${fault}`, options],
    async ({ page, browser, renewals }, context) => {
      expect(page.fault === undefined, `The browser got no page: ${page.fault}.`, page)
      expect(page.status !== 500, 'The answer has status 500.', page)
      expect(renewals.length <= 2, `One visit sent ${renewals.length} renewals.`, ...renewals.slice(0, 3))
      for (const { cookie, exchange } of cookiesOf(page.trail)) {
        const wrong = wrongAgeOf(cookie)
        expect(wrong === undefined, `The cookie ${cookie.name} ${wrong}.`, exchange)
      }
      const next = await visitPage(context, browser)
      expect(next.page.status > 0 && !next.page.fault, `The next page did not load: ${next.page.fault}.`, next.page)
      expect(next.page.status !== 500, 'The next page has status 500.', next.page)
    },
  ),
)

/** What a program puts into a header if the token is missing, null, a number or two lines. */
const noTokens =
  /^bearer\s*(undefined|null|none|nil|nan|false|true|12345|\[?'?a'?\]?|one.*|two.*|t\S*k\S*n|\[object object\])?\s*$/i

const unusable: [fault: string, what: string, rule: Row['rule']][] = [
  ['access-token-missing', 'has no access token', 'CL-18'],
  ['access-token-null', 'has null for an access token', 'CL-18'],
  ['access-token-empty', 'has an empty access token', 'CL-18'],
  ['access-token-number', 'has a number for an access token', 'CL-18'],
  ['access-token-list', 'has a list for an access token', 'CL-18'],
  ['access-token-with-newline', 'has an access token with a line break', 'CL-18'],
  ['access-token-not-ascii', 'has an access token with letters that no header can carry', 'CL-18'],
  ['token-type-mac', 'has tokens of another type', 'token-type-understood'],
  ['token-type-missing', 'has no token_type', 'token-type-required'],
]

const unusables: Row[] = unusable.map(([fault, what, rule]) => ({
  id: `refresh-${fault}`,
  title: `The client sends no token to the API from a renewal that ${what}`,
  rule,
  why: fault.startsWith('token-type')
    ? 'token_type is required, and a client must not use a token whose type it does not understand.'
    : 'A value that is not a token must become neither a session nor a header.',
  fix: 'Check the answer to a renewal like the answer to a code, before you keep any of it.',
  needs,
  async run(context) {
    const before = context.platform.steps.length
    const { browser, page, renewal } = await renewUnder(context, `refresh-${fault}`, {}, 2)
    expect(page.status !== 500, 'The answer has status 500.', page)
    // The next visit shows what the client has kept of it.
    const next = await visitPage(context, browser)
    const brought = tokensOf(renewal)?.access_token
    const isOfIt = ({ request: { headers } }: LabStep) => {
      const { authorization = 'none' } = headers
      return fault.startsWith('token-type') ? authorization.split(' ')[1] === brought : noTokens.test(authorization)
    }
    // A value that is not a token shows no user, so calls are judged without one.
    const calls = context.platform.steps.slice(before).filter(step => step.listener === 'api' && isOfIt(step))
    expect(calls.length === 0, 'The client calls the API with it.', ...calls.slice(0, 2))
    expect(next.page.status > 0 && !next.page.fault, `The next page did not load: ${next.page.fault}.`, next.page)
  },
}))

// ---- Refusals

const refusals: Row[] = [
  ...[
    ['401', 'invalid_grant', 'with status 401', 'the portal refuses a refresh token with 401'],
    ['400', 'unsupported_grant_type', 'as an unknown grant type', 'a portal may know only the first grant type'],
  ].map(
    ([status, error, how, because]): Row => ({
      id: `refresh-dropped-on-${error!.replaceAll('_', '-')}${status === '401' ? '-401' : ''}`,
      title: `A renewal that the portal refuses ${how} leads to the login, and the login works`,
      rule: status === '401' ? 'RF-05' : 'refused-for-good',
      why: `It will never work: ${because}. A client that shows an error each time locks the visitor out.`,
      fix: 'Look at the error and not at the status. Delete the refresh token, and lead to the login.',
      needs,
      async run(context) {
        const visit = await renewUnder(context, `refresh-${status}`, { error }, 'always')
        const { browser, page, renewal } = visit
        if (!String(renewal.response.body).includes(error!))
          throw new Undecided('The portal did not refuse it in this way.')
        const pages = [page, (await visitPage(context, browser)).page]
        const renewals = context.arrived('refresh').filter(({ response }) => response.status >= 400)
        expect(
          pages.some(one => asksToSignIn(context, one)),
          `Two visits end with ${pages.map(describePage).join(' and ')}, and neither asks to sign in.`,
          ...pages,
        )
        expect(renewals.length <= 1, `Two visits sent it ${renewals.length} times.`, ...renewals.slice(0, 3))
        await context.signIn(browser, { person: visit.person })
        expect(await context.isSignedIn(browser), 'Signing in anew does not work.')
      },
    }),
  ),
  under(
    {
      id: 'refresh-error-escaped',
      title: 'The text of a portal error after a failed renewal is never markup of the page',
      rule: 'PG-07',
      why: 'Text from elsewhere that a page does not escape can run as a script.',
      fix: 'Show words of your own, or escape the text.',
    },
    ['refresh-400', { error: '<img src=x onerror=alert(1)>' }],
    ({ page }) => expect(!runsScript(page, 'alert(1)'), 'The error of the portal is markup on the page.', page),
  ),
  under(
    {
      id: 'refresh-error-own-words',
      title: 'The text of a portal error after a failed renewal is not shown to the visitor',
      rule: 'generic-errors',
      why: 'It is written for developers, and may say more than a visitor should know.',
      fix: 'Log the code of the error. Show a sentence of your own and a link that starts again.',
    },
    ['refresh-400', { error: 'words_of_the_portal_4711' }],
    ({ page }) => expect(!page.body.includes('words_of_the_portal'), 'The page shows what the portal answered.', page),
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

const kept: Row[] = [
  under(
    {
      id: 'refresh-tokens-not-in-browser',
      title: 'New tokens of a renewal reach the browser only in cookies that no script can read',
      rule: 'CK-08',
      why: 'Scripts and extensions can read everything on a page.',
      fix: 'Keep tokens in HttpOnly cookies or at the server. Show none on pages, in addresses or headers.',
    },
    undefined,
    ({ page, renewal }) => {
      const tokens = tokensOf(renewal)
      if (!tokens) throw new NotApplicable('the portal refused the renewal, which another check reports')
      const secrets = [tokens.access_token, tokens.refresh_token].filter(token => typeof token === 'string')
      for (const one of page.trail) {
        if (!('status' in one.response)) continue
        const { body, headers } = one.response
        const open = setCookiesOf(one).filter(line => !readSetCookie(line).isHttpOnly)
        for (const text of [one.request.url, body, ...headers.values(), ...open])
          expect(!secrets.some(secret => text.includes(secret)), 'An answer contains a new token.', one)
      }
    },
  ),
  {
    id: 'refresh-cookies-guarded',
    title: 'A renewal sets the cookies of the session as the login did: HttpOnly, Secure and SameSite',
    rule: 'CK-01',
    why: 'Each Set-Cookie replaces all attributes of the earlier one, so a renewal can remove the protection of the session.',
    fix: 'Write the cookies of login and renewal in one place.',
    needs,
    async run(context) {
      const { browser, page: landed } = await expiredSession(context)
      const before = new Map(cookiesOf(landed.trail).map(({ cookie }) => [cookie.name, cookie]))
      const visit = await visitPage(context, browser)
      renewalIn(context, visit)
      const renewed = cookiesOf(visit.page.trail).filter(({ cookie }) => !cookie.isDeletion && before.has(cookie.name))
      if (renewed.length === 0) throw new NotApplicable('a renewal sets no cookie of the session')
      for (const { cookie, exchange } of renewed) {
        const first = before.get(cookie.name)!
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
    },
  },
  {
    id: 'refresh-not-logged',
    title: 'Neither a renewal that works nor one that fails prints tokens or the secret',
    rule: 'LG-02',
    why: 'More people read a log than may know a token, and a log is kept for longer.',
    fix: 'Log the path and the status of a call. Log only those headers and fields of bodies that you list one by one.',
    needs: ['page', 'start'],
    async run(context) {
      const { browser, person } = await expiredSession(context)
      await context.order('refresh-400', { times: 1, options: { error: 'temporarily_unavailable' } })
      renewalIn(context, await visitPage(context, browser))
      await context.dropFaults()
      await visitPage(context, browser)
      const tokens = context
        .arrived('exchange', 'refresh')
        .flatMap(step => [tokensOf(step)?.access_token, tokensOf(step)?.refresh_token])
      const secrets = [...tokens, context.platform.clientSecret.reveal(), person.password].filter(
        (one): one is string => typeof one === 'string' && one.length >= 16,
      )
      const line = context
        .clientProcess!.output()
        .split('\n')
        .find(one => secrets.some(secret => one.includes(secret)))
      expect(line === undefined, 'What the client printed contains a token or the secret.')
    },
  },
]

export const renewalFaults: Row[] = [
  ...requests,
  ...redirects,
  ...deadlines,
  ...survivals,
  ...single,
  ...sizes,
  ...oddLifetimes,
  ...unusables,
  ...refusals,
  ...kept,
]
