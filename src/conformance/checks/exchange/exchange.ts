// Tests the exchange of the code: the client's request to the portal, and where the client sends its secret and the
// tokens.
import { createHash } from 'node:crypto'
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser, HttpExchange } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import { type CheckContext, readStart } from '../../context.ts'
import { describePage, expect, expectWithFix } from '../../findings.ts'
import { isCallWithToken } from '../../platform-calls.ts'
import type { RuleId } from '../../rules/rules.ts'
import { withQuery } from '../../steps/addresses.ts'
import { beginLogin, followCallback, typedAddress } from '../../steps/callback.ts'
import { cookiesOf, readableTextsIn, readSetCookie } from '../../steps/set-cookies.ts'
import { fieldsOf, tokensOf, tokensSentIn } from '../../tokens.ts'
import { shortLives } from './short-lives.ts'
import { tokenAnswers } from './token-answers.ts'

/** The form fields of the exchange (rule CL-14), and the value that each field must have. */
const fields: [name: string, title: string, expected: (callback: URLSearchParams, context: CheckContext) => string][] =
  [
    ['grant_type', 'The exchange contains grant_type=authorization_code', () => 'authorization_code'],
    ['code', 'The exchange contains the code unchanged', callback => callback.get('code') ?? ''],
    ['client_id', 'The exchange contains the client id', (_, { platform }) => platform.clientId],
    [
      'client_secret',
      'The exchange contains the client secret in its body',
      (_, { platform }) => platform.clientSecret.reveal(),
    ],
    [
      'redirect_uri',
      'The exchange contains the redirect URI with which the login began',
      (_, { platform }) => platform.redirectUri,
    ],
    ['state', 'The exchange contains the state', callback => callback.get('state') ?? ''],
  ]

/** Headers from the visitor's browser that the client must not send to the platform. */
const browserHeaders: [name: string, rule: RuleId, value: string][] = [
  ['cookie', 'UP-12', 'conformance-canary=1'],
  ['authorization', 'UP-12', 'Bearer conformance-canary'],
  ['referer', 'own-request-headers', 'https://conformance-canary.example/'],
  ['x-forwarded-for', 'own-request-headers', '203.0.113.77'],
  ['user-agent', 'own-request-headers', 'conformance-canary/1.0'],
]

/** Runs a login, and returns the exchange that the client made. */
async function exchangeOf(context: CheckContext): Promise<{ step: LabStep; callback: URL; trail: HttpExchange[] }> {
  const { browser, callback } = await beginLogin(context)
  const page = await followCallback(context, browser, callback)
  const [step] = await context.codeExchanges()
  if (!step)
    throw new Undecided(`The client made no exchange. The client answered the callback with ${describePage(page)}.`)
  return { step, callback, trail: page.trail }
}

/** Returns a check that judges the exchange of a plain login. */
function onCodeExchange(
  definition: Omit<CheckDefinition, 'run'>,
  judge: (step: LabStep, context: CheckContext, callback: URL) => void | Promise<void>,
): CheckDefinition {
  return {
    ...definition,
    async run(context) {
      const { step, callback } = await exchangeOf(context)
      await judge(step, context, callback)
    },
  }
}

/** Fails if the exchange contains the client secret in a header, or uses a second authentication method. */
function expectOneAuthentication(step: LabStep, { platform }: CheckContext): void {
  expect(
    step.request.headers.authorization === undefined,
    'The exchange has an Authorization header in addition to client_secret.',
    step,
  )
  const secret = platform.clientSecret.reveal()
  const [header] = Object.entries(step.request.headers).find(([, value]) => value.includes(secret)) ?? []
  expect(header === undefined, `The header ${header} of the exchange contains the secret.`, step)
  expect(
    !('client_assertion' in fieldsOf(step)),
    'The exchange has a client_assertion in addition to client_secret.',
    step,
  )
}

export const exchange: CheckDefinition[] = [
  {
    id: 'exchange-post',
    title: 'The client exchanges the code with POST at {login_url}/api/exchangeToken',
    rule: 'CL-14',
    why: 'The portal exchanges codes only at this address. Without an exchange, nobody can sign in.',
    fix: 'POST the form to LOGIN_URL + "/api/exchangeToken".',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const page = await followCallback(context, browser, callback)
      const [step] = await context.codeExchanges()
      const path = step?.request.url.split('?')[0]
      expectWithFix(
        page.status >= 400
          ? 'The client refuses the callback. Look at the callback address and the cookies in the evidence, and compare them with the conditions that the client checks.'
          : 'POST the form to LOGIN_URL + "/api/exchangeToken".',
        step,
        `The client made no exchange. The client answered the callback with ${describePage(page)}.`,
        page,
      )
      expect(
        step.request.method === 'POST' && path === '/api/exchangeToken',
        `The client sent the exchange as ${step.request.method} ${path}.`,
        step,
      )
    },
  },
  onCodeExchange(
    {
      id: 'exchange-form',
      title: 'The exchange is form-encoded',
      rule: 'CL-14',
      why: 'A portal may refuse any other content type. Then nobody can sign in.',
      fix: 'Send the fields form-encoded (application/x-www-form-urlencoded), not as JSON.',
    },
    step =>
      expect(
        /^application\/x-www-form-urlencoded\b/i.test(step.request.headers['content-type'] ?? ''),
        `The content type of the exchange is ${step.request.headers['content-type']}.`,
        step,
      ),
  ),
  ...fields.map(([name, title, expected]) =>
    onCodeExchange(
      {
        id: `exchange-${name.replaceAll('_', '-')}`,
        title,
        rule: 'CL-14',
        why: `Without the right ${name}, the portal refuses the exchange, and nobody can sign in.`,
        fix: `Send the right ${name} as a form field of the exchange. Send code, state and redirect_uri exactly as they were in the login.`,
      },
      (step, context, callback) => {
        const value = fieldsOf(step)[name]
        const right = expected(callback.searchParams, context)
        if (name === 'state' && right === '') throw new NotApplicable('the login began without a state')
        expect(value !== undefined, `The exchange has no field ${name}.`, step)
        expect(value === right, `The field ${name} of the exchange has the wrong value.`, step)
      },
    ),
  ),
  onCodeExchange(
    {
      id: 'exchange-fields-once',
      title: 'No field of the exchange is repeated',
      rule: 'token-parameters-once',
      why: 'A portal may refuse a repeated field, or use the wrong one of its values. Then nobody can sign in.',
      fix: 'Send each field only once.',
    },
    step => {
      const repeated = Object.entries(fieldsOf(step)).filter(([, value]) => Array.isArray(value))
      expect(
        repeated.length === 0,
        `The exchange repeats the fields: ${repeated.map(([name]) => name).join(', ')}.`,
        step,
      )
    },
  ),
  onCodeExchange(
    {
      id: 'exchange-no-query',
      title: 'The address of the exchange has no query',
      rule: 'credentials-in-body',
      why: 'Servers and proxies log the query of an address. Anyone who can read such a log gets the client secret and the code.',
      fix: 'Send all fields in the body of the POST.',
    },
    step => expect(!step.request.url.includes('?'), 'The address of the exchange has a query.', step),
  ),
  {
    id: 'exchange-one-authentication',
    title: 'The client authenticates each exchange with only one method, even after the portal has refused an exchange',
    rule: 'one-authentication',
    why: 'A portal may refuse a request that authenticates with two methods. Then nobody can sign in.',
    fix: 'Send client_secret only in the form. Never send an Authorization header or a client_assertion, not even after a refusal.',
    async run(context) {
      expectOneAuthentication((await exchangeOf(context)).step, context)
      // After a 401 answer, some OAuth libraries repeat the exchange with another method of authentication.
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-401', { times: 2 })
      await followCallback(context, browser, callback)
      for (const step of await context.codeExchanges()) expectOneAuthentication(step, context)
    },
  },
  {
    id: 'exchange-once',
    title: 'The client makes only one exchange for each login',
    rule: 'code-once',
    why: 'A code is valid for one exchange. After a second exchange, the portal may revoke the tokens of the first exchange.',
    fix: 'Send the POST of the exchange only once, and never repeat it automatically.',
    async run(context) {
      await exchangeOf(context)
      await context.platform.settle(500)
      const steps = await context.codeExchanges()
      expect(steps.length === 1, `The client made ${steps.length} exchanges.`, ...steps)
    },
  },
  {
    id: 'exchange-verifier',
    title: 'If the client begins a login with a PKCE challenge, the exchange contains a valid verifier',
    rule: 'pkce-verifier',
    why: 'Without the verifier, the portal refuses the exchange. A verifier consists of 43 to 128 characters: letters, digits, and the characters - . _ ~.',
    fix: 'Encode 32 random bytes in base64url. Store this string with the state of the login, and send it as code_verifier in the exchange.',
    async run(context) {
      const browser = context.browser()
      const start = await context.startLogin(browser)
      if (!start.url.searchParams.has('code_challenge')) throw new NotApplicable('the client does not use PKCE')
      await browser.goOn(start.page, (await context.authorize(start)).href)
      const [step] = await context.codeExchanges()
      if (!step) throw new Undecided('The client made no exchange for the callback.')
      const { code_verifier: verifier } = fieldsOf(step)
      expect(verifier !== undefined, 'The exchange has no code_verifier.', step)
      expect(
        typeof verifier === 'string' && /^[\w.~-]{43,128}$/.test(verifier),
        'The code_verifier of the exchange has the wrong format.',
        step,
      )
    },
  },
  {
    id: 'exchange-verifier-own',
    title: 'When several logins run at the same time, each exchange contains the verifier of its own login',
    rule: 'pkce-per-login',
    why: 'If the client stores only the last verifier, or only one verifier for each browser, it sends the verifier of another login.',
    fix: 'Store each verifier together with the state of its login. In the callback, use the verifier that belongs to the state.',
    async run(context) {
      const browser = context.browser()
      const begun = [
        { tab: browser, start: await context.startLogin(browser) },
        { tab: browser.newTab(), start: await context.startLogin(browser.newTab()) },
      ]
      const other = context.browser()
      begun.push({ tab: other, start: await context.startLogin(other) })
      if (!begun.every(({ start }) => start.url.searchParams.has('code_challenge')))
        throw new NotApplicable('the client does not use PKCE')
      for (const { tab, start } of begun) {
        const known = context.arrived('exchange').length
        await followCallback(context, tab, await context.authorize(start))
        const [step] = (await context.codeExchanges()).slice(known)
        if (!step) throw new ReportedElsewhere('several logins at the same time do not work')
        const verifier = `${fieldsOf(step).code_verifier}`
        expect(
          createHash('sha256').update(verifier).digest('base64url') === start.url.searchParams.get('code_challenge'),
          'The verifier of the exchange does not belong to the challenge of this login.',
          step,
        )
      }
    },
  },
  {
    id: 'exchange-every-login',
    title: 'The exchange contains the same fields, no matter how the login began',
    rule: 'CL-14',
    why: 'A login can also begin with a return address, in a browser with a session, or at another instance. Many clients have separate code for these cases.',
    fix: 'Build the form of every exchange in one function.',
    async run(context) {
      const { login, returnTo, page, replica } = context.settings
      const signedIn = context.browser()
      const ways: [way: string, browser: Browser, path: string][] = [
        ['that is the first in a browser', signedIn, login],
        ['that begins in a browser with a session', signedIn, login],
        ...(returnTo
          ? ([['with a return address', context.browser(), withQuery(login, { [returnTo]: page || '/' })]] as const)
          : []),
        ...(replica ? ([['at another instance', context.browser(), replica + login]] as const) : []),
      ].map(([way, browser, path]) => [way as string, browser as Browser, path as string])
      for (const [way, browser, path] of ways) {
        const page = await context.visitUntilPortal(browser, path)
        if (page.stoppedAt === undefined) continue
        const callback = await context.authorize(readStart(page))
        const known = context.arrived('exchange').length
        await followCallback(context, browser, callback)
        const [step] = (await context.codeExchanges()).slice(known)
        if (!step) throw new Undecided(`The client made no exchange for a login ${way}.`)
        for (const [name, , expected] of fields) {
          const right = expected(callback.searchParams, context)
          if (name === 'state' && right === '') continue
          expect(
            fieldsOf(step)[name] === right,
            `In the exchange of a login ${way}, the field ${name} is missing or wrong.`,
            step,
          )
        }
      }
    },
  },
  ...browserHeaders.map(
    ([name, rule, value]): CheckDefinition => ({
      id: `exchange-without-${name}`,
      title: `The client does not pass the ${name} header of the visitor's browser on to the platform`,
      rule,
      why: 'A client that copies a header from the visitor into its own calls leaks data. The visitor can also use this header to change the calls.',
      fix: 'In each call, send only the headers that the call needs.',
      async run(context) {
        const { browser, callback } = await beginLogin(context)
        const cookie = browser.cookies.list(context.platform.redirectUri).map(one => `${one.name}=${one.value}`)
        const headers = {
          'sec-fetch-mode': 'navigate',
          'sec-fetch-dest': 'document',
          'sec-fetch-site': 'cross-site',
          [name]: value,
        }
        headers.cookie = [...cookie, ...(name === 'cookie' ? [value] : [])].join('; ')
        await context.request(callback.href, { headers })
        const [step] = await context.codeExchanges()
        if (!step) throw new Undecided('The client made no exchange for the callback.')
        // Also looks at other calls, because some clients ask for the visitor's name or call the API while they answer
        // the callback.
        for (const call of context.arrived('exchange', 'me', 'api')) {
          const sent = Object.values(call.request.headers).find(
            one => one.includes(value) || (name === 'cookie' && cookie.some(text => text !== '' && one.includes(text))),
          )
          expect(sent === undefined, 'A call from the client contained the header.', call)
        }
      },
    }),
  ),
  {
    id: 'secret-at-the-portal-only',
    title: 'The client sends its secret only to the token endpoint',
    rule: 'UP-15',
    why: 'The secret proves to the portal who the client is. The API does not need the secret. Every other server that gets the secret can leak it.',
    fix: 'Remove the secret from the request that the evidence shows. Send the secret only to the token endpoint.',
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      await browser.visit(context.url(context.settings.page))
      await context.platform.settle()
      const secret = context.platform.clientSecret.reveal()
      const encoded = Buffer.from(`${context.platform.clientId}:${secret}`).toString('base64')
      for (const step of context.arrived('api', 'me', 'metadata', 'authorize')) {
        const text = JSON.stringify([step.request.url, step.request.headers, step.request.body])
        expect(
          !text.includes(secret) && !text.includes(encoded),
          'A call to another address contained the client secret.',
          step,
        )
      }
    },
  },
  {
    id: 'token-in-header',
    title: 'The client sends the access token to the API only in the Authorization header',
    rule: 'bearer-header',
    why: 'Servers and proxies log the query of an address. Anyone who can read such a log can use the token.',
    fix: 'Send the token as Authorization: Bearer, and never in the query.',
    needs: ['page'],
    async run(context) {
      await context.signedIn()
      for (const step of context.arrived('api', 'me')) {
        const [, token = 'none'] = /^\S+ (.+)$/.exec(step.request.headers.authorization ?? '') ?? []
        expect(
          !step.request.url.includes(token) && !/access_token=|token=ey/.test(step.request.url),
          'The address of a call contains the access token.',
          step,
        )
      }
    },
  },
  {
    id: 'api-call-own-headers',
    title: "API calls contain no header or cookie that the visitor's browser sent",
    rule: 'UP-12',
    why: 'If visitors can set headers of an API call, they can change what the call does. The cookies of a visitor are meant only for the client, so the API must not get them.',
    fix: 'In each call, send only the headers that the call needs.',
    needs: ['page'],
    async run(context) {
      const { browser, person } = await context.signedIn()
      const before = context.arrived('api').length
      const cookies = browser.cookies
        .list(context.url(context.settings.page))
        .map(({ name, value }) => `${name}=${value}`)
      await context.request(context.settings.page, {
        headers: {
          'sec-fetch-mode': 'navigate',
          'sec-fetch-dest': 'document',
          'sec-fetch-site': 'none',
          cookie: [...cookies, 'canary=conformance-canary'].join('; '),
          'x-conformance-canary': 'conformance-canary',
          authorization: 'Basic conformance-canary',
        },
      })
      await context.platform.settle()
      const calls = context
        .arrived('api')
        .slice(before)
        .filter(({ about }) => about.userId === person.id)
      if (calls.length === 0) throw new Undecided('The client made no API call for the visit.')
      for (const step of calls)
        expect(
          !JSON.stringify(step.request.headers).includes('conformance-canary') &&
            step.request.headers.cookie === undefined,
          'An API call contained a cookie or a header that the browser had sent.',
          step,
        )
      // The browser sends the token of another visitor in its Authorization header. This token must not replace the
      // token of the session.
      const other = await context.otherPerson()
      const foreign = await context.platform.tokenOf(other)
      const { steps } = await context.during(() =>
        context.request(context.settings.page, {
          headers: { ...typedAddress, cookie: cookies.join('; '), authorization: `Bearer ${foreign}` },
        }),
      )
      const taken = steps.filter(step => isCallWithToken(step) && tokensSentIn(step).includes(foreign))
      expect(
        taken.length === 0,
        'A call contained the token from the Authorization header that the browser had sent.',
        ...taken,
      )
    },
  },
  {
    id: 'tokens-not-in-browser',
    title: 'No page, address, header or script-readable cookie contains a token or the client secret',
    rule: 'CK-08',
    why: 'Scripts and browser extensions can read everything on a page.',
    fix: 'Store tokens in HttpOnly cookies or on the server. Do not write a token or secret into a page, an address or any header except Set-Cookie.',
    async run(context) {
      const { step, trail } = await exchangeOf(context)
      const tokens = tokensOf(step)
      if (!tokens) throw new Undecided('The portal did not answer the exchange with tokens.')
      const secrets = Object.entries({
        'the access token': tokens.access_token,
        'the refresh token': tokens.refresh_token,
        'the client secret': context.platform.clientSecret.reveal(),
      }).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
      for (const one of trail)
        for (const [where, text] of placesOf(one)) {
          const texts = readableTextsIn(text)
          for (const [what, secret] of secrets)
            expect(!texts.some(readable => readable.includes(secret)), `${where} contains ${what}.`, one)
        }
    },
  },
  {
    id: 'tokens-sealed',
    title: 'Tokens in cookies are encrypted',
    rule: 'CK-05',
    why: 'Browsers store cookies in files, and backups contain these files. Anyone who can read such a file gets the token.',
    fix: 'Encrypt the cookie with a key that only the server has, or store the tokens on the server.',
    async run(context) {
      const { step, trail } = await exchangeOf(context)
      const tokens = tokensOf(step)
      if (!tokens) throw new Undecided('The portal did not answer the exchange with tokens.')
      const parts = [tokens.refresh_token, ...String(tokens.access_token).split('.').slice(1)].filter(
        (text): text is string => typeof text === 'string' && text.length > 8,
      )
      for (const { line, cookie, exchange } of cookiesOf(trail)) {
        const decoded = [line, ...readableTextsIn(cookie.value)]
        expect(
          !decoded.some(text => parts.some(part => text.includes(part))),
          `The cookie ${cookie.name} contains a token that is not encrypted.`,
          exchange,
        )
      }
    },
  },
  ...tokenAnswers,
  ...shortLives,
]

/**
 * Returns the strings in a request and its answer that scripts or extensions can read. Also returns the address of the
 * request, because the browser history contains this address. `where` names the place of each string.
 */
function placesOf({ request, response }: HttpExchange): [where: string, text: string][] {
  if (!('status' in response)) return [['The address of a page', request.url]]
  return [
    ['The address of a page', request.url],
    ['A page', response.body],
    ...[...response.headers].map(([name, text]): [string, string] => [`The header ${name} of an answer`, text]),
    ...response.setCookies
      .filter(line => !readSetCookie(line).isHttpOnly)
      .flatMap(line => [line, readSetCookie(line).value])
      .map((text): [string, string] => ['A cookie that scripts can read', text]),
  ]
}
