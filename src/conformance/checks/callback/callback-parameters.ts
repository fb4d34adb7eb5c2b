// Callbacks with other parameters than the portal gives: twice, missing, of somebody else, an error, garbage.

import type { Row } from '../../check.ts'
import { describePage, expect, expectSignedIn, setCookiesOf, statusOf } from '../../findings.ts'
import type { RuleId } from '../../rules.ts'
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
/** A mark that no template would write by itself, as markup. */
const markup = '"\'><img src=x onerror=conformance()>'

const repeated: [name: string, rule: RuleId][] = [
  ['code', 'CL-09'],
  ['client_id', 'parameter-pollution'],
  ['subject', 'parameter-pollution'],
  ['redirect_uri', 'parameter-pollution'],
]

/** Callbacks that no portal sends: whatever comes, the answer is a page and the client lives. */
const garbage: [id: string, title: string, path: string][] = [
  ['nothing', 'with no query at all', ''],
  ['bad-escapes', 'with broken percent-encoding', '?code=%E0%A4%A&state=%'],
  ['no-utf8', 'with bytes that are no UTF-8', '?code=%ff%fe&state=%c3%28'],
  ['null-byte', 'with a null byte', '?code=a%00b&state=c%00d'],
  ['prototype', "with names of JavaScript's own", '?__proto__[a]=1&constructor[prototype][a]=1&code=a&state=b'],
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
      title: `A callback in which ${name} stands twice is refused`,
      rule,
      why: 'Parameters must not be there more than once, and whoever reads the first and whoever reads the last read differently.',
      fix: 'Refuse a callback with a repeated parameter before anything is sent.',
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
    why: 'An answer that was meant for another client is not for this one.',
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
      why: `${name} is required in every callback; one without it is not of this portal.`,
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
    why: 'There is nothing to exchange.',
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
    title: "Who is signed in is not taken from the callback's subject",
    rule: 'CL-12',
    why: 'Anybody can change the address bar; who it is stands in the token.',
    fix: 'Never use subject as identity.',
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
      expect(!page.body.includes(other.id) && !page.body.includes(other.email), 'The page shows somebody else.', page)
      const calls = context.arrived('api').filter(({ request }) => request.url.includes(other.id))
      expect(calls.length === 0, 'The client asked the API about somebody else.', ...calls)
    },
  },
  {
    id: 'callback-redirect-uri-other',
    title: 'The redirect_uri of a callback is never used',
    rule: 'CL-11',
    why: 'The exchange carries the address of the start, and nobody is led to one from a query.',
    fix: 'Take the redirect URI from the configuration alone.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('redirect_uri', evil)
      const page = await followCallback(context, browser, callback, ({ hostname }) => hostname === 'evil.example')
      expect(page.stoppedAt === undefined, `The browser was led to ${page.stoppedAt}.`, page)
      expect(!page.links.some(({ url }) => url.startsWith(evil)), 'The page links there.', page)
      for (const step of await context.exchanges())
        expect(!JSON.stringify(step.request.body).includes('evil.example'), 'The exchange carried it.', step)
    },
  },
  {
    id: 'callback-iss-other',
    title: 'A callback of another issuer is refused',
    rule: 'CL-23',
    why: 'iss says who answers; the portal sends its own and lists that it does.',
    fix: "Where iss is there, compare it with the portal's address before the exchange.",
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('iss', 'https://evil.example')
      await expectRefused(context, browser, callback)
    },
  },
  {
    id: 'callback-unknown-parameter',
    title: 'A callback with a parameter that nobody knows works',
    rule: 'unknown-parameters',
    why: 'Unrecognized response parameters must be ignored.',
    fix: 'Look only at what is known.',
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
    why: 'The portal says so that there is no code.',
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
    title: 'A callback with an error and a code is an error',
    rule: 'CL-13',
    why: 'A portal that sends both has failed; the code proves nothing.',
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
      fix: 'Escape whatever of the query stands on a page, or show none of it.',
      async run(context) {
        const { browser, start, callback } = await beginLogin(context)
        const page = await followCallback(
          context,
          browser,
          errorCallback(callback, { client_id: context.platform.clientId, ...query(start.state ?? '') }),
        )
        expect(!runsScript(page, 'conformance()'), 'The page holds the markup as it was sent.', page)
      },
    }),
  ),
  {
    id: 'callback-code-literal',
    title: 'A code cannot add fields to the exchange',
    rule: 'CL-15',
    why: 'What is pasted into a form unencoded becomes fields of its own.',
    fix: 'Encode every value of the form, best with a library that builds forms.',
    async run(context) {
      // The second for those who take no code with a space in it.
      for (const code of ['a&client_id=evil&redirect_uri=https://evil.example/&x=%26 +y', 'a&client_id=evil&x=%26+y']) {
        const known = context.arrived('exchange').length
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.set('code', code)
        await followCallback(context, browser, callback)
        for (const step of (await context.exchanges()).slice(known)) {
          const body = step.request.body as Record<string, unknown>
          expect(
            body?.code === code && body.client_id === context.platform.clientId,
            'The exchange carried other fields than its own.',
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
    why: 'Whoever calls the callback would make the client send what they like.',
    fix: 'Refuse a code of more than some 2,000 characters.',
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
      why: 'Anybody can send it; an exception that nobody catches is an outage.',
      fix: 'Check the query before it is used, and answer with status 400.',
      async run(context) {
        const { browser, start, callback } = await beginLogin(context)
        const cookie = cookieHeader(context, browser, callback.href)
        const state = `state=${encodeURIComponent(start.state ?? '')}`
        const ofALogin = /\bstate=/.test(query) ? query.replace(/\bstate=[^&]*/, state) : `${query || '?'}&${state}`
        for (const name of ['code', 'state']) callback.searchParams.delete(name)
        // Of a stranger, and of somebody who has begun a login: a client looks at more of it then.
        for (const [sent, headers, isOfALogin] of [
          [query, navigationHeaders, false],
          [`${ofALogin}&${callback.searchParams}`, { ...navigationHeaders, ...(cookie && { cookie }) }, true],
        ] as const) {
          const exchange = await context.request(context.platform.redirectUri + sent, { headers })
          const status = statusOf(exchange)
          expect(status > 0, 'There was no answer.', exchange)
          // Where the code was asked for at the portal, the portal has refused it.
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
