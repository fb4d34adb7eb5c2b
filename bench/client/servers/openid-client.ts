// openid-client with iron-session on Fastify, as in their manuals.
import { randomBytes } from 'node:crypto'
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { getIronSession } from 'iron-session'
import * as openid from 'openid-client'
import { showList } from './list-page.ts'

type Session = {
  accessToken?: string
  refreshToken?: string | undefined
  codeVerifier?: string | undefined
  state?: string | undefined
  nonce?: string | undefined
}

const { LOGIN_URL, PUBLIC_URL, CLIENT_ID, CLIENT_SECRET } = process.env as Record<string, string>
const password = randomBytes(32).toString('base64url')
const redirectUri = `${PUBLIC_URL}/exchangeToken`
const configuration = await openid.discovery(
  new URL(LOGIN_URL!),
  CLIENT_ID!,
  undefined,
  openid.ClientSecretPost(CLIENT_SECRET!),
  { execute: [openid.allowInsecureRequests] },
)
const app = fastify()

const sessionOf = (request: FastifyRequest, reply: FastifyReply) =>
  getIronSession<Session>(request.raw, reply.raw, {
    password,
    cookieName: 'session',
    cookieOptions: { secure: false, sameSite: 'lax' },
  })

app.get('/login', async (request, reply) => {
  const session = await sessionOf(request, reply)
  session.codeVerifier = openid.randomPKCECodeVerifier()
  session.state = openid.randomState()
  session.nonce = openid.randomNonce()
  await session.save()
  const url = openid.buildAuthorizationUrl(configuration, {
    grant_type: 'authorization',
    redirect_uri: redirectUri,
    cancel_url: `${PUBLIC_URL}/cancelled`,
    scope: 'openid',
    state: session.state,
    nonce: session.nonce,
    code_challenge: await openid.calculatePKCECodeChallenge(session.codeVerifier),
    code_challenge_method: 'S256',
  })
  return reply.redirect(url.href, 302)
})

app.get('/exchangeToken', async (request, reply) => {
  const session = await sessionOf(request, reply)
  const tokens = await openid.authorizationCodeGrant(configuration, new URL(request.url, PUBLIC_URL), {
    pkceCodeVerifier: session.codeVerifier!,
    expectedState: session.state!,
    expectedNonce: session.nonce!,
    idTokenExpected: true,
  })
  session.codeVerifier = session.state = session.nonce = undefined
  session.accessToken = tokens.access_token
  session.refreshToken = tokens.refresh_token
  await session.save()
  return reply.redirect('/applications', 303)
})

app.get('/applications', async (request, reply) => {
  const { accessToken } = await sessionOf(request, reply)
  return reply.type('text/html; charset=utf-8').send(await showList(accessToken ?? ''))
})

console.log(`listening at ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
