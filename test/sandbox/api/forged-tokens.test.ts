// Tests that the API refuses access tokens that the portal has not issued, and tokens whose claims are wrong.
import { createPublicKey, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import t from 'tap'
import { listKeys } from '../../../src/sandbox/store/keys.ts'
import { buildTestSandbox, portalUrl, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'

type Fields = Record<string, unknown>

/** Returns the parts of a valid token, and the key that signed the token. A forger would not have this key. */
async function takeApart(sandbox: TestSandbox) {
  const { accessToken } = await callAsDeveloper(sandbox)
  const [header = '', payload = '', signature = ''] = accessToken.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString())
  const keys = await listKeys(sandbox.store.read)
  const ownKey = JSON.parse(keys.find(key => key.kind === 'signing')?.material ?? '') as JWK
  return { accessToken, header, payload, signature, claims, kid, keys, ownKey }
}

function encode(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

function statusOf({ api }: TestSandbox, token: string) {
  return api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${token}` } })
}

t.test('AP-03: the API refuses a forged token, whatever the header of the token says', async t => {
  const sandbox = await buildTestSandbox(t)
  const { accessToken, header, payload, signature, claims, kid, keys, ownKey } = await takeApart(sandbox)
  const publicKey = createPublicKey({ key: ownKey as never, format: 'jwk' })
  const forger = await generateKeyPair('ES256', { extractable: true })
  const forgerKey = await exportJWK(forger.publicKey)
  const rsa = await generateKeyPair('RS256')
  const hits: string[] = []
  const server = createServer((request, response) => {
    hits.push(request.url ?? '')
    response.end(JSON.stringify({ keys: [{ ...forgerKey, kid }] }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const elsewhere = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`

  const sign = (fields: Fields, changed: Fields = {}) =>
    new SignJWT({ ...claims, ...changed })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid, ...fields })
      .sign(forger.privateKey)
  const hmac = (secret: string | Buffer) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid }).sign(Buffer.from(secret))
  const unsigned = (alg: string, end = '') => `${encode({ alg, typ: 'at+jwt', kid })}.${payload}.${end}`

  const forged: Record<string, string> = {
    'alg none': unsigned('none'),
    'alg None': unsigned('None'),
    'alg nOnE': unsigned('nOnE'),
    'alg none, with the signature': unsigned('none', signature),
    'alg empty': unsigned('', signature),
    'no alg': `${encode({ typ: 'at+jwt', kid })}.${payload}.${signature}`,
    'HS256 with the public key as PEM': await hmac(publicKey.export({ type: 'spki', format: 'pem' })),
    'HS256 with the public key as DER': await hmac(publicKey.export({ type: 'spki', format: 'der' })),
    'HS256 with the public key as JWK': await hmac(JSON.stringify(publicKey.export({ format: 'jwk' }))),
    RS256: await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid }).sign(rsa.privateKey),
    'another key': await sign({}),
    'kid of a file': await sign({ kid: '../../x' }),
    'kid of SQL': await sign({ kid: "' or 1=1 --" }),
    'kid of a key that signs nothing': await sign({ kid: keys.find(key => key.kind === 'sealing')?.id }),
    'kid that is not a string': await sign({ kid: { $ne: null } as never }),
    'no kid': await sign({ kid: undefined }),
    'embedded jwk': await sign({ jwk: forgerKey }),
    'embedded jwk without kid': await sign({ jwk: forgerKey, kid: undefined }),
    jku: await sign({ jku: elsewhere }),
    'jku without kid': await sign({ jku: elsewhere, kid: undefined }),
    x5u: await sign({ x5u: elsewhere }),
    'changed payload': `${header}.${encode({ ...claims, sub: randomUUID() })}.${signature}`,
    'changed header': `${encode({ alg: 'ES256', typ: 'at+jwt', kid, x: 1 })}.${payload}.${signature}`,
    'signature of zeros': `${header}.${payload}.${Buffer.alloc(64).toString('base64url')}`,
    'short signature': accessToken.slice(0, -4),
    'no signature': `${header}.${payload}.`,
    'two parts': `${header}.${payload}`,
    'five parts': `${accessToken}.${signature}.${signature}`,
    'header that is not JSON': `${Buffer.from('no JSON').toString('base64url')}.${payload}.${signature}`,
    'header that is not an object': `${encode([])}.${payload}.${signature}`,
    'payload that is not JSON': `${header}.${Buffer.from('no JSON').toString('base64url')}.${signature}`,
    'three megabytes': `${header}.${'A'.repeat(3 * 1024 * 1024)}.${signature}`,
    'three megabytes of dots': '.'.repeat(3 * 1024 * 1024),
    'no token at all': 'x',
  }
  for (const [name, token] of Object.entries(forged)) {
    const answer = await statusOf(sandbox, token)
    t.strictSame(answer.json(), { error: { status: 401, message: 'Unauthorized' } }, name)
    t.equal(answer.headers['www-authenticate'], 'Bearer realm="application API", error="invalid_token"', name)
  }
  t.strictSame(hits, [], 'no key was fetched')
  t.equal((await statusOf(sandbox, accessToken)).statusCode, 200, 'the valid token')
})

t.test(
  'AP-03: if the type, issuer, audience or time of a token is wrong, the API refuses the token even with a valid signature',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { claims, kid, ownKey } = await takeApart(sandbox)
    const sign = (changed: Fields, typ: string | undefined = 'at+jwt') =>
      new SignJWT({ ...claims, ...changed })
        .setProtectedHeader({ alg: 'ES256', kid, ...(typ !== '' && { typ }) })
        .sign(ownKey)
    const now: number = claims.iat
    const good: Record<string, string> = {
      unchanged: await sign({}),
      'good for a second': await sign({ exp: now + 1 }),
      'valid in 59 s': await sign({ nbf: now + 59 }),
      'made in 59 s': await sign({ iat: now + 59 }),
    }
    for (const [name, token] of Object.entries(good)) t.equal((await statusOf(sandbox, token)).statusCode, 200, name)
    const wrong: Record<string, string> = {
      'type JWT': await sign({}, 'JWT'),
      'type of an id token': await sign({}, 'id+jwt'),
      'no type': await sign({}, ''),
      'another issuer': await sign({ iss: 'https://evil.test' }),
      'the issuer with a slash': await sign({ iss: `${portalUrl}/` }),
      'no issuer': await sign({ iss: undefined }),
      'expired 59 s ago': await sign({ exp: now - 59 }),
      'expired now': await sign({ exp: now }),
      'valid in 61 s': await sign({ nbf: now + 61 }),
      'made in 61 s': await sign({ iat: now + 61 }),
      'exp that is text': await sign({ exp: 'tomorrow' }),
      'no exp': await sign({ exp: undefined }),
      'no iat': await sign({ iat: undefined }),
      'unknown kind': await sign({ type: 'Refresh' }),
      'a user’s token as an application’s': await sign({ type: 'App' }),
      'another grant': await sign({ jti: randomUUID() }),
      'no id': await sign({ jti: undefined }),
      'another client': await sign({ aud: randomUUID() }),
      'several clients': await sign({ aud: [claims.aud, 'https://evil.test'] }),
      'another user': await sign({ sub: randomUUID() }),
    }
    for (const [name, token] of Object.entries(wrong)) t.equal((await statusOf(sandbox, token)).statusCode, 401, name)
  },
)

for (const database of await openDatabases(t)) {
  t.test(
    `AP-03: a token with a valid signature but a made-up id is refused, and does not cause a database error (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { accessToken, claims, kid, ownKey } = await takeApart(sandbox)
      const { call, groupId } = await callAsDeveloper(sandbox)
      const { client, tokens } = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const grantId: string = claims.jti.split('.')[0]
      const ids = ['', '.', 'nul\0', `${grantId}\0`, "' or 1=1 --", '\ud800', 'x'.repeat(300), '../../x', '%00', 'é']
      const ofOtherKinds = [5, null, true, {}, [grantId], [tokens[0].id], { $ne: null }]
      const owners = [
        { type: 'User', own: claims.jti },
        { type: 'App', own: tokens[0].id, aud: client.clientId },
      ]
      for (const { own, ...owner } of owners)
        for (const jti of [...ids, ...ofOtherKinds, own]) {
          const token = await new SignJWT({ ...claims, ...owner, jti })
            .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
            .sign(ownKey)
          const name = `${owner.type} ${JSON.stringify(jti).slice(0, 60)}`
          t.equal((await statusOf(sandbox, token)).statusCode, jti === own ? 200 : 401, name)
          const me = await sandbox.portal.inject({ url: '/api/me', headers: { authorization: `Bearer ${token}` } })
          t.equal(me.statusCode, jti === claims.jti ? 200 : 403, `${name} at /api/me`)
          if (jti === own) continue
          const fields = {
            token,
            client_id: owner.aud ?? seeded.clientId,
            client_secret: owner.aud ? client.clientSecrets[0] : seeded.clientSecret,
          }
          const revoked = await sandbox.portal.inject({
            method: 'POST',
            url: '/api/revokeToken',
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
            payload: new URLSearchParams(fields).toString(),
          })
          t.equal(revoked.statusCode, 200, `the answer to the revocation of ${name}`)
        }
      for (const token of [accessToken, tokens[0].token])
        t.equal((await statusOf(sandbox, token)).statusCode, 200, 'the valid token must not be revoked')
    },
  )
}
