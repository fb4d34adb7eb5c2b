// Callbacks with other parameters than the portal sends: repeated, missing, of somebody else, an error, garbage.

import type { Row } from '../../check.ts'
import { describePage, expect, expectSignedIn, setCookiesOf, statusOf } from '../../findings.ts'
import type { RuleId } from '../../rules/rules.ts'
import {
  beginLogin,
  cookieHeader,
  errorCallback,
  expectRefused,
  followCallback,
  navigationHeaders,
} from '../../steps/callback.ts'
import { runsScript } from '../../steps/page-content.ts'
import { readSetCookie } from '../../steps/set-cookies.ts'

const evil = 'https://evil.example/'
/** Markup that no template would write by itself. */
const markup = '"\'><img src=x onerror=conformance()>'

const repeated: [name: string, rule: RuleId][] = [
  ['code', 'CL-09'],
  ['client_id', 'parameter-pollution'],
  ['subject', 'parameter-pollution'],
  ['redirect_uri', 'parameter-pollution'],
]

/** Callbacks that no portal sends. The client answers each with a page and keeps running. */
const garbage: [id: string, title: string, path: string][] = [
  ['nothing', 'with no query at all', ''],
  ['bad-escapes', 'with broken percent-encoding', '?code=%E0%A4%A&state=%'],
  ['no-utf8', 'with bytes that are not UTF-8', '?code=%ff%fe&state=%c3%28'],
  ['null-byte', 'with a null byte', '?code=a%00b&state=c%00d'],
  ['prototype', 'with names of JavaScript properties', '?__proto__[a]=1&constructor[prototype][a]=1&code=a&state=b'],
  ['nested', 'with nested names', '?code[a][b]=c&state[a]=b'],
  ['many', 'with a thousand parameters', `?${Array.from({ length: 1000 }, (_, at) => `p${at}=1`).join('&')}`],
  ['long', 'of 12 KB', `?code=${'a'.repeat(12_000)}&state=b`],
]

const escaped: [id: string, title: string, query: (state: string) => Record<string, string>][] = [
  [
    'error-description',
    'the description of an error',
    state => ({ error: 'access_denied', error_description: markup, state }),
  ],
  ['error', 'the code of an error', state => ({ error: markup, state })],
  ['subject', 'the subject', state => ({ code: 'none', subject: markup, state })],
  ['state', 'the state', () => ({ code: 'none', state: markup })],
]

export const callbackParameters: Row[] = [
  ...repeated.map(
    ([name, rule]): Row => ({
      id: `callback-${name.replace('_', '-')}-twice`,
      title: `A callback with a second ${name} is refused`,
      rule,
      why: 'Parameters must not be repeated: one program reads the first value, and another one reads the last.',
      fix: 'Refuse a callback with a repeated parameter before you send anything.',
      async run(context) {
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.append(name, 'another-value')
        await expectRefused(context, browser, callback)
      },
    }),
  ),
  {
    id: 'callback-client-id-other',
    title: 'A callback for another client is refused',
    rule: 'CL-10',
    why: 'An answer for another client must not sign anybody in at this one.',
    fix: 'Compare client_id with the configured one before the exchange.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('client_id', '00000000-0000-4000-8000-000000000000')
      await expectRefused(context, browser, callback)
    },
  },
  ...(['client_id', 'subject'] as const).map(
    (name): Row => ({
      id: `callback-${name.replace('_', '-')}-missing`,
      title: `A callback without ${name} is refused`,
      rule: 'callback-required-parameters',
      why: `${name} is required in every callback. The client cannot tell where a callback without it comes from. This only warns, because a simple client that reads only code and state is still correct.`,
      fix: `Refuse a callback without ${name} before the exchange.`,
      async run(context) {
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.delete(name)
        await expectRefused(context, browser, callback)
      },
    }),
  ),
  {
    id: 'callback-code-missing',
    title: 'A callback without a code exchanges nothing',
    rule: 'callback-code',
    why: 'Without a code there is nothing to exchange.',
    fix: 'Refuse a callback without a code.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.delete('code')
      const page = await expectRefused(context, browser, callback)
      expect(page.status !== 0 && page.status < 500, `It was answered with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'callback-subject-other',
    title: 'The client does not take the identity of the user from the subject of the callback',
    rule: 'CL-12',
    why: 'Anybody can change an address. Only the token says who the user is.',
    fix: 'Never use subject as the identity.',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      const other = await context.otherPerson()
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('subject', other.id)
      await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser, { person }))) return
      const page = await browser.visit(context.url(context.settings.page))
      // The form that creates an application may offer the visitor's groups.
      if (context.settings.create) await browser.visit(context.url(context.settings.create))
      await context.platform.settle()
      expect(
        !page.body.includes(other.id) && !page.body.includes(other.email),
        'The page shows data of somebody else.',
        page,
      )
      const calls = context.arrived('api').filter(({ request }) => request.url.includes(other.id))
      expect(calls.length === 0, 'The client asked the API about somebody else.', ...calls)
    },
  },
  {
    id: 'callback-redirect-uri-other',
    title: 'The redirect_uri of a callback is never used',
    rule: 'CL-11',
    why: 'An attacker could choose it. The exchange sends the redirect_uri of the start, and no redirect goes to an address from a query.',
    fix: 'Take the redirect URI only from the configuration.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('redirect_uri', evil)
      const page = await followCallback(context, browser, callback, ({ hostname }) => hostname === 'evil.example')
      expect(page.stoppedAt === undefined, `The browser was sent to ${page.stoppedAt}.`, page)
      expect(!page.links.some(({ url }) => url.startsWith(evil)), 'The page links to it.', page)
      for (const step of await context.exchanges())
        expect(!JSON.stringify(step.request.body).includes('evil.example'), 'The exchange contained it.', step)
    },
  },
  {
    id: 'callback-iss-other',
    title: 'A callback from another issuer is refused',
    rule: 'CL-23',
    why: 'iss says who answers. The portal sends its own address, and its metadata says so.',
    fix: 'If iss is present, compare it with the address of the portal before the exchange.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('iss', 'https://evil.example')
      await expectRefused(context, browser, callback)
    },
  },
  {
    id: 'callback-unknown-parameter',
    title: 'A callback with an unknown parameter works',
    rule: 'unknown-parameters',
    why: 'Clients must ignore unknown response parameters.',
    fix: 'Read only the parameters that you know.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('session_state', 'something')
      await followCallback(context, browser, callback)
      await expectSignedIn(context, browser, 'Nobody is signed in after it.')
    },
  },
  {
    id: 'callback-error',
    title: 'A callback with an error exchanges nothing and is answered with a page',
    rule: 'CL-13',
    why: 'An error means that the portal gave no code.',
    fix: 'Handle error before code, and show a page that offers to sign in again.',
    async run(context) {
      const { browser, start, callback } = await beginLogin(context)
      const page = await expectRefused(
        context,
        browser,
        errorCallback(callback, { error: 'access_denied', state: start.state ?? '' }),
      )
      expect(page.status !== 0 && page.status < 500, `It was answered with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'callback-error-and-code',
    title: 'A callback with an error and a code counts as an error',
    rule: 'CL-13',
    why: 'A portal that sends both has failed, and the code proves nothing.',
    fix: 'Look at error first.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('error', 'server_error')
      await expectRefused(context, browser, callback)
    },
  },
  ...escaped.map(
    ([id, title, query]): Row => ({
      id: `callback-escapes-${id}`,
      title: `Markup in ${title} of a callback is text on the page`,
      rule: 'oauth-sanitize',
      why: 'Anybody can make a visitor open such an address.',
      fix: 'Escape every part of the query that you show, or show none of it.',
      async run(context) {
        const { browser, start, callback } = await beginLogin(context)
        const page = await followCallback(
          context,
          browser,
          errorCallback(callback, { client_id: context.platform.clientId, ...query(start.state ?? '') }),
        )
        expect(!runsScript(page, 'conformance()'), 'The page contains the markup as it was sent.', page)
      },
    }),
  ),
  {
    id: 'callback-code-literal',
    title: 'A code cannot add fields to the exchange',
    rule: 'CL-15',
    why: 'A value that is put into a form without encoding becomes several fields.',
    fix: 'Encode every value of the form, preferably with a library that builds forms.',
    async run(context) {
      // The second one is for clients that refuse a code with a space.
      for (const code of ['a&client_id=evil&redirect_uri=https://evil.example/&x=%26 +y', 'a&client_id=evil&x=%26+y']) {
        const known = context.arrived('exchange').length
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.set('code', code)
        await followCallback(context, browser, callback)
        for (const step of (await context.exchanges()).slice(known)) {
          const body = step.request.body as Record<string, unknown>
          expect(
            body?.code === code && body.client_id === context.platform.clientId,
            'The exchange contained fields that are not its own.',
            step,
          )
        }
      }
    },
  },
  {
    id: 'callback-code-long',
    title: 'A code of 8 KB is not sent on',
    rule: 'code-length',
    // Only advice: RFC 6749, 4.1.2 says "The client should avoid making assumptions about code value sizes", so a client
    // that sends any code on is right, too.
    why: 'Otherwise anybody who calls the callback decides what the client sends.',
    fix: 'Refuse a code of more than about 2,000 characters.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('code', 'a'.repeat(8000))
      const page = await expectRefused(context, browser, callback)
      expect(page.status !== 0 && page.status < 500, `It was answered with ${describePage(page)}.`, page)
    },
  },
  ...garbage.map(
    ([id, title, query]): Row => ({
      id: `callback-${id}`,
      title: `A callback ${title} is answered and refused`,
      rule: id === 'nothing' ? 'CL-04' : 'oauth-sanitize',
      why: 'Anybody can send it, and an exception that nobody catches is an outage.',
      fix: 'Check the query before you use it, and answer with status 400.',
      async run(context) {
        const { browser, start, callback } = await beginLogin(context)
        const cookie = cookieHeader(context, browser, callback.href)
        const state = `state=${encodeURIComponent(start.state ?? '')}`
        const ofALogin = /\bstate=/.test(query) ? query.replace(/\bstate=[^&]*/, state) : `${query || '?'}&${state}`
        for (const name of ['code', 'state']) callback.searchParams.delete(name)
        // From a stranger, and from a visitor who has begun a login, because then a client looks at more of it.
        for (const [sent, headers, isOfALogin] of [
          [query, navigationHeaders, false],
          [`${ofALogin}&${callback.searchParams}`, { ...navigationHeaders, ...(cookie && { cookie }) }, true],
        ] as const) {
          const exchange = await context.request(context.platform.redirectUri + sent, { headers })
          const status = statusOf(exchange)
          expect(status > 0, 'There was no answer.', exchange)
          // If the client sent the code to the portal, the portal has refused it.
          const isUpstream = isOfALogin && [502, 503, 504].includes(status)
          expect(status < 500 || isUpstream, `It was answered with status ${status}.`, exchange)
          expect(
            setCookiesOf(exchange)
              .map(readSetCookie)
              .every(({ isDeletion, value }) => isDeletion || !/^(undefined|null|NaN)$/.test(value)),
            'It set a cookie.',
            exchange,
          )
        }
      },
    }),
  ),
]
