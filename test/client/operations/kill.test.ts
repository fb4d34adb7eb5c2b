// A replica that is killed in the middle of a login, and the other one that goes on.
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { beginLogin, callbackUrl } from '../support/build-test-client.ts'
import { giveTokens, startScriptedPlatform } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'
import { spawnSmallClient } from '../support/spawn-client.ts'

t.test('F-29: killed between the login and the callback, another replica finishes the login', async t => {
  const platform = await startScriptedPlatform(t, { ...smallApi, 'POST /api/exchangeToken': giveTokens() })
  const environment = {
    LOGIN_URL: platform.url,
    API_URL: platform.url,
    COOKIE_KEYS: randomBytes(32).toString('base64url'),
  }
  const first = await spawnSmallClient(t, environment)
  const { browser } = first
  const started = await beginLogin(browser)
  first.child.kill('SIGKILL')
  await first.exited
  browser.client = (await spawnSmallClient(t, environment)).client
  t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
  t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
})
