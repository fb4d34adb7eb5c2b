// The bare server: Fastify with only the steps that a sign-in and a list need. Its cookies are plain, and it has no
// state, no PKCE and no checks.
import cookie from '@fastify/cookie'
import fastify from 'fastify'
import { request } from 'undici'
import { showList } from './list-page.ts'

const { LOGIN_URL, PUBLIC_URL, CLIENT_ID, CLIENT_SECRET } = process.env as Record<string, string>
const redirectUri = `${PUBLIC_URL}/exchangeToken`
const app = fastify()
await app.register(cookie)

app.get('/login', async (_request, reply) => {
  const parameters = new URLSearchParams({
    grant_type: 'authorization',
    response_type: 'code',
    client_id: CLIENT_ID!,
    redirect_uri: redirectUri,
    cancel_url: `${PUBLIC_URL}/cancelled`,
  })
  return reply.redirect(`${LOGIN_URL}/?${parameters}`, 302)
})

app.get('/exchangeToken', async ({ query }, reply) => {
  const { code } = query as Record<string, string>
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code: code!,
    redirect_uri: redirectUri,
    client_id: CLIENT_ID!,
    client_secret: CLIENT_SECRET!,
  })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await request(`${LOGIN_URL}/api/exchangeToken`, { method: 'POST', headers, body: form.toString() })
  const tokens = (await answer.body.json()) as { access_token: string; refresh_token: string; expires_in: number }
  reply.setCookie('session', tokens.access_token, { path: '/', httpOnly: true, maxAge: tokens.expires_in })
  reply.setCookie('refresh', tokens.refresh_token, { path: '/', httpOnly: true })
  return reply.redirect('/applications', 303)
})

app.get('/applications', async ({ cookies }, reply) =>
  reply.type('text/html; charset=utf-8').send(await showList(cookies.session ?? '')),
)

console.log(`listening at ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
