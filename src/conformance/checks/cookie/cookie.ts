// Tests the attributes, values, sizes and number of the session cookies.
import { bitsOf } from '../../../sandbox/lab/record/entropy.ts'
import { noRedirects, type Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, passNotApplicable, passUndecided, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, fail, setCookiesOf } from '../../findings.ts'
import { isAcceptedCall, isRenewal } from '../../platform-calls.ts'
import { whyKept } from '../../steps/caching.ts'
import { beginLogin, cookieHeader, followCallback, requireSignedIn } from '../../steps/callback.ts'
import { openCreateForm } from '../../steps/create-form.ts'
import { expiredSession, openSession, renewalIn, sessionOf, signsInAlone, visitPage } from '../../steps/sessions.ts'
import {
  cookiesOf,
  decodeSafely,
  longestCookieSeconds,
  type ReadCookie,
  readableTextsIn,
  readSetCookie,
} from '../../steps/set-cookies.ts'
import { lastAnswer, startsOfStrangers } from '../../steps/starts.ts'
import { findGuess } from '../../steps/state-guesses.ts'
import { tokensOf } from '../../tokens.ts'
import { brokenCookies } from './broken-cookies.ts'
import { foreignCookies } from './foreign-cookies.ts'

/**
 * Each of these checks tests one attribute of every session cookie. If the attribute is wrong, `judge` returns the
 * mistake, such as "has no HttpOnly".
 */
const attributes: (Omit<CheckDefinition, 'run'> & { judge: (cookie: ReadCookie) => string | undefined })[] = [
  {
    id: 'cookie-httponly',
    title: 'No script can read the session cookies',
    rule: 'CK-01',
    why: "Without HttpOnly, an attacker's script on any page of the client can steal the session.",
    fix: 'Set the attribute HttpOnly on every session cookie.',
    judge: cookie => (cookie.isHttpOnly ? undefined : 'has no HttpOnly'),
  },
  {
    id: 'cookie-secure',
    title: 'Browsers send the session cookies only over https',
    rule: 'CK-01',
    why: 'Without Secure, one request over http shows the session cookie to anyone on the network.',
    fix: 'Set the attribute Secure on every session cookie. Browsers also accept Secure cookies on http://localhost.',
    judge: cookie => (cookie.isSecure ? undefined : 'has no Secure'),
  },
  {
    id: 'cookie-samesite',
    title: 'Browsers do not send the session cookies with forms from other sites',
    rule: 'CK-01',
    why: "If a cookie has no SameSite attribute, browsers send the cookie with forms from other sites during the cookie's first two minutes. With SameSite=None, browsers always send it.",
    fix: 'Set SameSite=Strict or SameSite=Lax.',
    judge: ({ sameSite }) =>
      sameSite === 'strict' || sameSite === 'lax' ? undefined : `has ${sameSite ? 'SameSite=None' : 'no SameSite'}`,
  },
  {
    id: 'cookie-samesite-strict',
    title: 'The session cookies have SameSite=Strict',
    rule: 'cookie-strict',
    why: 'With SameSite=Strict, a request that another site starts has no session cookie, and cannot act as the visitor.',
    fix: 'Set SameSite=Strict, and answer the callback with a page that has a meta refresh. Do not answer with a redirect: the visitor comes from the portal, which is another site, and browsers do not send a Strict cookie after a redirect that began on another site.',
    judge: ({ sameSite }) => (sameSite === 'strict' ? undefined : 'is not SameSite=Strict'),
  },
  {
    id: 'cookie-host-only',
    title: 'Browsers send the session cookies only to the host of the client',
    rule: 'CK-01',
    why: 'If a cookie has a Domain attribute, browsers send the cookie to every subdomain, and every subdomain can set the cookie.',
    fix: 'Set the cookie without a Domain attribute.',
    judge: ({ domain }) => (domain === undefined ? undefined : `has Domain=${domain}`),
  },
  {
    id: 'cookie-prefix',
    title: 'The names of the session cookies begin with __Host-',
    rule: 'cookie-host-prefix',
    why: 'No other host, not even a subdomain, can set a cookie whose name begins with __Host-.',
    fix: 'Give the cookie a name that begins with __Host-, and set it with Secure, Path=/ and no Domain.',
    judge: ({ name }) => (/^__Host-/i.test(name) ? undefined : 'has no __Host- prefix'),
  },
]

const needs: CheckDefinition['needs'] = ['page']

/**
 * A session id should have 128 random bits. A cookie does not show how many of its bits are random, so `bitsOf` only
 * estimates how many random bits the cookie can have. The checks accept 112 bits: a UUID has 122 random bits, and the
 * estimate can be a little too low, because a random string does not always use its whole alphabet.
 */
const fewestBits = 112

/**
 * Returns the content of a cookie, with `#` in place of each number of at most nine digits. If the cookies of two
 * logins differ only in a counter, their results are equal. The results of sealed and signed values still differ.
 */
function withoutNumbers(value: string): string {
  const plain = decodeSafely(value)
  const decoded = Buffer.from(plain, 'base64').toString()
  const text = /^[\x20-\x7e]+$/.test(decoded) && decoded.length > 3 ? decoded : plain
  return text.replace(/(?<![0-9A-Za-z])\d{1,9}(?![0-9A-Za-z])/g, '#')
}

/**
 * Returns whether the cookies contain the token. To find this out, runs another login with a longer token. The cookies
 * contain the token if they are then longer than the cookies of `usual`, a login with the usual token. The length of
 * one cookie proves nothing, because even the id of a session can be a long sealed value. `longerTokens`: faults that
 * make the token longer, with the longest token first. A client may refuse a long token, so the first fault after which
 * the visitor is signed in decides. Ends the check if the client refuses all these tokens.
 */
async function growsWith(
  context: CheckContext,
  usual: Page,
  longerTokens: { fault: string; options: Record<string, unknown>; leastGrowth: number }[],
): Promise<boolean> {
  const lengthOf = ({ trail }: Page) =>
    cookiesOf(trail)
      .filter(({ cookie }) => !cookie.isDeletion)
      .reduce((sum, { cookie }) => sum + cookie.value.length, 0)
  for (const { fault, options, leastGrowth } of longerTokens) {
    const { browser, callback } = await beginLogin(context)
    await context.order(fault, { options })
    const longer = await followCallback(context, browser, callback)
    if (await context.isSignedIn(browser)) return lengthOf(longer) > lengthOf(usual) + leastGrowth
  }
  throw new Undecided(
    'The client refuses longer tokens, so the suite cannot tell whether the cookies contain the token.',
  )
}

/** The usual access token is about 600 characters long. */
const longerAccessTokens = [
  { fault: 'exchange-large-access-token', options: { kilobytes: 3 }, leastGrowth: 500 },
  { fault: 'exchange-large-access-token', options: { kilobytes: 1 }, leastGrowth: 200 },
]

export const cookie: CheckDefinition[] = [
  ...attributes.map(
    ({ judge, ...definition }): CheckDefinition => ({
      ...definition,
      needs,
      async run(context) {
        const { browser, cookies } = await sessionOf(context)
        for (const { cookie, exchange } of cookies) {
          const fault = judge(cookie)
          expect(fault === undefined, `The cookie ${cookie.name} ${fault}.`, exchange)
        }
        // Signs in again, because a client may have separate code for a login that replaces a session.
        const start = await context.startLogin(browser).catch(passNotApplicable)
        if (!start) return
        const again = await followCallback(context, browser, await context.authorize(start))
        const names = cookies.map(({ cookie }) => cookie.name)
        for (const { cookie, exchange } of cookiesOf(again.trail)) {
          if (!names.includes(cookie.name) || cookie.isDeletion || cookie.value === '') continue
          const fault = judge(cookie)
          expect(
            fault === undefined,
            `After a second login in the same browser, the cookie ${cookie.name} ${fault}.`,
            exchange,
          )
        }
      },
    }),
  ),
  {
    id: 'cookie-max-age',
    title: 'A session cookie lives as long as the access token',
    rule: 'CK-01',
    why: 'If the cookie lives longer than the token, the browser still sends the cookie after the session has ended. If the cookie expires before the token, the session ends too early.',
    fix: 'Set Max-Age to the value of expires_in in the token response, in seconds.',
    needs,
    async run(context) {
      const { cookies, page } = await openSession(context, ['exchange-expires-in', 7200])
      const ages = cookies.map(({ cookie }) => `${cookie.name}: ${cookie.maxAge ?? 'until the browser is closed'}`)
      const isRight = cookies.some(({ cookie }) => Math.abs((cookie.maxAge ?? 0) - 7200) <= 60)
      if (!isRight && !(await growsWith(context, page, longerAccessTokens)))
        throw new NotApplicable('a longer access token does not make the cookies longer, so the server keeps the token')
      expect(
        isRight,
        `expires_in was 7200. The lifetimes of the cookies in seconds are: ${ages.join(', ')}.`,
        ...cookies.map(({ exchange }) => exchange),
      )
    },
  },
  {
    id: 'cookie-age-in-bounds',
    title: 'No session cookie has a lifetime of more than 400 days',
    rule: 'CL-19',
    why: 'Browsers limit the lifetime of a cookie to 400 days. A larger number is often a mistake: a time in milliseconds.',
    fix: 'Set Max-Age in seconds.',
    needs,
    async run(context) {
      for (const { cookie, exchange } of (await sessionOf(context)).cookies)
        expect(
          !((cookie.maxAge ?? 0) > longestCookieSeconds),
          `The cookie ${cookie.name} lives for ${cookie.maxAge} seconds.`,
          exchange,
        )
    },
  },
  {
    id: 'cookie-kept-by-browsers',
    title: 'Browsers keep every cookie that the login sets',
    rule: 'CK-03',
    why: 'Browsers silently drop cookies of more than 4,096 bytes, cookies for another domain, and cookies whose prefix does not match their attributes.',
    fix: 'Set __Host- cookies with Secure, Path=/ and no Domain. Set SameSite=None cookies with Secure. Split large cookies.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const page = await followCallback(context, browser, callback)
      for (const exchange of page.trail)
        for (const line of setCookiesOf(exchange)) {
          const { name, value } = readSetCookie(line)
          expect(
            browser.copy().cookies.set(exchange.request.url, line),
            `Browsers drop the cookie ${name} (${name.length + value.length} bytes; ${line.split(';').slice(1).join(';').trim()}).`,
            exchange,
          )
        }
    },
  },
  {
    id: 'cookie-unguessable',
    title: 'Nobody can guess the session cookies',
    rule: 'session-unguessable',
    why: 'Anyone who guesses a session cookie is signed in as the visitor of this session.',
    fix: 'Use at least 16 random bytes for the session id, or seal the value of the cookie.',
    needs,
    async run(context) {
      const { browser, cookies } = await sessionOf(context)
      const values = new Map(cookies.map(({ cookie }) => [cookie.name, cookie.value]))
      const bits = Math.max(0, ...[...values.values()].map(bitsOf))
      expect(bits >= fewestBits, `The longest session cookie has room for only ${Math.floor(bits)} random bits.`)
      const again = context.browser()
      await followCallback(context, again, await context.authorize(await context.startLogin(again)))
      const repeated = [...values].flatMap(([name, value]) => (again.cookies.get(name)?.value === value ? name : []))
      // One of several cookies may repeat, such as the number of parts into which the client has split its session.
      for (const name of repeated)
        expect(
          repeated.length < values.size && !(await signsInAlone(context, browser, name)),
          `The cookie ${name} has the same value after two logins.`,
        )
    },
  },
  {
    id: 'cookie-each-unguessable',
    title: 'If one cookie is enough to be signed in, nobody can guess this cookie',
    rule: 'session-unguessable',
    why: 'Anyone who guesses this cookie is signed in as the visitor. The other cookies do not protect the session.',
    fix: 'Seal or sign the value of each cookie, or use an id of at least 16 random bytes. A number in base64 or JSON is not a secret.',
    needs,
    async run(context) {
      const first = await sessionOf(context)
      const second = await sessionOf(context)
      for (const { cookie, exchange } of first.cookies) {
        const other = second.cookies.find(one => one.cookie.name === cookie.name)?.cookie.value
        const isShort = bitsOf(cookie.value) < fewestBits
        const isCounted = other !== undefined && withoutNumbers(cookie.value) === withoutNumbers(other)
        if (!isShort && !isCounted) continue
        if (!(await signsInAlone(context, first.browser, cookie.name))) continue
        expect(
          !isCounted,
          `In two logins, the cookie ${cookie.name} differs only in short numbers, and this cookie alone signs the visitor in.`,
          exchange,
        )
        fail(
          `The cookie ${cookie.name} alone signs the visitor in, but it is too short for ${fewestBits} random bits.`,
          exchange,
        )
      }
    },
  },
  {
    id: 'cookie-refresh-age',
    title: 'A session cookie lives longer than the access token, so that the client can renew the session',
    rule: 'CK-09',
    why: 'If the cookie with the refresh token has no Max-Age or expires with the access token, the browser deletes the refresh token too early. The visitor must then sign in again.',
    fix: 'Put the refresh token into a separate cookie. Set its Max-Age to a longer time than expires_in, such as 14 days.',
    needs,
    async run(context) {
      const { cookies, page } = await sessionOf(context)
      const given = (await context.codeExchanges()).map(tokensOf).find(tokens => tokens) as
        | { expires_in?: unknown; refresh_token?: unknown }
        | undefined
      const lifetime = Number(given?.expires_in)
      const refreshToken = String(given?.refresh_token ?? '')
      if (!(lifetime > 0) || refreshToken === '')
        throw new Undecided('The token response had no refresh token or no lifetime.')
      if (cookies.some(({ cookie }) => (cookie.maxAge ?? 0) > lifetime + 60)) return
      const longerTokens = [
        { added: 1000, leastGrowth: 500 },
        { added: 300, leastGrowth: 200 },
      ].map(({ added, leastGrowth }) => ({
        fault: 'exchange-refresh-token',
        options: { value: refreshToken + 'A'.repeat(added) },
        leastGrowth,
      }))
      if (!(await growsWith(context, page, longerTokens)))
        throw new NotApplicable(
          'a longer refresh token does not make the cookies longer, so the server keeps the token',
        )
      // A client that never renews a session needs no cookie with a longer lifetime, so the check tests whether this
      // client renews sessions. The browser may delete all cookies when the token expires. At the first visit, the API
      // therefore refuses a token that has not expired. The second visit uses an expired token.
      const early = await context.signedIn()
      await context.platform.endAccessTokens(early.person)
      if (!(await visitPage(context, early.browser)).steps.some(isRenewal))
        renewalIn(context, await visitPage(context, (await expiredSession(context)).browser))
      const ages = cookies.map(({ cookie }) => `${cookie.name}: ${cookie.maxAge ?? 'until the browser is closed'}`)
      fail(
        `expires_in was ${lifetime}. The lifetimes of the cookies in seconds are: ${ages.join(', ')}.`,
        ...cookies.map(({ exchange }) => exchange),
      )
    },
  },
  ...foreignCookies,
  ...brokenCookies,
  {
    id: 'cookie-data-sealed',
    title: "No cookie contains the visitor's e-mail address or id in readable form",
    rule: 'CK-05',
    why: 'A signature does not hide the content of a cookie. Anyone who gets the cookie, for example from a backup or a log, can read its data.',
    fix: 'Encrypt the cookie. Or store the data on the server, and put only a random id into the cookie.',
    needs,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const person = await context.person()
      const page = await followCallback(context, browser, callback)
      await requireSignedIn(context, browser)
      const behind = await browser.visit(context.url(context.settings.page))
      for (const { cookie, exchange } of cookiesOf([...page.trail, ...behind.trail])) {
        const texts = readableTextsIn(cookie.value)
        for (const [what, text] of [
          ['e-mail address', person.email],
          ['id', person.id],
        ] as const)
          expect(
            !texts.some(readable => readable.includes(text)),
            `The cookie ${cookie.name} contains the ${what} of the visitor, and is not encrypted.`,
            exchange,
          )
      }
    },
  },
  {
    id: 'cookie-only-where-it-changes',
    title: 'The client sets cookies only in answers that change a login or a session',
    rule: 'CK-18',
    why: 'Many answers change neither a login nor a session. If such an answer sets a cookie, a cache may store the answer, and give the cookie to other people. If the answer arrives late, its cookie replaces a newer session.',
    fix: 'Set cookies only in an answer that begins or ends a login, or that creates, renews or ends a session.',
    async run(context) {
      const browser = context.browser()
      for (const path of ['/conformance-not-there', '/robots.txt']) {
        const page = await browser.visit(context.url(path))
        expect(!page.trail.some(one => setCookiesOf(one).length > 0), `${path} sets a cookie.`, page)
      }
      if (!context.settings.page) return
      const session = await openSession(context)
      const names = session.cookies.map(({ cookie }) => cookie.name)
      for (const path of ['/', '/conformance-not-there', '/']) {
        const page = await session.browser.visit(context.url(path), context.beforePortal)
        const set = cookiesOf(page.trail.slice(0, 1)).find(({ cookie }) => names.includes(cookie.name))
        expect(!set, `For a signed-in visitor, ${path} sets the cookie ${set?.cookie.name} again.`, page)
      }
    },
  },
  {
    id: 'cookie-answers-not-kept',
    title: 'No cache, not even the cache of the browser, may keep an answer that sets a cookie of a login or a session',
    rule: 'CK-17',
    why: 'A cache that keeps the answer also keeps the cookie. Without Cache-Control, a cache may keep an answer with status 200 as long as it likes.',
    fix: 'Send Cache-Control: no-store with every answer that sets a cookie. The values private and no-cache allow caches to keep the answer.',
    async run(context) {
      const browser = context.browser()
      const start = await context.startLogin(browser)
      const landed = await followCallback(context, browser, await context.authorize(start), context.beforePortal)
      const trail = [...start.page.trail, ...landed.trail]
      // Also looks at the answer to a renewal, if the client renews after a 401 answer.
      if (context.settings.page) {
        await context.platform.endAccessTokens(await context.person())
        trail.push(...(await visitPage(context, browser)).page.trail)
      }
      const session = context.settings.page && (await openSession(context).catch(passUndecided))
      // A cache may keep other cookies, such as a cookie for the language. If the suite cannot find the session, the
      // check judges all cookies.
      const judged = session
        ? [...cookiesOf([...start.page.trail, landed.trail[0]!]), ...session.cookies]
        : cookiesOf(trail)
      const names = new Set(judged.map(({ cookie }) => cookie.name))
      for (const { cookie, exchange } of cookiesOf(trail)) {
        if (cookie.isDeletion || cookie.value === '' || !names.has(cookie.name)) continue
        const why = whyKept(exchange)
        expect(why === undefined, `A cache may keep the answer that sets the cookie ${cookie.name}: ${why}.`, exchange)
      }
      for (const begun of await startsOfStrangers(context)) {
        const answer = lastAnswer(begun)
        const [set] = cookiesOf([answer]).filter(({ cookie }) => !cookie.isDeletion && cookie.value !== '')
        const why = set && whyKept(answer)
        expect(
          why === undefined,
          `For the login that began ${begun.way}, a cache may keep the answer that sets the cookie ${set?.cookie.name}: ${why}.`,
          answer,
        )
      }
    },
  },
  {
    id: 'cookie-attributes-after-renewal',
    title: 'After a renewal, the session cookies are still HttpOnly, Secure and SameSite, and have no Domain',
    rule: 'CK-01',
    why: 'Many clients set the cookie in separate code when they renew the session. If this code leaves out an attribute, the cookie is unprotected for the rest of the session, because browsers use the attributes from the last answer.',
    fix: 'Set the session cookies in one function, and use it for the login and for the renewal.',
    needs,
    async run(context) {
      const names = (await sessionOf(context)).cookies.map(({ cookie }) => cookie.name)
      const { browser } = await expiredSession(context)
      const seen = await visitPage(context, browser)
      renewalIn(context, seen)
      for (const { cookie, exchange } of cookiesOf(seen.page.trail)) {
        if (!names.includes(cookie.name) || cookie.isDeletion || cookie.value === '') continue
        for (const { rule, judge } of attributes) {
          const fault = rule === 'CK-01' ? judge(cookie) : undefined
          expect(fault === undefined, `After a renewal, the cookie ${cookie.name} ${fault}.`, exchange)
        }
      }
      if (!context.settings.create) return
      // Many clients have separate code for forms.
      const open = await openCreateForm(context)
      await context.platform.endAccessTokens(open.person)
      const page = await open.browser.submit(open.page, open.form, open.values, noRedirects)
      for (const { cookie, exchange } of cookiesOf(page.trail)) {
        if (!names.includes(cookie.name) || cookie.isDeletion || cookie.value === '') continue
        for (const { rule, judge } of attributes) {
          const fault = rule === 'CK-01' ? judge(cookie) : undefined
          expect(fault === undefined, `After a renewal for a form, the cookie ${cookie.name} ${fault}.`, exchange)
        }
      }
    },
  },
  {
    id: 'cookie-total-size',
    title: 'With an access token of 9 KB, all cookies of the client together are shorter than 8 KiB',
    rule: 'CK-04',
    why: 'Many servers and proxies refuse a request with more than 8 KiB of headers. The visitor then sees only an error, even on the page for signing out.',
    fix: 'Count the bytes of all cookies before you set them. If there are too many bytes, refuse the login with a page, or keep the token on the server.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-access-token-9-kb')
      const page = await followCallback(context, browser, callback, context.beforePortal)
      const bytes = cookieHeader(context, browser, context.settings.page || '/').length
      expect(bytes < 8192, `The Cookie header is ${bytes} bytes long after this login.`, page)
    },
  },
  {
    id: 'cookie-not-computed',
    title: 'The session cookie is not computed from the state, the code, the user or the time',
    rule: 'session-unguessable',
    why: 'The address of the callback contains the state and the code, and many people know the id of a user. An attacker who knows these values can compute a session cookie that the client makes from them, even if the cookie is long.',
    fix: 'Take the session id from a cryptographically secure random number generator, or seal the value of the cookie.',
    needs,
    async run(context) {
      const { browser, start, callback } = await beginLogin(context)
      const before = Date.now()
      const landed = await followCallback(context, browser, callback)
      const after = Math.min(Date.now(), before + 2000)
      await requireSignedIn(context, browser)
      const { id, email } = await context.person()
      const code = callback.searchParams.get('code') ?? ''
      const known = [start.state ?? '', code, id, email, context.platform.clientId]
      const words = [...known, `${start.state}${code}`, `${code}${start.state}`, `${id}${context.platform.clientId}`]
      for (const { cookie, exchange } of cookiesOf(landed.trail)) {
        if (cookie.isDeletion || cookie.value.length < 8) continue
        const guess = findGuess(decodeSafely(cookie.value), { before, after, words })
        if (guess === undefined) continue
        expect(
          !(await signsInAlone(context, browser, cookie.name)),
          `The cookie ${cookie.name} is ${guess}, and this cookie alone signs the visitor in.`,
          exchange,
        )
      }
    },
  },
  {
    id: 'cookie-headers-in-bounds',
    title: 'After twelve unfinished logins, the Cookie header is still small enough for a login to work',
    rule: 'CK-04',
    why: 'Servers refuse headers of more than about 16 KB, often with status 431. The visitor must then delete cookies before signing in.',
    fix: 'Keep the cookies of only a few unfinished logins, and delete the oldest cookies. Give these cookies a short Max-Age.',
    async run(context) {
      const browser = context.browser()
      for (let login = 0; login < 12; login++) await context.startLogin(browser)
      // The cookies of unfinished logins may have the path of the callback.
      const bytes = cookieHeader(context, browser, context.platform.redirectUri).length
      expect(bytes <= 8192, `The Cookie header is ${bytes} bytes long after twelve unfinished logins.`)
      const start = await context.startLogin(browser)
      const page = await browser.visit(`${await context.authorize(start)}`)
      // If a login in a browser without these cookies also fails, the cookies are not the cause, and the check ends
      // here.
      if (page.status >= 400) await context.signedIn()
      expect(page.status > 0 && page.status < 400, `The thirteenth login ends with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'cookie-large-neighbours',
    title: 'A login works even if the host has 4 KB of other cookies',
    rule: 'CK-04',
    why: 'A cookie belongs to a host and not to one of its ports. Browsers therefore also send the cookies of other programs on the host.',
    fix: 'Configure the server so that it accepts headers of at least 16 KB, and keep your own cookies small.',
    needs,
    async run(context) {
      const browser = context.browser()
      browser.cookies.set(context.url('/'), `neighbour=${'n'.repeat(4000)}; Path=/`)
      await context.signIn(browser)
      if (await context.isSignedIn(browser)) return
      if (!(await context.isSignedIn((await openSession(context)).browser)))
        throw new Undecided('A plain login does not work.')
      fail('Nobody is signed in after the login.')
    },
  },
  {
    id: 'cookie-very-large-neighbours',
    title:
      'If the host has 8 KB of other cookies, the visitor stays signed in, or the client answers that the request is too large',
    rule: 'CK-04',
    why: 'If the client ignores a long Cookie header, the visitor seems to be signed out. Some clients then even delete the session.',
    fix: 'Read the whole Cookie header. If the header is too long for your server, answer with status 431 or 400, and do not delete any cookie.',
    needs,
    async run(context) {
      const { browser } = await sessionOf(context)
      const full = browser.copy()
      for (const name of ['one', 'two'])
        full.cookies.set(context.url('/'), `neighbour-${name}=${'n'.repeat(4000)}; Path=/`)
      const { page, steps } = await visitPage(context, full)
      const isRefused = page.stoppedAt === undefined && [400, 413, 431].includes(page.status)
      const isSignedIn = steps.some(isAcceptedCall)
      expect(
        isRefused || isSignedIn,
        `The request for the page was answered with ${describePage(page)}, and nobody is signed in.`,
        page,
      )
      for (const name of ['one', 'two']) full.cookies.delete(`neighbour-${name}`)
      expect(
        await context.isSignedIn(full),
        'After the cookies of other programs were deleted again, the visitor is no longer signed in.',
        page,
      )
    },
  },
]
