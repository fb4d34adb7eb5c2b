// Simulates the login portal and the application API for all measured servers. Answers as fast as Node can, and does
// not check the requests.
import { createSign, generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Code } from './code.ts'

const listSizes = [20, 2000]
const lifetimeSeconds = 86_400
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

const server = createServer(async (request, response) => {
  const { method, url = '' } = request
  if (url === '/apps/v1') return listApplications(request, response)
  if (method === 'POST' && url === '/api/exchangeToken') return exchangeToken(request, response)
  const document = documents()[url]
  return send(response, JSON.stringify(document ?? {}), document ? 200 : 404)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.({ url: origin() }))

function origin(): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/**
 * The metadata documents of RFC 8414 and of OpenID Connect Discovery. Only servers that need an ID token read the
 * second document.
 */
function documents(): Record<string, object> {
  const metadata = {
    issuer: origin(),
    authorization_endpoint: `${origin()}/`,
    token_endpoint: `${origin()}/api/exchangeToken`,
    revocation_endpoint: `${origin()}/api/revokeToken`,
    jwks_uri: `${origin()}/jwks`,
    code_challenge_methods_supported: ['S256'],
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  }
  return {
    '/.well-known/oauth-authorization-server': metadata,
    '/.well-known/openid-configuration': metadata,
    '/jwks': { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'key-1', use: 'sig', alg: 'RS256' }] },
  }
}

/**
 * The lists, keyed by access token. Each size of list has its own access token, so the token tells the API which list
 * to send.
 */
const lists = new Map(listSizes.map(size => [accessTokenOf(size), Buffer.from(JSON.stringify(collectionOf(size)))]))

function listApplications(request: IncomingMessage, response: ServerResponse): void {
  const list = lists.get(request.headers.authorization?.slice('Bearer '.length) ?? '')
  send(response, list ?? '{"error":{"status":401,"message":"Unauthorized"}}', list ? 200 : 401)
}

async function exchangeToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const form = new URLSearchParams(await text(request))
  const code = JSON.parse(Buffer.from(form.get('code') ?? '', 'base64url').toString()) as Code
  const state = form.get('state')
  const answer = {
    access_token: accessTokenOf(code.listSize),
    expires_in: lifetimeSeconds,
    token_type: 'Bearer',
    scope: '',
    refresh_token: 'refresh0refresh0refresh0refres',
    ...(state ? { state } : {}),
    ...(code.nonce ? { id_token: idTokenOf(code.clientId, code.nonce) } : {}),
  }
  send(response, JSON.stringify(answer))
}

function send(response: ServerResponse, body: string | Buffer, status = 200): void {
  const length = Buffer.byteLength(body)
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': length })
  response.end(body)
}

/** This access token is as long as a real token (RFC 9068, ES256). No server of this bench verifies it. */
function accessTokenOf(listSize: number): string {
  const id = '5ab1eb9f-3c8f-4bf0-a9a6-'
  const payload = {
    iss: 'https://login.platform.example',
    sub: id + String(listSize).padStart(12, '0'),
    aud: `${id}ffffffffffff`,
    iat: 1_767_225_600,
    exp: 1_767_312_000,
    jti: `${id}eeeeeeeeeeee`,
    type: 'User',
  }
  return `${[{ alg: 'ES256', typ: 'at+jwt', kid: 'Vq2pGmY1WnD8xk3R' }, payload].map(encode).join('.')}.${'s'.repeat(86)}`
}

function idTokenOf(clientId: string, nonce: string): string {
  const now = Math.floor(Date.now() / 1000)
  const payload = { iss: origin(), sub: 'visitor-1', aud: clientId, iat: now, exp: now + lifetimeSeconds, nonce }
  const signed = [{ alg: 'RS256', typ: 'JWT', kid: 'key-1' }, payload].map(encode).join('.')
  return `${signed}.${createSign('sha256').update(signed).sign(privateKey, 'base64url')}`
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function collectionOf(size: number): object {
  return {
    '@context': 'https://schema.org/',
    '@type': 'collection',
    ItemList: Array.from({ length: size }, applicationOf),
  }
}

function applicationOf(_: unknown, index: number): object {
  const id = (kind: number) => `7d0e5a3c-${String(kind).padStart(4, '0')}-4c1b-9b1d-${String(index).padStart(12, '0')}`
  const createdAt = new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString().replace('.000Z', '+00:00')
  const metadata = { createdAt, createdBy: id(1), updatedAt: createdAt, updatedBy: id(1) }
  const standards = 'https://standards.oftrust.net/v2/Context'
  const link = { '@context': `${standards}/Link/Role/DeveloperOf/`, '@type': 'DeveloperOf', '@id': id(3) }
  return {
    '@context': `${standards}/Identity/Digital/Software/App/`,
    '@type': 'App',
    '@id': id(2),
    data: {
      name: `Weather & news ${index}`,
      description: 'Shows the weather of tomorrow.',
      privacyPolicyUrl: 'https://weather.example/privacy',
      webPageUrl: 'https://weather.example/',
      iconUrl: 'https://weather.example/icon.png',
    },
    metadata,
    inLinks: [{ ...link, from: id(4), to: id(2), data: {}, metadata }],
    outLinks: [],
  }
}
