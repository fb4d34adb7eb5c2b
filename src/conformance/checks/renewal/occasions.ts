// Checks on renewals in special cases: after a 401 answer from the API, when a visitor sends a form, for the second
// time in a session, and with tokens that expire soon.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, fail, failWithFix } from '../../findings.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { isCreation, openCreateForm, openFormIn, submitCreate } from '../../steps/create-form.ts'
import { oddPortalAnswers } from '../../steps/odd-answers.ts'
import { isBareFailure } from '../../steps/page-content.ts'
import { expectBack, isCall } from '../../steps/renewals.ts'
import {
  asksToSignIn,
  endToken,
  newTabs,
  renewalIn,
  shortLifeValue,
  signInWithOddRefreshToken,
  visitAtOnce,
  visitPage,
} from '../../steps/sessions.ts'
import { fieldsOf, tokensOf } from '../../tokens.ts'

const needs: CheckDefinition['needs'] = ['page']

const json = 'application/json; charset=utf-8'

const isRenewal = ({ kind }: LabStep) => kind === 'refresh'

/**
 * Fails if the renewal request is not as the portal expects it. `before` is the answer that brought the latest refresh
 * token.
 */
function expectForm({ platform }: CheckContext, renewal: LabStep, before: LabStep | undefined): void {
  const { method, url, headers, body } = renewal.request
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const isBasic = /^basic /i.test(String(headers.authorization ?? ''))
  expect(method === 'POST', `The client sent the renewal with ${method}.`, renewal)
  expect(!url.includes('?'), `The address of the renewal is ${url.split('?')[0]}?…`, renewal)
  expect(
    /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? ''),
    `The content type is ${headers['content-type']}.`,
    renewal,
  )
  expect(!(isBasic && 'client_secret' in fields), 'The renewal authenticates the client with two methods.', renewal)
  const expected = {
    grant_type: 'refresh_token',
    refresh_token: before && tokensOf(before)?.refresh_token,
    ...(!isBasic && { client_id: platform.clientId, client_secret: platform.clientSecret.reveal() }),
  }
  for (const [name, value] of Object.entries(expected))
    expect(
      fields[name] === value,
      `The field ${name} of the renewal is ${name in fields ? 'wrong' : 'missing'}.`,
      renewal,
    )
}

/** Returns the last step before this renewal in which the portal returned tokens. */
function answerBefore(context: CheckContext, renewal: LabStep): LabStep | undefined {
  const given = context.arrived('exchange', 'refresh')
  return given.slice(0, given.indexOf(renewal)).findLast(step => tokensOf(step))
}

const forms: CheckDefinition[] = [
  {
    id: 'refresh-fields-after-401',
    title: 'If the API refuses the access token with 401, the client sends a correct renewal request',
    rule: 'RF-01',
    why: 'Clients often have two functions for renewals: one before a call, and one after a 401 answer. If the second function is wrong, visitors are signed out only in rare cases, and nobody notices the mistake.',
    fix: 'Make all renewals with one function. It must send a form with exactly these fields: grant_type, refresh_token, client_id and client_secret.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      const renewal = renewalIn(context, await visitPage(context, browser))
      expectForm(context, renewal, answerBefore(context, renewal))
    },
  },
  {
    id: 'refresh-fields-for-form',
    title:
      'If the API refuses the access token when a visitor sends a form, the client sends a correct renewal request',
    rule: 'RF-01',
    why: 'Clients often have one function for API calls that read and another for calls that write. If the function for writing renews wrongly, the visitor loses a typed form.',
    fix: 'Make all renewals with one function. It must send a form with exactly these fields: grant_type, refresh_token, client_id and client_secret.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      await context.platform.endAccessTokens(open.person)
      const { result: page, steps } = await context.during(() => open.browser.submit(open.page, open.form, open.values))
      const renewal = steps.find(step => step.kind === 'refresh')
      if (!renewal)
        throw new NotApplicable(`the client does not renew for the form, and answers with ${describePage(page)}`)
      expectForm(context, renewal, answerBefore(context, renewal))
    },
  },
  {
    id: 'refresh-fields-second',
    title: 'The second renewal of a session is also correct, and sends the refresh token from the first renewal',
    rule: 'RF-01',
    why: 'After the first renewal, the refresh token no longer comes from the login. Clients often have separate code for this case.',
    fix: 'Store the tokens of a login and of a renewal with the same function.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      renewalIn(context, await visitPage(context, browser))
      // For a few seconds, a client may use the answer to the first renewal again.
      await context.pause(11_000)
      await context.platform.endAccessTokens(person)
      const visit = await visitPage(context, browser)
      const renewal = renewalIn(context, visit)
      expectForm(context, renewal, answerBefore(context, renewal))
      expect(
        visit.steps.some(isCall),
        `After the second renewal, the visit ended with ${describePage(visit.page)}.`,
        visit.page,
      )
    },
  },
]

/** Faults that take the new refresh token out of the answer to a renewal. */
const withoutToken: [id: string, fault: string, what: string][] = [
  ['missing', 'refresh-refresh-token-missing', 'no refresh_token'],
  ['null', 'refresh-refresh-token-null', 'null as its refresh_token'],
  ['empty', 'refresh-refresh-token-empty', 'an empty refresh_token'],
]

/**
 * Makes the client renew once under the fault, and ends the new access token. Returns what happens at the next visit.
 */
async function renewTwice(context: CheckContext, fault?: string) {
  const { browser, person } = await context.signedIn()
  await context.platform.endAccessTokens(person)
  if (fault) await context.order(fault, { times: 1 })
  const first = renewalIn(context, await visitPage(context, browser))
  await context.dropFaults()
  // For a few seconds, a client may use the answer to the first renewal again.
  await context.pause(11_000)
  await context.platform.endAccessTokens(person)
  return { first, ...(await visitPage(context, browser)) }
}

const kept: CheckDefinition[] = withoutToken.map(([id, fault, what]) => ({
  id: `refresh-token-kept-${id}`,
  title: `If the answer to a renewal has ${what}, the next renewal sends the old refresh token`,
  rule: 'RF-08',
  why: 'A portal does not have to return a new refresh token. The old refresh token then stays valid. If the client loses it, the visitor is signed out when the next access token expires.',
  fix: 'Replace the refresh token only if the refresh_token in the answer is a non-empty string. Otherwise, store the old refresh token again together with the new access token. Requests with the same refresh token may share one renewal. But do not remember the shared answer if the portal did not replace the refresh token.',
  needs,
  longestMs: 90_000,
  async run(context) {
    const { first, page, steps } = await renewTwice(context, fault)
    if (!first.fault)
      throw new Undecided('The portal answered the renewal without the fault that this check had ordered.')
    const sent = steps.find(isRenewal)
    const kept = fieldsOf(first).refresh_token
    const isSent = sent && fieldsOf(sent).refresh_token === kept
    if (isSent) return
    // While the refresh token is the same, a client may remember the answer to the first renewal. Then the API refuses
    // the same access token twice.
    const isRefused = ({ kind, response }: LabStep) => kind === 'api' && response.status === 401
    if (!sent && steps.filter(isRefused).length > 1)
      throw new NotApplicable('the client uses the answer to the first renewal again')
    const plain = await renewTwice(context)
    if (!plain.steps.some(isRenewal)) throw new NotApplicable('the client does not renew a second time')
    fail(
      sent
        ? 'The next renewal does not send the last refresh token that the portal issued.'
        : `The next visit makes no renewal, and ends with ${page.stoppedAt ? 'a redirect to the portal' : describePage(page)}.`,
      first,
      page,
      ...steps,
    )
  },
}))

/**
 * Faults that make a renewal fail without refusing the refresh token for good. The client must not repeat the renewal,
 * and must keep the session.
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
 * Visits a page under each of the faults. Uses a new session for each fault, because a client may remember a failed
 * renewal for a while. Ends the check if the client does not renew.
 */
async function visitUnderAll(context: CheckContext, faults = forNow) {
  const sessions = []
  for (const [fault, options] of faults) {
    const { browser, start, callback } = await beginLogin(context)
    const drop = await context.order('exchange-expires-in', shortLifeValue)
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

const failures: CheckDefinition[] = [
  {
    id: 'refresh-kept-on-many',
    title: 'If a renewal fails, the session ends only if the portal has refused the refresh token for good',
    rule: 'RF-05',
    why: 'After other failures, the refresh token is still valid, and a later renewal can succeed. A proxy, a firewall or a mistake of the portal can cause any status.',
    fix: 'End the session only if the answer is JSON and its error field is invalid_grant, unsupported_grant_type or unauthorized_client. Otherwise keep the cookies.',
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
          `After ${what}, the answer is the default error page of a server: status 500 without a text from the client.`,
          page,
        )
      }
    },
  },
  {
    id: 'refresh-failed-not-repeated',
    title: 'Whatever the portal answers to a renewal, the client does not repeat the renewal during the same visit',
    rule: 'renewal-not-repeated',
    why: 'The portal may have replaced the refresh token. If the client then sends the old refresh token, the portal can end all tokens of the session. Repeated calls also make an overload worse.',
    fix: 'Never repeat a POST automatically. Renew again at the next visit.',
    needs,
    longestMs: 120_000,
    async run(context) {
      // After the failure, a client may redirect to another page that also needs the session, and that causes one more
      // renewal.
      for (const { said, page, renewals } of await visitUnderAll(context))
        expect(
          renewals.length <= page.trail.length,
          `With ${said}, one visit sent ${renewals.length} renewals.`,
          ...renewals.slice(0, 3),
        )
    },
  },
  {
    id: 'refresh-dropped-after-401',
    title: 'If the API refuses the access token and the portal refuses the refresh token, the client offers to sign in',
    rule: 'RF-05',
    why: 'The portal may have ended the session of the visitor. If the client shows an error each time, the visitor cannot sign in again.',
    fix: 'After invalid_grant, delete the session cookies and redirect to the login path, whatever caused the renewal.',
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
        `Two visits sent the refused refresh token ${renewals.length} times.`,
        ...renewals.slice(0, 3),
      )
    },
  },
  {
    id: 'refresh-parallel-after-401',
    title: 'If five tabs load at once and the API refuses their access token, every tab shows the visitor as signed in',
    rule: 'RF-02',
    why: 'The portal can end an access token before it expires. If the browser then sends several requests at once, each of them needs a renewal, and all have the same refresh token.',
    fix: 'Let all requests with the same refresh token share one renewal and its answer, whatever caused the renewal.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      const { pages, page, steps } = await visitAtOnce(context, newTabs(browser, 5))
      renewalIn(context, { page, steps })
      for (const page of pages)
        expect(
          page.status === 200 && !page.stoppedAt,
          `One tab got ${page.stoppedAt ? 'a redirect to the portal' : describePage(page)}.`,
          page,
        )
      expect(await context.isSignedIn(browser), 'After the five visits, the visitor is not signed in.')
    },
  },
]

const short: CheckDefinition[] = [
  {
    id: 'refresh-short-tokens',
    title: 'If access tokens expire after two minutes or less, the client does not renew at every visit',
    rule: 'RF-10',
    why: "If the client's renewal margin is longer than the lifetime of its tokens, every request calls the portal.",
    fix: 'Renew when the token has expired, or a short time before it expires. This short time must be a small fraction of expires_in.',
    needs,
    async run(context) {
      for (const value of [120, 60, 45]) {
        const { browser, callback } = await beginLogin(context)
        await context.order('exchange-expires-in', { options: { value } })
        await context.order('refresh-expires-in', { times: 'always', options: { value } })
        const known = context.arrived('refresh').length
        const began = performance.now()
        await followCallback(context, browser, callback)
        const visits = 4
        for (let visit = 0; visit < visits; visit++) await visitPage(context, browser)
        const tookMs = performance.now() - began
        if (tookMs > 10_000) throw new Undecided('The visits took longer than ten seconds.')
        // A client may renew a token a few seconds before it expires.
        if (tookMs > (value / 2 - 2) * 1000) continue
        const renewals = context.arrived('refresh').slice(known)
        expect(
          renewals.length < visits,
          `expires_in was ${value}, and ${visits} visits within a few seconds made ${renewals.length} renewals.`,
          ...renewals.slice(0, 4),
        )
      }
    },
  },
]

const others: CheckDefinition[] = [
  {
    id: 'refresh-token-encoded',
    title: 'If a refresh token contains the characters +, / and =, a renewal sends the token unchanged',
    rule: 'renewal-form',
    why: 'A refresh token can contain any printable character. In a form, a + means a space. If the client does not encode the token, the portal gets a different token and refuses it.',
    fix: 'Encode the form with a function of your language or library, and do not build the body of the form by hand.',
    needs,
    async run(context) {
      const { browser, token, mark } = await signInWithOddRefreshToken(context)
      await context.platform.endAccessTokens(await context.person())
      await visitPage(context, browser)
      // Searches the steps of all visitors, because the sandbox cannot tell which visitor a changed token belongs to.
      const renewal = context.platform.steps.findLast(
        ({ kind, request }) => kind === 'refresh' && JSON.stringify(request.body ?? '').includes(mark),
      )
      if (!renewal) throw new NotApplicable('the client makes no renewal with this refresh token')
      const sent = fieldsOf(renewal).refresh_token
      expect(sent === token, 'The renewal sends a different refresh token than the portal issued.', renewal)
    },
  },
  {
    id: 'refresh-for-form',
    title:
      'If the access token has expired when a visitor sends a form, the client renews the session, and the form is not lost',
    rule: 'refresh-used',
    why: 'The access token can expire while the visitor fills in a form. Without a renewal, the visitor has to sign in again before the client accepts the form.',
    fix: 'Renew the session in the function that reads it, for every request method.',
    needs: ['page', 'create'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const person = await context.person()
      await context.order('exchange-expires-in', shortLifeValue)
      const drop = await context.order('refresh-expires-in', { ...shortLifeValue, times: 'always' })
      await followCallback(context, browser, callback)
      const typed = 'Typed before the renewal'
      const open = await openFormIn(context, browser, person, typed)
      await drop()
      await endToken(context, person)
      const copy = browser.copy()
      const { result: page, steps } = await context.during(() => browser.submit(open.page, open.form, open.values))
      const renewal = steps.find(isRenewal)
      if (renewal) {
        // The client may also show the form again, for example if it has no session when the form arrives.
        const texts = [page.body, ...page.forms.flatMap(({ fields }) => fields.map(([, value]) => value))]
        const isKept = texts.some(text => text.includes(typed))
        if (isKept || renewal.response.status !== 200 || steps.some(isCreation)) return
        await submitCreate(context, await openCreateForm(context))
        failWithFix(
          'Bind a form to the id of the visitor or to the session. A renewal changes the access token, so do not compute any value in the form from the access token.',
          `The client renewed the session for the form, but then created nothing, and answered with ${describePage(page)}. This page does not contain the typed text.`,
          page,
          renewal,
        )
      }
      renewalIn(context, await visitPage(context, copy))
      fail(
        `The client did not renew the token for the form, and answered with ${describePage(page)}. If a page is requested, the client renews the token.`,
        page,
      )
    },
  },
]

export const occasions: CheckDefinition[] = [...forms, ...kept, ...failures, ...short, ...others]
