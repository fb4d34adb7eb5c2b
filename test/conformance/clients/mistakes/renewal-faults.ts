// Clients that mishandle a failed renewal or an odd answer to a renewal.
import { type Behaviour, correct } from '../behaviour.ts'
import { askPortal, passingBack } from '../call-changes.ts'
import { crashingRenewal, renewing } from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { type Call, call } from '../platform.ts'
import { isCallback } from '../requests.ts'
import { PlatformError, Refusal, type Visit } from '../visit.ts'

/** Repeats a renewal while `isWanted` is true for the status, at most `most` times. */
function again(isWanted: (status: number) => boolean, most: number): Partial<Behaviour> {
  return renewing({
    async send(visit, request) {
      let answer: [number, unknown] = [0, undefined]
      for (let tries = 0; tries <= most && (tries === 0 || isWanted(answer[0])); tries++)
        answer = await correct.send(visit, request).catch((): [number, unknown] => [0, undefined])
      return answer
    },
  })
}

/** Makes a call with a deadline only for the headers of the answer, not for its body. */
async function sendWithDeadlineForHeaders(visit: Visit, request: Call): Promise<[number, unknown]> {
  const headersCame = new AbortController()
  const timer = setTimeout(() => headersCame.abort(), 4000)
  const behaviour = {
    ...visit.behaviour,
    deadlineMs: 86_400_000,
    readBody(response: Response) {
      clearTimeout(timer)
      return response.text()
    },
  }
  const tooLate = new Promise<never>((_, reject) => {
    headersCame.signal.onabort = () => reject(new PlatformError(504))
  })
  return Promise.race([call(behaviour, request), tooLate])
}

/** Shows the error text of the portal on the page. */
const wordsShown: Partial<Behaviour> = {
  async renew(visit, refreshToken) {
    try {
      return await correct.renew(visit, refreshToken)
    } catch (error) {
      throw error instanceof PlatformError ? new Refusal(502, `The portal said ${error.code}`) : error
    }
  },
}

/** Renews again and again if the new token has already expired. */
const renewsWhatIsOver: Partial<Behaviour> = {
  shareCall: (_visit, _name, act) => act(),
  async renew(visit, refreshToken) {
    let tokens = await correct.renew({ ...visit, behaviour: { ...visit.behaviour, lifetime: Number } }, refreshToken)
    for (let tries = 0; tokens.seconds <= 0 && tries < 5; tries++)
      tokens = await correct.renew(
        { ...visit, behaviour: { ...visit.behaviour, lifetime: Number } },
        tokens.refreshToken ?? refreshToken,
      )
    return { ...tokens, seconds: Math.max(tokens.seconds, 1) }
  },
}

const believed = renewing({ lifetime: value => value as number })

const computed = renewing({ lifetime: value => Number((value as number).toFixed(0)) })

const takesAnything: Partial<Behaviour> = renewing({
  isToken: (_token): _token is string => true,
  isBearer: () => true,
})

export const renewalFaults: Mistake[] = [
  mistake('renewal-as-json', 'refresh-form', {
    ...renewing({
      portalHeaders: () => ({ 'content-type': 'application/json' }),
      encode: form => JSON.stringify(Object.fromEntries(form)),
    }),
  }),
  mistake('renewal-field-twice', 'refresh-fields-once', {
    renewalForm(settings, refreshToken) {
      const form = correct.renewalForm(settings, refreshToken)
      form.append('client_id', settings.clientId)
      return form
    },
  }),
  mistake(
    'renewal-with-two-authentications',
    'refresh-one-authentication',
    renewing({
      portalHeaders: visit => ({
        ...correct.portalHeaders(visit),
        authorization: `Basic ${btoa(`${visit.settings.clientId}:${visit.settings.clientSecret}`)}`,
      }),
    }),
  ),
  mistake(
    'renewal-with-the-visitors-cookies',
    'refresh-own-headers',
    renewing({ portalHeaders: visit => ({ ...correct.portalHeaders(visit), cookie: visit.headers.cookie ?? '' }) }),
  ),
  ...[302, 307].map(status =>
    mistake(`renewal-redirect-${status}-followed`, `refresh-redirect-${status}`, renewing({ redirects: 'follow' })),
  ),
  mistake('renewal-deadline-for-headers-alone', 'refresh-drip', renewing({ send: sendWithDeadlineForHeaders })),
  mistake('renewal-read-without-end', 'refresh-endless-body', renewing({ send: sendWithDeadlineForHeaders })),
  mistake('renewal-that-fails-hangs-up', 'refresh-endless-header', {
    ...crashingRenewal,
    statusFor(error) {
      if (error instanceof TypeError) throw error
      return correct.statusFor(error)
    },
  }),
  mistake('invalid-client-is-for-good', 'refresh-kept-on-401', {
    isPermanentRefusal: error => error.code === 'invalid_client' || correct.isPermanentRefusal(error),
  }),
  ...['502', '504', 'half', 'empty', 'not-an-object', 'endless-header'].map(answer =>
    mistake(`session-lost-after-renewal-${answer}`, `refresh-kept-on-${answer}`, { isPermanentRefusal: () => true }),
  ),
  mistake(
    'renewal-refused-as-one-too-many-sent-again',
    'refresh-429-not-repeated',
    again(status => status === 429, 5),
  ),
  mistake(
    'renewal-that-was-reset-sent-again',
    'refresh-reset-after-not-repeated',
    again(status => status === 0, 1),
  ),
  mistake(
    'renewal-that-failed-sent-again',
    'refresh-503-after-not-repeated',
    again(status => status >= 500, 1),
  ),
  mistake(
    'renewal-waits-for-retry-after',
    'refresh-retry-after',
    renewing({
      async send(visit, request) {
        const [status, answer] = await correct.send(visit, request)
        if (status !== 503) return [status, answer]
        // This delay is longer than the suite waits for an answer in these tests (stage.ts).
        await new Promise(resolve => setTimeout(resolve, 13_000).unref())
        return correct.send(visit, request)
      },
    }),
  ),
  mistake(
    'renewal-read-without-bound',
    'refresh-endless-body-left',
    renewing({ readBody: response => response.text() }),
  ),
  mistake(
    'renewal-unpacked-without-bound',
    'refresh-gzip-bomb',
    renewing({ unpacks: true, deadlineMs: 7000, readBody: response => response.text() }),
  ),
  ...[5, 9].map(size =>
    mistake(`renewed-token-of-${size}-kb-lost`, `refresh-access-token-${size}-kb`, {
      setCookie(visit, name, value, attributes) {
        visit.setCookies.push(`${name}=${visit.behaviour.seal(visit, name, value)}; ${attributes}`)
      },
    }),
  ),
  ...['missing', 'null', 'words', 'text', 'true'].map(value =>
    mistake(`renewed-lifetime-${value}-breaks-the-page`, `refresh-expires-in-${value}`, computed),
  ),
  ...['negative', 'zero'].map(value =>
    mistake(`renewed-lifetime-${value}-renews-again`, `refresh-expires-in-${value}`, renewsWhatIsOver),
  ),
  ...['fraction', 'huge', 'trillion'].map(value =>
    mistake(`renewed-lifetime-${value}-in-the-cookie`, `refresh-expires-in-${value}`, believed),
  ),
  ...['missing', 'null', 'empty', 'number', 'list', 'not-ascii'].map(value =>
    mistake(`renewed-token-${value}-goes-to-the-api`, `refresh-access-token-${value}`, takesAnything),
  ),
  mistake('renewed-token-of-two-lines-goes-to-the-api', 'refresh-access-token-with-newline', {
    ...takesAnything,
    send(visit, request) {
      const { authorization, ...headers } = request.headers
      const inOneLine = authorization?.replace(/\s+/g, ' ')
      return correct.send(visit, {
        ...request,
        headers: { ...headers, ...(inOneLine && { authorization: inOneLine }) },
      })
    },
  }),
  mistake(
    'renewed-token-that-is-no-header',
    'refresh-access-token-with-newline',
    renewing({ isToken: (token): token is string => typeof token === 'string' && token !== '' }),
  ),
  ...['mac', 'missing'].map(value =>
    mistake(`renewed-token-type-${value}-goes-to-the-api`, `refresh-token-type-${value}`, takesAnything),
  ),
  mistake('invalid-grant-by-its-status', 'refresh-dropped-on-invalid-grant-401', {
    isPermanentRefusal: ({ upstream }) => upstream === 400,
    shareCall: (_visit, _name, act) => act(),
  }),
  mistake('portal-without-renewals-locks-out', 'refresh-dropped-on-unsupported-grant-type', {
    isPermanentRefusal: ({ code }) => code === 'invalid_grant',
    shareCall: (_visit, _name, act) => act(),
  }),
  mistake(
    'refused-for-good-only-with-400',
    ['refresh-dropped-on-unsupported-grant-type-401', 'refresh-dropped-on-unauthorized-client-401'],
    {
      isPermanentRefusal: error =>
        (error.upstream === 400 || error.code === 'invalid_grant') && correct.isPermanentRefusal(error),
      shareCall: (_visit, _name, act) => act(),
    },
  ),
  mistake('unauthorized-client-is-for-now', 'refresh-dropped-on-unauthorized-client-400', {
    isPermanentRefusal: error => error.code !== 'unauthorized_client' && correct.isPermanentRefusal(error),
    shareCall: (_visit, _name, act) => act(),
  }),
  ...[404, 405, 501].map(status =>
    mistake(`renewal-status-${status}-is-for-now`, `refresh-dropped-on-${status}`, {
      isPermanentRefusal: error => error.upstream !== status && correct.isPermanentRefusal(error),
      shareCall: (_visit, _name, act) => act(),
    }),
  ),
  mistake('renewal-error-is-markup', 'refresh-error-escaped', { ...wordsShown, html: text => text }),
  mistake('renewal-error-in-its-words', 'refresh-error-own-words', wordsShown),
  mistake('description-of-a-refused-renewal-shown', 'refresh-error-description', {
    renew: async (visit, refreshToken) =>
      correct.readTokens(visit, await askPortal(visit, correct.renewalForm(visit.settings, refreshToken))),
  }),
  mistake('renewal-error-with-the-answer-of-the-portal', 'refresh-error-description', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (request.body?.startsWith('grant_type=refresh_token') && status >= 400)
        throw new Refusal(502, `The portal said ${JSON.stringify(answer)}`)
      return [status, answer]
    },
  }),
  ...['reset', 'html', '503'].map(answer =>
    mistake(`renewal-${answer}-is-a-crash`, `refresh-${answer}-status`, crashingRenewal),
  ),
  mistake('renewal-error-with-its-stack', 'refresh-failed-no-stack', {
    ...crashingRenewal,
    wordsFor: error => (error as Error).stack ?? '',
  }),
  mistake('renewed-token-for-scripts', 'refresh-tokens-not-in-browser', {
    keepSession(visit, tokens) {
      if (!isCallback(visit)) visit.setCookies.push(`token=${tokens.accessToken}; Path=/; Secure; SameSite=Strict`)
      return correct.keepSession(visit, tokens)
    },
  }),
  mistake('renewed-token-in-base64-for-scripts', 'refresh-tokens-not-in-browser', {
    keepSession(visit, tokens) {
      const said = Buffer.from(JSON.stringify({ token: tokens.accessToken })).toString('base64')
      if (!isCallback(visit))
        visit.setCookies.push(`state=${encodeURIComponent(said)}; Path=/; Secure; SameSite=Strict`)
      return correct.keepSession(visit, tokens)
    },
  }),
  mistake('renewed-cookies-without-http-only', 'refresh-cookies-guarded', {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      if (!isCallback(visit)) visit.setCookies = visit.setCookies.map(line => line.replace('; HttpOnly', ''))
      return session
    },
  }),
  mistake('renewed-cookies-with-another-name-without-http-only', 'refresh-cookies-guarded', {
    readCookies: header =>
      correct
        .readCookies(header)
        .map(([name, value]) => [name.replace(/^(__Host-(session|refresh))-\w+$/, '$1'), value]),
    setCookie(visit, name, value, attributes) {
      correct.setCookie(visit, name, value, isCallback(visit) ? attributes : attributes.replace(' HttpOnly;', ''))
      const line = visit.setCookies.pop()!
      for (const [old] of correct.readCookies(visit.headers.cookie ?? ''))
        if (old.startsWith(`${name}-`)) visit.setCookies.push(`${old}=; ${correct.sessionAttributes(0)}`)
      visit.setCookies.push(line.replace('=', `-${Date.now().toString(36)}=`))
    },
  }),
  mistake('renewed-cookies-lax', 'refresh-cookies-strict', {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      if (!isCallback(visit)) visit.setCookies = visit.setCookies.map(line => line.replace('=Strict', '=Lax'))
      return session
    },
  }),
  mistake('renewal-printed', 'refresh-not-logged', {
    renew(visit, refreshToken) {
      visit.settings.print(`renewing with ${refreshToken}`)
      return correct.renew(visit, refreshToken)
    },
  }),
  mistake('renewal-printed-in-base64', 'refresh-not-logged', {
    renew(visit, refreshToken) {
      visit.settings.print(`renewing with ${Buffer.from(refreshToken).toString('base64')}`)
      return correct.renew(visit, refreshToken)
    },
  }),
  mistake(
    'unknown-member-of-a-renewal-refused',
    'refresh-unknown-member',
    renewing({
      readTokens(visit, answer) {
        const known = ['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope']
        if (Object.keys(answer).some(name => !known.includes(name))) throw new PlatformError(502)
        return correct.readTokens(visit, answer)
      },
    }),
  ),
  mistake(
    'renewed-token-type-in-one-case',
    ['refresh-lowercase-type', 'refresh-uppercase-type'],
    renewing({ isBearer: type => type === 'Bearer' }),
  ),
  mistake(
    'renewed-token-must-be-a-jwt',
    'refresh-opaque-token',
    renewing({
      readTokens(visit, answer) {
        if (!`${answer.access_token}`.startsWith('ey')) throw new PlatformError(502)
        return correct.readTokens(visit, answer)
      },
    }),
  ),
  mistake(
    'headers-of-a-renewal-passed-back',
    'refresh-headers-not-passed-back',
    passingBack(request => Boolean(request.body?.includes('refresh_token'))),
  ),
]
