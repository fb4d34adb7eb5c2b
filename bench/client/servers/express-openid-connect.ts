// express-openid-connect with the authorization code flow, as in its manual.
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import express from 'express'
import openidConnect from 'express-openid-connect'
import { showList } from './list-page.ts'

const { LOGIN_URL, PUBLIC_URL, CLIENT_ID, CLIENT_SECRET } = process.env as Record<string, string>
const app = express()
app.use(
  openidConnect.auth({
    issuerBaseURL: LOGIN_URL!,
    baseURL: PUBLIC_URL!,
    clientID: CLIENT_ID!,
    clientSecret: CLIENT_SECRET!,
    clientAuthMethod: 'client_secret_post',
    secret: randomBytes(32).toString('base64url'),
    authRequired: false,
    routes: { login: '/login', callback: '/exchangeToken', logout: false },
    authorizationParams: { response_type: 'code', response_mode: 'query', scope: 'openid' },
  }),
)

app.get('/applications', openidConnect.requiresAuth(), async (request, response) => {
  response.type('html').send(await showList(request.oidc.accessToken?.access_token ?? ''))
})

const server = app.listen(0, '127.0.0.1', () => {
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
