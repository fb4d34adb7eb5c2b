// The start page: it knows who is signed in, also where only the means to renew the session are left.
import t from 'tap'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { linksOf, textOf } from '../support/read-form.ts'

const onward = (page: { body: string }) => linksOf(page).filter(href => href === '/login' || href === '/page')

t.test('a stranger is offered to sign in, and nothing else', async t => {
  const { browser } = await buildTestClient(t)
  const page = await browser.get('/')
  t.same(onward(page), ['/login'])
  t.notMatch(textOf(page), 'You are signed out')
})

for (const [what, isKept] of [
  ['a session alone', (name: string) => name === '__Host-session'],
  ['a refresh token alone', (name: string) => name.startsWith('__Host-refresh-')],
] as const) {
  t.test(`whoever has ${what} is led on to the product`, async t => {
    const { browser } = await buildTestClient(t)
    await signIn(browser)
    for (const name of browser.names()) if (!isKept(name)) browser.cookies.delete(name)
    t.equal(browser.names().length, 1)
    const page = await browser.get('/')
    t.ok(onward(page).includes('/page'))
    t.notOk(onward(page).includes('/login'))
  })
}

t.test('whoever has signed out reads so, and where to sign out of the portal, until the next login', async t => {
  const { browser, platform } = await buildTestClient(t)
  await signIn(browser)
  t.equal((await browser.post('/logout')).headers.location, '/')
  t.match(textOf(await browser.get('/')), 'You are signed out')
  for (const path of ['/', '/page']) {
    const page = await browser.get(path)
    t.match(textOf(page), 'The login portal may still know who you are')
    t.ok(linksOf(page).includes(`${platform.url}/sign-out`), path)
  }
  t.same(onward(await browser.get('/')), ['/login'])
  await signIn(browser)
  t.notMatch(textOf(await browser.get('/')), 'You are signed out')
})
