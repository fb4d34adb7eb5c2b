// Tests what happens if the visitor closes the tab or presses Stop while a request is running.

import { once } from 'node:events'
import t from 'tap'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { openSocket, rawGet } from '../../support/raw-socket.ts'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../support/build-test-client.ts'
import { holdAnswer } from '../support/hold-answer.ts'
import { postAndHangUp } from '../support/post-and-hang-up.ts'
import { readForm } from '../support/read-form.ts'
import { giveTokens } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'

t.test('F-40: if the tab is closed during the exchange, there is no session and the code is used up', async t => {
  const { browser, client, platform, log } = await buildTestClient(t)
  const held = holdAnswer(giveTokens())
  platform.answer('POST /api/exchangeToken', held.script)
  const url = callbackUrl(await beginLogin(browser))
  const socket = await openSocket(client)
  socket.write(rawGet(url, { cookie: browser.cookieHeader() }))
  await held.asked
  socket.destroy()
  await once(socket, 'close')
  held.release()
  while (!log.join('').includes('login_succeeded')) await new Promise(setImmediate)

  const again = await browser.get(url, { site: 'cross-site' })
  t.equal(again.statusCode, 400)
  t.match(again.body, signInTexts.loginErrors.login_used)
  t.equal(browser.cookie('__Host-session'), undefined)
  t.equal((await browser.get('/page')).statusCode, 302, 'the visitor must not be signed in')
  t.equal(platform.received('POST /api/exchangeToken').length, 1)
  t.notMatch(log.join(''), '"event":"internal"')
})

t.test(
  'F-40: if the visitor presses Stop while the browser sends a form, and then sends the form again, the client does what the form asks only once',
  async t => {
    const { browser, client, platform, log } = await buildTestClient(t, { scripts: smallApi })
    await signIn(browser)
    const held = holdAnswer(smallApi['POST /things']!)
    platform.answer('POST /things', held.script)
    const form = { ...readForm(await browser.get('/note'), '/note'), note: 'a thought' }
    await postAndHangUp(client, browser, '/note', form, held.asked)
    held.release()

    const again = await browser.post('/note', form)
    t.same([again.statusCode, again.headers.location], [303, '/page'])
    t.equal(platform.received('POST /things').length, 1)
    t.notMatch(log.join(''), '"event":"internal"')
  },
)
