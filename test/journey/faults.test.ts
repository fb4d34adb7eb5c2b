// Tests what happens if the portal or the API stops for a while, or if the client's own application is removed.
import t from 'tap'
import { HttpBrowser, hiddenFields } from './support/http-browser.ts'
import { logIn, reachCallback } from './support/log-in.ts'
import { startBoth } from './support/start-both.ts'

const loginCookies = (browser: HttpBrowser) =>
  browser.cookies('localhost').filter(name => name.startsWith('__Host-login-'))

t.test('F-01: if the portal is down during the exchange, a page immediately offers to begin a new login', async t => {
  const both = await startBoth(t)
  const browser = new HttpBrowser()
  const callback = await reachCallback(browser, both)
  t.equal(loginCookies(browser).length, 1)
  await both.lab.order('exchange-reset', { times: 'always' })
  const begun = Date.now()
  const page = await browser.follow(callback)
  t.ok(Date.now() - begun < 1000)
  t.match(page, { status: 502, text: 'The login portal could not be reached' })
  t.match(page.text, 'href="/login"')
  t.same(loginCookies(browser), [])
  t.notOk(browser.cookies('localhost').includes('__Host-session'))

  await both.lab.removeFaults()
  t.match(await browser.follow(await browser.get(`${both.publicUrl}/login`)), { status: 200, text: 'Reference client' })
})

t.test('F-19: while the API is down, signing in and out work, and afterwards everything works', async t => {
  const both = await startBoth(t)
  const { publicUrl, lab } = both
  await lab.order('api-reset', { times: 'always' })
  const browser = new HttpBrowser()
  const list = await logIn(browser, both)
  t.match(list, { status: 502, url: `${publicUrl}/applications`, text: 'The application API could not be reached' })
  t.match(list.text, 'Try again')
  t.match(await browser.get(publicUrl), { status: 200, text: 'Go to your applications' })
  t.match(await browser.get(`${publicUrl}/applications/new`), { status: 200, text: 'New application' })

  await lab.removeFaults()
  t.match(await browser.get(`${publicUrl}/applications`), { status: 200, text: 'Reference client' })
  await lab.order('api-reset', { times: 'always' })
  const out = await browser.follow(await browser.post(`${publicUrl}/logout`, {}))
  t.match(out, { status: 200, text: 'You are signed out.' })
})

t.test(
  'AP-18: if a visitor removes the client’s own application, later requests get a page and not a redirect loop',
  async t => {
    const both = await startBoth(t)
    const { publicUrl, clientId, front } = both
    const [browser, otherVisitor] = [new HttpBrowser(), new HttpBrowser()]
    await logIn(browser, both)
    await logIn(otherVisitor, both)
    const path = `/applications/${clientId}/delete`
    const form = hiddenFields(await browser.get(publicUrl + path), path)
    front.takeSeen()
    const removed = await browser.follow(
      await browser.post(publicUrl + path, { ...form, confirmation: 'Reference client' }),
    )
    t.match(removed, { status: 200, text: 'Nobody can sign in here until the operator registers this site again' })
    t.same(front.takeSeen(), [`POST ${path}`, 'GET /'])
    const list = await browser.follow(await browser.get(`${publicUrl}/applications`))
    t.match(list, { status: 401 }, 'the visitor must be signed out')
    t.same(front.takeSeen(), ['GET /applications'])
    t.match(await browser.follow(await browser.post(`${publicUrl}/logout`, {})), { text: 'You are signed out.' })

    front.takeSeen()
    const listOfOther = await otherVisitor.follow(await otherVisitor.get(`${publicUrl}/applications`))
    t.match(listOfOther, { status: 502, text: 'This site is not set up correctly' })
    t.same(front.takeSeen(), ['GET /applications'])
    const refused = await browser.follow(await browser.get(`${publicUrl}/login`))
    t.match(refused, { status: 400 }, 'the portal must refuse the removed client')
  },
)
