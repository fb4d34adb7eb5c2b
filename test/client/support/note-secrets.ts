// Collects every secret while a test uses the client, and then searches the log for these secrets.
import { createHash, randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { TestBrowser } from '../../support/test-browser.ts'
import { beginLogin, type buildTestClient, callbackUrl, clientSecret, TestClock } from './build-test-client.ts'
import { accessTokenOf, type Script, send, tokenAnswer } from './scripted-platform.ts'

export const unguessable = () => randomBytes(18).toString('base64url')

/**
 * Builds a client whose platform never issues the same token twice. `secrets` contains these tokens, the values that
 * `plant` has returned, and all secrets that the browser and the platform have received.
 */
export async function noteSecrets(
  t: Test,
  build: typeof buildTestClient,
  { scripts, clock = new TestClock() }: { scripts: Record<string, Script>; clock?: TestClock },
) {
  const key = randomBytes(32).toString('base64url')
  const secrets = new Set([clientSecret, key])
  const test = await build(t, {
    clock,
    scripts: { ...scripts, 'POST /api/revokeToken': { body: {} } },
    environment: { COOKIE_KEYS: key },
  })
  const { platform, log } = test
  const loginUrl = platform.url
  platform.answer('GET /.well-known/oauth-authorization-server', {
    body: {
      issuer: loginUrl,
      code_challenge_methods_supported: ['S256'],
      revocation_endpoint: `${loginUrl}/api/revokeToken`,
    },
  })
  clock.advance(3_601)
  const plant = () => {
    const secret = unguessable()
    secrets.add(secret)
    return secret
  }
  const tokens = (more: object = {}) => {
    const fresh = { access_token: accessTokenOf('visitor-1', { jti: unguessable() }), refresh_token: unguessable() }
    for (const secret of Object.values(fresh)) secrets.add(secret)
    return { ...fresh, ...more }
  }
  platform.answer('POST /api/exchangeToken', (request, response) => {
    for (const name of ['code', 'code_verifier', 'refresh_token', 'state']) {
      const value = request.form.get(name)
      if (value) secrets.add(value)
    }
    send(response, { body: tokenAnswer(request, tokens()) })
  })

  /** A browser that adds to `secrets`: cookies, form tokens, and the state and challenge of redirects. */
  class NotingBrowser extends TestBrowser {
    override keep(response: LightMyRequestResponse) {
      super.keep(response)
      for (const { value } of response.cookies) if (value.length > 5) secrets.add(value)
      for (const [, value] of response.body.matchAll(/name="formToken" value="([^"]*)"/g)) secrets.add(value!)
      const { location } = response.headers
      const query = location ? new URL(location, 'http://here').searchParams : []
      for (const [name, value] of query) if (name === 'state' || name === 'code_challenge') secrets.add(value)
    }
  }
  const browser = new NotingBrowser(test.client, 'http://localhost:3000', clock.read)
  /** Performs a login whose callback has a code and a subject that no other login has. */
  const login = async (change: Record<string, string | undefined> = {}) => {
    const fresh = { code: plant(), subject: plant() }
    return browser.get(callbackUrl(await beginLogin(browser), { ...fresh, ...change }), { site: 'cross-site' })
  }

  /** Fails for each secret that a log line contains, in any encoding. */
  function checkLog(t: Test) {
    for (const { headers, form } of platform.received())
      for (const value of [headers.authorization?.slice('Bearer '.length), form.get('token')])
        if (value) secrets.add(value)
    const text = log.join('')
    for (const secret of secrets) {
      // The message contains a hash, because a failed test must not print the secret.
      const name = createHash('sha256').update(secret).digest('hex').slice(0, 8)
      const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), btoa(secret)]
      if (forms.some(form => text.includes(form))) t.fail(`secret ${name} (${secret.length} characters) is in the log`)
    }
    const tokens = [...secrets].filter(secret => secret.split('.').length === 3)
    for (const part of tokens.flatMap(token => token.split('.').slice(1)))
      if (part.length > 12 && text.includes(part)) t.fail('part of an access token is in the log')
  }
  return { ...test, browser, secrets, plant, tokens, login, checkLog }
}
