// Checks on signing out after the access token has expired, or after a renewal has replaced it.
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectWithFix, fail } from '../../findings.ts'
import { renewUnder } from '../../steps/renewals.ts'
import { expectPlainRevocation, revocationSeconds, revokedTokens, untilRevoked } from '../../steps/revocations.ts'
import { renewalIn, visitPage } from '../../steps/sessions.ts'
import { expectWorkingSignOut, hasSignedOut, openExpired, openSignOut } from '../../steps/sign-out.ts'
import { tokensOf } from '../../tokens.ts'

const needs: CheckDefinition['needs'] = ['logout', 'page']

/**
 * After the access token has expired, signs out with the form on a page that was opened earlier. The faults in `faults`
 * apply during the sign-out. If there are no faults and the client refuses the sign-out, `judgeRefusal` can first judge
 * the refusal, and then the check ends. `expiredTokens`: the access tokens that had expired before the sign-out.
 */
async function signOutAfterExpiry(
  context: CheckContext,
  faults: [name: string, options?: Record<string, unknown>][] = [],
  judgeRefusal: (refused: { browser: Browser; page: Page }) => Promise<void> = async () => {},
): Promise<{ browser: Browser; copy: Browser; page: Page; expiredTokens: unknown[] }> {
  const { browser, send } = await openExpired(context)
  const expiredTokens = context.arrived().flatMap(step => tokensOf(step)?.access_token ?? [])
  for (const [name, options = {}] of faults) await context.order(name, { times: 'always', options })
  const copy = browser.copy()
  const page = await send()
  if (faults.length === 0 && (page.status === 0 || page.status >= 400)) {
    await judgeRefusal({ browser, page })
    throw new Undecided(
      `When the access token had expired, the client answered the sign-out with ${describePage(page)}.`,
    )
  }
  return { browser, copy, page, expiredTokens }
}

/** Ends the check if the client does not renew a session after the access token has expired. */
async function requireRenewal(context: CheckContext): Promise<void> {
  const { renewal } = await renewUnder(context)
  if (!tokensOf(renewal))
    throw new NotApplicable('when the access token has expired, the client has no token that works')
}

export const afterExpiry: CheckDefinition[] = [
  {
    id: 'logout-expired-revokes',
    title: 'If a visitor signs out after the access token has expired, the client still revokes the refresh token',
    rule: 'CK-15',
    why: 'The refresh token lives longer than the access token. If the client looks only for a session with a valid access token, a copy of the refresh token stays valid for days after the sign-out.',
    fix: 'At sign-out, read the refresh token from its own cookie or from the server, even if the access token or the session cookie has expired. Then revoke the refresh token.',
    needs,
    async run(context) {
      const { copy, page, expiredTokens } = await signOutAfterExpiry(context)
      // The portal ignores the revocation of an expired access token.
      const revokesOther = () => revokedTokens(context).some(token => !expiredTokens.includes(token))
      if (await untilRevoked(context, revokesOther)) return
      const what =
        revokedTokens(context).length > 0 ? 'revoked only the expired access token' : 'did not revoke a token'
      const isCopySignedIn = await context.isSignedIn(copy)
      // If a client ends the session on its server, the copy is no longer signed in, but the refresh token is still
      // valid. A client without renewals has no token that it could revoke.
      if (!isCopySignedIn) await requireRenewal(context)
      await expectPlainRevocation(context)
      const stillUsable = isCopySignedIn
        ? 'With a copy of the cookies from before the sign-out, a browser is still signed in.'
        : 'In another session whose access token had expired, the client renewed the session, so it had a refresh token that it could have revoked.'
      fail(`Within ${revocationSeconds} seconds, the client ${what}. ${stillUsable}`, page)
    },
  },
  {
    id: 'logout-expired-ends',
    title: 'If a visitor signs out after the access token has expired, the session ends',
    rule: 'CK-13',
    why: 'If the client deletes only the session cookie, the next page renews the session with the refresh token. The next person at the computer is then signed in.',
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
      // Perhaps the sign-out never works. Another check reports this.
      await expectWorkingSignOut(context, browser)
      fail(
        `Another tab renewed the session. The client then answered the sign-out form of an older page with ${describePage(page)}, and the visitor is still signed in.`,
        page,
      )
    },
  },
  {
    id: 'logout-expired-portal-down',
    title:
      'After the access token has expired, the visitor can sign out even if the portal refuses the renewal or is down',
    rule: 'CK-13',
    why: 'If the client renews the session before it signs the visitor out, a failure of the portal keeps the visitor signed in. The next person at the computer can then act as this visitor.',
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
          hasSignedOut(page),
          `The access token had expired, and the check had ordered ${what}. The client answered the sign-out with ${describePage(page)}.`,
          page,
        )
        expect(!(await context.isSignedIn(browser)), `After the sign-out with ${what}, the visitor is signed in.`, page)
      }
    },
  },
]
