// Which answers to the exchange the client accepts: which tokens, for which login, and for how long.

import { type Row, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, expectSignedIn } from '../../findings.ts'
import type { RuleId } from '../../rules/rules.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { visitPage } from '../../steps/sessions.ts'
import { cookiesOf, wrongAgeOf } from '../../steps/set-cookies.ts'

const unusable: { fault: string; title: string; rule: RuleId; why: string }[] = [
  ...[
    ['state-other', 'is of another login'],
    ['state-missing', 'is missing'],
    ['state-null', 'is null'],
    ['state-empty', 'is empty'],
    ['state-number', 'is a number'],
  ].map(([fault, what]) => ({
    fault: fault!,
    title: `An answer whose state ${what} signs nobody in`,
    rule: 'CL-17' as const,
    why: 'The client must compare the returned state with the one that it generated for the login.',
  })),
  ...[
    ['missing', 'without an access token'],
    ['null', 'whose access token is null'],
    ['empty', 'whose access token is empty'],
    ['number', 'whose access token is a number'],
    ['list', 'whose access token is a list'],
    ['with-newline', 'whose access token contains a line break'],
    ['not-ascii', 'whose access token contains letters that no header can carry'],
  ].map(([fault, what]) => ({
    fault: `access-token-${fault}`,
    title: `An answer ${what} signs nobody in`,
    rule: 'CL-18' as const,
    why: 'A value that is not a token must become neither a session nor a header.',
  })),
  {
    fault: 'token-type-mac',
    title: 'An answer with tokens of another type signs nobody in',
    rule: 'token-type-understood',
    why: 'A client must not use a token whose type it does not understand.',
  },
  ...['missing', 'null', 'empty', 'number'].map(fault => ({
    fault: `token-type-${fault}`,
    title: `An answer whose token_type is ${fault === 'number' ? 'a number' : fault} signs nobody in`,
    rule: 'token-type-required' as const,
    why: 'token_type is required.',
  })),
]

const usable: { id: string; rule: RuleId; fault: string; what: string; why: string; fix: string }[] = [
  {
    id: 'lowercase-type',
    rule: 'token-type-case',
    fault: 'token-type-lowercase',
    what: 'with token_type "bearer"',
    why: 'The value is case-insensitive.',
    fix: 'Compare it without regard to case.',
  },
  {
    id: 'no-refresh-token',
    rule: 'refresh-token-optional',
    fault: 'refresh-token-missing',
    what: 'without a refresh token',
    why: 'refresh_token is optional.',
    fix: 'Live without one: the session then ends with its access token.',
  },
]

const lifetimes: [fault: string, what: string][] = [
  ['missing', 'is missing'],
  ['null', 'is null'],
  ['words', 'is a word'],
  ['text', 'is a number in quotes'],
  ['true', 'is true'],
  ['negative', 'is negative'],
  ['zero', 'is zero'],
  ['fraction', 'is half a second'],
  ['huge', 'is infinite'],
]

/** A login whose token answer has a fault. */
async function loginWith(context: CheckContext, fault: string, options?: Record<string, unknown>) {
  const { browser, callback } = await beginLogin(context)
  await context.order(`exchange-${fault}`, options ? { options } : {})
  const page = await followCallback(context, browser, callback)
  if (!(await context.exchanges()).some(step => step.fault)) throw new Undecided('The callback exchanged nothing.')
  return { browser, page }
}

export const tokenAnswers: Row[] = [
  ...unusable.map(
    ({ fault, title, rule, why }): Row => ({
      id: `token-answer-${fault}`,
      title,
      rule,
      why,
      fix: 'Check every member of the token response before you keep any of it, and answer with a page that offers to sign in again.',
      needs: ['page'],
      // A value that is not a token shows no user, so calls are judged without one.
      isAlone: true,
      async run(context) {
        const { browser, page } = await loginWith(context, fault)
        expect(page.status !== 0, 'There was no answer.', page)
        await browser
          .newTab()
          .visit(context.url(context.settings.page), { stopAt: url => url.origin === context.platform.portalUrl })
        await context.platform.settle()
        const calls = context.arrived('api', 'me')
        expect(calls.length === 0, 'The client calls the platform with it.', ...calls.slice(0, 2))
      },
    }),
  ),
  ...usable.map(
    ({ id, rule, fault, what, why, fix }): Row => ({
      id: `token-answer-${id}`,
      title: `An answer ${what} signs in`,
      rule,
      why,
      fix,
      needs: ['page'],
      async run(context) {
        const { browser } = await loginWith(context, fault)
        await expectSignedIn(context, browser, 'Nobody is signed in after it.')
      },
    }),
  ),
  ...['null', 'empty', 'number', 'with-newline'].map(
    (fault): Row => ({
      id: `token-answer-refresh-token-${fault}`,
      title: `An answer whose refresh token is ${fault === 'with-newline' ? 'two lines' : fault === 'number' ? 'a number' : fault} does no harm`,
      rule: 'oauth-sanitize',
      why: 'Whatever the value is, the visitor gets a page, and the value does not become a header.',
      fix: 'Use a refresh token only if it is a text of visible characters.',
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
    ([fault, what]): Row => ({
      id: `token-answer-expires-in-${fault}`,
      title: `An answer whose expires_in ${what} leads to no wrong cookie`,
      rule: 'CL-19',
      why: 'Max-Age=NaN is not a Max-Age, and such a session never ends.',
      fix: 'Use expires_in only if it is a finite number above 0, and cap it. Otherwise refuse the answer or assume a lifetime.',
      async run(context) {
        const { page } = await loginWith(context, `expires-in-${fault}`)
        expect(page.status !== 0, `There was no answer: ${page.fault}.`, page)
        for (const { cookie, exchange } of cookiesOf(page.trail)) {
          const wrong = wrongAgeOf(cookie)
          expect(wrong === undefined, `The cookie ${cookie.name} ${wrong}.`, exchange)
        }
      },
    }),
  ),
  ...['negative', 'zero'].map(
    (fault): Row => ({
      id: `token-answer-over-${fault}`,
      title: `An access token whose expires_in is ${fault} is not used as if it were still valid`,
      rule: 'CL-19',
      why: 'The token is over already. A client that assumes a lifetime keeps a session that the portal did not give.',
      fix: 'Refuse such an answer with a page, or renew the token before you use it.',
      needs: ['page'],
      async run(context) {
        const { browser } = await loginWith(context, `expires-in-${fault}`)
        const { page, steps } = await visitPage(context, browser)
        if (context.arrived('refresh').length > 0) return
        const call = steps.find(({ kind, response }) => kind === 'api' && response.status < 400)
        expect(!call, 'The next page is signed in with this token.', page, ...(call ? [call] : []))
      },
    }),
  ),
  {
    id: 'token-answer-unknown-member',
    title: 'An answer with an unknown member signs in',
    rule: 'unknown-response-members',
    why: 'Portals add members. On that day every client that refuses unknown members locks out its visitors.',
    fix: 'Read the members that you need, and ignore the others.',
    needs: ['page'],
    async run(context) {
      const { browser, page } = await loginWith(context, 'unknown-member')
      await expectSignedIn(context, browser, 'Nobody is signed in after it.', page)
    },
  },
  ...[400, 500].map(
    (status): Row => ({
      id: `token-answer-status-${status}`,
      title: `Tokens in an answer with status ${status} sign nobody in`,
      rule: 'UP-06',
      why: 'An answer whose status reports a failure gives nothing, whatever its body contains.',
      fix: 'Look at the status first: tokens come with 200.',
      needs: ['page'],
      async run(context) {
        const { browser, page } = await loginWith(context, 'tokens-with-status', { status })
        expect(!(await context.isSignedIn(browser)), 'Somebody is signed in after it.', page)
      },
    }),
  ),
  ...[3, 5, 9].map(
    (size): Row => ({
      id: `token-answer-${size}-kb`,
      title: `An access token of ${size} KB is either kept whole or refused with a page that says so`,
      rule: 'CK-03',
      why: 'A browser silently drops a cookie of more than 4,096 bytes, and keeps the old one.',
      fix: 'Split a longer one into several cookies, keep it at the server, or say that the token is too large.',
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
