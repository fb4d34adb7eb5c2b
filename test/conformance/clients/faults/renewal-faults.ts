// Clients with mistakes in renewals. Most of these clients handle the exchange correctly.
import { type Parts, right } from '../parts.ts'
import { type Call, call, isRecord } from '../platform.ts'
import { PlatformFault, Refusal, type Visit } from '../visit.ts'
import { type Fault, fault } from './fault.ts'

/** Changes parts of the client, but only for renewals. */
function renewing(change: Partial<Parts>): Partial<Parts> {
  return {
    renew: (visit, refreshToken) => right.renew({ ...visit, parts: { ...visit.parts, ...change } }, refreshToken),
  }
}

/** Repeats a renewal while `isWanted` is true for the status, at most `most` times. */
function again(isWanted: (status: number) => boolean, most: number): Partial<Parts> {
  return renewing({
    async send(visit, request) {
      let answer: [number, unknown] = [0, undefined]
      for (let tries = 0; tries <= most && (tries === 0 || isWanted(answer[0])); tries++)
        answer = await right.send(visit, request).catch((): [number, unknown] => [0, undefined])
      return answer
    },
  })
}

/** Makes a call with a deadline only for the headers of the answer, not for its body. */
async function sendWithDeadlineForHeaders(visit: Visit, request: Call): Promise<[number, unknown]> {
  const headersCame = new AbortController()
  const timer = setTimeout(() => headersCame.abort(), 4000)
  const parts = {
    ...visit.parts,
    deadlineMs: 86_400_000,
    readBody(response: Response) {
      clearTimeout(timer)
      return response.text()
    },
  }
  const tooLate = new Promise<never>((_, reject) => {
    headersCame.signal.onabort = () => reject(new PlatformFault(504))
  })
  return Promise.race([call(parts, request), tooLate])
}

/** Shows the error text of the portal on the page. */
const wordsShown: Partial<Parts> = {
  async renew(visit, refreshToken) {
    try {
      return await right.renew(visit, refreshToken)
    } catch (error) {
      throw error instanceof PlatformFault ? new Refusal(502, `The portal said ${error.code}`) : error
    }
  },
}

const crashes: Partial<Parts> = {
  async renew(visit, refreshToken) {
    try {
      return await right.renew(visit, refreshToken)
    } catch {
      throw new TypeError('Cannot read properties of undefined')
    }
  },
}

const isLogin = ({ url }: Visit) => url.pathname === '/exchangeToken'

/** Renews again and again if the new token has already expired. */
const renewsWhatIsOver: Partial<Parts> = {
  once: (_visit, _name, act) => act(),
  async renew(visit, refreshToken) {
    let tokens = await right.renew({ ...visit, parts: { ...visit.parts, lifetime: Number } }, refreshToken)
    for (let tries = 0; tokens.seconds <= 0 && tries < 5; tries++)
      tokens = await right.renew(
        { ...visit, parts: { ...visit.parts, lifetime: Number } },
        tokens.refreshToken ?? refreshToken,
      )
    return { ...tokens, seconds: Math.max(tokens.seconds, 1) }
  },
}

const believed = renewing({ lifetime: value => value as number })
const computed = renewing({ lifetime: value => Number((value as number).toFixed(0)) })

const takesAnything: Partial<Parts> = renewing({ isToken: (_token): _token is string => true, isBearer: () => true })

/** Copies the headers of the answers to the calls that `isMeant` selects into the answer to the browser. */
function passingBack(isMeant: (request: Call) => boolean): Partial<Parts> {
  const copied = new WeakMap<Visit['setCookies'], string>()
  return {
    send(visit, request) {
      if (!isMeant(request)) return right.send(visit, request)
      const readBody: Parts['readBody'] = (response, most) => {
        copied.set(visit.setCookies, response.headers.get('x-conformance-mark') ?? '')
        return right.readBody(response, most)
      }
      return right.send({ ...visit, parts: { ...visit.parts, readBody } }, request)
    },
    async around(visit, next) {
      const answer = await next()
      const mark = copied.get(visit.setCookies)
      return mark ? { ...answer, headers: { ...answer.headers, 'x-conformance-mark': mark } } : answer
    },
  }
}

export const renewalFaults: Fault[] = [
  fault('renewal-as-json', 'refresh-form', {
    ...renewing({
      portalHeaders: () => ({ 'content-type': 'application/json' }),
      encode: form => JSON.stringify(Object.fromEntries(form)),
    }),
  }),
  fault('renewal-field-twice', 'refresh-fields-once', {
    renewalForm(settings, refreshToken) {
      const form = right.renewalForm(settings, refreshToken)
      form.append('client_id', settings.clientId)
      return form
    },
  }),
  fault(
    'renewal-with-two-authentications',
    'refresh-one-authentication',
    renewing({
      portalHeaders: visit => ({
        ...right.portalHeaders(visit),
        authorization: `Basic ${btoa(`${visit.settings.clientId}:${visit.settings.clientSecret}`)}`,
      }),
    }),
  ),
  fault(
    'renewal-with-the-visitors-cookies',
    'refresh-own-headers',
    renewing({ portalHeaders: visit => ({ ...right.portalHeaders(visit), cookie: visit.headers.cookie ?? '' }) }),
  ),
  ...[302, 307].map(status =>
    fault(`renewal-redirect-${status}-followed`, `refresh-redirect-${status}`, renewing({ redirects: 'follow' })),
  ),
  fault('renewal-deadline-for-headers-alone', 'refresh-drip', renewing({ send: sendWithDeadlineForHeaders })),
  fault('renewal-read-without-end', 'refresh-endless-body', renewing({ send: sendWithDeadlineForHeaders })),
  fault('renewal-that-fails-hangs-up', 'refresh-endless-header', {
    ...crashes,
    statusFor(error) {
      if (error instanceof TypeError) throw error
      return right.statusFor(error)
    },
  }),
  fault('invalid-client-is-for-good', 'refresh-kept-on-401', {
    isForGood: error => error.code === 'invalid_client' || right.isForGood(error),
  }),
  ...['502', '504', 'half', 'empty', 'not-an-object', 'endless-header'].map(answer =>
    fault(`session-lost-after-renewal-${answer}`, `refresh-kept-on-${answer}`, { isForGood: () => true }),
  ),
  fault(
    'renewal-refused-as-one-too-many-sent-again',
    'refresh-429-not-repeated',
    again(status => status === 429, 5),
  ),
  fault(
    'renewal-that-was-reset-sent-again',
    'refresh-reset-after-not-repeated',
    again(status => status === 0, 1),
  ),
  fault(
    'renewal-that-failed-sent-again',
    'refresh-503-after-not-repeated',
    again(status => status >= 500, 1),
  ),
  fault(
    'renewal-waits-for-retry-after',
    'refresh-retry-after',
    renewing({
      async send(visit, request) {
        const [status, answer] = await right.send(visit, request)
        if (status !== 503) return [status, answer]
        // This delay is longer than the suite waits for an answer in these tests (stage.ts).
        await new Promise(resolve => setTimeout(resolve, 13_000).unref())
        return right.send(visit, request)
      },
    }),
  ),
  fault('renewal-read-without-bound', 'refresh-endless-body-left', renewing({ readBody: response => response.text() })),
  fault(
    'renewal-unpacked-without-bound',
    'refresh-gzip-bomb',
    renewing({ unpacks: true, deadlineMs: 7000, readBody: response => response.text() }),
  ),
  ...[5, 9].map(size =>
    fault(`renewed-token-of-${size}-kb-lost`, `refresh-access-token-${size}-kb`, {
      setCookie(visit, name, value, attributes) {
        visit.setCookies.push(`${name}=${visit.parts.seal(visit, name, value)}; ${attributes}`)
      },
    }),
  ),
  ...['missing', 'null', 'words', 'text', 'true'].map(value =>
    fault(`renewed-lifetime-${value}-breaks-the-page`, `refresh-expires-in-${value}`, computed),
  ),
  ...['fraction', 'huge', 'trillion'].map(value =>
    fault(`renewed-lifetime-${value}-in-the-cookie`, `refresh-expires-in-${value}`, believed),
  ),
  ...['negative', 'zero'].map(value =>
    fault(`renewed-lifetime-${value}-renews-again`, `refresh-expires-in-${value}`, renewsWhatIsOver),
  ),
  ...['missing', 'null', 'empty', 'number', 'list', 'not-ascii'].map(value =>
    fault(`renewed-token-${value}-goes-to-the-api`, `refresh-access-token-${value}`, takesAnything),
  ),
  fault('renewed-token-of-two-lines-goes-to-the-api', 'refresh-access-token-with-newline', {
    ...takesAnything,
    send(visit, request) {
      const { authorization, ...headers } = request.headers
      const inOneLine = authorization?.replace(/\s+/g, ' ')
      return right.send(visit, { ...request, headers: { ...headers, ...(inOneLine && { authorization: inOneLine }) } })
    },
  }),
  ...['mac', 'missing'].map(value =>
    fault(`renewed-token-type-${value}-goes-to-the-api`, `refresh-token-type-${value}`, takesAnything),
  ),
  fault('invalid-grant-by-its-status', 'refresh-dropped-on-invalid-grant-401', {
    isForGood: ({ upstream }) => upstream === 400,
    once: (_visit, _name, act) => act(),
  }),
  fault('invalid-grant-only-with-401', 'refresh-dropped-on-invalid-grant', {
    isForGood: error => error.upstream === 401 && right.isForGood(error),
    once: (_visit, _name, act) => act(),
  }),
  fault(
    'refused-for-good-only-with-400',
    ['refresh-dropped-on-unsupported-grant-type-401', 'refresh-dropped-on-unauthorized-client-401'],
    {
      isForGood: error => (error.upstream === 400 || error.code === 'invalid_grant') && right.isForGood(error),
      once: (_visit, _name, act) => act(),
    },
  ),
  fault('unauthorized-client-is-for-now', 'refresh-dropped-on-unauthorized-client-400', {
    isForGood: error => error.code !== 'unauthorized_client' && right.isForGood(error),
    once: (_visit, _name, act) => act(),
  }),
  fault('renewed-after-401-not-delivered', 'refresh-delivered-after-401', {
    keepSession(visit, tokens) {
      const isRefused = !isLogin(visit) && right.readSession(visit) !== undefined
      const session = right.keepSession(visit, tokens)
      if (isRefused) visit.setCookies.length = 0
      return session
    },
  }),
  fault('renewed-for-a-form-not-delivered', 'refresh-delivered-after-form', {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      if (visit.method === 'POST') visit.setCookies.length = 0
      return session
    },
  }),
  fault('refresh-cookie-slides', 'refresh-fixed-end', {
    loginEnd: visit => Date.now() + visit.parts.refreshSeconds * 1000,
  }),
  fault('each-request-renews', 'refresh-single-flight-slow', {
    once: (visit, name, act) => (name.startsWith('renew') ? act() : right.once(visit, name, act)),
  }),
  fault('portal-without-renewals-locks-out', 'refresh-dropped-on-unsupported-grant-type', {
    isForGood: ({ code }) => code === 'invalid_grant',
    once: (_visit, _name, act) => act(),
  }),
  fault('renewal-error-is-markup', 'refresh-error-escaped', { ...wordsShown, html: text => text }),
  fault('renewal-error-in-its-words', 'refresh-error-own-words', wordsShown),
  fault('renewal-error-with-the-answer-of-the-portal', 'refresh-error-description', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (request.body?.startsWith('grant_type=refresh_token') && status >= 400)
        throw new Refusal(502, `The portal said ${JSON.stringify(answer)}`)
      return [status, answer]
    },
  }),
  ...['reset', 'html', '503'].map(answer => fault(`renewal-${answer}-is-a-crash`, `refresh-${answer}-status`, crashes)),
  fault('renewal-error-with-its-stack', 'refresh-failed-no-stack', {
    ...crashes,
    wordsFor: error => (error as Error).stack ?? '',
  }),
  fault('renewed-token-for-scripts', 'refresh-tokens-not-in-browser', {
    keepSession(visit, tokens) {
      if (!isLogin(visit)) visit.setCookies.push(`token=${tokens.accessToken}; Path=/; Secure; SameSite=Strict`)
      return right.keepSession(visit, tokens)
    },
  }),
  fault('renewed-cookies-without-http-only', 'refresh-cookies-guarded', {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      if (!isLogin(visit)) visit.setCookies = visit.setCookies.map(line => line.replace('; HttpOnly', ''))
      return session
    },
  }),
  fault('renewed-cookies-lost-with-an-error', 'refresh-delivered-with-error', {
    wordsFor(error, visit) {
      if (!isLogin(visit)) visit.setCookies.length = 0
      return right.wordsFor(error, visit)
    },
  }),
  fault('renewal-needs-its-state', 'refresh-state-optional', {
    renewalForm(settings, refreshToken) {
      const form = right.renewalForm(settings, refreshToken)
      form.set('state', 'of-this-renewal')
      return form
    },
    readTokens(visit, answer) {
      if (!isLogin(visit) && answer.state !== 'of-this-renewal') throw new PlatformFault(502)
      return right.readTokens(visit, answer)
    },
  }),
  fault(
    'renewed-token-that-is-no-header',
    'refresh-access-token-with-newline',
    renewing({ isToken: (token): token is string => typeof token === 'string' && token !== '' }),
  ),
  fault(
    'unknown-member-of-a-renewal-refused',
    'refresh-unknown-member',
    renewing({
      readTokens(visit, answer) {
        const known = ['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope']
        if (Object.keys(answer).some(name => !known.includes(name))) throw new PlatformFault(502)
        return right.readTokens(visit, answer)
      },
    }),
  ),
  fault(
    'renewed-token-type-in-one-case',
    ['refresh-lowercase-type', 'refresh-uppercase-type'],
    renewing({ isBearer: type => type === 'Bearer' }),
  ),
  fault(
    'renewed-token-must-be-a-jwt',
    'refresh-opaque-token',
    renewing({
      readTokens(visit, answer) {
        if (!`${answer.access_token}`.startsWith('ey')) throw new PlatformFault(502)
        return right.readTokens(visit, answer)
      },
    }),
  ),
  fault('failed-renewal-is-a-bare-failure', 'refresh-failed-page', {
    ...crashes,
    async around(_visit, next) {
      const answer = await next()
      return answer.status === 500 ? { status: 500, body: 'Internal Server Error' } : answer
    },
  }),
  fault(
    'status-of-a-renewal-ignored',
    ['refresh-status-400', 'refresh-status-500'],
    renewing({ send: async (visit, request) => [200, (await right.send(visit, request))[1]] }),
  ),
  fault(
    'name-asked-with-the-token-of-a-failed-renewal',
    ['refresh-status-400', 'refresh-status-500'],
    renewing({
      async send(visit, request) {
        const [status, answer] = await right.send(visit, request)
        const token = isRecord(answer) && answer.access_token
        if (status !== 200 && token)
          await fetch(`${visit.settings.loginUrl}/api/me`, { headers: { authorization: `Bearer ${token}` } })
        return [status, answer]
      },
    }),
  ),
  ...[
    ['/applications', 'POST'],
    ['/login', 'GET'],
    ['/logout', 'POST'],
  ].map(([path, method]) =>
    fault(`renewal-at-each-${method}-of-${path!.slice(1)}`.toLowerCase(), 'refresh-not-elsewhere', {
      async around(visit, next) {
        const token = visit.url.pathname === path && visit.method === method && right.readRefresh(visit)
        if (token) right.keepSession(visit, await right.renew(visit, token))
        return next()
      },
    }),
  ),
  fault(
    'headers-of-a-renewal-passed-back',
    'refresh-headers-not-passed-back',
    passingBack(request => Boolean(request.body?.includes('refresh_token'))),
  ),
  fault(
    'headers-of-a-revocation-passed-back',
    'logout-headers-not-passed-back',
    passingBack(({ url }) => url.endsWith('/api/revokeToken')),
  ),
  fault('renewed-by-the-page-with-the-form-not-delivered', 'refresh-delivered-with-form-page', {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      if (visit.url.pathname === '/applications/new') visit.setCookies.length = 0
      return session
    },
  }),
  fault('renewed-cookies-lax', 'refresh-cookies-strict', {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      if (!isLogin(visit)) visit.setCookies = visit.setCookies.map(line => line.replace('=Strict', '=Lax'))
      return session
    },
  }),
  fault('renewed-refresh-cookie-ends-with-the-access-token', 'refresh-cookie-age-kept', {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      if (!isLogin(visit))
        visit.setCookies = visit.setCookies.map(line => line.replace(/Max-Age=\d+$/, `Max-Age=${tokens.seconds}`))
      return session
    },
  }),
  fault('session-lost-after-a-timeout', 'refresh-kept-on-never', {
    isForGood: error => error.upstream === 504 || right.isForGood(error),
  }),
  fault('renewed-token-in-base64-for-scripts', 'refresh-tokens-not-in-browser', {
    keepSession(visit, tokens) {
      const said = Buffer.from(JSON.stringify({ token: tokens.accessToken })).toString('base64')
      if (!isLogin(visit)) visit.setCookies.push(`state=${encodeURIComponent(said)}; Path=/; Secure; SameSite=Strict`)
      return right.keepSession(visit, tokens)
    },
  }),
  fault('renewed-cookies-with-another-name-without-http-only', 'refresh-cookies-guarded', {
    readCookies: header =>
      right.readCookies(header).map(([name, value]) => [name.replace(/^(__Host-(session|refresh))-\w+$/, '$1'), value]),
    setCookie(visit, name, value, attributes) {
      right.setCookie(visit, name, value, isLogin(visit) ? attributes : attributes.replace(' HttpOnly;', ''))
      const line = visit.setCookies.pop()!
      for (const [old] of right.readCookies(visit.headers.cookie ?? ''))
        if (old.startsWith(`${name}-`)) visit.setCookies.push(`${old}=; ${right.sessionAttributes(0)}`)
      visit.setCookies.push(line.replace('=', `-${Date.now().toString(36)}=`))
    },
  }),
  fault('renewal-printed', 'refresh-not-logged', {
    renew(visit, refreshToken) {
      visit.settings.print(`renewing with ${refreshToken}`)
      return right.renew(visit, refreshToken)
    },
  }),
]
