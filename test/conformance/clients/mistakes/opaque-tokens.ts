// Clients that expect claims in access tokens, although a token may be any string.
import { correct } from '../behaviour.ts'
import { answerWith } from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { readName } from '../names.ts'
import { isRecord } from '../platform.ts'
import { Refusal, type Visit } from '../visit.ts'

const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())

const subjectOf = (token: string) => claimsOf(token).sub as string

/** Returns undefined if the token has no claims. */
function claimsIn(token: string): Record<string, unknown> | undefined {
  try {
    const claims: unknown = claimsOf(token)
    return isRecord(claims) ? claims : undefined
  } catch {
    return undefined
  }
}

/** Refuses a login if `isWrong` finds a mistake in the claims of the access token. */
const refuses = (isWrong: (claims: Record<string, unknown>, now: number) => boolean) => ({
  readTokens(visit: Visit, answer: Record<string, unknown>) {
    const tokens = correct.readTokens(visit, answer)
    const claims = claimsIn(tokens.accessToken)
    if (claims && isWrong(claims, Date.now() / 1000)) throw new Refusal(502, 'The token is not valid now.')
    return tokens
  },
})

export const opaqueTokens: Mistake[] = [
  mistake(
    'token-must-be-a-jwt',
    ['opaque-token-plain', 'opaque-token-dotted', 'opaque-token-plain-no-crash', 'opaque-token-dotted-no-crash'],
    { visitorOf: ({ accessToken }) => subjectOf(accessToken) },
  ),
  mistake('forms-need-the-id-of-the-token', ['opaque-token-plain-create', 'opaque-token-dotted-create'], {
    isFormOf: (form, visitor) => form.visitor === visitor && /^[\da-f]{8}-/.test(visitor),
  }),
  mistake('token-encoded-in-the-header', 'opaque-token-other-forms', {
    send(visit, request) {
      const { authorization } = request.headers
      if (!authorization || !request.url.startsWith(visit.settings.apiUrl)) return correct.send(visit, request)
      const headers = {
        ...request.headers,
        authorization: `Bearer ${encodeURIComponent(authorization.slice('Bearer '.length))}`,
      }
      return correct.send(visit, { ...request, headers })
    },
  }),
  mistake('sub-assumed-to-be-a-text', ['opaque-token-other-forms', 'opaque-token-other-forms-no-crash'], {
    visitorOf(tokens, visit) {
      const claims = claimsIn(tokens.accessToken)
      return claims ? (claims.sub as string).trim() : correct.visitorOf(tokens, visit)
    },
  }),
  mistake(
    'exp-in-the-past-refused',
    'opaque-token-other-forms',
    refuses(({ exp }, now) => typeof exp === 'number' && exp < now),
  ),
  mistake(
    'iat-in-the-future-refused',
    'opaque-token-other-forms',
    refuses(({ iat }, now) => typeof iat === 'number' && iat > now + 60),
  ),
  mistake('lifetime-from-exp', 'opaque-token-other-forms', {
    readTokens(visit, answer) {
      const tokens = correct.readTokens(visit, answer)
      const exp = Number(claimsIn(tokens.accessToken)?.exp)
      return Number.isNaN(exp) ? tokens : { ...tokens, seconds: Math.max(1, Math.floor(exp - Date.now() / 1000)) }
    },
  }),
  mistake('subject-of-the-callback-if-the-token-has-no-sub', 'opaque-token-subject-other', {
    visitorOf({ accessToken }, { query }) {
      const sub = claimsIn(accessToken)?.sub
      return typeof sub === 'string' ? sub : (query.get('subject') ?? '')
    },
  }),
  mistake('name-kept-under-the-sub-of-the-token', 'opaque-token-visitors-apart', {
    async exchange(visit, callback, login) {
      const tokens = await correct.exchange(visit, callback, login)
      const key = `name of ${claimsIn(tokens.accessToken)?.sub}`
      const session = { accessToken: tokens.accessToken, visitor: '', expiresAt: 0 }
      if (!visit.memory.has(key)) visit.memory.set(key, await readName(visit, session).catch(() => undefined))
      return tokens
    },
    ...answerWith((answer, visit) => {
      const session = correct.readSession(visit)
      const shown = session && visit.memory.get(`name of ${claimsIn(session.accessToken)?.sub}`)
      return shown && answer.body ? { ...answer, body: `${answer.body}<p>${correct.html(`${shown}`)}</p>` } : answer
    }),
  }),
  mistake('visitors-without-sub-are-one-visitor', 'opaque-token-other-visitor', {
    visitorOf: ({ accessToken }) => `${claimsIn(accessToken)?.sub}`,
  }),
]
