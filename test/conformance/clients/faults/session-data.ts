// Clients that store or read session data wrongly: the wrong data, in the wrong cookie, or in only one instance.
import { createHash, randomBytes } from 'node:crypto'
import { type Parts, right } from '../parts.ts'
import { isRecord } from '../platform.ts'
import { PlatformFault, Refusal, type Session, type Visit } from '../visit.ts'
import { bodyWith, fault, memoryOf } from './fault.ts'

const isLogin = ({ url }: Visit) => url.pathname === '/exchangeToken'
const isAboutApplication = ({ url }: Visit) => /^\/applications\/(?!new)./.test(url.pathname)
const isUnreadable = (visit: Visit, name: string) =>
  visit.cookies.some(([key, text]) => key === name && right.unseal(visit, name, text) === undefined)

/** The content of the session cookie, even if the session has expired. */
function contentOf(visit: Visit): Record<string, unknown> | undefined {
  const text = visit.cookies.find(([name]) => name === right.sessionCookie)?.[1]
  const content = text && right.unseal(visit, right.sessionCookie, text)
  return isRecord(content) ? content : undefined
}

/** Reads the access token from the session cookie that the answer sets, or else from the one that the request sent. */
function newestToken(visit: Visit): string {
  const line = visit.setCookies.findLast(line => line.startsWith(`${right.sessionCookie}=`))
  const text = line?.slice(right.sessionCookie.length + 1).split(';')[0]
  const content = text ? right.unseal(visit, right.sessionCookie, text) : contentOf(visit)
  return isRecord(content) ? String(content.accessToken) : ''
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

const mostParts = 2
const longestPart = 3800

/** Splits each session cookie into parts, and forgets to delete the parts that a smaller session does not need. */
const splitWithoutCleaning: Partial<Parts> = {
  setCookie(visit, name, value, attributes) {
    const parts = right.seal(visit, name, value).match(new RegExp(`.{1,${longestPart}}`, 'g')) ?? []
    if (parts.length > mostParts) throw new Refusal(502, 'The platform sent more data than two cookies can keep.')
    for (const [at, part] of parts.entries()) visit.setCookies.push(`${name}.${at}=${part}; ${attributes}`)
  },
  readCookies(header) {
    const cookies = right.readCookies(header)
    const joined = [right.sessionCookie, right.refreshCookie].flatMap((name): [string, string][] => {
      const parts = [0, 1].map(at => cookies.find(([key]) => key === `${name}.${at}`)?.[1] ?? '')
      return parts[0] ? [[name, parts.join('')]] : []
    })
    return [...cookies.filter(([name]) => !/\.\d$/.test(name)), ...joined]
  },
  dropSession({ setCookies }) {
    for (const name of [right.sessionCookie, right.refreshCookie])
      for (const at of [0, 1]) setCookies.push(`${name}.${at}=; ${right.sessionAttributes(0)}`)
  },
}

const idCookie = '__Host-id'

/** Keeps the refresh token only in the memory of the instance that received the token. */
const refreshTokenInMemory: Partial<Parts> = {
  keepSession(visit, tokens) {
    const session = right.keepSession(visit, { ...tokens, refreshToken: undefined })
    visit.setCookies = visit.setCookies.filter(line => !line.startsWith(right.refreshCookie))
    const known = visit.cookies.find(([name]) => name === idCookie)?.[1]
    const id = (isLogin(visit) ? undefined : known) ?? randomBytes(32).toString('base64url')
    visit.setCookies.push(`${idCookie}=${id}; ${right.refreshAttributes(right.refreshSeconds)}`)
    if (tokens.refreshToken) memoryOf(visit).set(id, tokens.refreshToken)
    return session
  },
  readRefresh(visit) {
    const id = visit.cookies.find(([name]) => name === idCookie)?.[1]
    return id === undefined ? undefined : (memoryOf(visit).get(id) as string | undefined)
  },
}

/** Keeps both tokens in one cookie, which expires together with the access token. */
const bothTokensInOneCookie: Partial<Parts> = {
  keepSession(visit, tokens) {
    const kept = isLogin(visit) ? undefined : contentOf(visit)?.refreshToken
    const session: Session & { refreshToken: unknown } = {
      accessToken: tokens.accessToken,
      visitor: right.visitorOf(tokens, visit),
      expiresAt: Date.now() + tokens.seconds * 1000,
      refreshToken: tokens.refreshToken ?? kept,
    }
    right.setCookie(visit, right.sessionCookie, session, right.sessionAttributes(tokens.seconds))
    return session
  },
  readRefresh: visit => contentOf(visit)?.refreshToken as string | undefined,
}

export const sessionData = [
  fault('sign-out-with-an-unreadable-cookie-is-a-crash', 'cookie-cut-elsewhere', {
    tokenToRevoke(visit) {
      if (isUnreadable(visit, right.refreshCookie)) throw new TypeError('Cannot read properties of undefined')
      return right.tokenToRevoke(visit)
    },
  }),
  fault('callback-with-an-unreadable-session-is-a-crash', 'cookie-cut-elsewhere', {
    async beforeState(visit) {
      if (isUnreadable(visit, right.sessionCookie)) throw new TypeError('Cannot read properties of undefined')
    },
  }),
  fault('unreadable-message-is-a-crash', 'cookie-others-cut', {
    unseal(visit, name, text) {
      const content = right.unseal(visit, name, text)
      if (name === '__Host-made' && content === undefined) throw new TypeError('Cannot read properties of undefined')
      return content
    },
  }),
  fault('cookie-measured-without-its-name', 'cookie-size-limit', {
    setCookie(visit, name, value, attributes) {
      const text = right.seal(visit, name, value)
      if (text.length > 4096) throw new Refusal(502, 'The platform sent more data than a browser can keep in a cookie.')
      visit.setCookies.push(`${name}=${text}; ${attributes}`)
    },
  }),
  fault(
    'cookie-parts-of-a-larger-session-kept',
    ['session-replaced-after-large', 'refresh-smaller-token'],
    splitWithoutCleaning,
  ),
  fault('session-end-not-checked-on-pages-of-an-application', 'time-session-ends-at-server', {
    readSession: visit =>
      isAboutApplication(visit) ? (contentOf(visit) as Session | undefined) : right.readSession(visit),
  }),
  fault('refresh-token-in-the-memory-of-one-instance', 'replica-renews', refreshTokenInMemory),
  fault('both-tokens-in-one-cookie', 'cookie-refresh-age', bothTokensInOneCookie),
  fault('new-refresh-token-lost-by-a-form', 'refresh-delivered-after-form', {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      if (visit.method === 'POST')
        visit.setCookies = visit.setCookies.filter(line => !line.startsWith(right.refreshCookie))
      return session
    },
  }),
  fault('new-lifetime-not-stored-by-a-renewal', 'refresh-delivered', {
    // A renewal does not change the end of the session. The session ends when the first access token expires.
    keepSession(visit, tokens) {
      if (isLogin(visit)) memoryOf(visit).set(right.visitorOf(tokens, visit), Date.now() + tokens.seconds * 1000)
      return right.keepSession(visit, tokens)
    },
    readSession(visit) {
      const session = right.readSession(visit)
      const end = session && (memoryOf(visit).get(session.visitor) as number | undefined)
      return end !== undefined && end < Date.now() ? undefined : session
    },
  }),
  fault('null-is-a-refresh-token', 'token-answer-refresh-token-null', {
    readTokens(visit, answer) {
      const tokens = right.readTokens(visit, answer)
      return answer.refresh_token === null ? { ...tokens, refreshToken: `${answer.refresh_token}` } : tokens
    },
  }),
  fault('renewed-by-the-page-of-an-application-not-delivered', 'refresh-delivered-with-other-pages', {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      if (isAboutApplication(visit)) visit.setCookies.length = 0
      return session
    },
  }),
  fault('sign-out-tries-the-revocation-again', 'logout-not-waiting', {
    async revoke(visit, token) {
      const { clientId, clientSecret } = visit.settings
      const body = `${new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret })}`
      const url = `${visit.settings.loginUrl}/api/revokeToken`
      const parts = { ...visit.parts, deadlineMs: 1000 }
      for (let tries = 0; tries < 3; tries++) {
        const request = { method: 'POST', url, headers: right.portalHeaders(visit), body, most: 65_536 }
        const [status] = await right
          .send({ ...visit, parts }, request)
          .catch((error: PlatformFault) => [error.upstream])
        if (status !== 503) return
        await new Promise(resolve => setTimeout(resolve, 1500).unref())
      }
    },
  }),
  fault('renewal-tried-again-with-basic', 'refresh-failed-not-repeated', {
    async renew(visit, refreshToken) {
      const parts: Parts = {
        ...visit.parts,
        async send(_, request) {
          const [status, answer] = await right.send(visit, request)
          if (status !== 401 || !isRecord(answer) || answer.error !== 'invalid_client') return [status, answer]
          const { clientId, clientSecret } = visit.settings
          const authorization = `Basic ${btoa(`${clientId}:${clientSecret}`)}`
          return right.send(visit, { ...request, headers: { ...request.headers, authorization } })
        },
      }
      return right.renew({ ...visit, parts }, refreshToken)
    },
  }),
  fault('renewal-for-a-form-without-a-deadline', 'refresh-slow-for-form', {
    renew(visit, refreshToken) {
      const parts = visit.method === 'POST' ? { ...visit.parts, deadlineMs: 86_400_000 } : visit.parts
      return right.renew({ ...visit, parts }, refreshToken)
    },
  }),
  fault('renewal-shared-by-all-sessions-of-a-person', 'refresh-of-two-sessions', {
    renew(visit, refreshToken) {
      const owner = contentOf(visit)?.visitor ?? refreshToken
      const parts: Parts = { ...visit.parts, once: (_visit, _name, act) => act() }
      return right.once(visit, `renew ${owner}`, () => right.renew({ ...visit, parts }, refreshToken))
    },
  }),
  fault('form-bound-to-the-access-token', 'refresh-for-form', { visitorOf: ({ accessToken }) => hashOf(accessToken) }),
  fault('sign-out-form-bound-to-the-access-token', ['logout-after-renewal', 'logout-expired-ends'], {
    ...bodyWith((body, visit) => {
      const field = `<input type="hidden" name="csrf" value="${hashOf(newestToken(visit))}">`
      return body.replace('action="/logout">', `action="/logout">${field}`)
    }),
    formOf(visit, body) {
      const isOwn = new URLSearchParams(body).get('csrf') === hashOf(right.readSession(visit)?.accessToken ?? '')
      if (visit.url.pathname === '/logout' && !isOwn) throw new Refusal(403, 'This form is not one of ours.')
      return body
    },
  }),
  fault('refresh-token-lost-by-a-restart', 'restart-session', refreshTokenInMemory),
  fault('page-with-renewed-cookies-kept-by-browsers', 'cookie-answers-not-kept', {
    async around(visit, next) {
      const answer = await next()
      const isRenewed = visit.setCookies.some(line => line.startsWith(`${right.sessionCookie}=`))
      if (isLogin(visit) || !isRenewed) return answer
      return { ...answer, headers: { ...answer.headers, 'cache-control': 'private, max-age=0' } }
    },
  }),
  fault('token-answer-without-scope-refused', 'token-answer-without-scope', {
    readTokens(visit, answer) {
      if (typeof answer.scope !== 'string') throw new PlatformFault(502)
      return right.readTokens(visit, answer)
    },
  }),
  fault('only-the-first-piece-of-an-answer-read', 'token-answer-in-pieces', {
    async readBody(response) {
      for await (const chunk of response.body ?? []) return Buffer.from(chunk).toString()
      return ''
    },
  }),
  fault('session-lost-by-a-login-without-tokens', 'exchange-failed-keeps-session', {
    readTokens(visit, answer) {
      try {
        return right.readTokens(visit, answer)
      } catch (error) {
        if (isLogin(visit)) right.dropSession(visit)
        throw error
      }
    },
  }),
  fault('one-more-cookie-after-each-login', 'session-cookies-after-logins', {
    keepSession(visit, tokens) {
      if (isLogin(visit)) visit.setCookies.push(`__Host-at-${Date.now()}=1; ${right.refreshAttributes(86_400)}`)
      return right.keepSession(visit, tokens)
    },
  }),
  fault('cookies-renewed-by-a-form-without-http-only', 'cookie-attributes-after-renewal', {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      if (visit.method === 'POST') visit.setCookies = visit.setCookies.map(line => line.replace('; HttpOnly', ''))
      return session
    },
  }),
  fault('refresh-cookie-slides-with-a-form', 'refresh-fixed-end', {
    loginEnd: visit =>
      visit.method === 'POST' ? Date.now() + visit.parts.refreshSeconds * 1000 : right.loginEnd(visit),
  }),
  fault('session-without-refresh-token-not-ended', 'logout-without-refresh-token', {
    endSession(visit) {
      if (right.readRefresh(visit)) right.dropSession(visit)
    },
  }),
]
