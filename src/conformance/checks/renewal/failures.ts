// Checks on renewals that fail: whether the session ends, whether the client repeats the renewal, and what the visitor
// sees.
import { type CheckDefinition, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import { isRenewal } from '../../platform-calls.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { oddPausePage } from '../../steps/failure-pages.ts'
import { oddPortalAnswers } from '../../steps/odd-answers.ts'
import { isBareFailure } from '../../steps/page-content.ts'
import { expectBack, renewNow, renewUnder } from '../../steps/renewals.ts'
import { asksToSignIn, endToken, expiredSession, renewalIn, shortLifeOrder, visitPage } from '../../steps/sessions.ts'
import { tokensOf, tokensSentIn } from '../../tokens.ts'

const needs: CheckDefinition['needs'] = ['page']

const json = 'application/json; charset=utf-8'

/** Makes the client renew a session while the portal does not answer. Ends the check if the client does not renew. */
async function renewWithoutAnswer(context: CheckContext) {
  const { browser } = await expiredSession(context)
  await context.order('refresh-never', { times: 5 })
  const { page, steps } = await visitPage(context, browser)
  expect(page.status !== 0, `The browser got no answer: ${page.error}.`, page)
  const renewals = context.timesMet('refresh-never')
  if (renewals === 0) {
    renewalIn(context, { page, steps })
    throw new Undecided('The fault did not affect the renewal.')
  }
  return { browser, page, renewals }
}

/**
 * Faults that make a renewal fail, although the portal does not permanently refuse the refresh token. The client must
 * not repeat the renewal, and must keep the session.
 */
const forNow: [fault: string, options?: Record<string, unknown>][] = [
  ['refresh-reset'],
  ['refresh-400', { error: 'invalid_request' }],
  // After this answer, some OAuth libraries repeat the renewal with another method of authentication.
  ['refresh-401', { error: 'invalid_client' }],
  ['refresh-403', { error: 'access_denied' }],
  ['refresh-408'],
  ['refresh-500'],
  ['refresh-504'],
  // Some clients repeat a call only if the answer asks for a short pause.
  ['refresh-503', { retryAfter: 1 }],
  ['refresh-redirect-302'],
  ['refresh-answer', { status: 400, body: '<h1>Bad request</h1>' }],
  ['refresh-answer', { status: 401, body: '' }],
  ['refresh-answer', { status: 403, body: '<h1>Forbidden</h1>' }],
  ['refresh-answer', { status: 200, body: '{}', type: json }],
  ['refresh-answer', { status: 400, body: '{"error":null}', type: json }],
  ['refresh-answer', { status: 401, body: '["invalid_request"]', type: json }],
]

/**
 * Visits a page under each of the faults. Uses a new session for each fault, because some clients remember a failed
 * renewal for a while. Ends the check if the client does not renew.
 */
async function visitUnderAll(context: CheckContext, faults = forNow) {
  const sessions = []
  for (const [fault, options] of faults) {
    const { browser, start, callback } = await beginLogin(context)
    const drop = await context.order('exchange-expires-in', shortLifeOrder)
    await followCallback(context, browser, callback)
    await drop()
    sessions.push({ fault, options, browser, state: start.state })
  }
  const person = await context.person()
  await endToken(context, person)
  const visits = []
  for (const { fault, options, browser, state } of sessions) {
    const drop = await context.order(fault, { times: 'always', state, ...(options && { options }) })
    const visit = await visitPage(context, browser)
    await drop()
    if (visits.length === 0) renewalIn(context, visit)
    const said = options ? `${fault} ${JSON.stringify(options)}` : fault
    visits.push({ said, browser, person, ...visit, renewals: visit.steps.filter(isRenewal) })
  }
  return visits
}

/** Failures of a renewal that often cause an uncaught error: no answer, no JSON, and JSON without tokens. */
const breaking: [fault: string, options?: Record<string, unknown>][] = [
  ['refresh-reset'],
  ['refresh-html'],
  ['refresh-half'],
  ['refresh-not-an-object'],
  ['refresh-503'],
  ['refresh-answer', { status: 200, body: '{}', type: json }],
]

export const failures: CheckDefinition[] = [
  {
    id: 'refresh-kept-on-never',
    title: 'If the portal does not answer a renewal, the session does not end',
    rule: 'RF-05',
    why: 'The refresh token is still valid, so a later renewal can succeed. Only a permanent refusal may end the session.',
    fix: 'Treat a timeout like every other failure of the portal: keep the cookies, and answer with a page that offers to try again.',
    needs,
    longestMs: 90_000,
    async run(context) {
      await expectBack(context, await renewWithoutAnswer(context))
    },
  },
  {
    id: 'refresh-kept-on-many',
    title: 'If a renewal fails, the session ends only if the portal has permanently refused the refresh token',
    rule: 'RF-05',
    why: 'After other failures, the refresh token is still valid, and a later renewal can succeed. A proxy, a firewall or a mistake of the portal can cause any status.',
    fix: 'End the session only after status 404, 405 or 501, or if the answer is JSON and its error field is invalid_grant, unsupported_grant_type or unauthorized_client. Otherwise keep the cookies.',
    needs,
    longestMs: 120_000,
    async run(context) {
      for (const { said, renewals, ...visit } of await visitUnderAll(context)) {
        if (renewals.length === 0 || (await context.isSignedIn(visit.browser))) continue
        await expectBack(context, visit, `After the failed renewal with ${said}`)
      }
    },
  },
  {
    id: 'refresh-kept-after-401',
    title: 'If the API refuses the access token and the renewal then fails temporarily, the session does not end',
    rule: 'RF-05',
    why: 'The refresh token is still valid, so a later renewal can succeed. Only a permanent refusal may end the session.',
    fix: 'Keep the cookies after a failed renewal, whatever caused the renewal. End the session only after invalid_grant, unsupported_grant_type or unauthorized_client, or after status 404, 405 or 501.',
    needs,
    longestMs: 120_000,
    async run(context) {
      for (const fault of ['refresh-503', 'refresh-reset', 'refresh-html']) {
        const { browser, person } = await context.signedIn()
        await context.platform.endAccessTokens(person)
        const renewing = await renewNow(context, { browser, person }, fault, {}, 1)
        await expectBack(context, renewing, `After a 401 from the API and the fault ${fault}`)
      }
    },
  },
  {
    id: 'refresh-never-not-repeated',
    title: 'If the portal does not answer a renewal, the client does not repeat the renewal during the same visit',
    rule: 'renewal-not-repeated',
    why: 'Perhaps the portal has already replaced the refresh token. If the client then sends the old refresh token, the portal can revoke all tokens of the session. The visitor also waits twice as long.',
    fix: 'Never repeat a POST automatically, not even after a timeout. Renew again at the next visit.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { page, renewals } = await renewWithoutAnswer(context)
      // Each request of the visit may cause one renewal, and a redirect leads to another request.
      const requests = page.trail.length
      expect(
        renewals <= requests,
        `During a visit with ${requests === 1 ? 'one request' : `${requests} requests`}, the client sent ${renewals} renewals.`,
        page,
      )
    },
  },
  {
    id: 'refresh-failed-not-repeated',
    title: 'Whatever the portal answers to a renewal, the client does not repeat the renewal during the same visit',
    rule: 'renewal-not-repeated',
    why: 'Perhaps the portal has already replaced the refresh token. If the client then sends the old refresh token, the portal can revoke all tokens of the session. Repeated calls also make an overload worse.',
    fix: 'Never repeat a POST automatically. Renew again at the next visit.',
    needs,
    longestMs: 120_000,
    async run(context) {
      // After the failure, a client may redirect to another page that also needs the session, and then renew once more
      // for that page.
      for (const { said, page, renewals } of await visitUnderAll(context))
        expect(
          renewals.length <= page.trail.length,
          `With ${said}, the client sent ${renewals.length} renewals during one visit.`,
          ...renewals.slice(0, 3),
        )
    },
  },
  {
    id: 'refresh-dropped-after-401',
    title: 'If the API refuses the access token and the portal refuses the refresh token, the client offers to sign in',
    rule: 'RF-05',
    why: 'Perhaps the portal has ended the session of the visitor. If the client shows an error each time, the visitor cannot sign in again.',
    fix: 'After invalid_grant, end the session that has the refused refresh token, and redirect to the login path, whatever caused the renewal. Do not delete the cookies of a newer session.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      await context.order('refresh-401', { times: 'always', options: { error: 'invalid_grant' } })
      const first = await visitPage(context, browser)
      renewalIn(context, first)
      const second = await visitPage(context, browser)
      const pages = [first.page, second.page]
      expect(
        pages.every(({ status }) => status > 0 && status !== 500) && pages.some(page => asksToSignIn(context, page)),
        `Two visits ended with ${pages.map(describePage).join(' and ')}. Neither page offers to sign in.`,
        ...pages,
      )
      const renewals = context.arrived('refresh')
      expect(
        renewals.length <= 1,
        `During two visits, the client sent the refused refresh token ${renewals.length} times.`,
        ...renewals.slice(0, 3),
      )
    },
  },
  {
    id: 'refresh-odd-answers',
    title: 'If the portal answers a renewal with an error in an unusual format, the visitor gets an answer',
    rule: 'UP-06',
    why: 'The error field can have a wrong type, Retry-After can be a date, and a proxy can send other JSON. Code that expects the usual format raises an error, and the visitor gets no explanation.',
    fix: 'Check the type of each value in an error answer before you use it. Catch every error of the JSON library, including the error for JSON that is nested very deeply.',
    needs,
    longestMs: 120_000,
    async run(context) {
      const visits = await visitUnderAll(
        context,
        oddPortalAnswers.map(({ kind, options }) => [`refresh-${kind}`, options]),
      )
      for (const [at, { page }] of visits.entries()) {
        const { what } = oddPortalAnswers[at]!
        expect(page.status !== 0, `After ${what}, the browser got ${describePage(page)}.`, page)
        expect(
          !isBareFailure(page),
          `After ${what}, the answer is the default error page of a server: status 500, with no text from the client.`,
          page,
        )
      }
    },
  },
  oddPausePage({
    place: 'refresh',
    call: 'a renewal',
    needs,
    async meet(context, failure, options = {}) {
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      return (await renewNow(context, { browser, person }, `refresh-${failure}`, options, 1)).page
    },
  }),
  {
    id: 'refresh-failed-page',
    title: 'If a renewal fails, the visitor gets a page of the client',
    rule: 'UP-06',
    why: 'A visitor who sees the default error page of a server does not know that a later attempt can succeed.',
    fix: 'Catch every failure of a renewal, including unreadable answers, and show a page that offers to try again.',
    needs,
    longestMs: 120_000,
    async run(context) {
      for (const [fault, options] of breaking) {
        const { browser, person } = await context.signedIn()
        await context.platform.endAccessTokens(person)
        const { page } = await renewNow(context, { browser, person }, fault, options, 1)
        await context.dropFaults()
        expect(!isBareFailure(page), `With the fault ${fault}, the page is the default error page of a server.`, page)
      }
      const { page } = await renewUnder(context, 'refresh-html', {}, 1)
      expect(
        !isBareFailure(page),
        'After the token has expired, a failed renewal leads to the default error page of a server.',
        page,
      )
    },
  },
  ...[400, 500].map(
    (status): CheckDefinition => ({
      id: `refresh-status-${status}`,
      title: `If the answer to a renewal has status ${status}, the client does not use the tokens in this answer`,
      rule: 'UP-06',
      why: 'This status says that the renewal failed. If a client reads only the body, it uses tokens that the portal has refused.',
      fix: 'Check the status before the body, and accept tokens only with status 200.',
      needs,
      async run(context) {
        const { page, steps, renewal } = await renewUnder(context, 'refresh-tokens-with-status', { status }, 1)
        const token = tokensOf(renewal)?.access_token
        if (renewal.response.status !== status || token === undefined)
          throw new Undecided('The portal did not send the ordered answer to the renewal.')
        const calls = steps.filter(step => ['api', 'me'].includes(step.kind) && tokensSentIn(step).includes(token))
        expect(calls.length === 0, 'The client makes a call with a token of this answer.', page, renewal, ...calls)
      },
    }),
  ),
]
