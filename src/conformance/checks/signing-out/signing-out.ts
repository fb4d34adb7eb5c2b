// Checks on signing out: which requests sign a visitor out, what ends at the client and at the portal, and which page
// follows.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../../browser/browser.ts'
import type { Form } from '../../browser/form.ts'
import { type CheckDefinition, NotApplicable, passUndecided, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { bodyOf, describePage, expect, expectWithFix, fail, headerOf, setCookiesOf, waitedMs } from '../../findings.ts'
import { isCallOfUser, isCallWithToken, isRenewal } from '../../platform-calls.ts'
import { withQuery } from '../../steps/addresses.ts'
import { openPagesAbout, openWithApplication, scriptOfOtherPort, sendForm } from '../../steps/application-pages.ts'
import { beginLogin, cookieHeader, followCallback, typedAddress } from '../../steps/callback.ts'
import { addressOn } from '../../steps/page-content.ts'
import { renewUnder } from '../../steps/renewals.ts'
import { noRevocation, revocationSeconds, untilRevoked } from '../../steps/revocations.ts'
import { visitPage } from '../../steps/sessions.ts'
import { cookiesOf, type ReadCookie, readSetCookie } from '../../steps/set-cookies.ts'
import {
  deletesCookies,
  expectWorkingSignOut,
  findSignOut,
  formHtml,
  hasSignedOut,
  openSignOut,
  requireSessionAtServer,
  signOut,
} from '../../steps/sign-out.ts'
import { fieldsOf, tokensOf } from '../../tokens.ts'
import { afterExpiry } from './after-expiry.ts'
import { duringRenewal } from './during-renewal.ts'
import { revocation } from './revocation.ts'

/** Returns a sign-out form on a page of another site, or of another port of the same host. */
function foreignForm(
  context: CheckContext,
  browser: Browser,
  site: 'cross-site' | 'same-site',
): { page: Page; form: Form } {
  const { method, path } = context.settings.logout!
  const page = browser.show(context.platform.otherSite.url('/', site), formHtml(context.url(path), method))
  return { page, form: page.forms[0]! }
}

/** Faults of the revocation at the portal, and the words for each fault in the title of its check. */
const portalFaults: [fault: string, what: string][] = [
  ['503', 'refuses the revocation'],
  ['reset', 'resets the connection of the revocation'],
  ['never', 'does not answer the revocation'],
]

/** Parameters with which some clients let a request choose the page after the sign-out. */
const parameters = [
  'returnTo',
  'return_to',
  'next',
  'redirect',
  'redirect_uri',
  'post_logout_redirect_uri',
  'url',
  'from',
]

const evil = 'evil.example'

/**
 * Finds the sign-out form. If no page has one, returns a form that opens the link with which visitors sign out, or else
 * the sign-out path. The returned page has no Content-Security-Policy, because the policy of the client's page may stop
 * the redirect that the check looks for.
 */
async function openSignOutForm(context: CheckContext, browser: Browser, landed: Page) {
  const { method, path } = context.settings.logout!
  const found = await findSignOut(context, browser, landed)
  const action = found?.link?.url ?? context.url(path)
  const page = browser.show(found?.page.url ?? context.url('/'), formHtml(action, method))
  if (found?.form) return { page, form: found.form }
  // A browser replaces the query of the address with the fields of a GET form.
  const query = [...new URL(action).searchParams].map(([name, value]) => ({ name, type: 'hidden', values: [value] }))
  return { page, form: { ...page.forms[0]!, controls: [...query, ...page.forms[0]!.controls] } }
}

const needs: CheckDefinition['needs'] = ['logout', 'page']

export const signingOut: CheckDefinition[] = [
  {
    id: 'logout-ends-session',
    title: 'After a visitor has signed out, the client no longer treats the visitor as signed in',
    rule: 'CK-13',
    why: 'If the session continues, the next person at the computer can act as this visitor.',
    fix: 'Delete every session cookie. Use the same name, Path and Domain as when the client set the cookie.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      const page = await signOut(context, browser, landed)
      expectWithFix(
        'The request to sign out failed. The evidence and the output of the client show the error.',
        hasSignedOut(page),
        `The client answered the sign-out with ${describePage(page)}.`,
        page,
      )
      // Also counts calls that the platform refuses, because after the sign-out the client must not use the tokens at
      // all.
      const { steps } = await visitPage(context, browser)
      const used = steps.filter(step => isCallWithToken(step) || isRenewal(step))
      expect(used.length === 0, 'The next page still uses the tokens of the session.', page, ...used)
    },
  },
  {
    id: 'logout-after-two-logins',
    title:
      'If two visitors have signed in one after the other with the same browser, nobody is signed in after a sign-out',
    rule: 'CL-20',
    why: 'Browsers do not send SameSite=Strict cookies with a callback, so the second login may leave cookies of the first visitor in the browser. If the sign-out deletes only the cookies of the second visitor, the next page uses the refresh token of the first visitor.',
    fix: 'At the first page after a login, delete all cookies that do not belong to the new session. At sign-out, delete every session cookie and every refresh cookie that the request contains.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      const other = await context.otherPerson()
      const callback = await context.authorize(await context.startLogin(browser), other)
      const landed = await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser, { person: other })))
        throw new ReportedElsewhere('the second visitor is not signed in')
      const page = await signOut(context, browser, landed)
      if (await context.isSignedIn(browser, { person: other })) {
        const plain = await context.signedIn()
        await expectWorkingSignOut(context, plain.browser)
        fail('The second visitor has signed out, but is still signed in.', page)
      }
      expect(
        !(await context.isSignedIn(browser, { person })),
        'After the second visitor has signed out, the first visitor is signed in again.',
        page,
      )
    },
  },
  {
    id: 'logout-not-by-get',
    title: 'A GET request to the sign-out path does not sign the visitor out',
    rule: 'PG-04',
    why: "Images, links and prefetching on other sites can cause a GET request with the visitor's cookies.",
    fix: 'Sign out by POST, and answer GET with 405.',
    needs,
    async run(context) {
      const { path } = context.settings.logout!
      const { browser } = await context.signedIn()
      // Stops before the portal, because the portal would sign the visitor in again without asking for a password.
      const page = await browser.newTab().visit(context.url(path), context.beforePortal)
      expect(await context.isSignedIn(browser), `GET ${path} signs the visitor out.`, page)
      // Some frameworks treat a GET request with this query as a POST request.
      const overriding = withQuery(path, '_method=POST&_method=post')
      const visited = await browser.newTab().visit(context.url(overriding), context.beforePortal)
      const said = 'signs the visitor out, because its query or a header names the method POST'
      const fix =
        'Do not let a query or a header override the method of a request, or allow this only for POST requests.'
      expectWithFix(fix, await context.isSignedIn(browser), `GET ${overriding} ${said}.`, visited)
      const cookie = cookieHeader(context, browser, path)
      const override = { 'x-http-method-override': 'POST', 'x-http-method': 'POST', 'x-method-override': 'POST' }
      const answer = await context.request(path, { headers: { ...typedAddress, ...override, cookie } })
      expectWithFix(fix, !deletesCookies(answer) && (await context.isSignedIn(browser)), `GET ${path} ${said}.`, answer)
      await expectWorkingSignOut(context, browser)
    },
  },
  ...(['cross-site', 'same-site'] as const).map(
    (site): CheckDefinition => ({
      id: site === 'cross-site' ? 'logout-csrf' : 'logout-csrf-same-site',
      title: `If ${site === 'cross-site' ? 'another site' : 'a page on another port of the same host'} sends a form to the sign-out path, the visitor stays signed in`,
      rule: 'PG-01',
      why: `${site === 'cross-site' ? 'Any website can send a form. Even if the browser sends no cookies with this form, the answer can delete the cookies' : 'SameSite cookies are also sent with forms from other ports and subdomains'}.`,
      fix: "Refuse a POST whose Sec-Fetch-Site is not same-origin, or whose Origin is not the client's own. Or require a token that only the client's own page contains.",
      needs,
      async run(context) {
        const { browser } = await context.signedIn()
        const { page, form } = foreignForm(context, browser, site)
        const answer = await browser.newTab().submit(page, form, {}, context.beforePortal)
        expect(await context.isSignedIn(browser), 'The visitor is no longer signed in.', answer)
        await expectWorkingSignOut(context, browser)
      },
    }),
  ),
  {
    id: 'logout-csrf-old-browser',
    title:
      'If another site sends a form to the sign-out path from a browser without Sec-Fetch headers, the visitor stays signed in',
    rule: 'PG-01',
    why: 'If a browser sends no Sec-Fetch headers, only the Origin header shows where a form comes from.',
    fix: 'If Sec-Fetch-Site is missing, compare Origin with the configured address.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const { method, path } = context.settings.logout!
      if (method === 'GET') throw new NotApplicable('GET sends no Origin')
      const cookie = cookieHeader(context, browser, path)
      const { protocol, hostname } = new URL(context.settings.client)
      // Browsers send Origin: null for a form in a sandboxed frame.
      for (const origin of ['https://evil.example', 'null', `${protocol}//${hostname}:9`]) {
        const answer = await context.request(path, {
          method,
          headers: { cookie, origin, 'content-type': 'application/x-www-form-urlencoded' },
        })
        expect(!deletesCookies(answer), `With Origin: ${origin}, the answer deletes the cookies.`, answer)
        expect(await context.isSignedIn(browser), `With Origin: ${origin}, the visitor is signed out.`, answer)
      }
      await expectWorkingSignOut(context, browser)
    },
  },
  {
    id: 'logout-csrf-script',
    title:
      'If a script on another port of the same host sends a request to the sign-out path, the visitor stays signed in',
    rule: 'PG-01',
    why: 'Browsers send SameSite cookies with such a request. If a client refuses only forged navigations, it accepts such a request.',
    fix: 'Refuse every POST whose Sec-Fetch-Site is not same-origin, whatever its Sec-Fetch-Mode is.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const { method, path } = context.settings.logout!
      if (method === 'GET') throw new ReportedElsewhere('the client signs out by GET')
      for (const mode of ['no-cors', 'cors']) {
        const form = { action: context.url(path), fields: [] }
        const { answer } = await sendForm(context, browser, form, scriptOfOtherPort(context, mode))
        expect(!deletesCookies(answer), `With Sec-Fetch-Mode: ${mode}, the answer deletes the cookies.`, answer)
        expect(await context.isSignedIn(browser), `With Sec-Fetch-Mode: ${mode}, the visitor is signed out.`, answer)
      }
      await expectWorkingSignOut(context, browser)
    },
  },
  {
    id: 'logout-replay',
    title: 'After a visitor has signed out, nobody can use a copy of the session cookies',
    rule: 'session-ended-for-all',
    why: 'Otherwise, an attacker who has a copy of the cookies stays signed in. If the client revokes the refresh token, the access tokens also become invalid.',
    fix: 'End the session on the server, or revoke its refresh token at the portal.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      const thief = browser.copy()
      await expectWorkingSignOut(context, browser, landed)
      if (!(await context.isSignedIn(thief))) return
      // A revocation also ends the session of the copy. The client may send the revocation after its answer to the
      // visitor.
      await untilRevoked(context, () => context.arrived('revoke').length > 0)
      expect(!(await context.isSignedIn(thief)), 'A browser with the copy of the cookies is still signed in.')
    },
  },
  {
    id: 'logout-replay-without-refresh-token',
    title:
      'If the portal issued no refresh token, nobody can use a copy of the session cookies after a visitor has signed out',
    rule: 'session-ended-for-all',
    why: 'A client can end a session on the server only if it also remembers the sessions without a refresh token. In this check, the portal refuses the revocation, so the access token stays valid.',
    fix: 'End the session on the server, whether it has a refresh token or not.',
    needs,
    async run(context) {
      const plain = await context.signedIn()
      const send = await openSignOut(context, plain.browser, plain.page)
      await requireSessionAtServer(context, { browser: plain.browser, send })
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-refresh-token-missing')
      const landed = await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser)))
        throw new ReportedElsewhere('without a refresh token, the client does not sign anyone in')
      const copy = browser.copy()
      await context.order('revoke-503', { times: 'always' })
      await expectWorkingSignOut(context, browser, landed)
      await context.dropFaults()
      expect(
        !(await context.isSignedIn(copy)),
        'A browser with the copy of the cookies is still signed in. After a login with a refresh token, such a copy does not work.',
      )
    },
  },
  {
    id: 'logout-revokes',
    title: 'When a visitor signs out, the client revokes the tokens of the session at the portal',
    rule: 'RF-11',
    why: 'Without a revocation, a copy of the refresh token stays valid for weeks.',
    fix: 'Send the refresh token, the client id and the secret with POST to /api/revokeToken. If there is no refresh token, send the access token.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      const [exchange] = await context.codeExchanges()
      const { access_token, refresh_token } = (exchange && tokensOf(exchange)) ?? {}
      await signOut(context, browser, landed)
      // The portal accepts the refresh token or the access token, and revokes all tokens of the same grant.
      const isRevocation = (step: LabStep) => {
        const { token } = fieldsOf(step)
        return step.kind === 'revoke' && token !== undefined && (token === refresh_token || token === access_token)
      }
      expect(
        await untilRevoked(context, () => context.platform.steps.some(isRevocation)),
        `Within ${revocationSeconds} seconds after the sign-out, the client revoked neither the refresh token nor the access token.`,
      )
    },
  },
  {
    id: 'logout-revokes-kept-token',
    title: 'If a renewal has returned no new refresh token, the client revokes the old refresh token at sign-out',
    rule: 'RF-08',
    why: 'A portal does not have to return a new refresh token. The old refresh token then stays valid. A client that has lost this token cannot renew the session again, and cannot revoke the token.',
    fix: 'After a renewal, replace the refresh token only if the answer contains one. Otherwise, store the old refresh token again together with the new access token.',
    needs,
    async run(context) {
      /**
       * Renews a session and signs out. `isKeptRevoked` says whether the client revoked the refresh token that was
       * valid after the renewal: the new one, or the old one if the answer contained none.
       */
      const renewAndSignOut = async (fault?: string) => {
        const before = new Set(context.arrived('revoke'))
        const { browser, page, renewal } = await renewUnder(context, fault, {}, 1)
        const tokens = tokensOf(renewal)
        if (!tokens || (fault !== undefined && tokens.refresh_token !== undefined))
          throw new Undecided(
            "The portal's answer to the renewal did not contain the fault that this check had ordered.",
          )
        await signOut(context, browser, page)
        const kept = tokens.refresh_token ?? fieldsOf(renewal).refresh_token
        const isRevocation = (step: LabStep) => !before.has(step) && fieldsOf(step).token === kept
        const isKeptRevoked = await untilRevoked(context, () => context.arrived('revoke').some(isRevocation))
        return { isKeptRevoked, renewal }
      }
      const { isKeptRevoked, renewal } = await renewAndSignOut('refresh-refresh-token-missing')
      if (isKeptRevoked) return
      const plain = await renewAndSignOut()
      if (!plain.isKeptRevoked) throw new NotApplicable('signing out does not revoke the refresh token of a renewal')
      fail(
        `Within ${revocationSeconds} seconds after the sign-out, the client did not revoke the old refresh token. The client revokes new refresh tokens, so it has lost the old refresh token.`,
        renewal,
      )
    },
  },
  ...portalFaults.map(
    ([fault, what]): CheckDefinition => ({
      id: `logout-portal-${fault}`,
      title: `If the portal ${what}, the visitor can still sign out`,
      rule: 'CK-13',
      why: 'If a failure at the portal keeps the visitor signed in at the client, the next person at the computer can act as this visitor.',
      fix: 'Set a short deadline for the revocation of the tokens. Sign the visitor out even if the portal refuses the revocation or does not answer.',
      needs,
      async run(context) {
        const { browser, page: landed } = await context.signedIn()
        await context.order(`revoke-${fault}`)
        const page = await signOut(context, browser, landed)
        const seconds = Math.round(waitedMs(page) / 1000)
        expect(hasSignedOut(page), `The client answered the sign-out with ${describePage(page)}.`, page)
        expect(seconds <= 10, `Signing out took ${seconds} seconds.`, page)
        expect(!(await context.isSignedIn(browser)), 'The next page still shows the visitor as signed in.', page)
      },
    }),
  ),
  ...duringRenewal,
  {
    id: 'logout-not-waiting',
    title: 'When a visitor signs out, the visitor waits at most about one second for the portal',
    rule: 'RF-11',
    why: "The browser deletes the cookies only when the client's answer arrives. A visitor who closes the window before this answer arrives is still signed in.",
    fix: 'Answer without waiting for the revocation, or give the revocation a deadline of about one second, including all attempts.',
    needs,
    async run(context) {
      const plain = await context.signedIn()
      const usual = waitedMs(await signOut(context, plain.browser, plain.page))
      for (const [fault, options, what] of [
        ['revoke-late', { seconds: 3 }, 'needed 3 seconds for the revocation'],
        ['revoke-endless-body', {}, 'sent an answer that never ends'],
        ['revoke-503', { retryAfter: 3 }, 'answered the revocation with 503'],
      ] as const) {
        const { browser, page: landed } = await context.signedIn()
        await context.order(fault, { options, times: fault === 'revoke-503' ? 'always' : 1 })
        const page = await signOut(context, browser, landed)
        const longer = waitedMs(page) - usual
        if (!(await untilRevoked(context, () => context.timesMet(fault) > 0))) throw new NotApplicable(noRevocation)
        expect(
          longer < 1800,
          `Signing out took ${(longer / 1000).toFixed(1)} seconds longer when the portal ${what}.`,
          page,
        )
      }
    },
  },
  {
    id: 'logout-revokes-access-token',
    title: 'If the portal issued no refresh token, the client revokes the access token when the visitor signs out',
    rule: 'revoke-access-token',
    why: 'Without a revocation, a copy of the access token stays valid until it expires.',
    fix: 'If the session has no refresh token, send the access token with POST to /api/revokeToken.',
    needs,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-refresh-token-missing')
      const landed = await followCallback(context, browser, callback)
      const given = (await context.codeExchanges()).map(tokensOf).find(tokens => tokens)
      if (!given || given.refresh_token !== undefined)
        throw new Undecided('The portal issued a refresh token, or no token at all.')
      if (!(await context.isSignedIn(browser)))
        throw new ReportedElsewhere('without a refresh token, the client does not sign anyone in')
      await expectWorkingSignOut(context, browser, landed)
      const isRevocation = (step: LabStep) => step.kind === 'revoke' && fieldsOf(step).token === given.access_token
      expect(
        await untilRevoked(context, () => context.platform.steps.some(isRevocation)),
        `Within ${revocationSeconds} seconds after the sign-out, the client did not revoke the access token.`,
      )
    },
  },
  {
    id: 'logout-not-silent',
    title: 'After a visitor has signed out, the next page does not sign the visitor in again',
    rule: 'logout-not-silent',
    why: 'The portal has its own session, so it would sign the visitor in again without asking for a password. This check only warns, because a simple client is still correct if it sends every visitor who has no session to the portal.',
    fix: 'Remember for a while that the visitor has signed out. During this time, show a sign-in button instead of redirecting to the login path.',
    needs,
    async run(context) {
      const application = await openWithApplication(context)
      const { browser } = application
      const { page: behind, create } = context.settings
      const about = (await openPagesAbout(context, application))
        .slice(1, 3)
        .filter(({ status }) => status === 200)
        .map(({ url }) => url)
      await signOut(context, browser)
      // Opens the first page twice, because some faulty clients forget the sign-out after the first page.
      for (const path of [behind, behind, create, ...about].filter(path => path !== '')) {
        const { result: page, steps } = await context.during(() => browser.newTab().visit(context.url(path)))
        const shown = new URL(context.url(path)).pathname.replaceAll(application.id, '…')
        expect(!steps.some(isCallWithToken), `At the next visit to ${shown}, the visitor is signed in again.`, page)
      }
    },
  },
  {
    id: 'logout-then-login',
    title: 'After a visitor has signed out, the visitor can sign in again',
    rule: 'login-works',
    why: 'Some clients remember that a visitor has signed out. This must not prevent a new login.',
    fix: 'Begin a login at the login path, even if the visitor has just signed out.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      await signOut(context, browser, landed)
      const callback = await context.authorize(await context.startLogin(browser))
      await browser.visit(`${callback}`, { from: browser.show(`${context.platform.portalUrl}/sign-in`, '') })
      expect(await context.isSignedIn(browser), 'After the second login, nobody is signed in.')
    },
  },
  {
    id: 'logout-twice',
    title: 'If a visitor signs out twice, or without a session, the client shows no error',
    rule: 'CK-13',
    why: 'People who have several tabs press the sign-out button in each tab.',
    fix: 'Answer the second sign-out in the same way as the first.',
    needs,
    async run(context) {
      const expectNoError = (page: Page) =>
        expect(
          page.status > 0 && page.status < 500,
          `The client answered the sign-out with ${describePage(page)}.`,
          page,
        )
      const { browser, page: landed } = await context.signedIn()
      const first = await openSignOut(context, browser, landed)
      const second = await openSignOut(context, browser.newTab(), landed)
      expectNoError(await first())
      expectNoError(await second())
      // Many clients show the sign-out form only to signed-in visitors. Such a client may refuse a form without its
      // token.
      const answer = await signOut(context, context.browser()).catch(passUndecided)
      if (answer) expectNoError(answer)
    },
  },
  {
    id: 'logout-clear-site-data',
    title: 'When a visitor signs out, the client does not delete the cookies of the whole site',
    rule: 'clear-site-data',
    why: 'Clear-Site-Data: "cookies" deletes the cookies of every host of the domain, including the cookies of the portal.',
    fix: 'Delete your own cookies by name. You may keep "cache" and "storage" in the header.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      const page = await signOut(context, browser, landed)
      for (const one of page.trail) {
        const header = headerOf(one, 'clear-site-data') ?? ''
        expect(!/"(cookies|\*)"/.test(header), `Clear-Site-Data is ${header}.`, one)
      }
    },
  },
  {
    id: 'logout-redirect-local',
    title: 'No request parameter can send the visitor to another site after the sign-out',
    rule: 'CL-25',
    why: "If a link to your client leads to an attacker's page, visitors trust this page.",
    fix: 'Redirect to a fixed page of your own, or compare the address with a list of allowed addresses.',
    needs,
    async run(context) {
      for (const address of ['https://evil.example/', '//evil.example/']) {
        const { browser, page: landed } = await context.signedIn()
        const { page, form } = await openSignOutForm(context, browser, landed)
        const hidden = parameters.map(name => ({ name, type: 'hidden', values: [address] }))
        const action = new URL(form.action)
        for (const name of parameters) action.searchParams.set(name, address)
        const controls = [...form.controls.filter(({ name }) => !parameters.includes(name)), ...hidden]
        const sent = { ...form, action: action.href, controls }
        const isForeign = ({ hostname }: URL) => hostname === evil
        const answer = await browser.submit(page, sent, {}, { stopAt: isForeign })
        expect(answer.stoppedAt === undefined, `Signing out redirects to ${answer.stoppedAt}.`, answer)
        const next = addressOn(answer, evil)
        expect(next === undefined, `The page after the sign-out leads to ${next}.`, answer)
        if (await context.isSignedIn(browser))
          throw new NotApplicable('the client does not sign the visitor out if the request has unknown parameters')
      }
    },
  },
  {
    id: 'logout-back',
    title: "After a visitor has signed out, the Back button does not show the visitor's data",
    rule: 'CK-13',
    why: 'The next person at the computer can press the Back button.',
    fix: 'Send Cache-Control: no-store with every page behind the login.',
    needs,
    async run(context) {
      const { browser, person, page: landed } = await context.signedIn()
      const shown = await browser.visit(context.url(context.settings.page))
      expect(
        /no-store/i.test(shown.headers.get('cache-control') ?? ''),
        'Browsers may store the page and show it again when somebody presses the Back button.',
        shown,
      )
      await signOut(context, browser.newTab(), landed)
      const { page, steps } = await visitPage(context, browser)
      expectWithFix(
        'Delete every session cookie when the visitor signs out.',
        !steps.some(step => isCallOfUser(step, person.id)),
        "The page makes a call with the visitor's token.",
        page,
      )
    },
  },
  {
    id: 'logout-says-so',
    title: 'After a visitor has signed out, the visitor sees a page of the client',
    rule: 'logout-says-so',
    why: 'A visitor who sees the login form of the portal does not know whether the sign-out has worked.',
    fix: 'Redirect to a page that says that the visitor is signed out, and that has a link to sign in again.',
    needs,
    async run(context) {
      const { browser, page: landed } = await context.signedIn()
      const page = await signOut(context, browser, landed)
      expect(page.stoppedAt === undefined, 'Signing out redirects to the portal.', page)
      expect(
        page.status === 200 && bodyOf(page.trail.at(-1)!) !== '',
        `Signing out ends with ${describePage(page)}.`,
        page,
      )
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
          throw new ReportedElsewhere('without a refresh token, the client does not sign anyone in')
        if (fault) await context.order(fault, { times: 'always' })
        const page = await signOut(context, browser, landed)
        await context.dropFaults()
        const when = fault ? 'When the portal refuses revocations' : 'When the portal works'
        expect(hasSignedOut(page), `${when}, the client answered the sign-out with ${describePage(page)}.`, page)
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
        await expectWorkingSignOut(context, browser)
      }
    },
  },
  {
    id: 'login-start-keeps-session',
    title: 'If a signed-in visitor begins a login, the visitor stays signed in',
    rule: 'PG-04',
    why: 'Any other site can send the browser to the login path. If the start of a login ended the session, any other site could sign the visitor out.',
    fix: 'Replace the session only in the answer to a successful callback. Never delete the session cookies at the login path.',
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      const page = await context.visitUntilPortal(browser.newTab(), context.settings.login)
      expect(await context.isSignedIn(browser), 'After a login has begun, the visitor is signed out.', page)
    },
  },
  {
    id: 'logout-foreign-cookies',
    title: 'When a visitor signs out, the client does not delete cookies that another program has set',
    rule: 'CK-14',
    why: 'Perhaps another host of the domain, or another program on this host, has set the cookie, for example for its own session. If the client deletes the cookie, the visitor is also signed out of that program.',
    fix: 'Delete only the cookies that the client sets, and delete them by name and without a Domain. Never delete all cookies of a request.',
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
  ...revocation,
  ...afterExpiry,
]
