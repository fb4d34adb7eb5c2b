// Tests callbacks with unusual parameters: repeated or missing parameters, parameters of another client or user,
// errors, and garbage.
import type { Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectSignedIn, fail, setCookiesOf, statusOf } from '../../findings.ts'
import type { RuleId } from '../../rules/rules.ts'
import { isAtOrigin } from '../../steps/addresses.ts'
import {
  beginLogin,
  cookieHeader,
  errorCallback,
  expectNoNewLogin,
  expectRefused,
  followCallback,
  navigationHeaders,
  requireExchange,
} from '../../steps/callback.ts'
import { requireCancelUrl } from '../../steps/declined-login.ts'
import { otherSchemeOf, similarHosts } from '../../steps/hosts.ts'
import { runsScript } from '../../steps/page-content.ts'
import { readSetCookie } from '../../steps/set-cookies.ts'
import { fieldsOf } from '../../tokens.ts'

const evil = 'https://evil.example/'
/**
 * Markup that no template contains. It also works inside a comment, a script, a title or a text field, because it first
 * closes each of these elements.
 */
const markup = '"\'--></script></title></textarea><img src=x onerror=conformance()>'

const repeated: [name: string, rule: RuleId][] = [
  ['code', 'CL-09'],
  ['client_id', 'parameter-pollution'],
  ['subject', 'parameter-pollution'],
  ['redirect_uri', 'parameter-pollution'],
  ['iss', 'parameter-pollution'],
]

/**
 * Changes after which a callback has no usable code: the parameter `code` is missing, is empty, or has the name
 * `code[]`, which some frameworks read as a list.
 */
const withoutCode: ((query: URLSearchParams) => void)[] = [
  query => query.delete('code'),
  query => query.set('code', ''),
  query => {
    const code = query.get('code') ?? ''
    query.delete('code')
    query.append('code[]', code)
  },
]

/** Wrong values that a client accepts if it compares only a part of the value. */
const similar: [change: string, make: (right: string) => string][] = [
  ['shortened to eight characters', right => right.slice(0, 8)],
  ['without its last character', right => right.slice(0, -1)],
  ['without its first character', right => right.slice(1)],
  ['with another character after it', right => `${right}0`],
  ['with a space after it', right => `${right} `],
  ['with a line break after it', right => `${right}\n`],
  ['in upper case', right => right.toUpperCase()],
]

const similarIssuers: [change: string, make: (right: string) => string][] = [
  ['with another host name after it', right => `${right}.evil.example`],
  ['as the user name of another host', right => `${right}@evil.example`],
  ['with a path after it', right => `${right}/evil`],
  ['with a line break after it', right => `${right}\n`],
  ['without its last character', right => right.slice(0, -1)],
  ['with another port', right => right.replace(/:\d+$|$/, ':1')],
  ['with another scheme', right => right.replace(/^http(s?)/, (_, s) => (s ? 'http' : 'https'))],
]

/** Callbacks that no portal sends. The client must answer each of these callbacks with a page, and keep running. */
const garbage: [id: string, title: string, path: string][] = [
  ['nothing', 'without a query', ''],
  ['bad-escapes', 'with broken percent-encoding', '?code=%E0%A4%A&state=%'],
  ['no-utf8', 'with bytes that are not UTF-8', '?code=%ff%fe&state=%c3%28'],
  ['null-byte', 'with a null byte', '?code=a%00b&state=c%00d'],
  ['prototype', 'with names of JavaScript properties', '?__proto__[a]=1&constructor[prototype][a]=1&code=a&state=b'],
  ['nested', 'with nested names', '?code[a][b]=c&state[a]=b'],
  ['many', 'with a thousand parameters', `?${Array.from({ length: 1000 }, (_, at) => `p${at}=1`).join('&')}`],
  ['long', 'with a query of 12 KB', `?code=${'a'.repeat(12_000)}&state=b`],
]

/** Codes with characters that no valid code contains (RFC 6749, appendix A.11). */
const oddCodes: [id: string, what: string, code: string][] = [
  ['newline', 'a line break', 'a\r\nb'],
  ['control', 'a null byte', 'a\0b'],
  ['not-ascii', 'a letter outside ASCII', 'aäb'],
]

/** Values that often make a function throw an error when it compares, parses or stores strings. */
const oddValues = ['', 'x', 'ä€\u{1f600}', 'http://[', 'a\0b', 'a\r\nb', '%', '{}', '-1', 'a'.repeat(3000)]

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

const described = (headers: Record<string, string>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')

export const callbackParameters: CheckDefinition[] = [
  ...repeated.map(
    ([name, rule]): CheckDefinition => ({
      id: `callback-${name.replace('_', '-')}-twice`,
      title: `The client refuses a callback that has the parameter ${name} twice`,
      rule,
      why: 'If a parameter is repeated, one program may check the first value while another program uses the last value.',
      fix: 'Refuse a callback with a repeated parameter, before you send a request to the portal.',
      async run(context) {
        // Some clients compare the values, and accept a parameter that is repeated with the same value. Other clients
        // ignore empty values, or use the last value.
        for (const make of [
          (value: string) => [value, 'another-value'],
          (value: string) => [value, value],
          (value: string) => [value, ''],
          (value: string) => ['another-value', value],
          (value: string) => ['', value],
        ]) {
          const { browser, callback } = await beginLogin(context)
          const value = callback.searchParams.get(name)
          if (value === null) throw new NotApplicable(`the portal sends no ${name}`)
          callback.searchParams.delete(name)
          for (const one of make(value)) callback.searchParams.append(name, one)
          await expectRefused(context, browser, callback)
        }
        await requireExchange(context)
      },
    }),
  ),
  {
    id: 'callback-client-id-other',
    title: 'The client refuses a callback with the client_id of another client',
    rule: 'CL-10',
    why: "The portal issued the code of this callback to another client. If your client accepts the callback, it can sign the visitor in to another person's account.",
    fix: 'Compare client_id with the client id of your configuration before the exchange.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('client_id', '00000000-0000-4000-8000-000000000000')
      await expectRefused(context, browser, callback)
      await requireExchange(context)
    },
  },
  {
    id: 'callback-client-id-similar',
    title: 'The client refuses a callback whose client_id is shortened, has additional characters, or is in upper case',
    rule: 'CL-10',
    why: 'A client that compares only a part of client_id accepts a callback for another client with a similar id.',
    fix: 'Compare the whole client_id with the client id of your configuration. It is not enough to compare the beginnings, or to search for one string in the other.',
    run: context => expectSimilarRefused(context, 'client_id', context.platform.clientId, similar),
  },
  ...(['client_id', 'subject'] as const).map(
    (name): CheckDefinition => ({
      id: `callback-${name.replace('_', '-')}-missing`,
      title: `The client refuses a callback without ${name}`,
      rule: 'callback-required-parameters',
      why: `Every callback must contain ${name}. Without this parameter, the client cannot tell where the callback comes from. This check only warns, because a simple client that reads only code and state is still correct.`,
      fix: `Refuse a callback without ${name} before the exchange.`,
      async run(context) {
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.delete(name)
        await expectRefused(context, browser, callback)
        const empty = await beginLogin(context)
        empty.callback.searchParams.set(name, '')
        await expectRefused(context, empty.browser, empty.callback)
        await requireExchange(context)
      },
    }),
  ),
  {
    id: 'callback-code-missing',
    title: 'When a callback has no code, the client makes no exchange, and does not begin a new login by itself',
    rule: 'callback-code',
    why: 'An exchange without a code always fails at the portal. If the client begins a new login instead, and the portal again sends no code, the redirects never end.',
    fix: 'If a callback has no code, refuse the callback, and answer with a page that offers to sign in again.',
    async run(context) {
      for (const change of withoutCode) {
        const { browser, callback } = await beginLogin(context)
        change(callback.searchParams)
        const page = await expectRefused(context, browser, callback)
        expect(page.status !== 0 && page.status < 500, `The callback was answered with ${describePage(page)}.`, page)
        expect(
          !isAtOrigin(page.url, context.platform.portalUrl),
          'The client sent the browser to the portal again.',
          page,
        )
        await expectNoNewLogin(context, browser, page, 'The client sent the browser to the portal again.')
      }
      await requireExchange(context)
    },
  },
  {
    id: 'callback-subject-other',
    title: 'The client does not use the subject parameter of the callback as the identity of the user',
    rule: 'CL-12',
    why: 'Anybody can change the address of a callback. Only the token proves who the user is.',
    fix: "Take the identity of the user only from the token or from the portal's answer about the user.",
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      const other = await context.otherPerson()
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('subject', other.id)
      await followCallback(context, browser, callback)
      // A client may refuse a callback whose subject is not the user of the token.
      if (!(await context.isSignedIn(browser, { person }))) {
        await requireExchange(context)
        return
      }
      const page = await browser.visit(context.url(context.settings.page))
      // Also opens the form, because a client may ask the API for the visitor's groups when it shows the form.
      if (context.settings.create) await browser.visit(context.url(context.settings.create))
      await context.platform.settle()
      expect(
        !page.body.includes(other.id) && !page.body.includes(other.email),
        'The page shows data of the user whose id the callback contained.',
        page,
      )
      const calls = context.arrived('api').filter(({ request }) => request.url.includes(other.id))
      expect(calls.length === 0, 'The client asked the API about the user whose id the callback contained.', ...calls)
      // A client may use the subject of the callback as the id of the session. A login with the subject of another user
      // then replaces or uses the session of that user.
      const theirs = await context.signedIn({ person: other })
      const late = await beginLogin(context)
      late.callback.searchParams.set('subject', other.id)
      await followCallback(context, late.browser, late.callback)
      expect(
        !(await context.isSignedIn(late.browser, { person: other })),
        'After a callback with the subject of another user, the visitor is signed in as that user.',
      )
      expect(
        await context.isSignedIn(theirs.browser, { person: other }),
        'A callback with the subject of another user ended the session of that user.',
      )
    },
  },
  {
    id: 'callback-subject-name-fails',
    title:
      'If the request for the name of the user fails, the client does not use the subject parameter of the callback',
    rule: 'CL-12',
    why: 'Anybody can change the address of a callback. Even if the portal cannot say who the user is, the subject in this address proves nothing.',
    fix: 'Take the identity of the user only from the token or from the portal. If neither provides the identity, show the pages without it.',
    needs: ['page'],
    async run(context) {
      const other = await context.otherPerson()
      const browser = context.browser()
      const person = await context.otherPerson()
      const callback = await context.authorize(await context.startLogin(browser), person)
      callback.searchParams.set('subject', other.id)
      await context.order('me-500', { times: 'always' })
      await followCallback(context, browser, callback)
      const { page: path, create } = context.settings
      const pages: Page[] = []
      for (const one of create ? [path, create] : [path]) pages.push(await browser.visit(context.url(one)))
      await context.platform.settle()
      if (!context.arrived('me').some(({ fault }) => fault?.name === 'me-500'))
        throw new NotApplicable('the client does not ask for the name')
      const calls = context.arrived('api').filter(({ request }) => request.url.includes(other.id))
      expect(calls.length === 0, 'The client asked the API about the user whose id the callback contained.', ...calls)
      for (const page of pages)
        expect(!page.body.includes(other.id), 'The page contains the user id from the address of the callback.', page)
    },
  },
  {
    id: 'callback-redirect-uri-other',
    title: 'The client never uses the redirect_uri parameter of a callback',
    rule: 'CL-11',
    why: 'An attacker can add the parameter redirect_uri to a callback. The exchange must contain the redirect_uri with which the login began.',
    fix: 'Take the redirect URI only from the configuration.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('redirect_uri', evil)
      const page = await followCallback(context, browser, callback, {
        stopAt: ({ hostname }) => hostname === 'evil.example',
      })
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
      // A client may compare only the origin or the beginning of the redirect_uri.
      for (const other of [`${context.platform.redirectUri}?x=1`, `${context.settings.client}/another-page`]) {
        const known = context.arrived('exchange').length
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.set('redirect_uri', other)
        await followCallback(context, browser, callback)
        for (const step of (await context.codeExchanges()).slice(known))
          expect(
            fieldsOf(step).redirect_uri === context.platform.redirectUri,
            `After a callback with the redirect_uri ${other}, the redirect_uri of the exchange differs from the redirect_uri of the login.`,
            step,
          )
      }
      await requireExchange(context)
    },
  },
  {
    id: 'callback-iss-other',
    title: 'The client refuses a callback whose iss names another issuer or is empty',
    rule: 'CL-23',
    why: 'The parameter iss names the server that made the callback. If iss is not the address of the portal, another server made the callback.',
    fix: 'If iss is present, compare it with the address of the portal before the exchange. An empty iss is also a wrong iss.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('iss', 'https://evil.example')
      await expectRefused(context, browser, callback)
      const empty = await beginLogin(context)
      empty.callback.searchParams.set('iss', '')
      await expectRefused(context, empty.browser, empty.callback)
      await requireExchange(context)
    },
  },
  {
    id: 'callback-headers',
    title: 'No request header of a callback changes the redirect_uri of the exchange',
    rule: 'CL-11',
    why: 'An attacker can choose request headers such as Host. A client that builds its own address from these headers sends the portal a redirect_uri that the attacker chose.',
    fix: 'Take the redirect URI of the exchange from the configuration, as you do when a login begins.',
    async run(context) {
      let exchanges = 0
      const otherScheme = otherSchemeOf(context.settings.client)
      const hosts = similarHosts(context.settings.client)
      const all: Record<string, string>[] = [
        { host: 'evil.example' },
        { 'x-forwarded-host': 'evil.example' },
        ...hosts.map(host => ({ host })),
        ...hosts.map(host => ({ 'x-forwarded-host': host })),
        { 'x-forwarded-proto': 'gopher' },
        { 'x-forwarded-proto': otherScheme },
        { 'x-forwarded-port': '9999' },
        { 'x-forwarded-prefix': '/evil' },
        { 'x-forwarded-ssl': 'on' },
        { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': otherScheme, 'x-forwarded-host': 'evil.example' },
        { forwarded: 'host=evil.example;proto=https' },
      ]
      for (const added of all) {
        const { browser, callback } = await beginLogin(context)
        const cookie = cookieHeader(context, browser, callback.href)
        await context.request(callback.href, { headers: { ...navigationHeaders, ...(cookie && { cookie }), ...added } })
        for (const step of (await context.codeExchanges()).slice(exchanges))
          expect(
            fieldsOf(step).redirect_uri === context.platform.redirectUri,
            `After a callback with the header "${described(added)}", the exchange has a wrong redirect_uri.`,
            step,
          )
        exchanges = context.arrived('exchange').length
      }
      if (exchanges === 0) throw new Undecided('The client made no exchange for a callback with an additional header.')
    },
  },
  {
    id: 'callback-iss-similar',
    title: 'The client refuses a callback whose iss only resembles the address of the portal',
    rule: 'CL-23',
    why: 'An attacker can own a host whose name begins with the host name of the portal.',
    fix: 'Compare the whole iss with the address of the portal, character by character. It is not enough to compare the beginnings.',
    run: context => expectSimilarRefused(context, 'iss', context.platform.portalUrl, similarIssuers),
  },
  {
    id: 'callback-unknown-parameter',
    title: 'A login works even if its callback has an unknown parameter',
    rule: 'unknown-parameters',
    why: 'The portal may add parameters in the future. If the client refuses unknown parameters, nobody can sign in from then on.',
    fix: 'Read only the parameters that you know.',
    needs: ['page'],
    async run(context) {
      // Each parameter is sent only once, because a client may refuse any repeated parameter, even an unknown one (RFC
      // 6749, 3.1).
      for (const added of ['session_state=something', 'scope=', 'hint[]=one']) {
        const { browser, callback } = await beginLogin(context)
        const page = await followCallback(context, browser, `${callback}&${added}`)
        await expectSignedIn(context, browser, `Nobody is signed in after a callback with ${added}.`, page)
      }
    },
  },
  {
    id: 'callback-error',
    title: 'When a callback contains an error, the client makes no exchange and shows a page',
    rule: 'CL-13',
    why: 'The parameter error means that the login has failed and that the portal issued no code.',
    fix: 'Read the parameter "error" before the parameter "code". If "error" is present, show a page that offers to sign in again.',
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
    title: 'When a callback contains both an error and a code, the client does not use the code',
    rule: 'CL-13',
    why: 'If the portal reports an error, the login has failed. The client must not use a code of a failed login.',
    fix: 'Read the parameter "error" before the parameter "code". If "error" is present, refuse the callback.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('error', 'server_error')
      await expectRefused(context, browser, callback)
      // Some frameworks read a repeated parameter as a list, or use only its first or last value.
      for (const errors of [
        ['server_error', 'access_denied'],
        ['', 'server_error'],
        ['server_error', ''],
        ['of_no_standard'],
        ['server_error\n'],
      ]) {
        const { browser, callback } = await beginLogin(context)
        for (const error of errors) callback.searchParams.append('error', error)
        await expectRefused(context, browser, callback)
      }
      await requireExchange(context)
    },
  },
  ...escaped.map(
    ([id, title, query]): CheckDefinition => ({
      id: `callback-escapes-${id}`,
      title: `The page for a callback escapes markup in ${title}`,
      rule: 'oauth-sanitize',
      why: 'Anybody can make a visitor open a callback address that contains markup.',
      fix: 'Escape every part of the query that a page shows, or show no part of it.',
      async run(context) {
        const { browser, start, callback } = await beginLogin(context)
        const page = await followCallback(
          context,
          browser,
          errorCallback(callback, { client_id: context.platform.clientId, ...query(start.state ?? '') }),
        )
        expect(
          !runsScript(page, 'conformance()'),
          'The page does not escape the markup from the callback address.',
          page,
        )
      },
    }),
  ),
  {
    id: 'declined-escapes',
    title: 'The page at cancel_url escapes markup in every parameter',
    rule: 'oauth-sanitize',
    why: 'Anybody can make a visitor open the address of this page with markup in its query.',
    fix: 'Escape every part of the query that a page shows, or show no part of it.',
    async run(context) {
      for (const withState of [true, false])
        for (const name of ['error_description', 'error', 'error_uri', 'state', 'subject', 'client_id', 'iss']) {
          const { browser, start } = await beginLogin(context)
          const cancelled = requireCancelUrl(context, start)
          cancelled.searchParams.set('error', 'access_denied')
          if (withState && start.state !== undefined) cancelled.searchParams.set('state', start.state)
          cancelled.searchParams.set(name, markup)
          const page = await followCallback(context, browser, cancelled)
          if (page.status === 404) throw new ReportedElsewhere('there is no page at cancel_url')
          expect(
            !runsScript(page, 'conformance()'),
            `The page does not escape the markup in the parameter ${name}.`,
            page,
          )
        }
    },
  },
  {
    id: 'callback-code-literal',
    title: 'A code that contains & or = does not add a field to the exchange',
    rule: 'CL-15',
    why: 'If the client does not encode the code, an & in the code begins another field of the form.',
    fix: 'Encode every value of the form, for example with a library that builds forms.',
    async run(context) {
      // The second code has no space, because some clients refuse a code with a space.
      for (const code of ['a&client_id=evil&redirect_uri=https://evil.example/&x=%26 +y', 'a&client_id=evil&x=%26+y']) {
        const known = context.arrived('exchange').length
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.set('code', code)
        await followCallback(context, browser, callback)
        for (const step of (await context.codeExchanges()).slice(known)) {
          const { code: sent, client_id } = fieldsOf(step)
          expect(
            sent === code && client_id === context.platform.clientId,
            'The code in the callback changed or added a field of the exchange.',
            step,
          )
        }
      }
      await requireExchange(context)
    },
  },
  ...oddCodes.map(
    ([id, what, code]): CheckDefinition => ({
      id: `callback-code-${id}`,
      title: `When the code in a callback contains ${what}, the client does not send this code to the portal`,
      rule: 'CL-16',
      why: 'The portal never issues a code with such a character. Anybody can make visitors open a callback with a useless code, and every useless exchange costs a connection to the portal.',
      fix: 'Before the exchange, check that the code contains only printable ASCII characters. If the code contains any other character, answer with status 400.',
      async run(context) {
        const known = await requireExchange(context)
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.set('code', code)
        await expectRefused(context, browser, callback, known)
      },
    }),
  ),
  {
    id: 'callback-code-final-newline',
    title: 'When the code in a callback ends in a line break, the client does not send this code to the portal',
    rule: 'CL-16',
    why: 'The portal never issues such a code. In many languages, $ in a pattern also matches before a line break at the end of the string, so the client accepts the code although the pattern contains no line break.',
    fix: 'Compare the whole code with the pattern, for example with a function for full matches. If the code does not match, answer with status 400.',
    async run(context) {
      let known = await requireExchange(context)
      for (const lineBreak of ['\n', '\r\n']) {
        const { browser, callback } = await beginLogin(context)
        const code = callback.searchParams.get('code')!
        callback.searchParams.set('code', code + lineBreak)
        const page = await followCallback(context, browser, callback)
        const exchanges = (await context.codeExchanges()).slice(known)
        known += exchanges.length
        for (const step of exchanges) {
          // Some frameworks remove white space from every parameter before the code of the client reads it.
          if (fieldsOf(step).code === code)
            throw new NotApplicable('the client removes the line break, and uses only the correct code')
          fail(`The client sent a code that ends in ${JSON.stringify(lineBreak)} to the portal.`, page, step)
        }
      }
    },
  },
  {
    id: 'callback-odd-values',
    title:
      'In a browser that has begun a login, the client answers the callback with a page, whatever value a parameter has',
    rule: 'oauth-sanitize',
    why: 'Anybody can make visitors open a callback with any parameters. Functions that compare or parse strings throw errors for some values, for example for a letter outside ASCII, a string of unexpected length or a broken address.',
    fix: 'Check the type, the length and the characters of each parameter before you use it. Answer a wrong value with status 400.',
    async run(context) {
      for (const name of ['state', 'client_id', 'iss', 'subject', 'redirect_uri', 'error', 'error_description'])
        for (const value of oddValues) {
          const { browser, callback } = await beginLogin(context)
          if (name.startsWith('error')) {
            callback.searchParams.delete('code')
            callback.searchParams.set('error', 'server_error')
          }
          callback.searchParams.set(name, value)
          const page = await followCallback(context, browser, callback, context.beforePortal)
          // If the client accepted the callback, its exchange can fail. The client may report this with status 502, 503
          // or 504.
          const isRight = page.status > 0 && (page.status < 500 || [502, 503, 504].includes(page.status))
          const shown = JSON.stringify(value.slice(0, 20))
          expect(isRight, `A callback whose ${name} is ${shown} was answered with ${describePage(page)}.`, page)
        }
    },
  },
  {
    id: 'callback-escapes-success',
    title: 'The page after a successful callback escapes markup in every parameter',
    rule: 'oauth-sanitize',
    why: 'Anybody can add parameters to a callback address. If the page does not escape them, a script in a parameter runs with the session of the visitor.',
    fix: 'Escape every part of the query that a page shows, or show no part of it.',
    async run(context) {
      let hasExchanged = false
      for (const name of ['subject', 'redirect_uri', 'iss', 'scope', 'session_state', 'error_description']) {
        const known = context.arrived('exchange').length
        const { browser, callback } = await beginLogin(context)
        callback.searchParams.set(name, markup)
        const page = await followCallback(context, browser, callback)
        hasExchanged ||= (await context.codeExchanges()).length > known
        expect(
          !runsScript(page, 'conformance()'),
          `The page does not escape the markup in the parameter ${name}.`,
          page,
        )
      }
      if (!hasExchanged)
        throw new Undecided('The client made no exchange for a callback with a changed or additional parameter.')
    },
  },
  {
    id: 'callback-code-long',
    title: 'When the code in a callback is 8 KB long, the client does not send this code to the portal',
    rule: 'CL-16',
    why: 'Anybody can send a callback with a long code. The client would then send large requests to the portal.',
    fix: 'Refuse a code of more than about 2,000 characters.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('code', 'a'.repeat(8000))
      const page = await expectRefused(context, browser, callback)
      expect(page.status !== 0 && page.status < 500, `The callback was answered with ${describePage(page)}.`, page)
      await requireExchange(context)
    },
  },
  {
    id: 'callback-subject-long',
    title: 'The client refuses a callback with a subject of 8 KB',
    rule: 'subject-length',
    why: 'The subject is the id of a user, and no such id is long. A client that keeps or logs the subject without a limit lets anybody fill its cookies or its log.',
    fix: 'Refuse a subject of more than about 2,000 characters with status 400, before the exchange.',
    async run(context) {
      const known = await requireExchange(context)
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.set('subject', 'a'.repeat(8000))
      await expectRefused(context, browser, callback, known)
    },
  },
  ...garbage.map(
    ([id, title, query]): CheckDefinition => ({
      id: `callback-${id}`,
      title: `The client refuses a callback ${title}, and answers with a page`,
      rule: id === 'nothing' ? 'CL-04' : 'oauth-sanitize',
      why: 'Anybody can send a callback with any query. An uncaught exception can crash the client for all visitors.',
      fix: 'Check the query before you use it, and answer with status 400.',
      async run(context) {
        const { browser, start, callback } = await beginLogin(context)
        const cookie = cookieHeader(context, browser, callback.href)
        const state = `state=${encodeURIComponent(start.state ?? '')}`
        const ofALogin = /\bstate=/.test(query) ? query.replace(/\bstate=[^&]*/, state) : `${query || '?'}&${state}`
        for (const name of ['code', 'state']) callback.searchParams.delete(name)
        // Sends the callback without a login, and then with the cookies of a login that has begun. With these cookies,
        // the client reads more of the query.
        for (const [sent, headers, isOfALogin] of [
          [query, navigationHeaders, false],
          [`${ofALogin}&${callback.searchParams}`, { ...navigationHeaders, ...(cookie && { cookie }) }, true],
        ] as const) {
          const exchange = await context.request(context.platform.redirectUri + sent, { headers })
          const status = statusOf(exchange)
          expect(status > 0, 'There was no answer.', exchange)
          // If the client sent the code to the portal, the portal refused the exchange. The client may report this with
          // status 502, 503 or 504.
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
 * Sends one callback for each change of the parameter, and fails if the client exchanges the code of a changed
 * callback. If the client accepts every value of the parameter, the check does not apply.
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
  if ((await context.codeExchanges()).length > 0) throw new ReportedElsewhere(`the client accepts every ${name}`)
  for (const [change, make] of changes) {
    const { browser, callback } = await beginLogin(context)
    if (make(right) === right) continue
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
  // If the client refuses even a correct callback, the refusals above prove nothing.
  await requireExchange(context)
}
