// Checks with cookies that the client has set but can no longer read, and with sessions whose size changes.
import { type Browser, type HttpExchange, noRedirects, type Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere } from '../../check.ts'
import { type CheckContext, readStart } from '../../context.ts'
import { describePage, expect, fail, statusOf } from '../../findings.ts'
import { isAcceptedCall, isRenewal } from '../../platform-calls.ts'
import { beginLogin, cookieHeader, followCallback, navigationHeaders } from '../../steps/callback.ts'
import { findCreateForm, openFormIn } from '../../steps/create-form.ts'
import { ownCookies, plant, renewalIn, sessionOf, visitPage } from '../../steps/sessions.ts'
import { cookiesOf } from '../../steps/set-cookies.ts'
import { openSignOut, signOut } from '../../steps/sign-out.ts'

const needs: CheckDefinition['needs'] = ['page']

/** Values that the client cannot read. Each is made from the value that the client has set. */
const broken: [what: string, make: (value: string) => string][] = [
  ['the value "garbage"', () => 'garbage'],
  ['the value "%00%FF%E0%A4%A"', () => '%00%FF%E0%A4%A'],
  ['the value "e30.e30.e30"', () => 'e30.e30.e30'],
  ['half of their value', value => value.slice(0, Math.floor(value.length / 2))],
  ['their value in reverse order', value => value.split('').reverse().join('')],
]

function expectStatus(answered: string, what: string, page: Page): void {
  expect(
    page.status > 0 && page.status < 500,
    `With ${what} in the session cookies, ${answered} was answered with ${describePage(page)}.`,
    page,
  )
}

/** Opens the callback of a new login in this browser, with all cookies of the browser. */
async function requestCallback(
  context: CheckContext,
  browser: Browser,
  begun: Page,
): Promise<HttpExchange | undefined> {
  if (begun.stoppedAt === undefined) return undefined
  const callback = await context.authorize(readStart(begun))
  // A browser also sends Strict cookies with the callback if the portal redirects at once.
  const cookie = cookieHeader(context, browser, callback.href)
  return context.request(callback.href, { headers: { ...navigationHeaders, cookie } })
}

/** Signs a visitor in with a large access token. Ends the check if the client refuses such a token. */
async function signInWithLargeToken(context: CheckContext): Promise<{ browser: Browser; page: Page; size: number }> {
  for (const size of [5, 3]) {
    const { browser, callback } = await beginLogin(context)
    const drop = await context.order(`exchange-access-token-${size}-kb`)
    const page = await followCallback(context, browser, callback)
    await drop()
    if (await context.isSignedIn(browser)) return { browser, page, size }
  }
  throw new NotApplicable('nobody is signed in after a login with an access token of 3 KB')
}

/** Signs a visitor in with an access token of this length. Returns the cookies of the answer. */
async function cookiesWithToken(context: CheckContext, length: number) {
  const { browser, callback } = await beginLogin(context)
  const value = Buffer.from(crypto.getRandomValues(new Uint8Array(length)))
    .toString('base64url')
    .slice(0, length)
  await context.order('exchange-access-token', { options: { value } })
  const page = await followCallback(context, browser, callback)
  const cookies = cookiesOf(page.trail).map(({ cookie, exchange }) => ({
    name: cookie.name,
    bytes: cookie.name.length + cookie.value.length,
    exchange,
  }))
  return { cookies, longest: Math.max(0, ...cookies.map(({ bytes }) => bytes)) }
}

export const brokenCookies: CheckDefinition[] = [
  {
    id: 'cookie-cut-elsewhere',
    title:
      'If a session cookie is shortened or contains garbage, the client answers a sign-out, a form, the login path and the callback with a status below 500',
    rule: 'CK-10',
    why: 'After a change of the keys, the browser of every visitor has a session cookie that the client cannot read. Clients often read this cookie with separate code when a visitor signs out, sends a form or signs in. If that code fails, the visitor can neither sign out nor sign in again.',
    fix: 'Read the session cookie with one function. If this function cannot read the value, treat the cookie as missing.',
    needs,
    async run(context) {
      const { browser, page: landed, cookies } = await sessionOf(context)
      const { create, login, logout } = context.settings
      const sendSignOut = logout && (await openSignOut(context, browser, landed))
      const opened = create ? await browser.visit(context.url(create), context.beforePortal) : undefined
      const form = opened && findCreateForm(opened)
      const kept = cookies.map(({ cookie: { name } }) => ({ name, value: browser.cookies.get(name)?.value ?? '' }))
      for (const [what, make] of broken) {
        const breakIn = (one: Browser) => {
          for (const { name, value } of kept) plant(context, one, name, make(value))
        }
        const odd = browser.copy()
        breakIn(odd)
        if (opened && form) {
          const page = await odd.newTab().submit(opened, form, {}, context.beforePortal)
          expectStatus('a form', what, page)
          breakIn(odd)
        }
        const begun = await context.visitUntilPortal(odd, login)
        expectStatus('the request for the login path', what, begun)
        breakIn(odd)
        const answer = await requestCallback(context, odd, begun)
        const status = answer ? statusOf(answer) : 200
        expect(
          status > 0 && status < 500,
          `With ${what} in the session cookies, the callback was answered with status ${status}.`,
          ...(answer ? [answer] : []),
        )
        if (!sendSignOut) continue
        breakIn(browser)
        expectStatus('the sign-out', what, await sendSignOut())
      }
    },
  },
  {
    id: 'cookie-others-cut',
    title: 'If a cookie other than the session cookies is garbage, the client answers with a status below 500',
    rule: 'CK-10',
    why: 'A client can keep a message, a draft or a flag for the next page in a cookie. An older version of the client, or another program on the host, may have set this cookie with a value that the client cannot read. If the client fails on this value, every page fails until the visitor deletes the cookie.',
    fix: 'Treat every cookie that you cannot read as missing.',
    needs,
    async run(context) {
      const { browser, page: landed, person, cookies } = await sessionOf(context)
      const fromLogin = ownCookies(context, browser)
      const { create, login, logout } = context.settings
      const others = new Set(fromLogin)
      const collect = (from: Browser) => {
        for (const name of ownCookies(context, from)) others.add(name)
      }
      if (create) {
        const open = await openFormIn(context, browser, person)
        const stranger = browser.copy()
        for (const { cookie } of cookies) stranger.cookies.delete(cookie.name)
        // Some clients set a cookie that keeps the form until the visitor has signed in, or a cookie that keeps
        // the new secret until the next page.
        await stranger.submit(open.page, open.form, open.values, noRedirects)
        collect(stranger)
        const sender = browser.copy()
        await sender.submit(open.page, open.form, open.values, noRedirects)
        collect(sender)
      }
      if (logout) {
        const leaver = browser.copy()
        await signOut(context, leaver, landed)
        collect(leaver)
      }
      const again = await context.signedIn()
      for (const { cookie } of cookies) others.delete(cookie.name)
      if (others.size === 0) throw new NotApplicable('the client sets only cookies of logins and sessions')
      for (const value of ['garbage', '', '%00%FF%E0%A4%A', '{}', 'null', 'e30', 'e30.e30.e30', '[1]', '"a']) {
        for (const path of [context.settings.page, create, '/', login]) {
          if (path === '') continue
          const odd = again.browser.copy()
          for (const name of others) plant(context, odd, name, value)
          const page = await context.visitUntilPortal(odd, path)
          expect(
            page.status > 0 && page.status < 500,
            `With the value ${JSON.stringify(value)} in the cookies ${[...others].join(', ')}, the request for ${path} was answered with ${describePage(page)}.`,
            page,
          )
        }
      }
    },
  },
  {
    id: 'cookie-size-limit',
    title: 'The client sets no cookie that is longer than 4,096 bytes, not even by a few bytes',
    rule: 'CK-03',
    why: 'Browsers count the name and the value of a cookie together. A client that checks the length of the value without the name, or the length of the token before sealing, can set a cookie that is slightly too long. Browsers silently drop this cookie, and the login has no effect.',
    fix: 'Before you set the cookie, check that its name and its sealed value together are at most 4,096 bytes long.',
    async run(context) {
      const [short, long] = [1500, 2400]
      const first = await cookiesWithToken(context, short)
      const second = await cookiesWithToken(context, long)
      const growth = (second.longest - first.longest) / (long - short)
      if (growth < 0.5) throw new NotApplicable('a longer access token does not make any cookie longer')
      // Sealed values grow in steps of more than one byte, so the check tries three lengths in a row.
      const length = long + Math.ceil((4097 - second.longest) / growth)
      for (const one of [length, length + 1, length + 2])
        for (const { name, bytes, exchange } of (await cookiesWithToken(context, one)).cookies)
          expect(bytes <= 4096, `The cookie ${name} is ${bytes} bytes long.`, exchange)
    },
  },
  {
    id: 'session-replaced-after-large',
    title:
      'After a login with a large access token, a login with an access token of the usual size works in the same browser',
    rule: 'CL-20',
    why: 'A client that splits a large session into several cookies must delete the cookies that a smaller session does not need. Otherwise the client joins a part of the old session to the new session, and cannot read the result.',
    fix: 'When you set the cookies of a session, delete all other cookies of earlier sessions. Browsers often do not send SameSite=Strict cookies with a callback, so delete every cookie that a session can have.',
    needs,
    async run(context) {
      const { logout } = context.settings
      const again = async (browser: Browser) =>
        followCallback(context, browser, await context.authorize(await context.startLogin(browser)))
      /** Runs the second login after the first one, or after a sign-out. Returns the mistake, if there is one. */
      const mistakeAfter = async (
        { browser, page: landed }: { browser: Browser; page: Page },
        isSignedOut: boolean,
      ) => {
        if (isSignedOut) await signOut(context, browser, landed)
        const page = await again(browser)
        const { steps } = await visitPage(context, browser)
        // A client that cannot read the new session may renew it with the refresh token, at every visit.
        const renewals = steps.filter(isRenewal)
        if (steps.some(isAcceptedCall) && renewals.length === 0) return undefined
        const what = renewals.length > 0 ? 'the client renews the new session at once' : 'nobody is signed in'
        return { what, page, renewals }
      }
      for (const isSignedOut of logout ? [false, true] : [false]) {
        const large = await signInWithLargeToken(context)
        const mistake = await mistakeAfter(large, isSignedOut)
        if (!mistake) continue
        const plain = await context.signedIn()
        if (await mistakeAfter(plain, isSignedOut))
          throw new ReportedElsewhere('a second login in the same browser does not work')
        fail(
          `After a login with an access token of ${large.size} KB${isSignedOut ? ', a sign-out' : ''} and a login with an access token of the usual size, ${mistake.what}.`,
          mistake.page,
          ...mistake.renewals,
        )
      }
    },
  },
  {
    id: 'refresh-smaller-token',
    title: 'If a renewal returns a smaller access token than the login, the visitor stays signed in',
    rule: 'RF-09',
    why: 'A client that splits a large session into several cookies must delete the cookies that the smaller session does not need. Otherwise the client joins a part of the old session to the new session, and cannot read the result.',
    fix: 'When you set the cookies of a session, delete all other cookies of the earlier session.',
    needs,
    async run(context) {
      const { browser, size } = await signInWithLargeToken(context)
      await context.platform.endAccessTokens(await context.person())
      const first = await visitPage(context, browser)
      const renewal = renewalIn(context, first)
      if (renewal.response.status !== 200 || !first.steps.some(isAcceptedCall))
        throw new ReportedElsewhere('the visit with the renewal does not work')
      const next = await visitPage(context, browser)
      const renewals = next.steps.filter(isRenewal)
      expect(
        next.steps.some(isAcceptedCall) && renewals.length === 0,
        `The login returned an access token of ${size} KB, and the renewal returned one of the usual size. On the page after the renewal, ${renewals.length > 0 ? 'the client renews again' : 'the visitor is not signed in'}.`,
        first.page,
        next.page,
        ...next.steps,
      )
    },
  },
]
