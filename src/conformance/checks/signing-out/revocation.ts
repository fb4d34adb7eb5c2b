// Checks on the revocation of tokens at the portal when a visitor signs out: the client's request, and how the client
// handles the portal's answer.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectWithFix, fail, statusOf, waitedMs } from '../../findings.ts'
import { isCallWithToken, isRenewal } from '../../platform-calls.ts'
import { ownForm, sendForm } from '../../steps/application-pages.ts'
import { expectOwnHeaders, foreignHeaders, foreignHeadersRule } from '../../steps/foreign-headers.ts'
import { expectCallEnds } from '../../steps/hanging-calls.ts'
import { redirectAway, requestAtTrap } from '../../steps/redirect-trap.ts'
import { renewUnder } from '../../steps/renewals.ts'
import {
  expectPlainRevocation,
  noRevocation,
  revocationSeconds,
  revokesMore,
  untilRevoked,
} from '../../steps/revocations.ts'
import { signInWithOddRefreshToken, visitPage } from '../../steps/sessions.ts'
import { hasSignedOut, signOut, signOutFormOf } from '../../steps/sign-out.ts'
import { fieldsOf, tokensOf } from '../../tokens.ts'

const needs: CheckDefinition['needs'] = ['logout', 'page']

const isRevocation = (step: LabStep) => step.kind === 'revoke' || step.request.url.startsWith('/api/revokeToken')

/** Signs a visitor in and out. Returns the revocation requests that the client sent. */
async function revokeOnce(context: CheckContext, fault?: string, options: Record<string, unknown> = {}) {
  const { browser, page: landed } = await context.signedIn()
  const before = new Set(context.arrived())
  if (fault) await context.order(fault, { times: 1, options })
  const page = await signOut(context, browser, landed)
  const revocations = () => context.arrived().filter(step => !before.has(step) && isRevocation(step))
  await untilRevoked(context, () => revocations().length > 0)
  return { browser, page, revocations: revocations() }
}

function request(
  definition: Omit<CheckDefinition, 'run' | 'needs'>,
  judge: (revocation: LabStep, context: CheckContext) => void,
): CheckDefinition {
  return {
    ...definition,
    needs,
    async run(context) {
      const { revocations } = await revokeOnce(context)
      if (revocations.length === 0) throw new NotApplicable(noRevocation)
      for (const revocation of revocations) judge(revocation, context)
    },
  }
}

const requests: CheckDefinition[] = [
  request(
    {
      id: 'logout-revocation-address',
      title: 'The client does not send any field of a revocation in the query of the address',
      rule: 'credentials-in-body',
      why: 'Servers and proxies log addresses, and a log must contain neither a token nor the client secret.',
      fix: 'Send token, client_id and client_secret as a form with POST.',
    },
    revocation =>
      expect(
        !revocation.request.url.includes('?'),
        `The address of the revocation is ${revocation.request.url.split('?')[0]}?…`,
        revocation,
      ),
  ),
  {
    id: 'logout-revocation-one-authentication',
    title:
      'A revocation contains the client secret only once (in the form or in the Authorization header), even if it repeats a refused revocation',
    rule: 'one-authentication',
    why: 'A portal may refuse a request that authenticates with two methods. The tokens then stay valid.',
    fix: 'Send client_secret only in the form. Do not send an Authorization header, not even after a refusal.',
    needs,
    async run(context) {
      // After a 401, some OAuth libraries repeat the request with another method.
      for (const fault of [undefined, 'revoke-401']) {
        const { revocations } = await revokeOnce(context, fault)
        if (revocations.length === 0) throw new NotApplicable(noRevocation)
        for (const revocation of revocations)
          expect(
            !('client_secret' in fieldsOf(revocation) && revocation.request.headers.authorization !== undefined),
            'The revocation has an Authorization header in addition to client_secret.',
            revocation,
          )
      }
    },
  },
  {
    id: 'logout-revocation-encoded',
    title: 'If a refresh token contains the characters +, / and =, a revocation sends the token unchanged',
    rule: 'CK-15',
    why: 'In a form, a + means a space. If the client does not encode the token, the portal gets a different token and answers with 200. The real token then stays valid.',
    fix: 'Encode the form with a function of your language or library, and do not build the body of the form by hand.',
    needs,
    async run(context) {
      const { browser, landed, token, mark } = await signInWithOddRefreshToken(context)
      await signOut(context, browser, landed)
      // Searches the steps of all visitors, because the sandbox cannot tell to which visitor a changed token belongs.
      const findRevocation = () =>
        context.platform.steps.findLast(
          step => isRevocation(step) && JSON.stringify(step.request.body ?? '').includes(mark),
        )
      await untilRevoked(context, () => findRevocation() !== undefined)
      const revocation = findRevocation()
      if (!revocation) throw new NotApplicable('the client does not revoke this refresh token')
      const { token: sent } = fieldsOf(revocation)
      expect(sent === token, 'The revocation sends a different refresh token than the portal issued.', revocation)
    },
  },
  {
    id: 'logout-revokes-renewed-token',
    title: 'If a session was renewed, the client revokes the tokens of the last renewal when the visitor signs out',
    rule: 'CK-15',
    why: 'The renewal has replaced the tokens of the login. If the client revokes an old token, a portal may ignore the request, and a copy of the new tokens stays valid.',
    fix: 'Revoke the refresh token that the last renewal returned.',
    needs,
    async run(context) {
      const { browser, page, renewal } = await renewUnder(context)
      const tokens = tokensOf(renewal)
      if (!tokens) throw new ReportedElsewhere('the portal refused the renewal')
      const before = new Set(context.arrived())
      await signOut(context, browser, page)
      const findRevocations = () => context.arrived().filter(step => !before.has(step) && isRevocation(step))
      await untilRevoked(context, () => findRevocations().length > 0)
      const revocations = findRevocations()
      if (revocations.length === 0) throw new NotApplicable(noRevocation)
      const isLast = (step: LabStep) => {
        const { token } = fieldsOf(step)
        return token !== undefined && (token === tokens.refresh_token || token === tokens.access_token)
      }
      const renewedAgain = context.arrived('refresh').some(step => !before.has(step))
      expect(
        renewedAgain || revocations.some(isLast),
        'The client revoked a token from before the renewal.',
        renewal,
        ...revocations,
      )
    },
  },
  request(
    {
      id: 'logout-revocation-accepted',
      title: "The portal accepts the client's revocation request",
      rule: 'CK-15',
      why: 'If the portal refuses the revocation, anyone who has a copy of the cookies can use the tokens.',
      fix: 'Send token, client_id and client_secret as a form (application/x-www-form-urlencoded), with POST to /api/revokeToken.',
    },
    revocation =>
      expect(
        revocation.response.status === 200,
        `The portal refused the revocation with status ${revocation.response.status}.`,
        revocation,
      ),
  ),
]

const headers: CheckDefinition = {
  id: 'logout-headers-not-passed-back',
  title: 'The client’s answers to the browser contain no header from the portal’s answer to a revocation',
  ...foreignHeadersRule,
  needs,
  async run(context) {
    const { page, revocations } = await revokeOnce(context, 'revoke-headers', { headers: foreignHeaders })
    if (revocations.length === 0) throw new NotApplicable(noRevocation)
    expectOwnHeaders(page.trail)
  },
}

const redirects: CheckDefinition[] = [302, 307].map(status => ({
  id: `logout-revocation-redirect-${status}`,
  title: `If the portal redirects a revocation (status ${status}), the client does not follow the redirect`,
  rule: 'UP-02',
  why: 'A client that follows the redirect sends the token and the secret to an address that it has not chosen. Many HTTP libraries follow redirects by default.',
  fix: 'Switch off redirects for this call, and treat every 3xx as a failure.',
  needs,
  async run(context) {
    const fault = `revoke-redirect-${status}`
    const { revocations } = await revokeOnce(context, fault)
    if (revocations.length === 0) throw new NotApplicable(noRevocation)
    const trapped = requestAtTrap(context, fault)
    expect(
      trapped === undefined,
      `The client followed the redirect with ${trapped?.request.method}.`,
      ...(trapped ? [trapped] : []),
    )
  },
}))

const otherRedirect: CheckDefinition = {
  id: 'logout-revocation-redirect-308',
  title: 'If the portal redirects a revocation (status 308), the client does not follow the redirect',
  rule: 'UP-02',
  why: 'A client that follows the redirect sends the token and the secret to an address that it has not chosen. Some clients refuse only 302 and 307.',
  fix: 'Switch off redirects for this call, and treat every 3xx as a failure.',
  needs,
  async run(context) {
    const { options, expectNotFollowed } = redirectAway(context, 308)
    const { revocations } = await revokeOnce(context, 'revoke-answer', options)
    if (revocations.length === 0) throw new NotApplicable(noRevocation)
    expectNotFollowed()
  },
}

/**
 * Faults with which the portal does not confirm a revocation. The client must still answer the visitor and end the
 * session.
 */
const answers = ['400', '401', '404', '500', 'html', 'empty', 'half', 'not-an-object', 'cut', 'redirect-302']

const failures: CheckDefinition[] = [
  {
    id: 'logout-portal-answers',
    title: 'Whatever the portal answers to the revocation, the client signs the visitor out',
    rule: 'CK-13',
    why: 'If a failure at the portal keeps the visitor signed in at the client, the next person at the computer can act as this visitor.',
    fix: 'Delete the session cookies even if the portal refuses the revocation or sends an unreadable answer.',
    needs,
    longestMs: 90_000,
    async run(context) {
      for (const answer of answers) {
        const { browser, page, revocations } = await revokeOnce(context, `revoke-${answer}`)
        await context.dropFaults()
        expect(
          hasSignedOut(page),
          `With the fault revoke-${answer}, the client answered the sign-out with ${describePage(page)}.`,
          page,
        )
        const { steps } = await visitPage(context, browser)
        const used = steps.filter(step => isCallWithToken(step) || isRenewal(step))
        expect(
          used.length === 0,
          `After the fault revoke-${answer}, the next page still uses the session.`,
          page,
          ...used,
        )
        if (revocations.length === 0) return
      }
    },
  },
  ...(
    [
      ['drip', 'the portal answers the revocation one byte at a time', { seconds: 0.5 }],
      ['endless-body', 'the answer to the revocation never ends', {}],
      ['slow-header', 'the headers of the answer to the revocation come one byte at a time', {}],
    ] as const
  ).map(
    ([fault, what, options]): CheckDefinition => ({
      id: `logout-portal-${fault}`,
      title: `If ${what}, the client signs the visitor out in time`,
      rule: 'UP-03',
      why: 'If the revocation has no deadline, a visitor who closes the window before the client answers is still signed in.',
      fix: 'Set one deadline for the whole revocation, including the body of the answer. A timeout for each read is not enough.',
      needs,
      longestMs: 90_000,
      async run(context) {
        const { browser, page } = await revokeOnce(context, `revoke-${fault}`, options)
        const seconds = Math.round(waitedMs(page) / 1000)
        expect(page.status > 0, `The browser got no answer: ${page.error}.`, page)
        expect(seconds <= 10, `Signing out took ${seconds} seconds.`, page)
        await context.dropFaults()
        expectWithFix(
          'Delete the session cookies and the session on the server in every answer to the sign-out, whatever the result of the revocation is.',
          !(await context.isSignedIn(browser)),
          `The client answered the sign-out in time with ${describePage(page)}, but the next page still shows the visitor as signed in.`,
          page,
        )
      },
    }),
  ),
]

const calls: CheckDefinition = {
  id: 'logout-revocation-deadline',
  title: 'If the portal does not answer a revocation, the client ends the call',
  rule: 'UP-03',
  why: 'A client can revoke a token after it has answered the visitor. Without a deadline, each such call uses a socket and memory until the portal ends it.',
  fix: 'Give the revocation a deadline, even if no visitor waits for it.',
  needs,
  longestMs: 120_000,
  async run(context) {
    const { browser, page: landed } = await context.signedIn()
    await context.order('revoke-never', { times: 1 })
    await signOut(context, browser, landed)
    if (!(await untilRevoked(context, () => context.timesMet('revoke-never') > 0)))
      throw new NotApplicable(noRevocation)
    await expectCallEnds(context, 'revoke', 'revoke-never')
  },
}

const atOtherInstance: CheckDefinition = {
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
}

export const revocation: CheckDefinition[] = [
  ...requests,
  headers,
  calls,
  ...redirects,
  otherRedirect,
  ...failures,
  atOtherInstance,
]
