// @fastify/oauth2 with @fastify/secure-session, as in their manuals.
import { AsyncLocalStorage } from 'node:async_hooks'
import oauth2, { type OAuth2Namespace, type Token } from '@fastify/oauth2'
import secureSession from '@fastify/secure-session'
import { buildApplication, listen, readList, settings, showList, showRefusal } from './application.ts'

type Session = { get(name: 'token'): Token | undefined; set(name: 'token', value: Token): void; delete(): void }

const { loginUrl, clientId, clientSecret, redirectUri, cancelUrl, sessionKey } = settings
const state = new AsyncLocalStorage<string>()
const app = buildApplication()
await app.register(secureSession, { key: Buffer.from(sessionKey, 'base64url'), cookie: { path: '/', httpOnly: true } })
await app.register(oauth2, {
  name: 'portal',
  credentials: {
    client: { id: clientId, secret: clientSecret },
    auth: {
      authorizeHost: loginUrl,
      authorizePath: '/',
      tokenHost: loginUrl,
      tokenPath: '/api/exchangeToken',
      revokePath: '/api/revokeToken',
    },
    options: { authorizationMethod: 'body' },
  },
  startRedirectPath: '/login',
  callbackUri: redirectUri,
  callbackUriParams: { grant_type: 'authorization', cancel_url: cancelUrl },
  tokenRequestParams: {
    // The platform requires the state in the exchange. The library reads this object for each request.
    get state() {
      return state.getStore()
    },
  },
})
const { portal } = app as unknown as { portal: OAuth2Namespace }
const sessionOf = (request: { session: unknown }) => request.session as Session

app.get<{ Querystring: { state: string } }>('/exchangeToken', async (request, reply) => {
  const exchange = () => portal.getAccessTokenFromAuthorizationCodeFlow(request, reply)
  const answer = await state.run(request.query.state, exchange).catch(() => undefined)
  if (!answer) return showRefusal(reply, 400)
  sessionOf(request).set('token', answer.token)
  return reply.redirect('/applications', 303)
})

app.get('/applications', async (request, reply) => {
  const session = sessionOf(request)
  let token = session.get('token')
  if (token && new Date(token.expires_at) <= new Date()) {
    token = await renew(token)
    if (token) session.set('token', token)
  }
  if (!token) {
    session.delete()
    return reply.redirect('/login', 303)
  }
  const names = await readList(token.access_token)
  if (names) return showList(reply, names)
  session.delete()
  return showRefusal(reply, 401)
})

app.post('/logout', async (request, reply) => {
  const session = sessionOf(request)
  const token = session.get('token')
  session.delete()
  if (token) await portal.revokeToken(token, 'refresh_token', undefined).catch(() => undefined)
  return reply.redirect('/', 303)
})

/**
 * Returns undefined if the portal says that the refresh token is no longer valid. Throws an error if the renewal fails
 * for another reason.
 */
async function renew(token: Token): Promise<Token | undefined> {
  try {
    const renewed = await portal.getNewAccessTokenUsingRefreshToken(token, {})
    return renewed.token
  } catch (error) {
    if ((error as { data?: { payload?: { error?: string } } }).data?.payload?.error === 'invalid_grant')
      return undefined
    throw error
  }
}

await listen(app)
