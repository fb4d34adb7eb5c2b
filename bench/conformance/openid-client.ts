// openid-client with iron-session on Fastify, as in their manuals.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { getIronSession } from 'iron-session'
import * as openid from 'openid-client'
import { buildApplication, listen, readList, settings, showList, showRefusal } from './application.ts'

type Session = {
  login?: { codeVerifier: string; state: string } | undefined
  tokens?: { access: string; refresh: string | undefined; endsAt: number } | undefined
}

const { loginUrl, clientId, clientSecret, redirectUri, cancelUrl, sessionKey } = settings
const configuration = await openid.discovery(new URL(loginUrl), clientId, clientSecret, undefined, {
  algorithm: 'oauth2',
  execute: [openid.allowInsecureRequests],
})
const app = buildApplication()

const sessionOf = (request: FastifyRequest, reply: FastifyReply) =>
  getIronSession<Session>(request.raw, reply.raw, { password: sessionKey, cookieName: 'session' })

const keep = (answer: openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers, refresh?: string) => ({
  access: answer.access_token,
  refresh: answer.refresh_token ?? refresh,
  endsAt: Date.now() + (answer.expiresIn() ?? 0) * 1000,
})

app.get('/login', async (request, reply) => {
  const session = await sessionOf(request, reply)
  const codeVerifier = openid.randomPKCECodeVerifier()
  const state = openid.randomState()
  session.login = { codeVerifier, state }
  await session.save()
  const url = openid.buildAuthorizationUrl(configuration, {
    grant_type: 'authorization',
    redirect_uri: redirectUri,
    cancel_url: cancelUrl,
    state,
    code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  })
  return reply.redirect(url.href, 302)
})

app.get('/exchangeToken', async (request, reply) => {
  const session = await sessionOf(request, reply)
  if (!session.login) return showRefusal(reply, 400)
  const { codeVerifier, state } = session.login
  const checks = { pkceCodeVerifier: codeVerifier, expectedState: state }
  const address = new URL(request.url, redirectUri)
  // The platform requires the state in the exchange.
  const answer = await openid.authorizationCodeGrant(configuration, address, checks, { state }).catch(() => undefined)
  if (!answer) return showRefusal(reply, 400)
  session.login = undefined
  session.tokens = keep(answer)
  await session.save()
  return reply.redirect('/applications', 303)
})

app.get('/applications', async (request, reply) => {
  const session = await sessionOf(request, reply)
  if (session.tokens?.refresh && session.tokens.endsAt <= Date.now()) {
    session.tokens = await renew(session.tokens.refresh)
    if (session.tokens) await session.save()
  }
  if (!session.tokens) {
    session.destroy()
    return reply.redirect('/login', 303)
  }
  const names = await readList(session.tokens.access)
  if (names) return showList(reply, names)
  session.destroy()
  return showRefusal(reply, 401)
})

app.post('/logout', async (request, reply) => {
  const session = await sessionOf(request, reply)
  const token = session.tokens?.refresh
  session.destroy()
  if (token) await openid.tokenRevocation(configuration, token).catch(() => undefined)
  return reply.redirect('/', 303)
})

/**
 * Returns undefined if the portal says that the refresh token is no longer valid. Throws an error if the renewal fails
 * for another reason.
 */
async function renew(refresh: string): Promise<Session['tokens']> {
  try {
    return keep(await openid.refreshTokenGrant(configuration, refresh), refresh)
  } catch (error) {
    if (error instanceof openid.ResponseBodyError && error.error === 'invalid_grant') return undefined
    throw error
  }
}

await listen(app)
