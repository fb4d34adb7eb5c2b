// Tests the state of a login. The state belongs to one browser, is valid for one callback, and must equal the state of
// the callback.
import { randomBytes, randomUUID } from 'node:crypto'
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import {
  beginLogin,
  cookieHeader,
  errorCallback,
  expectRefused,
  followCallback,
  loginWithCopy,
  navigationHeaders,
  requireExchange,
} from '../../steps/callback.ts'
import { withOtherCharacter } from '../../steps/changed-values.ts'
import { cookiesOf } from '../../steps/set-cookies.ts'
import { wordsIn } from '../../steps/state-guesses.ts'

/**
 * After this time, no browser repeats a callback. A browser repeats a request within a few seconds if the connection
 * breaks.
 */
const noRepeatsAfterMs = 15_000

const wrongStates: [id: string, title: string, change: (state: string, query: URLSearchParams) => void][] = [
  ['missing', 'without a state', (_, query) => query.delete('state')],
  ['empty', 'with an empty state', (_, query) => query.set('state', '')],
  ['other', 'with a state that belongs to no login', (state, query) => query.set('state', anotherState(state))],
  [
    'changed',
    'whose state differs in one character',
    (state, query) => query.set('state', withOtherCharacter(state, 0)),
  ],
  [
    'last',
    'whose state differs in its last characters',
    (state, query) => query.set('state', `${state.slice(0, -4)}${state.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`),
  ],
  [
    'shortened',
    'whose state is only the first half of the right state',
    (state, query) => query.set('state', state.slice(0, state.length / 2)),
  ],
  ['longer', 'whose state has additional characters at the end', (state, query) => query.set('state', `${state}A`)],
  [
    'case',
    'whose state has lower case and upper case letters swapped',
    (state, query) => query.set('state', swapCase(state)),
  ],
  ['undefined', 'whose state is the word undefined', (_, query) => query.set('state', 'undefined')],
  [
    'list',
    'whose state is a list',
    (state, query) => {
      query.delete('state')
      query.append('state[]', state)
    },
  ],
  [
    'twice',
    'that has a wrong state after the right state',
    (state, query) => query.append('state', anotherState(state)),
  ],
  [
    'twice-first',
    'that has a wrong state before the right state',
    (state, query) => {
      query.delete('state')
      query.append('state', anotherState(state))
      query.append('state', state)
    },
  ],
]

/** More callbacks with a wrong state. Clients that change the state before they compare it accept some of them. */
const similarStates: [what: string, change: (state: string, query: URLSearchParams) => void][] = [
  ['a space after the right state', (state, query) => query.set('state', `${state} `)],
  ['a space before the right state', (state, query) => query.set('state', ` ${state}`)],
  ['a line break after the right state', (state, query) => query.set('state', `${state}\n`)],
  ['a null byte after the right state', (state, query) => query.set('state', `${state}\0A`)],
  ['only the second half of the right state', (state, query) => query.set('state', state.slice(state.length / 2))],
  ['the right state twice', (state, query) => query.append('state', state)],
  ['an empty state after the right state', (_, query) => query.append('state', '')],
  [
    'an empty state before the right state',
    (state, query) => {
      query.set('state', '')
      query.append('state', state)
    },
  ],
  [
    'the right state, percent-encoded twice',
    (state, query) =>
      query.set(
        'state',
        state.replace(/./g, letter => `%${letter.charCodeAt(0).toString(16)}`),
      ),
  ],
  ['a wildcard as its state', (_, query) => query.set('state', '%')],
  ['an asterisk as its state', (_, query) => query.set('state', '*')],
  ['a part of a database query as its state', (_, query) => query.set('state', "' OR '1'='1")],
  [
    'an object as its state',
    (_, query) => {
      query.delete('state')
      query.append('state[$ne]', 'x')
    },
  ],
]

/** Strings into which programming languages convert a missing value. */
const missingValues = ['None', 'null', 'nil', '<nil>', 'undefined', 'false', '0', '[object Object]']

const stateChecks: CheckDefinition[] = wrongStates.map(([id, title, change]) => ({
  id: `state-${id}`,
  title: `The client refuses a callback ${title}, and makes no exchange`,
  rule: 'CL-04',
  why: "Only the state shows that a callback belongs to a login of this browser. If the client does not compare the state, an attacker can sign visitors in to the attacker's account.",
  fix: 'Before the exchange, compare the state in the callback with the state that you stored for this browser. Refuse the callback if one of the two states is missing, or if the callback has more than one state.',
  async run(context) {
    const { browser, start, callback } = await beginLogin(context)
    if (start.state === undefined)
      throw new Undecided('The client begins a login without a state, so a changed state proves nothing.')
    if (id === 'case' && swapCase(start.state) === start.state) throw new NotApplicable('the state contains no letters')
    change(start.state, callback.searchParams)
    await expectRefused(context, browser, callback)
    await requireExchange(context)
  },
}))

const forgedCallbacks: ((query: URLSearchParams, state: string) => void)[] = [
  (query, state) => query.set('state', anotherState(state || 'a'.repeat(32))),
  query => query.delete('state'),
  (query, state) => query.append('state', anotherState(state || 'a'.repeat(32))),
]

/** Logins that fail. If the client accepts the callback, or makes no exchange that could fail, the check ends. */
const failedLogins: [
  id: string,
  when: string,
  fail: (context: CheckContext, browser: Browser, callback: URL, state: string) => Promise<void>,
][] = [
  [
    'error',
    'After a callback with an error',
    (context, browser, callback, state) =>
      failWith(context, browser, errorCallback(callback, { error: 'access_denied', state })),
  ],
  [
    'client-id',
    'After a callback for another client',
    (context, browser, callback) => failWith(context, browser, changed(callback, 'client_id', randomUUID())),
  ],
  [
    'iss',
    'After a callback from another issuer',
    (context, browser, callback) => failWith(context, browser, changed(callback, 'iss', 'https://evil.example')),
  ],
  [
    'exchange',
    'After an exchange that the portal answered with status 503',
    async (context, browser, callback) => failExchange(context, browser, callback, 'exchange-503'),
  ],
  [
    'tokens',
    'After a token response with the state of another login',
    async (context, browser, callback) => failExchange(context, browser, callback, 'exchange-state-other'),
  ],
]

/** A failure that many clients handle in separate code, because their library throws an error. */
const brokenExchange: (typeof failedLogins)[number] = [
  'reset',
  'After an exchange whose connection broke',
  (context, browser, callback) => failExchange(context, browser, callback, 'exchange-reset'),
]

async function failExchange(context: CheckContext, browser: Browser, callback: URL, fault: string): Promise<void> {
  await context.order(fault)
  await followCallback(context, browser, callback)
  if (!(await context.codeExchanges()).some(step => step.fault))
    throw new Undecided('The client made no exchange for the callback.')
}

function changed(callback: URL, name: string, value: string): URL {
  const url = new URL(callback)
  url.searchParams.set(name, value)
  return url
}

/** Sends a callback that the client must refuse before the exchange. */
async function failWith(context: CheckContext, browser: Browser, callback: URL): Promise<void> {
  const known = context.arrived('exchange').length
  await followCallback(context, browser, callback)
  if ((await context.codeExchanges()).length > known) throw new ReportedElsewhere('the client accepts the callback')
}

/**
 * Makes a login fail in each of the given ways, and then sends a second callback with the same state to the instance at
 * `origin`. Fails if the client exchanges the code of the second callback.
 */
async function expectStateUsedUp(context: CheckContext, ways: string[], origin: string | undefined): Promise<void> {
  for (const [, when, fail] of [...failedLogins, brokenExchange].filter(([id]) => ways.includes(id))) {
    const { browser, start, callback } = await beginLogin(context)
    await fail(context, browser, callback, start.state ?? '')
    await context.dropFaults()
    const before = (await context.codeExchanges()).length
    const { pathname, search } = await context.authorize(start)
    const page = await followCallback(context, browser, context.url(pathname + search, origin))
    expect(
      (await context.codeExchanges()).length === before,
      `${when}, the client accepted a second callback with the same state, and exchanged its code.`,
      page,
    )
  }
}

export const states: CheckDefinition[] = [
  ...stateChecks,
  {
    id: 'state-similar',
    title: 'The client refuses a callback whose state only resembles the right state or is repeated',
    rule: 'CL-04',
    why: 'Only the state shows that a callback belongs to a login of this browser. A client that trims, shortens or interprets the value before the comparison accepts states that nobody has created.',
    fix: 'Refuse a callback that has no parameter state, or more than one. Compare the whole, unchanged value of this parameter with the state that you stored for this browser.',
    async run(context) {
      for (const [what, change] of similarStates) {
        const { browser, start, callback } = await beginLogin(context)
        if (start.state === undefined)
          throw new Undecided('The client begins a login without a state, so a changed state proves nothing.')
        change(start.state, callback.searchParams)
        const page = await followCallback(context, browser, callback)
        const exchanges = await context.codeExchanges()
        expect(
          exchanges.length === 0,
          `The client exchanged the code of a callback that has ${what}.`,
          page,
          ...exchanges,
        )
      }
      await requireExchange(context)
    },
  },
  {
    id: 'state-missing-values',
    title: 'The client refuses a callback whose state is a word such as None, null or undefined',
    rule: 'CL-04',
    why: 'If this browser has not begun a login, the client has no stored state. Many languages turn a missing value into a string such as undefined. A client that compares strings then accepts a forged callback with this string.',
    fix: 'If this browser has not begun a login, refuse the callback before you compare the states.',
    async run(context) {
      for (const value of missingValues) {
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.set('state', value)
        for (const one of [context.browser(), browser]) {
          const page = await followCallback(context, one, callback)
          const exchanges = await context.codeExchanges()
          expect(exchanges.length === 0, `The client accepted the state ${value}.`, page, ...exchanges)
        }
      }
      await requireExchange(context)
    },
  },
  {
    id: 'state-any-method',
    title: 'The client makes no exchange for a callback with a wrong state, whatever the method of the callback is',
    rule: 'CL-04',
    why: "Some frameworks also run the code for the callback when they get a HEAD or POST request. If only the code for GET compares the state, a form on another site can sign visitors in to an attacker's account.",
    fix: 'Accept only GET at the callback path. Compare the state in the code that makes the exchange.',
    async run(context) {
      for (const method of ['POST', 'HEAD', 'PUT']) {
        const { browser, start, callback } = await beginLogin(context)
        callback.searchParams.set('state', anotherState(start.state ?? 'a'.repeat(32)))
        const cookie = cookieHeader(context, browser, callback.href)
        const form = { 'content-type': 'application/x-www-form-urlencoded', origin: context.settings.client }
        const headers = { ...navigationHeaders, 'sec-fetch-site': 'same-origin', ...(cookie && { cookie }) }
        for (const [url, body] of [
          [callback.href, 'a=b'],
          [callback.origin + callback.pathname, `${callback.searchParams}`],
        ] as const) {
          const request = method === 'HEAD' ? { method, headers } : { method, headers: { ...headers, ...form }, body }
          const answer = await context.request(url, request)
          const exchanges = await context.codeExchanges()
          expect(
            exchanges.length === 0,
            `The client exchanged the code of a ${method} request with a wrong state.`,
            answer,
            ...exchanges,
          )
        }
      }
      await requireExchange(context)
    },
  },
  {
    id: 'state-before-portal',
    title: 'The client does not send a request to the portal before it has compared the state of a callback',
    rule: 'CL-04',
    why: 'Anybody can make visitors open a forged callback. If the client calls the portal before it compares the state, every forged callback causes calls, and can use up the code of a login.',
    fix: 'Compare the state first. Begin the exchange only after that.',
    // Runs alone: the suite cannot tell which visitor a call without a token belongs to.
    isAlone: true,
    async run(context) {
      await requireExchange(context)
      const seen: LabStep[][] = []
      for (const forge of forgedCallbacks) {
        const { browser, start, callback } = await beginLogin(context)
        forge(callback.searchParams, start.state ?? '')
        for (const one of [browser, context.browser()]) {
          const known = context.arrived().length
          await followCallback(context, one, callback, context.beforePortal)
          await context.platform.settle(300)
          seen.push(context.arrived().slice(known))
        }
      }
      const exchange = seen.flat().find(({ kind }) => kind !== 'metadata')
      expect(
        exchange === undefined,
        'The client called the platform for a callback with a wrong state.',
        ...(exchange ? [exchange] : []),
      )
      // A client may read the metadata again at any time, but not for several callbacks within a second.
      const reading = seen.filter(steps => steps.length > 0)
      expect(
        reading.length < 3,
        `The client read the metadata of the portal for ${reading.length} callbacks with a wrong state.`,
        ...reading.flat().slice(0, 1),
      )
    },
  },
  {
    id: 'state-other-browser',
    title: 'The client refuses a callback in a browser that has not begun a login',
    rule: 'CL-03',
    why: "An attacker can make a visitor open the attacker's own callback. The visitor then works in the attacker's account.",
    fix: 'When the login begins, store the state in a cookie in the browser. A state that is stored only on the server, or only signed, does not show which browser began the login.',
    async run(context) {
      const { callback } = await beginLogin(context)
      await expectRefused(context, context.browser(), callback)
      await requireExchange(context)
    },
  },
  {
    id: 'state-other-login',
    title: 'The client refuses a callback in a browser that has begun another login',
    rule: 'CL-21',
    why: "While a visitor is signing in, an attacker can make the visitor open the attacker's own callback. The visitor then works in the attacker's account.",
    fix: 'Compare the state in the callback with the states of the logins that this browser has begun. Refuse the callback if its state equals none of them.',
    async run(context) {
      const attacker = await context.otherPerson()
      const theirs = await context.startLogin(context.browser())
      const callback = await context.authorize(theirs, attacker)
      const victim = context.browser()
      await context.startLogin(victim)
      const page = await followCallback(context, victim, callback)
      expect(
        (await context.codeExchanges()).length === 0,
        "The client exchanged the code of somebody else's login.",
        page,
      )
      if (context.settings.page)
        expect(
          !(await context.isSignedIn(victim, { person: attacker })),
          'The visitor is signed in as the attacker.',
          page,
        )
      await requireExchange(context)
    },
  },
  {
    id: 'state-once',
    title: 'When the browser sends the same callback again, the client does not make a second exchange',
    rule: 'code-once',
    why: 'After a second exchange of the same code, the portal may revoke the tokens of the first exchange.',
    fix: 'Delete the stored state in the answer to the first callback. If the callback comes again and the visitor is signed in, show the page after the login.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      const before = (await context.codeExchanges()).length
      if (before === 0) throw new Undecided('The client made no exchange for the first callback.')
      const page = await followCallback(context, browser, callback)
      expect(
        (await context.codeExchanges()).length === before,
        'The client also made an exchange for the second callback.',
        page,
      )
      expect(
        page.status !== 0 && page.status < 500,
        `The second callback was answered with ${describePage(page)}.`,
        page,
      )
    },
  },
  {
    id: 'state-once-new-code',
    title: 'The client refuses a callback with a used state and another code',
    rule: 'CL-05',
    why: 'An attacker who knows a used state could finish a login in this browser with another code.',
    fix: 'Delete the stored state in the answer to the first callback, even if the login fails.',
    async run(context) {
      const { browser, start, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      const before = (await context.codeExchanges()).length
      if (before === 0) throw new Undecided('The client made no exchange for the first callback.')
      const page = await followCallback(context, browser, await context.authorize(start))
      expect(
        (await context.codeExchanges()).length === before,
        'After a callback with the state of the finished login and a new code, the client exchanged this code.',
        page,
      )
    },
  },
  {
    id: 'state-once-after-exchange',
    title: 'After a failed exchange, the client refuses another callback with the same state in the same browser',
    rule: 'CL-05',
    why: 'A callback uses up its state, even if the exchange fails. If the state stays valid, an attacker who has read it, for example in a log, can finish a login in this browser.',
    fix: 'Delete the stored state before you call the portal.',
    async run(context) {
      await expectStateUsedUp(context, ['exchange', 'tokens', 'reset'], context.settings.client)
    },
  },
  {
    id: 'login-cookie-deleted',
    title: 'The answer to the callback deletes the login cookie, even if the login fails',
    rule: 'CL-05',
    why: 'If the login cookie stays in the browser, somebody can still finish the login later. The cookie also makes every request longer.',
    fix: 'Delete the cookie in the answer to every callback that belongs to the login. Use the same name, Path and Domain as in the answer that set the cookie, and Secure for a __Host- name.',
    async run(context) {
      const ends: [when: string, end: (one: { browser: Browser; callback: URL; state: string }) => Promise<unknown>][] =
        [
          ['after a successful login', ({ browser, callback }) => followCallback(context, browser, callback)],
          ...[...failedLogins, brokenExchange]
            .filter(([id]) => ['error', 'exchange', 'tokens', 'reset'].includes(id))
            .map(([, when, fail]): (typeof ends)[number] => [
              when.replace(/^A/, 'a'),
              ({ browser, callback, state }) => fail(context, browser, callback, state),
            ]),
        ]
      for (const [when, end] of ends) {
        const others = cookiesOf((await context.startLogin(context.browser())).page.trail)
        const { browser, start, callback } = await beginLogin(context)
        const state = start.state ?? ''
        const set = cookiesOf(start.page.trail).filter(({ cookie }) => !cookie.isDeletion && cookie.value !== '')
        // A cookie belongs to one login if each login has a cookie with a different name, or if the cookie contains the
        // state in readable form. Any other cookie can be the id of a browser or of a session at the server.
        const own = set.filter(
          ({ cookie }) =>
            !others.some(other => other.cookie.name === cookie.name) ||
            (state.length > 8 && wordsIn(cookie.value).includes(state)),
        )
        await end({ browser, callback, state })
        await context.dropFaults()
        if ((await context.codeExchanges()).length === 0)
          throw new Undecided('The client made no exchange for a plain callback.')
        for (const { cookie } of own)
          expect(
            browser.cookies.get(cookie.name)?.value !== cookie.value,
            `The cookie ${cookie.name} of the login is still in the browser ${when}.`,
          )
      }
    },
  },
  {
    id: 'state-once-after-restart',
    title: 'After a restart, the client still refuses a callback with a used state',
    rule: 'CL-05',
    why: 'A client that remembers used states only in memory accepts them again after a restart. An attacker who knows a used state can then finish a login in this browser.',
    fix: 'Delete the login cookie in the answer to the callback.',
    needs: ['process'],
    isAlone: true,
    async run(context) {
      const { browser, start, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      if ((await context.codeExchanges()).length === 0)
        throw new Undecided('The client made no exchange for the first callback.')
      await context.restartClient()
      const page = await followCallback(context, browser, await context.authorize(start))
      expect(
        (await context.codeExchanges()).length === 1,
        'After a callback with the state of the finished login and a new code, the client exchanged this code.',
        page,
      )
    },
  },
  {
    id: 'state-once-on-replica',
    title: 'Each instance of the client refuses a callback with a state that another instance has used',
    rule: 'CL-05',
    why: 'If each instance remembers used states only in its own memory, another instance accepts them again. An attacker who knows a used state can then finish a login in this browser.',
    fix: 'Delete the login cookie in the answer to the callback.',
    needs: ['replica'],
    async run(context) {
      const { browser, start, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      if ((await context.codeExchanges()).length === 0)
        throw new Undecided('The client made no exchange for the first callback.')
      const { pathname, search } = await context.authorize(start)
      const page = await followCallback(context, browser, context.url(pathname + search, context.settings.replica))
      expect(
        (await context.codeExchanges()).length === 1,
        'After a callback with the state of the finished login and a new code, the client exchanged this code.',
        page,
      )
      await expectStateUsedUp(context, ['error', 'exchange', 'tokens'], context.settings.replica)
    },
  },
  {
    id: 'state-once-after-failure',
    title: 'The client refuses a callback with the state of a failed login',
    rule: 'state-once-after-failure',
    why: 'A state is valid for one callback, and the failed login has used it up.',
    fix: 'Delete the stored state, whatever the result of the login is.',
    async run(context) {
      const { browser, start, callback } = await beginLogin(context)
      await followCallback(
        context,
        browser,
        errorCallback(callback, { error: 'access_denied', state: start.state ?? '' }),
      )
      const page = await followCallback(context, browser, callback)
      expect(
        (await context.codeExchanges()).length === 0,
        'After a callback with an error, the client exchanged the code of another callback with the same state.',
        page,
      )
      await requireExchange(context)
    },
  },
  {
    id: 'state-once-copied',
    title:
      'Fifteen seconds after a login, its callback signs nobody in, even in a browser with a copy of the login cookie',
    rule: 'CL-05',
    why: 'A client may keep the result of a callback for a few seconds, for a browser that repeats the request. If the client keeps the result longer, somebody with a copy of the login cookie gets the session of the visitor.',
    fix: 'Keep the result of a callback for at most ten seconds. After that, refuse every callback with this state.',
    needs: ['page'],
    async run(context) {
      const { callback, before } = await loginWithCopy(context)
      // Uses another copy, because the client may begin another login and replace the login cookie.
      if (await context.isSignedIn(before.copy()))
        throw new ReportedElsewhere('the login cookie is also the cookie of the session')
      await context.pause(noRepeatsAfterMs)
      const page = await followCallback(context, before, callback, context.beforePortal)
      expect(
        !(await context.isSignedIn(before)),
        'Another browser, with a copy of the login cookie, sent the callback again and is now signed in.',
        page,
      )
    },
  },
  ...failedLogins.map(
    ([id, when, fail]): CheckDefinition => ({
      id: `state-once-copied-${id}`,
      title: `${when}, the client refuses another callback with the same state and the same login cookie`,
      rule: 'state-once-after-failure',
      why: 'When the client deletes the cookie, only the browser that gets the answer loses it. With a copy of the cookie, for example from a backup, somebody could still finish the login.',
      fix: 'When a callback belongs to a login, record its state as used before you check anything else. Keep this record as long as the login cookie is valid.',
      async run(context) {
        const { browser, start, callback } = await beginLogin(context)
        const copy = browser.copy()
        await fail(context, browser, callback, start.state ?? '')
        const before = (await context.codeExchanges()).length
        const page = await followCallback(context, copy, await context.authorize(start))
        expect(
          (await context.codeExchanges()).length === before,
          'The client exchanged the code of a callback that had the state of the failed login.',
          page,
        )
        await requireExchange(context)
      },
    }),
  ),
  {
    id: 'login-cookie-changed',
    title: 'The client refuses a callback if the login cookies were changed',
    rule: 'CL-03',
    why: 'If the client checks only whether a login cookie exists, an attacker can forge both the cookie and the callback.',
    fix: 'Seal the value of the cookie, or store the value on the server. Refuse a value that you cannot unseal or find.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const cookies = browser.cookies.list(context.platform.redirectUri)
      if (cookies.length === 0) throw new NotApplicable('the login path sets no cookie')
      for (const cookie of cookies) {
        cookie.value = withOtherCharacter(cookie.value, Math.floor(cookie.value.length / 2))
      }
      const name = cookies.map(({ name }) => name)
      if (!name.every(one => browser.cookies.get(one)?.value === cookies.find(({ name }) => name === one)?.value))
        throw new Undecided('The check could not change the cookies.')
      await expectRefused(context, browser, callback)
      await requireExchange(context)
    },
  },
  {
    id: 'login-cookie-empty',
    title: 'The client refuses a callback if neither the callback nor the cookie has a state',
    rule: 'CL-04',
    why: 'In many languages, two missing values are equal. A client that compares these values accepts a forged callback in a browser that has not begun a login.',
    fix: 'If either state is missing or empty, refuse the callback before you compare the states.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.delete('state')
      for (const cookie of browser.cookies.list(context.platform.redirectUri)) cookie.value = ''
      await expectRefused(context, browser, callback)
      // The second browser has not begun a login, so it has no cookie with a state.
      await expectRefused(context, context.browser(), callback)
      callback.searchParams.set('state', '')
      await expectRefused(context, context.browser(), callback)
      await requireExchange(context)
    },
  },
]

function swapCase(text: string): string {
  return text.replace(/[a-z]/gi, letter =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
}

/** Returns a new value each time, because a client may remember earlier values. */
function anotherState(state: string): string {
  return randomBytes(state.length).toString('base64url').slice(0, state.length)
}
