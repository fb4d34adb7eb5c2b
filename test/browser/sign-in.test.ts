// Tests a login in Chromium: which cookies the browser sends, and that it keeps the code out of its history and out of
// later requests.
import type { Page } from 'playwright-core'
import t from 'tap'
import { startBoth } from '../journey/support/start-both.ts'
import { skip } from '../support/launch-chromium.ts'
import { openPage } from '../support/open-page.ts'
import { allow, enterPassword, signIn } from './support/sign-in.ts'

/** Returns the addresses in the history of this tab. */
async function historyOf(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  const { entries } = await session.send('Page.getNavigationHistory')
  return entries.map(({ url }: { url: string }) => url)
}

t.test(
  'CL-26, CL-30: if the portal is on another site, the first page after the login already shows the visitor as signed in',
  { skip },
  async t => {
    const both = await startBoth(t)
    const { publicUrl, portalUrl, front, person } = both
    t.not(new URL(publicUrl).hostname, new URL(portalUrl).hostname, 'client and portal must be on two sites')
    const { page, troubles } = await openPage(t)
    await page.goto(publicUrl)
    await page.getByRole('link', { name: 'Sign in' }).click()
    t.ok(page.url().startsWith(`${portalUrl}/`), 'the portal asks for the password')
    await enterPassword(page, person)
    await allow(page)
    await page.getByRole('heading', { name: 'Your applications' }).waitFor()
    t.equal(page.url(), `${publicUrl}/applications`)

    const callback = front.seen.find(({ url }) => url.startsWith('/exchangeToken'))
    t.equal(callback?.status, 200, 'the callback answers with a page')
    t.notMatch(
      callback?.headers.cookie,
      '__Host-session',
      'the browser must not send a Strict cookie with the callback',
    )
    const [first, ...others] = front.seen.filter(({ url }) => url === '/applications')
    t.same(others, [], 'the browser must request the signed-in page once')
    t.equal(first?.status, 200)
    t.match(first?.headers.cookie, '__Host-session=')

    await page.reload()
    await page.getByText('1 application', { exact: true }).waitFor()
    t.same(troubles, [])
  },
)

t.test(
  'CL-27: after the callback, the browser sends neither the code nor the state to any address',
  { skip },
  async t => {
    const both = await startBoth(t)
    const { page, troubles } = await openPage(t, { javaScriptEnabled: false })
    await signIn(page, both)
    const arrived = both.front.seen.findIndex(({ url }) => url.startsWith('/exchangeToken'))
    const after = both.front.seen.slice(arrived + 1)
    t.ok(after.length > 0)
    for (const { url, headers } of after) {
      t.notMatch(url, /code|state/)
      t.notMatch(headers.referer, /code|state/, url)
    }
    t.equal(after[0]?.headers.referer, undefined)

    const { url, answered } = both.front.seen[arrived]!
    t.match(answered, {
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy':
        "default-src 'none'; img-src 'self'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    })
    const cookies = String(answered?.['set-cookie'])
    for (const name of ['code', 'state']) {
      const value = new URL(url, both.publicUrl).searchParams.get(name) ?? ''
      t.ok(value.length > 20)
      if (name === 'code') t.notMatch(cookies, value)
    }
    t.same(troubles, [])
  },
)

t.test(
  'CL-28: the browser history does not contain the code, and neither the Back button nor the Reload button sends the code again',
  { skip },
  async t => {
    const both = await startBoth(t)
    const { front, portalUrl } = both
    const { page, troubles } = await openPage(t, { isWhole: true })
    await signIn(page, both)
    t.notOk((await historyOf(page)).some(url => url.includes('code=')))

    front.takeSeen()
    await page.reload()
    await page.getByRole('heading', { name: 'Your applications' }).waitFor()
    await page.goBack({ waitUntil: 'commit' })
    t.ok(page.url().startsWith(portalUrl), 'the Back button leads to the portal')
    await page.goForward({ waitUntil: 'commit' })
    await page.getByRole('heading', { name: 'Your applications' }).waitFor()
    t.notOk(front.takeSeen().some(request => request.includes('/exchangeToken')))
    t.same(troubles, [])
  },
)
