// @fastify/oauth2 with @fastify/secure-session, as in their manuals.
import { randomBytes } from 'node:crypto'
import oauth2, { type OAuth2Namespace } from '@fastify/oauth2'
import secureSession from '@fastify/secure-session'
import fastify from 'fastify'
import { showList } from './list-page.ts'

type Session = { get(name: string): string; set(name: string, value: unknown): void }

const { LOGIN_URL, PUBLIC_URL, CLIENT_ID, CLIENT_SECRET } = process.env as Record<string, string>
const app = fastify()
await app.register(secureSession, { key: randomBytes(32), expiry: 86_400, cookie: { path: '/', httpOnly: true } })
await app.register(oauth2, {
  name: 'portal',
  credentials: {
    client: { id: CLIENT_ID!, secret: CLIENT_SECRET! },
    auth: { authorizeHost: LOGIN_URL!, authorizePath: '/', tokenHost: LOGIN_URL!, tokenPath: '/api/exchangeToken' },
    options: { authorizationMethod: 'body' },
  },
  startRedirectPath: '/login',
  callbackUri: `${PUBLIC_URL}/exchangeToken`,
  callbackUriParams: { grant_type: 'authorization', cancel_url: `${PUBLIC_URL}/cancelled` },
  pkce: 'S256',
  cookie: { path: '/', httpOnly: true, sameSite: 'lax' },
})
const { portal } = app as unknown as { portal: OAuth2Namespace }

app.get('/exchangeToken', async (request, reply) => {
  const { token } = await portal.getAccessTokenFromAuthorizationCodeFlow(request, reply)
  const session = request.session as unknown as Session
  session.set('accessToken', token.access_token)
  session.set('refreshToken', token.refresh_token)
  return reply.redirect('/applications', 303)
})

app.get('/applications', async (request, reply) => {
  const session = request.session as unknown as Session
  return reply.type('text/html; charset=utf-8').send(await showList(session.get('accessToken')))
})

console.log(`listening at ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
