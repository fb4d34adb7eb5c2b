// The yardstick: Fastify doing what must be done to sign in and to list, with plain cookies and without a single check.
import { createHash, randomBytes } from 'node:crypto'
import cookie from '@fastify/cookie'
import fastify from 'fastify'
import { request } from 'undici'
import { showList } from './list-page.ts'

const { LOGIN_URL, PUBLIC_URL, CLIENT_ID, CLIENT_SECRET } = process.env as Record<string, string>
const redirectUri = `${PUBLIC_URL}/exchangeToken`
const app = fastify()
await app.register(cookie)

app.get('/login', async (_request, reply) => {
  const state = randomBytes(16).toString('base64url')
  const codeVerifier = randomBytes(32).toString('base64url')
  const parameters = new URLSearchParams({
    grant_type: 'authorization',
    response_type: 'code',
    client_id: CLIENT_ID!,
    redirect_uri: redirectUri,
    cancel_url: `${PUBLIC_URL}/cancelled`,
    state,
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  reply.setCookie('login', codeVerifier, { path: '/', httpOnly: true })
  return reply.redirect(`${LOGIN_URL}/?${parameters}`, 302)
})

app.get('/exchangeToken', async ({ query, cookies }, reply) => {
  const { code, state } = query as Record<string, string>
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code: code!,
    redirect_uri: redirectUri,
    state: state!,
    code_verifier: cookies.login ?? '',
    client_id: CLIENT_ID!,
    client_secret: CLIENT_SECRET!,
  })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await request(`${LOGIN_URL}/api/exchangeToken`, { method: 'POST', headers, body: form.toString() })
  const tokens = (await answer.body.json()) as { access_token: string; refresh_token: string; expires_in: number }
  reply.clearCookie('login', { path: '/' })
  reply.setCookie('session', tokens.access_token, { path: '/', httpOnly: true, maxAge: tokens.expires_in })
  reply.setCookie('refresh', tokens.refresh_token, { path: '/', httpOnly: true })
  return reply.redirect('/applications', 303)
})

app.get('/applications', async ({ cookies }, reply) =>
  reply.type('text/html; charset=utf-8').send(await showList(cookies.session ?? '')),
)

console.log(`listening at ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
