// Faults of the first page of a login. These faults happen to the visitor's browser, so the client does not see them.
import t from 'tap'
import { openBrowser, startUrl } from '../support/browser.ts'
import { seeded } from '../support/build-test-sandbox.ts'
import { buildFaultLab } from './support/fault-lab.ts'

t.test('a fault of the login request happens at the next login, and the login after that works', async t => {
  const { sandbox, order } = await buildFaultLab(t)
  const browser = openBrowser(sandbox)
  await order('start-503')
  t.equal((await browser.get(startUrl())).statusCode, 503)
  t.equal((await browser.get(startUrl())).statusCode, 200)
})

t.test('if a fault of the login request is limited to one client or to one state value, other logins work', async t => {
  const { sandbox, order } = await buildFaultLab(t)
  const browser = openBrowser(sandbox)
  await order('start-503', { clientId: '3f0f7d5e-0000-4000-8000-000000000000' })
  t.equal((await browser.get(startUrl())).statusCode, 200, 'another client')
  await order('start-500', { clientId: seeded.clientId })
  t.equal((await browser.get(startUrl())).statusCode, 500, 'this client')
  await order('start-502', { state: 'the-state-of-this-login' })
  t.equal((await browser.get(startUrl())).statusCode, 200, 'another state')
  t.equal((await browser.get(startUrl({ state: 'the-state-of-this-login' }))).statusCode, 502, 'this state')
})

t.test('a request for the account page does not consume a fault of the login request', async t => {
  const { sandbox, order } = await buildFaultLab(t)
  await order('start-503', { times: 'always' })
  const answer = await openBrowser(sandbox).get('/')
  t.match([answer.statusCode, answer.headers.location], [303, '/account'])
})

t.test('if a fault has happened to a login request, the verdict of the login names the fault', async t => {
  const { sandbox, order, call } = await buildFaultLab(t)
  await order('start-503')
  await openBrowser(sandbox).get(startUrl())
  const [login] = (await call('GET', '/lab/v1/logins')).json().logins
  t.match(login.verdict, {
    sentence: 'Under way: the browser has not continued after the fault start-503 at step 1.',
    fix: 'Reload the page of the portal, or start the login again.',
  })
  const { steps } = (await call('GET', `/lab/v1/logins/${login.id}`)).json()
  t.equal(steps[0].fault.name, 'start-503')
})
