// Checks on the request with which the client renews an access token: its fields and its format.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, fail } from '../../findings.ts'
import { isAcceptedCall, isRenewal } from '../../platform-calls.ts'
import { openCreateForm } from '../../steps/create-form.ts'
import { forgetRenewal } from '../../steps/renewals.ts'
import { expiredSession, renewalIn, signInWithOddRefreshToken, visitPage } from '../../steps/sessions.ts'
import { fieldsOf, tokensOf } from '../../tokens.ts'

const needs: CheckDefinition['needs'] = ['page']

/** Returns the refresh tokens that the portal issued before this renewal. The newest token is the last. */
function refreshTokensBefore(context: CheckContext, renewal: LabStep): unknown[] {
  const steps = context.arrived('exchange', 'refresh')
  return steps.slice(0, steps.indexOf(renewal)).flatMap(step => tokensOf(step)?.refresh_token ?? [])
}

const isBasic = ({ request }: LabStep) => /^basic /i.test(String(request.headers.authorization ?? ''))

/** Fails unless the fields of the renewal have the right values (RFC 6749, 6). */
function expectFields(context: CheckContext, renewal: LabStep): void {
  const { platform } = context
  const issued = refreshTokensBefore(context, renewal)
  const expected = {
    grant_type: 'refresh_token',
    refresh_token: issued.at(-1),
    ...(!isBasic(renewal) && { client_id: platform.clientId, client_secret: platform.clientSecret.reveal() }),
  }
  const fields = fieldsOf(renewal)
  expect(
    fields.refresh_token === expected.refresh_token || !issued.includes(fields.refresh_token),
    'The renewal sends an older refresh token, although the portal has returned a new one.',
    renewal,
  )
  for (const [name, value] of Object.entries(expected))
    expect(
      fields[name] === value,
      `The field ${name} of the renewal is ${name in fields ? 'wrong' : 'missing'}.`,
      renewal,
    )
}

/** Fails if the method, address, format or authentication of the renewal is wrong. */
function expectForm(context: CheckContext, renewal: LabStep): void {
  const { method, url, headers } = renewal.request
  expect(method === 'POST', `The client sent the renewal with ${method}.`, renewal)
  expect(!url.includes('?'), `The address of the renewal is ${url.split('?')[0]}?…`, renewal)
  expect(
    /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? ''),
    `The content type is ${headers['content-type']}.`,
    renewal,
  )
  expect(
    !(isBasic(renewal) && 'client_secret' in fieldsOf(renewal)),
    'The renewal authenticates the client with two methods.',
    renewal,
  )
  expectFields(context, renewal)
}

/** Makes a check that looks at the first visit after the access token has expired. */
function renewing(
  definition: Omit<CheckDefinition, 'run'>,
  judge: (visit: Awaited<ReturnType<typeof visitPage>>, context: CheckContext) => Promise<void>,
): CheckDefinition {
  return {
    ...definition,
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const visit = await visitPage(context, browser)
      renewalIn(context, visit)
      await judge(visit, context)
    },
  }
}

export const request: CheckDefinition[] = [
  {
    id: 'refresh-fields',
    title: 'A renewal contains grant_type, refresh_token, client_id and client_secret, each with the right value',
    rule: 'RF-01',
    why: 'The portal refuses a renewal if one of these fields is missing.',
    fix: 'Send a form with exactly these fields: grant_type, refresh_token, client_id and client_secret.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const earlier = new Set(context.platform.steps)
      const visit = await visitPage(context, browser)
      // Without a refresh token, the sandbox cannot tell whose renewal this is. So the renewal is not in visit.steps.
      const withoutToken = context.platform.steps.find(
        step => !earlier.has(step) && isRenewal(step) && !('refresh_token' in fieldsOf(step)),
      )
      if (withoutToken) fail('The field refresh_token of the renewal is missing.', withoutToken)
      const renewal = renewalIn(context, visit)
      expectFields(context, renewal)
      expect(
        renewal.response.status === 200,
        `The portal refused the renewal with status ${renewal.response.status}.`,
        renewal,
      )
    },
  },
  renewing(
    {
      id: 'refresh-not-in-address',
      title: 'The client does not send any field of a renewal in the query of the address',
      rule: 'credentials-in-body',
      why: 'Servers and proxies log addresses. If the address contains the refresh token, anyone who can read such a log can use this token.',
      fix: 'Send all fields in the body of the POST.',
    },
    async ({ steps }) => {
      const renewal = steps.find(isRenewal)!
      expect(
        !renewal.request.url.includes('?'),
        `The address of the renewal is ${renewal.request.url.split('?')[0]}?…`,
        renewal,
      )
    },
  ),
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
      expectForm(context, renewal)
    },
  },
  {
    id: 'refresh-fields-for-form',
    title:
      'If the API refuses the access token when a visitor sends a form, the client sends a correct renewal request',
    rule: 'RF-01',
    why: 'Clients often have one function for API calls that read, and another function for API calls that write. If the function for calls that write makes a wrong renewal, the visitor loses a typed form.',
    fix: 'Make all renewals with one function. It must send a form with exactly these fields: grant_type, refresh_token, client_id and client_secret.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      await context.platform.endAccessTokens(open.person)
      const { result: page, steps } = await context.during(() => open.browser.submit(open.page, open.form, open.values))
      const renewal = steps.find(isRenewal)
      if (!renewal)
        throw new NotApplicable(`the client does not renew for the form, and answers with ${describePage(page)}`)
      expectForm(context, renewal)
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
      await forgetRenewal(context)
      await context.platform.endAccessTokens(person)
      const visit = await visitPage(context, browser)
      const renewal = renewalIn(context, visit)
      expectForm(context, renewal)
      expect(
        visit.steps.some(isAcceptedCall),
        `After the second renewal, the visit ended with ${describePage(visit.page)}.`,
        visit.page,
      )
    },
  },
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
      // Searches the steps of all visitors, because the sandbox cannot tell to which visitor a changed token belongs.
      const renewal = context.platform.steps.findLast(
        ({ kind, request }) => kind === 'refresh' && JSON.stringify(request.body ?? '').includes(mark),
      )
      if (!renewal) throw new NotApplicable('the client makes no renewal with this refresh token')
      const sent = fieldsOf(renewal).refresh_token
      expect(sent === token, 'The renewal sends a different refresh token than the portal issued.', renewal)
    },
  },
]
