// Builds a client with a signed-in visitor, for the tests of renewals.
import type { Test } from 'tap'
import { FieldError, PublicError } from '../../../../src/client/errors.ts'
import type { TestBrowser } from '../../../support/test-browser.ts'
import { buildTestClient, signIn } from '../../support/build-test-client.ts'
import { accessTokenOf, giveTokens, type Script } from '../../support/scripted-platform.ts'
import { smallProduct } from '../../support/small-product.ts'
import type { TestProduct } from '../../support/test-product.ts'

export const tokenRoute = 'POST /api/exchangeToken'
export const renewedToken = accessTokenOf('visitor-1', { jti: 'renewed' })

/** The small product with `GET /gone`, which always answers 404, and `POST /strict`, a form that refuses any text. */
const product: TestProduct = {
  ...smallProduct,
  async pages(signedIn, options) {
    await signedIn.register(smallProduct.pages, options)
    signedIn.get('/gone', async () => {
      throw new PublicError('thing_not_found', 404, 'There is no such thing.')
    })
    const data = () => ({ title: 'A strict form', inputs: [{ name: 'note', label: 'Note' }], button: 'Send it' })
    const strict = signedIn.defineForm({ page: '/strict', template: 'form', data })
    signedIn.get('/strict', strict.show)
    signedIn.post(
      '/strict',
      strict.route,
      strict.submit(async () => {
        throw new FieldError({ note: ['Too odd.'] })
      }),
    )
  },
}

/** Signs a visitor in for an hour, with the refresh token `first`. `renewal` is the portal's answer to renewals. */
export async function buildSignedIn(
  t: Test,
  renewal: Script = giveTokens({ access_token: renewedToken, refresh_token: 'second' }),
) {
  const test = await buildTestClient(t, { product, scripts: { 'GET /things': { body: ['first thing'] } } })
  test.platform.answer(tokenRoute, giveTokens({ refresh_token: 'first' }))
  await signIn(test.browser)
  test.platform.answer(tokenRoute, renewal)
  /** Returns the requests for tokens that the client has sent since the login. */
  const renewals = () => test.platform.received(tokenRoute).slice(1)
  return { ...test, renewals }
}

export function openPage(browser: TestBrowser) {
  return browser.get('/page', { site: 'same-origin' })
}

/** The names of the cookies that contain a refresh token. */
export function refreshCookieNames(browser: TestBrowser): string[] {
  return browser.names().filter(name => name.startsWith('__Host-refresh-'))
}
