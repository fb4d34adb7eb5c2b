// oidc-provider. With these settings, an exchange needs the same work as with our portal: a client secret, PKCE, a JWT
// signed with ES256, and a refresh token. With the scope "openid" the JWT is an ID token, and the access token is
// random. With "applications" the access token is a JWT.
import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { client, codeChallenge } from '../login.ts'

const accountId = 'visitor-1'
const { SCOPE: scope = '' } = process.env
const isForApi = scope === 'applications'
const resource = 'https://api.example.test'
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const server = createServer()
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const provider = new Provider(origin, {
  clients: [
    {
      client_id: client.id,
      client_secret: client.secret,
      redirect_uris: [client.redirectUri],
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_post',
      id_token_signed_response_alg: 'ES256',
    },
  ],
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'key-1', use: 'sig', alg: 'ES256' } as never] },
  findAccount: async (_context, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
  issueRefreshToken: async () => true,
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      // Without a resource the access token would be a random string, and nothing would be signed.
      useGrantedResource: async () => true,
      getResourceServerInfo: async () => ({
        scope: 'applications',
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 86_400,
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
})
const registered = await provider.Client.find(client.id)
const answer = provider.callback()

server.on('request', async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', origin)
  // The bench creates finished logins, because it measures only the exchange.
  if (pathname === '/bench/codes') {
    const codes = await Promise.all(Array.from({ length: Number(searchParams.get('count')) }, makeCode))
    return response.end(JSON.stringify(codes))
  }
  if (pathname === '/bench/access-token') return response.end(await makeAccessToken())
  return answer(request, response)
})
console.log(`listening at ${origin};`)

async function makeGrant(): Promise<string> {
  const grant = new provider.Grant({ accountId, clientId: client.id })
  grant.addOIDCScope('openid')
  grant.addResourceScope(resource, 'applications')
  return grant.save()
}

async function makeCode(): Promise<string> {
  const code = new provider.AuthorizationCode({
    client: registered!,
    accountId,
    grantId: await makeGrant(),
    redirectUri: client.redirectUri,
    scope,
    ...(isForApi && { resource }),
    codeChallenge,
    codeChallengeMethod: 'S256',
  } as never)
  return code.save()
}

async function makeAccessToken(): Promise<string> {
  const token = new provider.AccessToken({
    client: registered!,
    accountId,
    grantId: await makeGrant(),
    scope: 'openid',
  } as never)
  return token.save()
}
