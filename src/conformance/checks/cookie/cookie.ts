// The cookies of a session: their attributes, values, size and number.
import { bitsOf } from '../../../sandbox/lab/record/entropy.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import { describePage, expect, setCookiesOf } from '../../findings.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { expiredSession, openSession, ownCookies, renewalIn, sessionOf, visitPage } from '../../steps/sessions.ts'
import {
  cookiesOf,
  decodeSafely,
  longestCookieSeconds,
  type ReadCookie,
  readableTextsIn,
  readSetCookie,
} from '../../steps/set-cookies.ts'
import { tokensOf } from '../../steps/tokens.ts'
import { foreignCookies } from './foreign-cookies.ts'

/** A shorter value is the id of a session: an access token of the platform is a signed JWT of several hundred characters. */
const shortestWithToken = 200

/** The attributes of each session cookie. `judge` returns what is wrong with the cookie, if anything. */
const attributes: (Omit<CheckDefinition, 'run'> & { judge: (cookie: ReadCookie) => string | undefined })[] = [
  {
    id: 'cookie-httponly',
    title: 'No script can read the cookies of the session',
    rule: 'CK-01',
    why: 'Without HttpOnly, one script of an attacker on a page can steal the session.',
    fix: 'Set the attribute HttpOnly for every cookie of the session.',
    judge: cookie => (cookie.isHttpOnly ? undefined : 'has no HttpOnly'),
  },
  {
    id: 'cookie-secure',
    title: 'Browsers send the cookies of the session only over https',
    rule: 'CK-01',
    why: 'Without Secure, one request over http shows the session to everybody on the network. Browsers accept Secure on localhost, too.',
    fix: 'Set Secure, on http://localhost as well.',
    judge: cookie => (cookie.isSecure ? undefined : 'has no Secure'),
  },
  {
    id: 'cookie-samesite',
    title: 'Browsers do not send the cookies of the session with forms of other sites',
    rule: 'CK-01',
    why: 'If a cookie has no SameSite, a browser sends it with forms of other sites for two minutes. If SameSite is None, the browser always sends it.',
    fix: 'Set SameSite=Strict, or Lax.',
    judge: ({ sameSite }) =>
      sameSite === 'strict' || sameSite === 'lax' ? undefined : `has ${sameSite ? 'SameSite=None' : 'no SameSite'}`,
  },
  {
    id: 'cookie-samesite-strict',
    title: 'The cookies of the session are SameSite=Strict',
    rule: 'cookie-strict',
    why: 'With SameSite=Strict, no request that another site starts can act as the visitor.',
    fix: 'Set SameSite=Strict, and answer the callback with a page with a meta refresh: browsers do not send the cookie after a redirect from another site.',
    judge: ({ sameSite }) => (sameSite === 'strict' ? undefined : 'is not SameSite=Strict'),
  },
  {
    id: 'cookie-host-only',
    title: 'Browsers send the cookies of the session only to this host',
    rule: 'CK-01',
    why: 'With a Domain attribute, browsers send the cookies to every subdomain, and every subdomain can set them.',
    fix: 'Set the cookie without a Domain attribute.',
    judge: ({ domain }) => (domain === undefined ? undefined : `has Domain=${domain}`),
  },
  {
    id: 'cookie-prefix',
    title: 'The names of the session’s cookies begin with __Host-',
    rule: 'cookie-host-prefix',
    why: 'No other host, not even a subdomain, can set a cookie whose name begins with __Host-.',
    fix: 'Give the cookie a __Host- name, with Secure, Path=/ and no Domain.',
    judge: ({ name }) => (/^__Host-/i.test(name) ? undefined : 'has no __Host- prefix'),
  },
]

const needs: CheckDefinition['needs'] = ['page']

/**
 * The content of a cookie with `#` in place of each number of at most nine digits, if the content is text. A value that
 * is sealed or signed differs between logins in other characters, too.
 */
function withoutNumbers(value: string): string {
  const plain = decodeSafely(value)
  const decoded = Buffer.from(plain, 'base64').toString()
  const text = /^[\x20-\x7e]+$/.test(decoded) && decoded.length > 3 ? decoded : plain
  return text.replace(/(?<![0-9A-Za-z])\d{1,9}(?![0-9A-Za-z])/g, '#')
}

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
        // A client may use separate code for a login that replaces a session.
        const again = await followCallback(context, browser, await context.authorize(await context.startLogin(browser)))
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
    title: 'A cookie of the session lives as long as the access token',
    rule: 'CK-01',
    why: 'If a cookie lives longer than the token, the browser still sends it after the session has ended. If a cookie lives for a shorter time, the session ends too early.',
    fix: 'Set Max-Age to the expires_in of the token response, in seconds.',
    needs,
    async run(context) {
      const { cookies } = await openSession(context, ['exchange-expires-in', 7200])
      const ages = cookies.map(({ cookie }) => `${cookie.name}: ${cookie.maxAge ?? 'until the browser is closed'}`)
      const isRight = cookies.some(({ cookie }) => Math.abs((cookie.maxAge ?? 0) - 7200) <= 60)
      if (!isRight && cookies.every(({ cookie }) => cookie.value.length < shortestWithToken))
        throw new NotApplicable('the cookies are too short to hold the access token, so the server keeps it')
      expect(
        isRight,
        `expires_in was 7200, and the cookies live for: ${ages.join(', ')}.`,
        ...cookies.map(({ exchange }) => exchange),
      )
    },
  },
  {
    id: 'cookie-age-in-bounds',
    title: 'No cookie of the session is set for longer than 400 days',
    rule: 'CL-19',
    why: 'Browsers limit a lifetime to 400 days, and a larger number is often a time in milliseconds.',
    fix: 'Give Max-Age in seconds.',
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
    why: 'Browsers silently drop a cookie if it is longer than 4,096 bytes, if its prefix does not match its attributes, or if it is for another domain.',
    fix: 'Give __Host- cookies Secure, Path=/ and no Domain. Give SameSite=None cookies Secure. Split large cookies.',
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
  ...[3, 5, 9].map(
    (size): CheckDefinition => ({
      id: `cookie-size-${size}-kb`,
      title: `With an access token of ${size} KB, the client sets no cookie of more than 4,096 bytes`,
      rule: 'CK-03',
      why: 'Browsers drop a larger cookie silently and keep the old one, so the visitor stays signed in as before.',
      fix: 'Split the token into several cookies, keep it at the server, or refuse the login with a page that explains why.',
      async run(context) {
        const { browser, callback } = await beginLogin(context)
        await context.order(`exchange-access-token-${size}-kb`)
        const page = await followCallback(context, browser, callback)
        expect(page.status !== 0, `There was no answer: ${page.fault}.`, page)
        for (const exchange of page.trail)
          for (const line of setCookiesOf(exchange)) {
            const { name, value } = readSetCookie(line)
            const bytes = name.length + value.length
            expect(bytes <= 4096, `The cookie ${name} has ${bytes} bytes.`, exchange)
          }
        expect(page.status !== 500, 'The login ends with status 500.', page)
      },
    }),
  ),
  {
    id: 'cookie-unguessable',
    title: 'Nobody can guess the cookies of a session',
    rule: 'session-unguessable',
    why: 'Anybody who guesses the cookie of a session is signed in as the visitor of this session.',
    fix: 'Use at least 16 random bytes for the session id, or seal the value of the cookie.',
    needs,
    async run(context) {
      const { cookies } = await sessionOf(context)
      const values = new Map(cookies.map(({ cookie }) => [cookie.name, cookie.value]))
      const bits = Math.max(0, ...[...values.values()].map(bitsOf))
      expect(bits >= 112, `No cookie of the session is long enough for more than ${Math.floor(bits)} random bits.`)
      const again = context.browser()
      await followCallback(context, again, await context.authorize(await context.startLogin(again)))
      for (const [name, value] of values) {
        const other = again.cookies.get(name)?.value
        expect(other !== value || other === undefined, `Two logins have the same value in the cookie ${name}.`)
      }
    },
  },
  {
    id: 'cookie-each-unguessable',
    title: 'Nobody can guess a cookie that signs a visitor in without other cookies',
    rule: 'session-unguessable',
    why: 'Anybody who guesses such a cookie is signed in as its visitor, whatever the other cookies contain.',
    fix: 'Seal or sign the value of each cookie, or use an id of at least 16 random bytes. A number in base64 or JSON is not a secret.',
    needs,
    async run(context) {
      const first = await sessionOf(context)
      const second = await sessionOf(context)
      for (const { cookie, exchange } of first.cookies) {
        const other = second.cookies.find(one => one.cookie.name === cookie.name)?.cookie.value
        const isShort = bitsOf(cookie.value) < 112
        const isCounted = other !== undefined && withoutNumbers(cookie.value) === withoutNumbers(other)
        if (!isShort && !isCounted) continue
        const alone = first.browser.copy()
        for (const name of ownCookies(context, alone)) if (name !== cookie.name) alone.cookies.delete(name)
        if (!(await context.isSignedIn(alone))) continue
        expect(
          !isCounted,
          `In two logins, the cookie ${cookie.name} differs only in short numbers, and this cookie alone signs the visitor in.`,
          exchange,
        )
        expect(
          false,
          `The cookie ${cookie.name} alone signs the visitor in, but it is too short for 112 random bits.`,
          exchange,
        )
      }
    },
  },
  {
    id: 'cookie-refresh-age',
    title: 'A cookie of the session lives longer than the access token, so the session can continue',
    rule: 'CK-09',
    why: 'Without Max-Age or Expires, or with those of the access token, the browser deletes the refresh token too early, and the visitor has to sign in again.',
    fix: 'Keep the refresh token in a separate cookie with a Max-Age longer than expires_in, such as 14 days.',
    needs,
    async run(context) {
      const { cookies } = await sessionOf(context)
      const given = (await context.codeExchanges()).map(tokensOf).find(tokens => tokens) as
        | { expires_in?: unknown; refresh_token?: unknown }
        | undefined
      const lifetime = Number(given?.expires_in)
      const refreshToken = String(given?.refresh_token ?? '')
      if (!(lifetime > 0) || refreshToken === '')
        throw new Undecided('The portal gave no refresh token or no lifetime.')
      if (cookies.length < 2) throw new NotApplicable('the session has only one cookie')
      if (cookies.every(({ cookie }) => cookie.value.length < refreshToken.length))
        throw new NotApplicable('the cookies are too short to hold the refresh token, so the server keeps it')
      if (cookies.some(({ cookie }) => (cookie.maxAge ?? 0) > lifetime + 60)) return
      // A client that never renews needs no such cookie. After the end of the token, the browser may have no cookie any
      // more, so the first visit comes before this end, and the API refuses the token.
      const early = await context.signedIn()
      await context.platform.endAccessTokens(early.person)
      if (!(await visitPage(context, early.browser)).steps.some(({ kind }) => kind === 'refresh'))
        renewalIn(context, await visitPage(context, (await expiredSession(context)).browser))
      const ages = cookies.map(({ cookie }) => `${cookie.name}: ${cookie.maxAge ?? 'until the browser is closed'}`)
      expect(
        false,
        `expires_in was ${lifetime}, and the cookies live for: ${ages.join(', ')}.`,
        ...cookies.map(({ exchange }) => exchange),
      )
    },
  },
  ...foreignCookies,
  {
    id: 'cookie-data-sealed',
    title: 'Nobody can read who the visitor is in a cookie',
    rule: 'CK-05',
    why: 'A signed cookie is not secret: everybody who gets the cookie, for example from a backup or a log, can read its data.',
    fix: 'Encrypt the cookie, or keep the data at the server and only a random id in the cookie.',
    needs,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const person = await context.person()
      const page = await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser))) throw new Undecided('A plain login does not work.')
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
    why: 'A cache that keeps such an answer gives the cookie to others, and a late answer replaces a newer session.',
    fix: 'Set cookies only in an answer that begins or ends a login, or that creates, renews or ends a session.',
    async run(context) {
      const browser = context.browser()
      for (const path of ['/conformance-not-there', '/robots.txt']) {
        const page = await browser.visit(context.url(path))
        expect(!page.trail.some(one => setCookiesOf(one).length > 0), `${path} sets a cookie.`, page)
      }
    },
  },
  {
    id: 'cookie-not-cached',
    title: 'No cache may keep an answer that sets a session cookie',
    rule: 'CK-17',
    why: 'A shared cache that keeps the answer signs other people in as the visitor.',
    fix: 'Send Cache-Control: no-store with every answer that sets a cookie.',
    needs,
    async run(context) {
      for (const { exchange, cookie } of (await sessionOf(context)).cookies) {
        const control = 'headers' in exchange.response ? (exchange.response.headers.get('cache-control') ?? '') : ''
        expect(
          !/\b(public|s-maxage|max-age\s*=\s*[1-9]|immutable)/i.test(control) || /no-store|private/i.test(control),
          `The answer that sets ${cookie.name} says Cache-Control: ${control}.`,
          exchange,
        )
      }
    },
  },
  {
    id: 'cookie-headers-in-bounds',
    title: 'After twelve unfinished logins the Cookie header is small enough, and a login works',
    rule: 'CK-04',
    why: 'Servers refuse headers of more than about 16 KB, often with 431. Then nobody can sign in until they delete their cookies.',
    fix: 'Keep only a few cookies of unfinished logins, drop the oldest, and give them a short Max-Age.',
    async run(context) {
      const browser = context.browser()
      for (let login = 0; login < 12; login++) await context.startLogin(browser)
      const sent = browser.cookies.list(context.url('/')).map(({ name, value }) => `${name}=${value}`)
      const bytes = sent.join('; ').length
      expect(bytes <= 8192, `The Cookie header has ${bytes} bytes after twelve unfinished logins.`)
      const start = await context.startLogin(browser)
      const page = await browser.visit(`${await context.authorize(start)}`)
      // If a plain login does not work either, the cookies are not the cause, and the check ends.
      if (page.status >= 400) await context.signedIn()
      expect(page.status > 0 && page.status < 400, `The thirteenth login ends with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'cookie-large-neighbours',
    title: 'A login works with 4 KB of other cookies on the host',
    rule: 'CK-04',
    why: 'Cookies do not depend on the port, so browsers also send the cookies of other programs on the host.',
    fix: 'Let the server accept headers of at least 16 KB, and keep your own cookies small.',
    needs,
    async run(context) {
      const browser = context.browser()
      browser.cookies.set(context.url('/'), `neighbour=${'n'.repeat(4000)}; Path=/`)
      await context.signIn(browser)
      if (await context.isSignedIn(browser)) return
      if (!(await context.isSignedIn((await openSession(context)).browser)))
        throw new Undecided('A plain login does not work.')
      expect(false, 'Nobody is signed in after the login.')
    },
  },
  {
    id: 'cookie-very-large-neighbours',
    title:
      'With 8 KB of other cookies on the host, the visitor stays signed in, or the client says that the request is too large',
    rule: 'CK-04',
    why: 'A client that drops a long Cookie header shows a visitor who is signed in as signed out, or even deletes the session.',
    fix: 'Read the whole Cookie header. If it is too long for your server, answer with status 431 or 400, and delete nothing.',
    needs,
    async run(context) {
      const { browser } = await sessionOf(context)
      const full = browser.copy()
      for (const name of ['one', 'two'])
        full.cookies.set(context.url('/'), `neighbour-${name}=${'n'.repeat(4000)}; Path=/`)
      const { page, steps } = await visitPage(context, full)
      const isRefused = page.stoppedAt === undefined && [400, 413, 431].includes(page.status)
      const isSignedIn = steps.some(({ kind, response }) => kind === 'api' && response.status < 400)
      expect(
        isRefused || isSignedIn,
        `The page was answered with ${describePage(page)}, and nobody is signed in.`,
        page,
      )
      for (const name of ['one', 'two']) full.cookies.delete(`neighbour-${name}`)
      expect(await context.isSignedIn(full), 'Without the other cookies, the visitor is no longer signed in.', page)
    },
  },
]
