// Callbacks whose parameters are not those of a normal login: repeated or missing parameters, parameters of another
// client or user, errors, and garbage.

import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
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
/** Markup that no template would write by itself. It also ends a comment, a script, a title and a text field. */
const markup = '"\'--></script></title></textarea><img src=x onerror=conformance()>'

const repeated: [name: string, rule: RuleId][] = [
  ['code', 'CL-09'],
  ['client_id', 'parameter-pollution'],
  ['subject', 'parameter-pollution'],
  ['redirect_uri', 'parameter-pollution'],
  ['iss', 'parameter-pollution'],
]

/** Callbacks without a code: the parameter is missing, empty, or a list, as some frameworks read it. */
const withoutCode: ((query: URLSearchParams) => void)[] = [
  query => query.delete('code'),
  query => query.set('code', ''),
  query => {
    const code = query.get('code') ?? ''
    query.delete('code')
    query.append('code[]', code)
  },
]

/** Wrong values that a client accepts if it compares only a part of the text. */
const similar: [change: string, make: (right: string) => string][] = [
  ['cut after eight characters', right => right.slice(0, 8)],
  ['without its last character', right => right.slice(0, -1)],
  ['without its first character', right => right.slice(1)],
  ['with another character after it', right => `${right}0`],
]

const similarIssuers: [change: string, make: (right: string) => string][] = [
  ['with another host name after it', right => `${right}.evil.example`],
  ['as the user name of another host', right => `${right}@evil.example`],
  ['with a path after it', right => `${right}/evil`],
  ['without its last character', right => right.slice(0, -1)],
]

/** Callbacks that no portal sends. The client must answer each with a page and keep running. */
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

/** Characters that are in no code (RFC 6749, appendix A.11). */
const oddCodes: [id: string, what: string, code: string][] = [
  ['newline', 'a line break', 'a\r\nb'],
  ['control', 'a null byte', 'a\0b'],
  ['not-ascii', 'a letter outside ASCII', 'aäb'],
]

const escaped: [id: string, title: string, query: (state: string) => Record<string, string>][] = [
  [
    'error-description',
    'the error_description',
    state => ({ error: 'access_denied', error_description: markup, state }),
  ],
  ['error', 'the error', state => ({ error: markup, state })],
  ['subject', 'the subject', state => ({ code: 'none', subject: markup, state })],
  ['state', 'the state', () => ({ code: 'none', state: markup })],
]

export const callbackParameters: CheckDefinition[] = [
  ...repeated.map(
    ([name, rule]): CheckDefinition => ({
      id: `callback-${name.replace('_', '-')}-twice`,
      title: `A callback with a second ${name} is refused`,
      rule,
      why: 'Parameters must not be repeated, because one program reads the first value and another program reads the last value.',
      fix: 'Refuse a callback with a repeated parameter before you send anything.',
      async run(context) {
        // Some clients compare the values, and accept a parameter that is repeated with the same value.
        for (const second of ['another-value', undefined]) {
          const { browser, callback } = await beginLogin(context)
          const first = callback.searchParams.get(name)
          if (first === null) throw new NotApplicable(`the portal sends no ${name}`)
          callback.searchParams.append(name, second ?? first)
          await expectRefused(context, browser, callback)
        }
      },
    }),
  ),
  {
    id: 'callback-client-id-other',
    title: 'A callback for another client is refused',
    rule: 'CL-10',
    why: 'The code of such a callback belongs to another client. A client that accepts it may sign the visitor in to the account of another person.',
    fix: 'Compare client_id with the client id of your configuration before the exchange.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('client_id', '00000000-0000-4000-8000-000000000000')
      await expectRefused(context, browser, callback)
    },
  },
  {
    id: 'callback-client-id-similar',
    title: 'A callback whose client_id is only a part of the client id, or longer, is refused',
    rule: 'CL-10',
    why: 'A client that compares only a part of client_id accepts the callback of another client with a similar id.',
    fix: 'Compare the whole client_id with the client id of your configuration. Do not compare only the beginnings, and do not search for one text in the other text.',
    run: context => expectSimilarRefused(context, 'client_id', context.platform.clientId, similar),
  },
  ...(['client_id', 'subject'] as const).map(
    (name): CheckDefinition => ({
      id: `callback-${name.replace('_', '-')}-missing`,
      title: `A callback without ${name} is refused`,
      rule: 'callback-required-parameters',
      why: `${name} is required in every callback. The client cannot tell where a callback without it comes from. This check only warns, because a simple client that reads only code and state is still correct.`,
      fix: `Refuse a callback without ${name} before the exchange.`,
      async run(context) {
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.delete(name)
        await expectRefused(context, browser, callback)
        const empty = await beginLogin(context)
        empty.callback.searchParams.set(name, '')
        await expectRefused(context, empty.browser, empty.callback)
      },
    }),
  ),
  {
    id: 'callback-code-missing',
    title: 'After a callback without a code, the client makes no exchange',
    rule: 'callback-code',
    why: 'An exchange without a code always fails at the portal.',
    fix: 'Refuse a callback without a code.',
    async run(context) {
      for (const change of withoutCode) {
        const { browser, callback } = await beginLogin(context)
        change(callback.searchParams)
        const page = await expectRefused(context, browser, callback)
        expect(page.status !== 0 && page.status < 500, `The callback was answered with ${describePage(page)}.`, page)
      }
    },
  },
  {
    id: 'callback-subject-other',
    title: 'The client does not take the identity of the user from the subject of the callback',
    rule: 'CL-12',
    why: 'Anybody can change the address of a callback. Only the token proves who the user is.',
    fix: 'Never use the subject of the callback as the identity of the user.',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      const other = await context.otherPerson()
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('subject', other.id)
      await followCallback(context, browser, callback)
      if (!(await context.isSignedIn(browser, { person }))) return
      const page = await browser.visit(context.url(context.settings.page))
      // Opens the form, too, because a client may ask the API for the groups of the visitor there.
      if (context.settings.create) await browser.visit(context.url(context.settings.create))
      await context.platform.settle()
      expect(
        !page.body.includes(other.id) && !page.body.includes(other.email),
        'The page shows data of the user whose id the callback contained.',
        page,
      )
      const calls = context.arrived('api').filter(({ request }) => request.url.includes(other.id))
      expect(calls.length === 0, 'The client asked the API about the user whose id the callback contained.', ...calls)
    },
  },
  {
    id: 'callback-redirect-uri-other',
    title: 'The client never uses the redirect_uri of a callback',
    rule: 'CL-11',
    why: 'An attacker can choose the redirect_uri of a callback. The exchange must contain the redirect_uri with which the login began.',
    fix: 'Take the redirect URI only from the configuration.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('redirect_uri', evil)
      const page = await followCallback(context, browser, callback, ({ hostname }) => hostname === 'evil.example')
      expect(
        page.stoppedAt === undefined,
        `The client sent the browser to ${page.stoppedAt}, the redirect_uri of the callback.`,
        page,
      )
      expect(
        !page.links.some(({ url }) => url.startsWith(evil)),
        'The page links to the redirect_uri of the callback.',
        page,
      )
      for (const step of await context.codeExchanges())
        expect(
          !JSON.stringify(step.request.body).includes('evil.example'),
          'The exchange contained the redirect_uri of the callback.',
          step,
        )
      // A client may compare only the origin, or the beginning.
      for (const other of [`${context.platform.redirectUri}?x=1`, `${context.settings.client}/another-page`]) {
        const known = context.arrived('exchange').length
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.set('redirect_uri', other)
        await followCallback(context, browser, callback)
        for (const step of (await context.codeExchanges()).slice(known))
          expect(
            (step.request.body as Record<string, unknown> | null)?.redirect_uri === context.platform.redirectUri,
            `The callback had the redirect_uri ${other}, and the exchange has another redirect_uri than the start.`,
            step,
          )
      }
    },
  },
  {
    id: 'callback-iss-other',
    title: 'A callback from another issuer is refused',
    rule: 'CL-23',
    why: 'iss names the server that made the callback. The portal sends its own address as iss.',
    fix: 'If iss is present, compare it with the address of the portal before the exchange.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('iss', 'https://evil.example')
      await expectRefused(context, browser, callback)
      const empty = await beginLogin(context)
      empty.callback.searchParams.set('iss', '')
      await expectRefused(context, empty.browser, empty.callback)
    },
  },
  {
    id: 'callback-headers',
    title: 'No header of a callback changes the redirect_uri of the exchange',
    rule: 'CL-11',
    why: 'An attacker can choose the headers of a request. A client that builds its own address from these headers sends a redirect_uri that the attacker chose.',
    fix: 'Take the redirect URI of the exchange from the configuration, as at the start.',
    async run(context) {
      let exchanges = 0
      for (const [name, value] of [
        ['host', 'evil.example'],
        ['x-forwarded-host', 'evil.example'],
        ['x-forwarded-proto', 'gopher'],
        ['x-forwarded-port', '9999'],
        ['x-forwarded-prefix', '/evil'],
        ['forwarded', 'host=evil.example;proto=https'],
      ] as const) {
        const { browser, callback } = await beginLogin(context)
        const cookie = cookieHeader(context, browser, callback.href)
        await context.request(callback.href, {
          headers: { ...navigationHeaders, ...(cookie && { cookie }), [name]: value },
        })
        for (const step of (await context.codeExchanges()).slice(exchanges))
          expect(
            (step.request.body as Record<string, unknown> | null)?.redirect_uri === context.platform.redirectUri,
            `After a callback with the header "${name}: ${value}", the exchange has another redirect_uri.`,
            step,
          )
        exchanges = context.arrived('exchange').length
      }
      if (exchanges === 0) throw new Undecided('The client made no exchange for a callback with an additional header.')
    },
  },
  {
    id: 'callback-iss-similar',
    title: 'A callback whose iss only begins like the address of the portal is refused',
    rule: 'CL-23',
    why: 'An attacker can own a host whose name begins like the address of the portal.',
    fix: 'Compare the whole iss with the address of the portal, character by character. Do not compare beginnings.',
    run: context => expectSimilarRefused(context, 'iss', context.platform.portalUrl, similarIssuers),
  },
  {
    id: 'callback-unknown-parameter',
    title: 'A callback with an unknown parameter works',
    rule: 'unknown-parameters',
    why: 'A portal may add parameters in the future. A client that refuses them then signs nobody in.',
    fix: 'Read only the parameters that you know.',
    needs: ['page'],
    async run(context) {
      // A client may refuse a repeated parameter, also an unknown one (RFC 6749, 3.1).
      for (const added of ['session_state=something', 'scope=', 'hint[]=one']) {
        const { browser, callback } = await beginLogin(context)
        const page = await followCallback(context, browser, `${callback}&${added}`)
        await expectSignedIn(context, browser, `Nobody is signed in after a callback with ${added}.`, page)
      }
    },
  },
  {
    id: 'callback-error',
    title: 'After a callback with an error, the client makes no exchange and shows a page',
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
      expect(page.status !== 0 && page.status < 500, `The callback was answered with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'callback-error-and-code',
    title: 'A callback with an error and a code counts as an error',
    rule: 'CL-13',
    why: 'If the portal reports an error, the login has failed, and its code must not be used.',
    fix: 'Read the parameter error before code, and refuse the callback if it is present.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('error', 'server_error')
      await expectRefused(context, browser, callback)
    },
  },
  ...escaped.map(
    ([id, title, query]): CheckDefinition => ({
      id: `callback-escapes-${id}`,
      title: `The page escapes markup in ${title} of a callback`,
      rule: 'oauth-sanitize',
      why: 'Anybody can make a visitor open a callback address with markup.',
      fix: 'Escape every part of the query that a page shows, or show no part of it.',
      async run(context) {
        const { browser, start, callback } = await beginLogin(context)
        const page = await followCallback(
          context,
          browser,
          errorCallback(callback, { client_id: context.platform.clientId, ...query(start.state ?? '') }),
        )
        expect(!runsScript(page, 'conformance()'), 'The page contains the markup of the callback unescaped.', page)
      },
    }),
  ),
  {
    id: 'declined-escapes',
    title: 'The page at cancel_url escapes markup in every parameter',
    rule: 'oauth-sanitize',
    why: 'Anybody can make a visitor open the address of this page with markup.',
    fix: 'Escape every part of the query that a page shows, or show no part of it.',
    async run(context) {
      for (const withState of [true, false])
        for (const name of ['error_description', 'error', 'error_uri', 'state', 'subject', 'client_id', 'iss']) {
          const { browser, start } = await beginLogin(context)
          const cancelled = new URL(start.url.searchParams.get('cancel_url') ?? '', context.settings.client)
          if (cancelled.origin !== context.settings.client)
            throw new Undecided('cancel_url is not an address of the client.')
          cancelled.searchParams.set('error', 'access_denied')
          if (withState && start.state !== undefined) cancelled.searchParams.set('state', start.state)
          cancelled.searchParams.set(name, markup)
          const page = await followCallback(context, browser, cancelled)
          if (page.status === 404)
            throw new NotApplicable('there is no page at cancel_url, which another check reports')
          expect(!runsScript(page, 'conformance()'), `The page contains the markup of ${name} unescaped.`, page)
        }
    },
  },
  {
    id: 'callback-code-literal',
    title: 'The characters of a code add no fields to the exchange',
    rule: 'CL-15',
    why: 'If the client does not encode the code, an & in it begins another field of the form.',
    fix: 'Encode every value of the form, preferably with a library that builds forms.',
    async run(context) {
      // The second code is for clients that refuse a code with a space.
      for (const code of ['a&client_id=evil&redirect_uri=https://evil.example/&x=%26 +y', 'a&client_id=evil&x=%26+y']) {
        const known = context.arrived('exchange').length
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.set('code', code)
        await followCallback(context, browser, callback)
        for (const step of (await context.codeExchanges()).slice(known)) {
          const body = step.request.body as Record<string, unknown>
          expect(
            body?.code === code && body.client_id === context.platform.clientId,
            'The exchange contained fields or values that came from the code.',
            step,
          )
        }
      }
    },
  },
  ...oddCodes.map(
    ([id, what, code]): CheckDefinition => ({
      id: `callback-code-${id}`,
      title: `The client does not send the portal a code that contains ${what}`,
      rule: 'code-characters',
      why: 'No code of the portal contains such a character. Anybody can make a visitor open this address, and every unnecessary request uses a connection to the portal.',
      fix: 'Before the exchange, check that the code contains only printable ASCII characters. If it contains another character, answer with status 400.',
      async run(context) {
        const plain = await beginLogin(context)
        await followCallback(context, plain.browser, plain.callback)
        const known = (await context.codeExchanges()).length
        if (known === 0) throw new Undecided('The client made no exchange for a plain callback.')
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.set('code', code)
        await expectRefused(context, browser, callback, known)
      },
    }),
  ),
  {
    id: 'callback-escapes-success',
    title: 'After a successful callback, the page escapes markup in every parameter',
    rule: 'oauth-sanitize',
    why: 'Anybody can add parameters to a callback address. A script in a parameter then runs on the page after the login, with the session of the visitor.',
    fix: 'Escape every part of the query that a page shows, or show no part of it.',
    async run(context) {
      let hasExchanged = false
      for (const name of ['subject', 'redirect_uri', 'iss', 'scope', 'session_state', 'error_description']) {
        const known = context.arrived('exchange').length
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.set(name, markup)
        const page = await followCallback(context, browser, callback)
        hasExchanged ||= (await context.codeExchanges()).length > known
        expect(!runsScript(page, 'conformance()'), `The page contains the markup of ${name} unescaped.`, page)
      }
      if (!hasExchanged) throw new Undecided('The client made no exchange for a callback with one more parameter.')
    },
  },
  {
    id: 'callback-code-long',
    title: 'The client does not send a code of 8 KB to the portal',
    rule: 'code-length',
    // This rule is only advice: RFC 6749, 4.1.2 says "The client should avoid making assumptions about code value
    // sizes", so a client that sends a code of any length is correct, too.
    why: 'Anybody can call the callback with a long code, and so make the client send large requests to the portal.',
    fix: 'Refuse a code of more than about 2,000 characters.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('code', 'a'.repeat(8000))
      const page = await expectRefused(context, browser, callback)
      expect(page.status !== 0 && page.status < 500, `The callback was answered with ${describePage(page)}.`, page)
    },
  },
  ...garbage.map(
    ([id, title, query]): CheckDefinition => ({
      id: `callback-${id}`,
      title: `The client answers a callback ${title} with a page that refuses it`,
      rule: id === 'nothing' ? 'CL-04' : 'oauth-sanitize',
      why: 'Anybody can send such a callback. An exception that the client does not catch can end the client for all visitors.',
      fix: 'Check the query before you use it, and answer with status 400.',
      async run(context) {
        const { browser, start, callback } = await beginLogin(context)
        const cookie = cookieHeader(context, browser, callback.href)
        const state = `state=${encodeURIComponent(start.state ?? '')}`
        const ofALogin = /\bstate=/.test(query) ? query.replace(/\bstate=[^&]*/, state) : `${query || '?'}&${state}`
        for (const name of ['code', 'state']) callback.searchParams.delete(name)
        // Sends the callback once without a login, and once with the cookies of a begun login, because then the client
        // reads more of the query.
        for (const [sent, headers, isOfALogin] of [
          [query, navigationHeaders, false],
          [`${ofALogin}&${callback.searchParams}`, { ...navigationHeaders, ...(cookie && { cookie }) }, true],
        ] as const) {
          const exchange = await context.request(context.platform.redirectUri + sent, { headers })
          const status = statusOf(exchange)
          expect(status > 0, 'There was no answer.', exchange)
          // If the client sent the code to the portal, the portal has refused it.
          const isUpstream = isOfALogin && [502, 503, 504].includes(status)
          expect(status < 500 || isUpstream, `The callback was answered with status ${status}.`, exchange)
          expect(
            setCookiesOf(exchange)
              .map(readSetCookie)
              .every(({ isDeletion, value }) => isDeletion || !/^(undefined|null|NaN)$/.test(value)),
            'The client set a cookie to undefined, null or NaN.',
            exchange,
          )
        }
      },
    }),
  ),
]

/**
 * Sends one callback for each change of the parameter. Fails if the client exchanges the code of a changed
 * callback. Does not apply if the client accepts any value.
 */
async function expectSimilarRefused(
  context: CheckContext,
  name: string,
  right: string,
  changes: typeof similar,
): Promise<void> {
  const unrelated = await beginLogin(context)
  unrelated.callback.searchParams.set(name, 'https://evil.example')
  await followCallback(context, unrelated.browser, unrelated.callback)
  if ((await context.codeExchanges()).length > 0)
    throw new NotApplicable(`the client accepts every ${name}, which another check reports`)
  for (const [change, make] of changes) {
    const { browser, callback } = await beginLogin(context)
    callback.searchParams.set(name, make(right))
    const page = await followCallback(context, browser, callback)
    const exchanges = await context.codeExchanges()
    expect(
      exchanges.length === 0,
      `The client exchanged the code of a callback whose ${name} is the right value ${change}.`,
      page,
      ...exchanges,
    )
  }
  // A client that refuses every callback proves nothing.
  const { browser, callback } = await beginLogin(context)
  await followCallback(context, browser, callback)
  if ((await context.codeExchanges()).length === 0)
    throw new Undecided('The client made no exchange for a plain callback.')
}
