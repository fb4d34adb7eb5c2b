// Tests which token responses the client accepts and refuses: responses with unusual tokens, states and lifetimes.
import { randomBytes } from 'node:crypto'
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectSignedIn, expectWithFix, fail } from '../../findings.ts'
import { isAcceptedCall, isRenewal } from '../../platform-calls.ts'
import type { RuleId } from '../../rules/rules.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { isBareFailure } from '../../steps/page-content.ts'
import { asksToSignIn, requireFaultyExchange, visitPage } from '../../steps/sessions.ts'
import { cookiesOf, wrongAgeOf } from '../../steps/set-cookies.ts'
import { orderTokenResponse } from '../../steps/token-responses.ts'
import { fieldsOf } from '../../tokens.ts'

const unusable: { fault: string; title: string; rule: RuleId; why: string }[] = [
  ...[
    ['state-other', 'belongs to another login'],
    ['state-missing', 'is missing'],
    ['state-null', 'is null'],
    ['state-empty', 'is empty'],
    ['state-number', 'is a number'],
  ].map(([fault, what]) => ({
    fault: fault!,
    title: `If the state in the token response ${what}, nobody is signed in`,
    rule: 'CL-17' as const,
    why: "If the client does not compare the state, it accepts tokens from another login. The visitor then works in another person's account.",
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
    title: `After a token response ${what}, nobody is signed in`,
    rule: 'CL-18' as const,
    why: 'If the client uses this value as a token, the session does not work, or the client sends a broken header.',
  })),
  {
    fault: 'token-type-mac',
    title: 'If the token_type in the token response is not Bearer, nobody is signed in',
    rule: 'token-type-understood',
    why: 'A token of another type does not work with Authorization: Bearer. It may also need protection that this client does not have.',
  },
  ...['missing', 'null', 'empty', 'number'].map(fault => ({
    fault: `token-type-${fault}`,
    title: `If the token_type in the token response is ${fault === 'number' ? 'a number' : fault}, nobody is signed in`,
    rule: 'token-type-required' as const,
    why: 'A token response must contain token_type. Without it, the client does not know how to use the token.',
  })),
]

/** Wrong states that a client accepts if it compares only a part of the state, or ignores case. */
const similarStates: [id: string, what: string, make: (state: string) => unknown][] = [
  [
    'other-case',
    'differs only in upper and lower case',
    state => state.replace(/[a-z]/gi, letter => (/[a-z]/.test(letter) ? letter.toUpperCase() : letter.toLowerCase())),
  ],
  ['cut', 'lacks the last character', state => state.slice(0, -1)],
  ['longer', 'has one more character', state => `${state}0`],
  ['space', 'has a space at its end', state => `${state} `],
  ['line-break', 'has a line break at its end', state => `${state}\n`],
  ['list', 'is a list that contains the right state', state => [state]],
  ['true', 'is true instead of a string', () => true],
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
    why: 'A portal may write Bearer in upper or lower case. If the client accepts only one spelling, nobody can sign in at a portal that uses another spelling.',
    fix: 'When you compare token_type, ignore the difference between upper and lower case.',
  },
  {
    id: 'uppercase-type',
    rule: 'token-type-case',
    fault: 'member',
    options: { member: 'token_type', value: 'BEARER' },
    what: 'with token_type "BEARER"',
    why: 'A portal may write Bearer in upper or lower case. If the client accepts only one spelling, nobody can sign in at a portal that uses another spelling.',
    fix: 'When you compare token_type, ignore the difference between upper and lower case.',
  },
  {
    id: 'no-refresh-token',
    rule: 'refresh-token-optional',
    fault: 'refresh-token-missing',
    what: 'without a refresh token',
    why: 'A portal may leave out the refresh_token. If the client requires one, nobody can sign in any more.',
    fix: 'Accept the response without a refresh token, and end the session when the access token expires.',
  },
]

const lifetimes: [id: string, what: string, value?: unknown][] = [
  ['missing', 'is missing'],
  ['null', 'is null'],
  ['words', 'is a word'],
  ['text', 'is a number in quotes'],
  ['true', 'is true instead of a number'],
  ['negative', 'is negative'],
  ['zero', 'is zero'],
  ['fraction', 'is half a second'],
  ['huge', 'is 1e300'],
  ['decimal', 'has decimal places', 3600.5],
  ['long', 'is more than a hundred years', 4_000_000_000],
  ['exponent', 'is so large that it is written with an exponent', 1e21],
  ['list', 'is a list', [3600]],
  ['object', 'is an object', { seconds: 3600 }],
  ['empty', 'is an empty string', ''],
]

/** Runs a login with a fault in the token response. */
async function loginWith(context: CheckContext, fault: string, options?: Record<string, unknown>) {
  const { browser, callback } = await beginLogin(context)
  await context.order(`exchange-${fault}`, options ? { options } : {})
  const page = await followCallback(context, browser, callback)
  await requireFaultyExchange(context)
  return { browser, page }
}

/** Runs a login whose token response also contains these fields. Returns the page if nobody is signed in. */
async function pageIfNotSignedIn(context: CheckContext, fields: Record<string, unknown>): Promise<Page | undefined> {
  const { browser, start, callback } = await beginLogin(context)
  await orderTokenResponse(context, start, { refresh_token: randomBytes(15).toString('hex'), ...fields })
  const page = await followCallback(context, browser, callback)
  await context.dropFaults()
  return (await context.isSignedIn(browser)) ? undefined : page
}

const nobodyAfterOwnResponse =
  'Nobody is signed in after a token response from this check, although the response is complete.'

/**
 * Opens the page behind the login after a token response that the client must refuse. Fails if the client calls the
 * platform, or if the page fails. If the session has a token that no header can contain, the platform may get no call,
 * because many HTTP libraries refuse to send such a token. The page then fails instead.
 */
async function expectNotUsed(context: CheckContext, browser: Browser, when: string): Promise<void> {
  const next = await context.visitUntilPortal(browser.newTab(), context.settings.page)
  await context.platform.settle()
  const calls = context.arrived('api', 'me')
  expect(
    calls.length === 0,
    `${when}, the client called the platform. The client must refuse this response.`,
    ...calls.slice(0, 2),
  )
  if (next.stoppedAt !== undefined || (next.status > 0 && next.status < 500)) return
  const stranger = await context.visitUntilPortal(context.browser(), context.settings.page)
  expect(
    stranger.status === 0 || stranger.status >= 500,
    `${when}, the client started a session that does not work: the next page is ${describePage(next)}.`,
    next,
  )
}

/** The refresh token that a client sends if it converts null or an empty string to text. */
const noRefreshTokens = { null: /^(null|none|nil|undefined)$/i, empty: /^$/ }

function sentRefreshToken(step: LabStep, pattern: RegExp): boolean {
  const { refresh_token: sent } = fieldsOf(step)
  return step.kind === 'refresh' && typeof sent === 'string' && pattern.test(sent)
}

export const tokenAnswers: CheckDefinition[] = [
  ...unusable.map(
    ({ fault, title, rule, why }): CheckDefinition => ({
      id: `token-answer-${fault}`,
      title,
      rule,
      why,
      fix: 'Check every value in the token response before you store anything. If a value is wrong, answer with a page that offers to sign in again.',
      needs: ['page'],
      // Runs alone: the platform cannot tell which user a call with a faulty token belongs to, so this check must count
      // all calls.
      isAlone: true,
      async run(context) {
        const { browser, page } = await loginWith(context, fault)
        expect(page.status !== 0, 'There was no answer.', page)
        expect(!isBareFailure(page), 'The answer is the default error page of a server.', page)
        await expectNotUsed(context, browser, 'After this token response')
      },
    }),
  ),
  {
    id: 'token-answer-access-token-control',
    title:
      'If the access token in the token response contains a character that no header can contain, nobody is signed in',
    rule: 'CL-18',
    why: 'A header cannot contain such a token. If the client starts a session with this token, every page of the visitor fails.',
    fix: 'Accept an access token only if all its characters are visible ASCII characters. Otherwise, answer with a page that offers to sign in again.',
    needs: ['page'],
    // Runs alone: the platform cannot tell which user a call with a faulty token belongs to, so this check must count
    // all calls.
    isAlone: true,
    async run(context) {
      for (const value of ['one\ntwo', 'one\rtwo', 'one\n', 'one\u0000two', 'one\u20actwo']) {
        const { browser, page } = await loginWith(context, 'access-token', { value })
        const when = `After the access token ${JSON.stringify(value)}`
        expect(page.status !== 0, `${when}, there was no answer.`, page)
        expect(!isBareFailure(page), `${when}, the answer is the default error page of a server.`, page)
        await expectNotUsed(context, browser, when)
      }
    },
  },
  {
    id: 'token-answer-token-type-similar',
    title: 'If the token_type in the token response only resembles Bearer, nobody is signed in',
    rule: 'token-type-understood',
    why: 'A token of another type does not work with Authorization: Bearer. It may also need protection that this client does not have.',
    fix: 'Compare the whole token_type with Bearer. Ignore only differences in case.',
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
    title: 'If the access token in the token response is true or an object, nobody is signed in',
    rule: 'CL-18',
    why: 'If the client uses this value as a token, the session does not work, or the client sends a broken header.',
    fix: 'Check every value in the token response before you store anything. If a value is wrong, answer with a page that offers to sign in again.',
    needs: ['page'],
    // Runs alone: the platform cannot tell which user a call with a faulty token belongs to, so this check must count
    // all calls.
    isAlone: true,
    async run(context) {
      for (const value of [true, { token: 'text' }]) {
        const { browser, page } = await loginWith(context, 'member', { member: 'access_token', value })
        const what = `an access token of ${JSON.stringify(value)}`
        expect(page.status !== 0, `There was no answer after ${what}.`, page)
        expect(!isBareFailure(page), `After ${what}, the answer is the default error page of a server.`, page)
        await expectNotUsed(context, browser, `After ${what}`)
      }
    },
  },
  ...similarStates.map(
    ([id, what, make]): CheckDefinition => ({
      id: `token-answer-state-${id}`,
      title: `If the state in the token response ${what}, nobody is signed in`,
      rule: 'CL-17',
      why: "If the client does not compare the whole state, it can accept tokens from another login. The visitor then works in another person's account.",
      fix: 'Compare the two states exactly, including their length and the case of their letters.',
      needs: ['page'],
      async run(context) {
        const { browser, start, callback } = await beginLogin(context)
        const state = start.state ?? ''
        if (make(state) === state) throw new NotApplicable('the state of this client has no letters')
        await context.order('exchange-member', { options: { member: 'state', value: make(state) } })
        const page = await followCallback(context, browser, callback)
        await requireFaultyExchange(context)
        expect(!(await context.isSignedIn(browser)), 'Somebody is signed in after this token response.', page)
      },
    }),
  ),
  {
    id: 'token-answer-state-of-another-tab',
    title: 'If the state in the token response belongs to another unfinished login of the browser, nobody is signed in',
    rule: 'CL-17',
    why: "If the client accepts the state of any login that it has begun, it can accept tokens from another login. The visitor then works in another person's account.",
    fix: 'Compare the state in the token response with the state of this callback.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      const other = await context.startLogin(browser.newTab())
      const start = await context.startLogin(browser)
      if (other.state === undefined || start.state === undefined || other.state === start.state)
        throw new NotApplicable('the client does not give each login its own state')
      const callback = await context.authorize(start)
      await context.order('exchange-member', { options: { member: 'state', value: other.state }, state: start.state })
      const page = await followCallback(context, browser, callback)
      await requireFaultyExchange(context)
      expect(!(await context.isSignedIn(browser)), 'Somebody is signed in after this token response.', page)
    },
  },
  ...usable.map(
    ({ id, rule, fault, options, what, why, fix }): CheckDefinition => ({
      id: `token-answer-${id}`,
      title: `After a token response ${what}, the visitor is signed in`,
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
      title: `If the refresh token in the token response is ${fault === 'with-newline' ? 'a string of two lines' : fault === 'number' ? 'a number' : fault}, the visitor gets a page, and the client uses the value neither in a cookie nor in a renewal`,
      rule: 'oauth-sanitize',
      why: 'A value that is not a token can break a cookie or a header. The client also cannot renew the session with such a value.',
      fix: 'Use a refresh token only if it is a string of visible ASCII characters. Otherwise, treat the refresh token as missing.',
      async run(context) {
        const { browser, page } = await loginWith(context, `refresh-token-${fault}`)
        expect(page.status !== 0, `There was no answer: ${page.error}.`, page)
        for (const { cookie, exchange } of cookiesOf(page.trail))
          expect(
            !/^(null|undefined|12345|two)$/.test(cookie.value),
            `The cookie ${cookie.name} is ${cookie.value}.`,
            exchange,
          )
        if (fault !== 'null' && fault !== 'empty') return
        if (!(await context.isSignedIn(browser))) return
        // The client has accepted the response. It must not send this value in a renewal when the access token expires.
        const known = context.platform.steps.length
        await context.platform.endAccessTokens(await context.person())
        const { page: next } = await visitPage(context, browser)
        const renewals = context.platform.steps
          .slice(known)
          .filter(step => sentRefreshToken(step, noRefreshTokens[fault]))
        // A client may remember for a few seconds that the portal refused this renewal. The check waits, so that a
        // repetition of the check finds the mistake again.
        if (renewals.length > 0) await context.pause(11_000)
        expectWithFix(
          'If the refresh token is missing, null or empty, the session has no refresh token. End such a session when the access token expires, and offer to sign in.',
          renewals.length === 0,
          `After the access token had expired, the client sent a renewal with a refresh token made from the value ${fault === 'null' ? 'null' : '""'}. The visitor got ${next.stoppedAt ? 'a redirect to the portal' : describePage(next)}.`,
          ...renewals.slice(0, 1),
          next,
        )
      },
    }),
  ),
  ...lifetimes.map(
    ([id, what, value]): CheckDefinition => ({
      id: `token-answer-expires-in-${id}`,
      title: `If the expires_in of the token response ${what}, the client sets no cookie with a wrong lifetime`,
      rule: 'CL-19',
      why: 'Browsers ignore a Max-Age such as NaN, and keep the session cookie until the browser is closed.',
      fix: 'Use expires_in only if it is a finite number above 0, and limit it to a maximum. Otherwise refuse the token response, or assume a lifetime.',
      async run(context) {
        const { page } = await (value === undefined
          ? loginWith(context, `expires-in-${id}`)
          : loginWith(context, 'expires-in', { value }))
        expect(page.status !== 0, `There was no answer: ${page.error}.`, page)
        expect(!isBareFailure(page), 'The answer is the default error page of a server.', page)
        for (const { cookie, exchange } of cookiesOf(page.trail)) {
          const wrong = wrongAgeOf(cookie)
          expect(wrong === undefined, `The cookie ${cookie.name} ${wrong}.`, exchange)
        }
      },
    }),
  ),
  {
    id: 'token-answer-no-refresh-token-expires-in',
    title:
      'If the token response has a very large expires_in and no refresh token, the client sets no cookie with a wrong lifetime',
    rule: 'CL-19',
    why: 'Without a refresh token, many clients end the session when the access token expires. The session cookie then lives for expires_in seconds, even if the client usually uses a fixed lifetime.',
    fix: 'Limit expires_in to a maximum, such as 400 days, before you use it. The limit must also apply to a session without a refresh token.',
    async run(context) {
      for (const seconds of [4_000_000_000, 1e21, 1e300]) {
        const { browser, start, callback } = await beginLogin(context)
        await orderTokenResponse(context, start, { expires_in: seconds })
        const page = await followCallback(context, browser, callback)
        await context.dropFaults()
        const when = `After a token response with the expires_in ${seconds} and without a refresh token`
        expect(page.status !== 0, `${when}, there was no answer: ${page.error}.`, page)
        expect(!isBareFailure(page), `${when}, the answer is the default error page of a server.`, page)
        for (const { cookie, exchange } of cookiesOf(page.trail)) {
          const wrong = wrongAgeOf(cookie)
          expect(wrong === undefined, `${when}, the cookie ${cookie.name} ${wrong}.`, exchange)
        }
      }
    },
  },
  {
    id: 'token-answer-expires-in-converted',
    title: 'If expires_in is the JSON value true, the client does not read it as one second',
    rule: 'CL-19',
    why: 'In many languages, true converts to the number 1. The session then ends after one second, and the client renews it again and again.',
    fix: 'Check that expires_in is a number, and do not convert other types. In some languages, even true counts as a number. Refuse the response, or assume a lifetime that your documentation names.',
    needs: ['page'],
    async run(context) {
      const { browser, page } = await loginWith(context, 'expires-in', { value: true })
      const isSignedIn = await context.isSignedIn(browser)
      if (!isSignedIn && !context.arrived('api', 'refresh').some(({ response }) => response.status < 400)) return
      await context.pause(1200)
      const { steps } = await visitPage(context, browser)
      const isStillIn = steps.some(isAcceptedCall)
      const renewals = context.arrived('refresh')
      expect(
        isStillIn && renewals.length === 0,
        'The client read the expires_in value true as one second.',
        page,
        ...renewals.slice(0, 1),
      )
    },
  },
  {
    id: 'token-answer-unknown-member',
    title: 'If the token response has an unknown JSON member, the visitor is still signed in',
    rule: 'unknown-response-members',
    why: 'The portal may add a JSON member later. If the client refuses unknown members, nobody can sign in any more.',
    fix: 'Read only the JSON members that you need, and ignore all other members.',
    needs: ['page'],
    async run(context) {
      const { browser, page } = await loginWith(context, 'unknown-member')
      await expectSignedIn(context, browser, 'Nobody is signed in after this token response.', page)
    },
  },
  {
    id: 'token-answer-names-in-other-case',
    title:
      'If a token response also has JSON members whose names differ only in upper and lower case, the visitor is signed in',
    rule: 'response-names-exact',
    why: 'JSON distinguishes upper and lower case, so such a name is an unknown name. Some JSON libraries ignore the case. A client with such a library can use a wrong token, or refuse a correct login.',
    fix: 'Read each member by its exact name. If your JSON library ignores the case of names when it fills an object with fixed fields, read the response into a map first.',
    needs: ['page'],
    async run(context) {
      const names = ['ACCESS_TOKEN', 'Refresh_Token', 'Token_Type', 'Expires_In', 'STATE']
      const unknown = Object.fromEntries(names.map(name => [name, `wrong-${randomBytes(9).toString('hex')}`]))
      const page = await pageIfNotSignedIn(context, { scope: '', ...unknown })
      if (!page) return
      if (await pageIfNotSignedIn(context, { scope: '' })) throw new Undecided(nobodyAfterOwnResponse)
      fail(
        `Nobody is signed in after a token response that also has ${names.join(', ')}. Without these members, the login works.`,
        page,
      )
    },
  },
  {
    id: 'token-answer-without-scope',
    title: 'After a token response without scope, the visitor is signed in',
    rule: 'login-works',
    why: 'The specification of the platform does not mention scope in a token response. If the client requires scope, nobody can sign in at a portal that leaves it out.',
    fix: 'Require only the fields in the specification: access_token, token_type, expires_in and state.',
    needs: ['page'],
    async run(context) {
      const page = await pageIfNotSignedIn(context, {})
      if (!page) return
      if (await pageIfNotSignedIn(context, { scope: '' })) throw new Undecided(nobodyAfterOwnResponse)
      fail('Nobody is signed in after a token response without scope. With an empty scope, the login works.', page)
    },
  },
  {
    id: 'token-answer-in-pieces',
    title: 'If a token response arrives in many small pieces, the visitor is signed in',
    rule: 'login-works',
    why: 'A network can split every answer. A client that reads only the first piece cannot parse the response, and the login fails now and then.',
    fix: 'Read the body of an answer to its end before you parse it.',
    needs: ['page'],
    async run(context) {
      const { browser, page } = await loginWith(context, 'drip', { seconds: 0.001 })
      if (await context.isSignedIn(browser)) return
      const exchange = (await context.codeExchanges()).find(({ fault }) => fault)
      if (!exchange || exchange.durationMs > 2500)
        throw new NotApplicable(
          'the sandbox needed more than 2.5 seconds for the token response, so even a correct client may give up',
        )
      await context.signedIn()
      fail('The body of the token response arrived one byte at a time. Nobody is signed in.', page, exchange)
    },
  },
  {
    id: 'token-answer-doubled-names',
    title: 'If a token response contains a field twice, the client uses the last value',
    rule: 'doubled-names',
    why: 'If a field is repeated, one program may check one value while another program uses the other value.',
    fix: 'Parse the response with a JSON parser that keeps the last value of a repeated name. Most parsers do this by default.',
    needs: ['page'],
    async run(context) {
      /** Runs a login. `change` changes the JSON text of the token response. Returns whether somebody is signed in. */
      const isSignedInWith = async (change: (text: string, state: string) => string) => {
        const { browser, start, callback } = await beginLogin(context)
        const token = await context.platform.tokenOf(await context.person())
        const fields = { access_token: token, expires_in: 3600, token_type: 'Bearer', scope: '', state: start.state }
        const body = change(JSON.stringify(fields), start.state ?? '')
        await context.order('exchange-answer', {
          options: { status: 200, body, type: 'application/json; charset=utf-8' },
        })
        await followCallback(context, browser, callback)
        await context.dropFaults()
        return context.isSignedIn(browser)
      }
      if (!(await isSignedInWith(text => text)))
        throw new Undecided(
          'Nobody is signed in after a token response from this check, although the response contains each field only once.',
        )
      for (const [name, value] of Object.entries({ access_token: 'other', state: 'other', token_type: 'mac' }))
        expect(
          await isSignedInWith(text => `{"${name}":"${value}",${text.slice(1)}`),
          `If the token response contains ${name} twice, first wrong and then right, nobody is signed in.`,
        )
      for (const [name, value] of Object.entries({ state: 'other', token_type: 'mac' }))
        expect(
          !(await isSignedInWith(text => `${text.slice(0, -1)},"${name}":"${value}"}`)),
          `If the token response contains ${name} twice, first right and then wrong, somebody is signed in.`,
        )
    },
  },
  ...(
    [
      ['expired', 'the access token has expired', 'The client knows from expires_in when the token expires.'],
      [
        'refused',
        'the API refuses the access token with 401',
        'The portal can make an access token invalid before it expires.',
      ],
    ] as const
  ).map(
    ([id, what, why]): CheckDefinition => ({
      id: `token-answer-no-refresh-token-${id}`,
      title: `If a session has no refresh token and ${what}, the client offers to sign in, and does not try to renew the session`,
      rule: 'refresh-token-optional',
      why: `${why} Without a refresh token, the client cannot renew the session. A client that tries to renew anyway, or shows an error, locks the visitor out.`,
      fix: 'Renew only if the session has a refresh token. Otherwise, end the session and offer to sign in.',
      needs: ['page'],
      async run(context) {
        const seconds = id === 'expired' ? 2 : 3600
        const { browser } = await loginWith(context, 'short-session', { seconds })
        if (!(await context.isSignedIn(browser)))
          throw new ReportedElsewhere('without a refresh token, the client does not sign anyone in')
        if (id === 'expired') await context.pause(seconds * 1000 + 300)
        await context.platform.endAccessTokens(await context.person())
        const visits = [await visitPage(context, browser), await visitPage(context, browser)]
        const renewals = visits.flatMap(({ steps }) => steps.filter(isRenewal))
        expect(renewals.length === 0, 'The client sent a renewal, although it has no refresh token.', ...renewals)
        const pages = visits.map(({ page }) => page)
        expect(
          pages.every(({ status }) => status > 0 && status !== 500) && pages.some(page => asksToSignIn(context, page)),
          `Two visits ended with ${pages.map(describePage).join(' and ')}. Neither page offers to sign in.`,
          ...pages,
        )
      },
    }),
  ),
  ...[400, 500].map(
    (status): CheckDefinition => ({
      id: `token-answer-status-${status}`,
      title: `If the token response has status ${status}, nobody is signed in, even if the response contains tokens`,
      rule: 'UP-06',
      why: 'This status says that the exchange failed. If a client reads only the body, it signs the visitor in, although the portal has refused the login.',
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
      title: `If the access token is ${size} KB long, the visitor is signed in, or an error page says that the login failed`,
      rule: 'CK-03',
      why: 'A browser silently drops a cookie of more than 4,096 bytes, and keeps the old cookie.',
      fix: 'Split a long token into several cookies, or store it on the server. Or answer with a page that says that the token is too large.',
      needs: ['page'],
      async run(context) {
        const { browser, page } = await loginWith(context, `access-token-${size}-kb`)
        expect(page.status !== 0, `There was no answer: ${page.error}.`, page)
        for (const { cookie, exchange } of cookiesOf(page.trail))
          expect(
            cookie.name.length + cookie.value.length <= 4096,
            `The cookie ${cookie.name} is ${cookie.name.length + cookie.value.length} bytes long.`,
            exchange,
          )
        expect(!isBareFailure(page), 'The answer is the default error page of a server.', page)
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
