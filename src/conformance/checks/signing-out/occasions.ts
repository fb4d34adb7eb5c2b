// Checks on signing out in special cases: after the access token has expired, at another instance, and with requests
// that are not a form of the client.
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectWithFix, fail, setCookiesOf, statusOf } from '../../findings.ts'
import { ownForm, sendForm } from '../../steps/application-pages.ts'
import { beginLogin, cookieHeader, followCallback, typedAddress } from '../../steps/callback.ts'
import { noRevocation, revocationSeconds, untilRevoked } from '../../steps/revocations.ts'
import { endToken, renewalIn, shortLifeValue, visitPage } from '../../steps/sessions.ts'
import { cookiesOf, type ReadCookie, readSetCookie } from '../../steps/set-cookies.ts'
import { expectWorkingSignOut, openSignOut, signOut, signOutFormOf } from '../../steps/sign-out.ts'
import { fieldsOf, tokensIssuedIn } from '../../tokens.ts'

const needs: CheckDefinition['needs'] = ['logout', 'page']

/** Waits until the client has revoked more than `known` of the tokens that the portal issued in this check. */
async function revokesMore(context: CheckContext, known = 0): Promise<boolean> {
  return untilRevoked(context, () => revokedTokens(context).length > known)
}

/** The tokens that the portal issued in this check and that the client has revoked. */
function revokedTokens(context: CheckContext): unknown[] {
  const given = context.arrived().flatMap(tokensIssuedIn)
  return context.platform.steps
    .filter(({ kind }) => kind === 'revoke')
    .map(step => fieldsOf(step).token)
    .filter(token => token !== undefined && given.includes(token as string))
}

/** Ends the check if even a normal sign-out does not revoke a token, because another check reports this. */
async function expectPlainRevocation(context: CheckContext): Promise<void> {
  const known = revokedTokens(context).length
  const { browser, page } = await context.signedIn()
  await signOut(context, browser, page)
  if (!(await revokesMore(context, known))) throw new NotApplicable(noRevocation)
}

/**
 * Signs out after the access token has expired, with the form of a page that was opened before. The faults in `faults`
 * apply during the sign-out. Without faults, the check ends if the client refuses the sign-out. Before that, the
 * function `judgeRefusal` can judge the refusal.
 */
async function signOutAfterExpiry(
  context: CheckContext,
  faults: [name: string, options?: Record<string, unknown>][] = [],
  judgeRefusal: (refused: { browser: Browser; page: Page }) => Promise<void> = async () => {},
): Promise<{ browser: Browser; copy: Browser; page: Page }> {
  const { browser, callback } = await beginLogin(context)
  await context.order('exchange-expires-in', shortLifeValue)
  await context.order('refresh-expires-in', { ...shortLifeValue, times: 'always' })
  const landed = await followCallback(context, browser, callback)
  const send = await openSignOut(context, browser, landed)
  await endToken(context, await context.person())
  await context.dropFaults()
  for (const [name, options = {}] of faults) await context.order(name, { times: 'always', options })
  const copy = browser.copy()
  const page = await send()
  if (faults.length === 0 && (page.status === 0 || page.status >= 400)) {
    await judgeRefusal({ browser, page })
    throw new Undecided(
      `When the access token had expired, the client answered the sign-out with ${describePage(page)}.`,
    )
  }
  return { browser, copy, page }
}

export const signingOutOccasions: CheckDefinition[] = [
  {
    id: 'logout-expired-revokes',
    title: 'If a visitor signs out after the access token has expired, the client still revokes the refresh token',
    rule: 'CK-15',
    why: 'The cookie with the refresh token lives longer than the session cookie. If the client looks only at the session cookie, a copy of the refresh token stays valid for days after the sign-out.',
    fix: 'At sign-out, read the refresh token from its own cookie or from the server, even if the session cookie has expired. Then revoke the refresh token.',
    needs,
    async run(context) {
      const { copy, page } = await signOutAfterExpiry(context)
      if (await revokesMore(context)) return
      if (!(await context.isSignedIn(copy)))
        throw new NotApplicable('when the access token has expired, the client has no token that works')
      await expectPlainRevocation(context)
      fail(
        `Within ${revocationSeconds} seconds, the client did not revoke a token. With a copy of the cookies from before the sign-out, a browser is still signed in.`,
        page,
      )
    },
  },
  {
    id: 'logout-expired-ends',
    title: 'If a visitor signs out after the access token has expired, the session ends',
    rule: 'CK-13',
    why: 'If the client deletes only the session cookie, the next page renews the session with the refresh token. Then the next person at the computer is signed in.',
    fix: 'At sign-out, delete all cookies of the session, and any session data on the server, even if the access token has expired.',
    needs,
    async run(context) {
      const { browser, page } = await signOutAfterExpiry(context, [], async ({ browser, page }) => {
        expectWithFix(
          'Accept the sign-out form of every page of the same session. A form value that protects against forged requests must not depend on the access token.',
          !(await context.isSignedIn(browser)),
          `When the access token had expired, the client answered its own sign-out form with ${describePage(page)}, and the visitor is still signed in.`,
          page,
        )
      })
      expect(!(await context.isSignedIn(browser)), 'On the next page, the visitor is still signed in.', page)
    },
  },
  {
    id: 'logout-after-renewal',
    title: 'A visitor can sign out on a page that was opened before a renewal',
    rule: 'CK-13',
    why: 'One tab can renew the session while another tab still shows an older page. If the client refuses the sign-out form of this page, the visitor is still signed in.',
    fix: 'Accept the sign-out form of every page of the same session. A form value that protects against forged requests must not depend on the access token, because a renewal changes the access token.',
    needs,
    async run(context) {
      const { browser, person, page: landed } = await context.signedIn()
      const send = await openSignOut(context, browser, landed)
      await context.platform.endAccessTokens(person)
      const visit = await visitPage(context, browser.newTab())
      renewalIn(context, visit)
      const page = await send()
      if (!(await context.isSignedIn(browser))) return
      // A client may not have a working sign-out at all. Another check reports this.
      await expectWorkingSignOut(context, browser)
      fail(
        `Another tab renewed the session. The client then answered the sign-out form of an older page with ${describePage(page)}, and the visitor is still signed in.`,
        page,
      )
    },
  },
  {
    id: 'logout-expired-portal-down',
    title: 'If the access token has expired and the portal refuses the renewal or is down, the visitor can sign out',
    rule: 'CK-13',
    why: 'If the client first renews the session when a visitor signs out, a failure of the portal keeps the visitor signed in. Then the next person at the computer can act as this visitor.',
    fix: 'Do not renew the session at the sign-out path. Delete the cookies of the session, and then try to revoke the refresh token.',
    needs,
    longestMs: 90_000,
    async run(context) {
      await signOutAfterExpiry(context)
      for (const faults of [
        [['refresh-503'], ['revoke-503']],
        [['refresh-reset'], ['revoke-reset']],
        [['refresh-400', { error: 'invalid_grant' }]],
      ] as [name: string, options?: Record<string, unknown>][][]) {
        const { browser, page } = await signOutAfterExpiry(context, faults)
        await context.dropFaults()
        const what = faults.map(([name]) => name).join(' and ')
        expect(
          page.status > 0 && page.status < 400,
          `When the access token had expired, and with the fault ${what}, the client answered the sign-out with ${describePage(page)}.`,
          page,
        )
        expect(!(await context.isSignedIn(browser)), `After the sign-out with ${what}, the visitor is signed in.`, page)
      }
    },
  },
  {
    id: 'logout-without-refresh-token',
    title: 'If the portal issued no refresh token, the visitor can sign out',
    rule: 'CK-13',
    why: 'A portal does not have to issue a refresh token. If the client needs this token at sign-out, the visitor stays signed in.',
    fix: 'Delete all cookies of the session even if there is no refresh token, and whatever the portal answers to the revocation.',
    needs,
    async run(context) {
      // In the second round, the portal refuses the revocation, so the access token stays valid.
      for (const fault of [undefined, 'revoke-503']) {
        const { browser, callback } = await beginLogin(context)
        await context.order('exchange-refresh-token-missing')
        const landed = await followCallback(context, browser, callback)
        if (!(await context.isSignedIn(browser)))
          throw new NotApplicable(
            'without a refresh token, the client does not sign the visitor in. Another check reports this',
          )
        if (fault) await context.order(fault, { times: 'always' })
        const page = await signOut(context, browser, landed)
        await context.dropFaults()
        const when = fault ? 'At a portal that refuses revocations' : 'At a portal that works'
        expect(
          page.status > 0 && page.status < 400,
          `${when}, the client answered the sign-out with ${describePage(page)}.`,
          page,
        )
        expect(!(await context.isSignedIn(browser)), `${when}, the visitor is still signed in on the next page.`, page)
      }
    },
  },
  {
    id: 'logout-not-by-head',
    title: 'A HEAD or OPTIONS request to the sign-out path does not sign the visitor out',
    rule: 'PG-04',
    why: "Other sites can cause these requests with the visitor's cookies, and many frameworks handle HEAD like GET.",
    fix: 'Sign out only by POST, and answer every other method with 405.',
    needs,
    async run(context) {
      const { path } = context.settings.logout!
      for (const method of ['HEAD', 'OPTIONS']) {
        const { browser } = await context.signedIn()
        const cookie = cookieHeader(context, browser, context.url(path))
        const answer = await context.request(path, { method, headers: { cookie, ...typedAddress } })
        for (const { name, isDeletion } of setCookiesOf(answer).map(readSetCookie))
          if (isDeletion) browser.cookies.delete(name)
        expect(await context.isSignedIn(browser), `${method} ${path} signs the visitor out.`, answer)
      }
    },
  },
  {
    id: 'login-start-keeps-session',
    title: 'If a signed-in visitor begins a login, the visitor stays signed in',
    rule: 'PG-04',
    why: 'Any other site can send the browser to the login path. If this ended the session, the visitor would be signed out although the new login has not finished.',
    fix: 'Replace the session only in the answer to a successful callback. Never delete the session cookies at the login path.',
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      const page = await context.visitUntilPortal(browser.newTab(), context.settings.login)
      expect(await context.isSignedIn(browser), 'After a login has begun, the visitor is signed out.', page)
    },
  },
  {
    id: 'replica-sign-out-revokes',
    title: 'An instance of the client revokes the refresh token at sign-out even if another instance handled the login',
    rule: 'CK-15',
    why: 'Any instance can receive the sign-out. If only the instance that handled the login knows the refresh token, a copy of the token stays valid.',
    fix: 'Read the refresh token from its cookie, or keep the token in a store that all instances share.',
    needs: ['logout', 'page', 'replica'],
    async run(context) {
      const { browser } = await context.signedIn()
      const { path, method } = context.settings.logout!
      if (method === 'GET') throw new NotApplicable('signing out is a GET request')
      const shown = await browser.visit(context.url(context.settings.page))
      const form = signOutFormOf(context, shown)
      const action = context.url(path, context.settings.replica)
      const { answer } = await sendForm(context, browser, { action, fields: form?.fields ?? [] }, ownForm(context))
      if (statusOf(answer) >= 400)
        throw new Undecided(`The other instance answered the sign-out with status ${statusOf(answer)}.`)
      if (await revokesMore(context)) return
      await expectPlainRevocation(context)
      fail(
        `The other instance signed the visitor out, but did not revoke a token within ${revocationSeconds} seconds.`,
        answer,
      )
    },
  },
  {
    id: 'logout-foreign-cookies',
    title: 'When a visitor signs out, the client does not delete cookies that another program has set',
    rule: 'CK-14',
    why: 'Another host of the domain, or another program on this host, may have set the cookie, for example for its own session. If the client deletes the cookie, the visitor is also signed out of that program.',
    fix: 'Delete only the cookies that the client sets, by name and without a Domain. Never delete all cookies of a request.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      const names = ['conformance_other_session', 'other.sid']
      for (const name of names) browser.cookies.set(context.url('/'), `${name}=1; Path=/`)
      const page = await signOut(context, browser, landed)
      const isForDomain = ({ attributes }: ReadCookie) => Boolean(attributes.get('domain'))
      const own = cookiesOf(landed.trail).flatMap(({ cookie }) => (isForDomain(cookie) ? [cookie.name] : []))
      for (const { cookie, exchange } of cookiesOf(page.trail))
        expect(
          !cookie.isDeletion || !isForDomain(cookie) || names.includes(cookie.name) || own.includes(cookie.name),
          `The answer deletes the cookie ${cookie.name} for the whole domain. The client has set this cookie only for its own host, so another host may have set a cookie with this name for the domain.`,
          exchange,
        )
      for (const { cookie, exchange } of cookiesOf(page.trail))
        expect(
          !names.includes(cookie.name),
          `The answer deletes or replaces the cookie ${cookie.name}. The client has not set this cookie before.`,
          exchange,
        )
    },
  },
]
