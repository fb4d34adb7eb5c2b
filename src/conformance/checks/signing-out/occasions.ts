// Signing out on other occasions: after the access token has expired, at another instance, and by requests that are not a
// form of the client.
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, setCookiesOf, statusOf } from '../../findings.ts'
import { ownForm, sendForm } from '../../steps/application-pages.ts'
import { beginLogin, cookieHeader, followCallback, typedAddress } from '../../steps/callback.ts'
import { endToken, shortLifeValue } from '../../steps/sessions.ts'
import { cookiesOf, readSetCookie } from '../../steps/set-cookies.ts'
import { openSignOut, signOut, signOutFormOf } from '../../steps/sign-out.ts'
import { tokensOf } from '../../steps/tokens.ts'

const needs: CheckDefinition['needs'] = ['logout', 'page']

/** The tokens that the portal gave in this check and that the client has revoked. */
async function revokedTokens(context: CheckContext): Promise<unknown[]> {
  await context.platform.settle(1000)
  const given = context.arrived('exchange', 'refresh').flatMap(step => {
    const tokens = tokensOf(step)
    return tokens ? [tokens.access_token, tokens.refresh_token] : []
  })
  return context.platform.steps
    .filter(({ kind }) => kind === 'revoke')
    .map(({ request }) => ((request.body ?? {}) as Record<string, unknown>).token)
    .filter(token => token !== undefined && given.includes(token as string))
}

/** Ends the check if a usual sign-out revokes no token, because another check reports that. */
async function expectPlainRevocation(context: CheckContext): Promise<void> {
  const known = (await revokedTokens(context)).length
  const { browser, page } = await context.signedIn()
  await signOut(context, browser, page)
  if ((await revokedTokens(context)).length === known)
    throw new NotApplicable('signing out revokes nothing at the portal')
}

/** Signs out with the form of a page that was opened before the access token expired. */
async function signOutAfterExpiry(context: CheckContext): Promise<{ browser: Browser; copy: Browser; page: Page }> {
  const { browser, callback } = await beginLogin(context)
  await context.order('exchange-expires-in', shortLifeValue)
  await context.order('refresh-expires-in', { ...shortLifeValue, times: 'always' })
  const landed = await followCallback(context, browser, callback)
  const send = await openSignOut(context, browser, landed)
  await endToken(context, await context.person())
  const copy = browser.copy()
  const page = await send()
  if (page.status === 0 || page.status >= 400)
    throw new Undecided(`After the end of the access token, signing out was answered with ${describePage(page)}.`)
  return { browser, copy, page }
}

export const signingOutOccasions: CheckDefinition[] = [
  {
    id: 'logout-expired-revokes',
    title: 'A visitor who signs out after the access token has expired leaves no valid refresh token',
    rule: 'CK-15',
    why: 'The cookie with the refresh token lives longer than the session cookie. If the client looks only at the session, a copy of the refresh token stays valid for days after the sign-out.',
    fix: 'At sign-out, read the refresh token from its own cookie or from the store, even if the session has expired, and revoke it.',
    needs,
    async run(context) {
      const { copy, page } = await signOutAfterExpiry(context)
      if ((await revokedTokens(context)).length > 0) return
      if (!(await context.isSignedIn(copy)))
        throw new NotApplicable('when the access token has expired, the client has no token that works')
      await expectPlainRevocation(context)
      expect(
        false,
        'The client revoked nothing, and a copy of the cookies from before the sign-out is still signed in.',
        page,
      )
    },
  },
  {
    id: 'logout-expired-ends',
    title: 'A visitor who signs out after the access token has expired is signed out',
    rule: 'CK-13',
    why: 'If only the session cookie ends, the next page renews the session with the refresh token, and the next person at the computer is signed in.',
    fix: 'At sign-out, delete every cookie of the session and the stored session, even if the access token has expired.',
    needs,
    async run(context) {
      const { browser, page } = await signOutAfterExpiry(context)
      expect(!(await context.isSignedIn(browser)), 'The next page is signed in.', page)
    },
  },
  {
    id: 'logout-not-by-head',
    title: 'A HEAD or OPTIONS request to the sign-out path signs nobody out',
    rule: 'PG-04',
    why: 'Other sites can cause these requests with the cookies of the visitor, and many frameworks answer HEAD like another method.',
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
    title: 'Beginning a login signs nobody out',
    rule: 'PG-04',
    why: 'Every other site can send the browser to the login path. The visitor would lose the session without finishing a login.',
    fix: 'Replace the session only in the answer to a successful callback. Never delete the session cookies at the login path.',
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      const page = await context.visitUntilPortal(browser.newTab(), context.settings.login)
      expect(await context.isSignedIn(browser), 'After the beginning of a login, the visitor is signed out.', page)
    },
  },
  {
    id: 'replica-sign-out-revokes',
    title: 'A visitor who signs out at another instance leaves no valid refresh token',
    rule: 'CK-15',
    why: 'Any instance can receive the request to sign out. If only the instance of the login knows the refresh token, a copy of the token stays valid.',
    fix: 'Read the refresh token from its cookie, or keep it in a store that all instances share.',
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
      if ((await revokedTokens(context)).length > 0) return
      await expectPlainRevocation(context)
      expect(false, 'The other instance signed the visitor out and revoked nothing.', answer)
    },
  },
  {
    id: 'logout-foreign-cookies',
    title: 'Signing out deletes no cookie of the domain that another program has set',
    rule: 'CK-14',
    why: 'Another host of the domain may have set the cookie, for example for its own session. Its visitors would be signed out there, too.',
    fix: 'Delete only the cookies that the client sets, by name and without Domain. Never delete every cookie of the request.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      const names = ['conformance_other_session', 'other.sid']
      for (const name of names) browser.cookies.set(context.url('/'), `${name}=1; Path=/`)
      const page = await signOut(context, browser, landed)
      for (const { cookie, exchange } of cookiesOf(page.trail))
        expect(
          !(names.includes(cookie.name) && cookie.isDeletion && cookie.attributes.has('domain')),
          `The answer deletes the cookie ${cookie.name} of the whole domain, which the client has not set.`,
          exchange,
        )
    },
  },
]
