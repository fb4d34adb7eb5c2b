// Token responses that the client must accept or refuse: their tokens, state and lifetime.

import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, expectSignedIn } from '../../findings.ts'
import type { RuleId } from '../../rules/rules.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { isBareFailure } from '../../steps/page-content.ts'
import { visitPage } from '../../steps/sessions.ts'
import { cookiesOf, wrongAgeOf } from '../../steps/set-cookies.ts'

const unusable: { fault: string; title: string; rule: RuleId; why: string }[] = [
  ...[
    ['state-other', 'belongs to another login'],
    ['state-missing', 'is missing'],
    ['state-null', 'is null'],
    ['state-empty', 'is empty'],
    ['state-number', 'is a number'],
  ].map(([fault, what]) => ({
    fault: fault!,
    title: `A token response whose state ${what} signs nobody in`,
    rule: 'CL-17' as const,
    why: 'If the client does not compare the state, it accepts tokens of another login, and the visitor works in the account of another person.',
  })),
  ...[
    ['missing', 'without an access token'],
    ['null', 'whose access token is null'],
    ['empty', 'whose access token is empty'],
    ['number', 'whose access token is a number'],
    ['list', 'whose access token is a list'],
    ['with-newline', 'whose access token contains a line break'],
    ['not-ascii', 'whose access token contains characters that no header can contain'],
  ].map(([fault, what]) => ({
    fault: `access-token-${fault}`,
    title: `A token response ${what} signs nobody in`,
    rule: 'CL-18' as const,
    why: 'A client that uses such a value as a token creates a session that cannot work, or sends a broken header.',
  })),
  {
    fault: 'token-type-mac',
    title: 'A token response whose token_type is not Bearer signs nobody in',
    rule: 'token-type-understood',
    why: 'A token of another type does not work with Authorization: Bearer, and may need protection that this client does not give it.',
  },
  ...['missing', 'null', 'empty', 'number'].map(fault => ({
    fault: `token-type-${fault}`,
    title: `A token response whose token_type is ${fault === 'number' ? 'a number' : fault} signs nobody in`,
    rule: 'token-type-required' as const,
    why: 'token_type is required.',
  })),
]

/** States that a client accepts if it compares only a part of the text, or compares without regard to case. */
const similarStates: [id: string, what: string, make: (state: string) => unknown][] = [
  [
    'other-case',
    'differs only in upper and lower case',
    state => state.replace(/[a-z]/gi, letter => (/[a-z]/.test(letter) ? letter.toUpperCase() : letter.toLowerCase())),
  ],
  ['cut', 'lacks the last character', state => state.slice(0, -1)],
  ['longer', 'has one more character', state => `${state}0`],
  ['list', 'is a list with the right state', state => [state]],
  ['true', 'is true', () => true],
  ['zero', 'is the number 0', () => 0],
]

const usable: {
  id: string
  rule: RuleId
  fault: string
  options?: Record<string, unknown>
  what: string
  why: string
  fix: string
}[] = [
  {
    id: 'lowercase-type',
    rule: 'token-type-case',
    fault: 'token-type-lowercase',
    what: 'with token_type "bearer"',
    why: 'A portal may write Bearer in upper or lower case. A client that compares the case signs nobody in.',
    fix: 'Compare token_type without regard to case.',
  },
  {
    id: 'uppercase-type',
    rule: 'token-type-case',
    fault: 'member',
    options: { member: 'token_type', value: 'BEARER' },
    what: 'with token_type "BEARER"',
    why: 'A portal may write Bearer in upper or lower case. A client that compares the case signs nobody in.',
    fix: 'Compare token_type without regard to case.',
  },
  {
    id: 'no-refresh-token',
    rule: 'refresh-token-optional',
    fault: 'refresh-token-missing',
    what: 'without a refresh token',
    why: 'refresh_token is optional.',
    fix: 'Accept the response without a refresh token, and end the session when the access token expires.',
  },
]

const lifetimes: [id: string, what: string, value?: number][] = [
  ['missing', 'is missing'],
  ['null', 'is null'],
  ['words', 'is a word'],
  ['text', 'is a number in quotes'],
  ['true', 'is true'],
  ['negative', 'is negative'],
  ['zero', 'is zero'],
  ['fraction', 'is half a second'],
  ['huge', 'is infinite'],
  ['decimal', 'has decimal places', 3600.5],
  ['long', 'is more than a hundred years', 4_000_000_000],
  ['exponent', 'is so large that it is written with an exponent', 1e21],
]

/** A login whose token response has a fault. */
async function loginWith(context: CheckContext, fault: string, options?: Record<string, unknown>) {
  const { browser, callback } = await beginLogin(context)
  await context.order(`exchange-${fault}`, options ? { options } : {})
  const page = await followCallback(context, browser, callback)
  if (!(await context.codeExchanges()).some(step => step.fault))
    throw new Undecided('The client made no exchange for the callback.')
  return { browser, page }
}

export const tokenAnswers: CheckDefinition[] = [
  ...unusable.map(
    ({ fault, title, rule, why }): CheckDefinition => ({
      id: `token-answer-${fault}`,
      title,
      rule,
      why,
      fix: 'Check every member of the token response before you keep any of it, and answer with a page that offers to sign in again.',
      needs: ['page'],
      // Runs alone: a call with a faulty token has no known user, so the check must count the calls of all users.
      isAlone: true,
      async run(context) {
        const { browser, page } = await loginWith(context, fault)
        expect(page.status !== 0, 'There was no answer.', page)
        expect(!isBareFailure(page), 'The answer is the default error page of a server.', page)
        await browser
          .newTab()
          .visit(context.url(context.settings.page), { stopAt: url => url.origin === context.platform.portalUrl })
        await context.platform.settle()
        const calls = context.arrived('api', 'me')
        expect(
          calls.length === 0,
          'The client calls the platform after it got this token response.',
          ...calls.slice(0, 2),
        )
      },
    }),
  ),
  {
    id: 'token-answer-token-type-similar',
    title: 'A token response whose token_type only resembles Bearer signs nobody in',
    rule: 'token-type-understood',
    why: 'A token of another type does not work with Authorization: Bearer, and may need protection that this client does not give it.',
    fix: 'Compare the whole token_type with Bearer, without regard to case.',
    needs: ['page'],
    async run(context) {
      for (const value of ['Bear', 'Bearers', 'NotBearer', 'Bearer MAC']) {
        const { browser, page } = await loginWith(context, 'member', { member: 'token_type', value })
        expect(
          !(await context.isSignedIn(browser)),
          `Somebody is signed in with token_type ${JSON.stringify(value)}.`,
          page,
        )
      }
    },
  },
  {
    id: 'token-answer-access-token-other',
    title: 'A token response whose access token is true or an object signs nobody in',
    rule: 'CL-18',
    why: 'A client that uses such a value as a token creates a session that cannot work, or sends a broken header.',
    fix: 'Check every member of the token response before you keep any of it, and answer with a page that offers to sign in again.',
    needs: ['page'],
    // Runs alone: a call with a faulty token has no known user, so the check must count the calls of all users.
    isAlone: true,
    async run(context) {
      for (const value of [true, { token: 'text' }]) {
        const { browser, page } = await loginWith(context, 'member', { member: 'access_token', value })
        const what = `an access token of ${JSON.stringify(value)}`
        expect(page.status !== 0, `There was no answer after ${what}.`, page)
        expect(!isBareFailure(page), `After ${what}, the answer is the default error page of a server.`, page)
        await context.visitUntilPortal(browser.newTab(), context.settings.page)
        await context.platform.settle()
        const calls = context.arrived('api', 'me')
        expect(calls.length === 0, `The client calls the platform after it got ${what}.`, ...calls.slice(0, 1))
      }
    },
  },
  ...similarStates.map(
    ([id, what, make]): CheckDefinition => ({
      id: `token-answer-state-${id}`,
      title: `A token response whose state ${what} signs nobody in`,
      rule: 'CL-17',
      why: 'If the client does not compare the whole state, it can accept tokens of another login, and the visitor works in the account of another person.',
      fix: 'Compare the two texts exactly: their length, and upper and lower case.',
      needs: ['page'],
      async run(context) {
        const { browser, start, callback } = await beginLogin(context)
        const state = start.state ?? ''
        if (make(state) === state) throw new NotApplicable('the state of this client has no letters')
        await context.order('exchange-member', { options: { member: 'state', value: make(state) } })
        const page = await followCallback(context, browser, callback)
        if (!(await context.codeExchanges()).some(step => step.fault))
          throw new Undecided('The client made no exchange for the callback.')
        expect(!(await context.isSignedIn(browser)), 'Somebody is signed in after this token response.', page)
      },
    }),
  ),
  ...usable.map(
    ({ id, rule, fault, options, what, why, fix }): CheckDefinition => ({
      id: `token-answer-${id}`,
      title: `A token response ${what} signs the visitor in`,
      rule,
      why,
      fix,
      needs: ['page'],
      async run(context) {
        const { browser } = await loginWith(context, fault, options)
        await expectSignedIn(context, browser, 'Nobody is signed in after this token response.')
      },
    }),
  ),
  ...['null', 'empty', 'number', 'with-newline'].map(
    (fault): CheckDefinition => ({
      id: `token-answer-refresh-token-${fault}`,
      title: `After a token response whose refresh token is ${fault === 'with-newline' ? 'two lines' : fault === 'number' ? 'a number' : fault}, the visitor gets a page, and the value is in no cookie`,
      rule: 'oauth-sanitize',
      why: 'A value that is not a token can break a cookie or a header, and no renewal works with it.',
      fix: 'Use a refresh token only if it is a text of visible ASCII characters.',
      async run(context) {
        const { page } = await loginWith(context, `refresh-token-${fault}`)
        expect(page.status !== 0, `There was no answer: ${page.fault}.`, page)
        for (const { cookie, exchange } of cookiesOf(page.trail))
          expect(
            !/^(null|undefined|12345|two)$/.test(cookie.value),
            `The cookie ${cookie.name} is ${cookie.value}.`,
            exchange,
          )
      },
    }),
  ),
  ...lifetimes.map(
    ([id, what, value]): CheckDefinition => ({
      id: `token-answer-expires-in-${id}`,
      title: `After a token response whose expires_in ${what}, the client sets no cookie with a wrong lifetime`,
      rule: 'CL-19',
      why: 'Browsers ignore a Max-Age such as NaN, and keep the session cookie until they are closed.',
      fix: 'Use expires_in only if it is a finite number above 0, and cap it. Otherwise refuse the answer or assume a lifetime.',
      async run(context) {
        const { page } = await (value === undefined
          ? loginWith(context, `expires-in-${id}`)
          : loginWith(context, 'expires-in', { value }))
        expect(page.status !== 0, `There was no answer: ${page.fault}.`, page)
        expect(!isBareFailure(page), 'The answer is the default error page of a server.', page)
        for (const { cookie, exchange } of cookiesOf(page.trail)) {
          const wrong = wrongAgeOf(cookie)
          expect(wrong === undefined, `The cookie ${cookie.name} ${wrong}.`, exchange)
        }
      },
    }),
  ),
  {
    id: 'token-answer-expires-in-converted',
    title: 'The client does not read an expires_in of true as one second',
    rule: 'CL-19',
    why: 'In many languages true is the number 1. The session then ends after a second, and the client renews it again and again.',
    fix: 'Check the type of expires_in, and convert no other type to a number: in some languages true is a number. Refuse the response, or assume a lifetime that your documentation names.',
    needs: ['page'],
    async run(context) {
      const { browser, page } = await loginWith(context, 'expires-in', { value: true })
      const isSignedIn = await context.isSignedIn(browser)
      if (!isSignedIn && !context.arrived('api', 'refresh').some(({ response }) => response.status < 400)) return
      await context.pause(1200)
      const { steps } = await visitPage(context, browser)
      const isStillIn = steps.some(({ kind, response }) => kind === 'api' && response.status < 400)
      const renewals = context.arrived('refresh')
      expect(
        isStillIn && renewals.length === 0,
        'The client read an expires_in of true as one second.',
        page,
        ...renewals.slice(0, 1),
      )
    },
  },
  ...['negative', 'zero'].map(
    (fault): CheckDefinition => ({
      id: `token-answer-over-${fault}`,
      title: `The client does not use an access token whose expires_in is ${fault}`,
      rule: 'CL-19',
      why: 'The token has already expired. A client that assumes another lifetime continues a session that the portal has ended.',
      fix: 'Refuse the login with a page that offers to sign in again, or renew the token before you use it.',
      needs: ['page'],
      async run(context) {
        const { browser } = await loginWith(context, `expires-in-${fault}`)
        const { page, steps } = await visitPage(context, browser)
        if (context.arrived('refresh').length > 0) return
        const call = steps.find(({ kind, response }) => kind === 'api' && response.status < 400)
        expect(!call, 'The client called the API with this token for the next page.', page, ...(call ? [call] : []))
      },
    }),
  ),
  {
    id: 'token-answer-unknown-member',
    title: 'A token response with an unknown member signs the visitor in',
    rule: 'unknown-response-members',
    why: 'When the portal adds a member, a client that refuses unknown members signs nobody in.',
    fix: 'Read the members that you need, and ignore the others.',
    needs: ['page'],
    async run(context) {
      const { browser, page } = await loginWith(context, 'unknown-member')
      await expectSignedIn(context, browser, 'Nobody is signed in after this token response.', page)
    },
  },
  ...[400, 500].map(
    (status): CheckDefinition => ({
      id: `token-answer-status-${status}`,
      title: `A token response with status ${status} signs nobody in, even if it contains tokens`,
      rule: 'UP-06',
      why: 'The status says that the exchange failed. A client that reads only the body signs a visitor in although the portal has refused the login.',
      fix: 'Check the status before the body, and accept tokens only with status 200.',
      needs: ['page'],
      async run(context) {
        const { browser, page } = await loginWith(context, 'tokens-with-status', { status })
        expect(!(await context.isSignedIn(browser)), 'Somebody is signed in after this token response.', page)
      },
    }),
  ),
  ...[3, 5, 9].map(
    (size): CheckDefinition => ({
      id: `token-answer-${size}-kb`,
      title: `With an access token of ${size} KB, the visitor is signed in, or a page says that the login failed`,
      rule: 'CK-03',
      why: 'A browser silently drops a cookie of more than 4,096 bytes, and keeps the old one.',
      fix: 'Split a long token into several cookies, keep it at the server, or answer with a page that says that the token is too large.',
      needs: ['page'],
      async run(context) {
        const { browser, page } = await loginWith(context, `access-token-${size}-kb`)
        expect(page.status !== 0, `There was no answer: ${page.fault}.`, page)
        for (const { cookie, exchange } of cookiesOf(page.trail))
          expect(
            cookie.name.length + cookie.value.length <= 4096,
            `The cookie ${cookie.name} has ${cookie.name.length + cookie.value.length} bytes.`,
            exchange,
          )
        const isRefusedAloud = page.trail.some(({ response }) => 'status' in response && response.status >= 400)
        expect(
          isRefusedAloud || (await context.isSignedIn(browser)),
          'Nobody is signed in, and the page does not say why.',
          page,
        )
      },
    }),
  ),
]
