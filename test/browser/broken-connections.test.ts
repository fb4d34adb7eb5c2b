// Tests what happens if connections between the browser and the client break, or if visitors stop requests.
import { EventEmitter, once } from 'node:events'
import type { Page } from 'playwright-core'
import t from 'tap'
import type { Exchange, Front } from '../journey/support/start-front.ts'
import { skip } from '../support/launch-chromium.ts'
import { allow, enterPassword } from './support/sign-in.ts'
import { startVisit } from './support/start-visit.ts'

const isCallback = ({ seen }: Exchange) => seen.url.startsWith('/exchangeToken')
const isCreation = ({ seen }: Exchange) => seen.method === 'POST' && seen.url === '/applications'

/**
 * Breaks the connections of the first matching requests before these requests reach the client. If `after` is true, the
 * connections break only after the client has answered.
 */
function cutFirst(front: Front, fits: (exchange: Exchange) => boolean, { times = 1, after = false } = {}): void {
  let cuts = 0
  front.handle = async exchange => {
    if (!fits(exchange) || cuts++ >= times) return exchange.pass(await exchange.forward())
    if (after) await exchange.forward()
    exchange.cut()
  }
}

/** Holds back the answers to matching requests until the test releases them. */
function holdAnswers(front: Front, fits: (exchange: Exchange) => boolean) {
  const news = new EventEmitter()
  const released = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  let answers = 0
  front.handle = async exchange => {
    const answer = await exchange.forward()
    if (fits(exchange)) {
      answers++
      void exchange.left.then(() => left.resolve())
      news.emit('answer')
      await released.promise
    }
    exchange.pass(answer)
  }
  const reach = async (count: number) => {
    while (answers < count) await once(news, 'answer')
  }
  return { reach, release: released.resolve, left: left.promise }
}

async function fillNew(page: Page, publicUrl: string): Promise<void> {
  await page.goto(`${publicUrl}/applications/new`)
  await page.getByLabel('Name', { exact: true }).fill('Weather station')
  await page.getByLabel('Redirect URIs').fill('http://localhost:5000/exchangeToken')
}

async function countApplications(page: Page, publicUrl: string): Promise<number> {
  await page.goto(`${publicUrl}/applications?q=Weather`)
  await page.getByRole('status').waitFor()
  return page.locator('ul.list > li').count()
}

t.test(
  'CL-29: the browser repeats a callback that has not reached the client, and the login succeeds',
  { skip },
  async t => {
    const { page, front, publicUrl, person } = await startVisit(t, { browser: { isWhole: true } })
    await page.goto(`${publicUrl}/login`)
    await enterPassword(page, person)
    // The browser repeats the callback twice: immediately, and again when it shows its own error page.
    cutFirst(front, isCallback, { times: 2 })
    await allow(page)
    await page.getByRole('heading', { name: 'Your applications' }).waitFor()
    const deliveries = front.seen.filter(({ url }) => url.startsWith('/exchangeToken'))
    t.equal(deliveries.length, 3)
  },
)

t.test(
  'F-22: if the answer to a callback is lost, the visitor can sign in again, and the client exchanges the code only once',
  { skip },
  async t => {
    const { page, front, publicUrl, person, log } = await startVisit(t)
    await page.goto(`${publicUrl}/login`)
    await enterPassword(page, person)
    cutFirst(front, isCallback, { after: true })
    await allow(page)
    await page.getByText('This sign-in link has already been used').waitFor()
    t.same(
      front.seen.filter(({ url }) => url.startsWith('/exchangeToken')).map(({ status }) => status),
      [200, 400],
    )
    t.equal(log.filter(line => line.includes('login_succeeded')).length, 1)
    front.takeSeen()
    await page.getByRole('link', { name: 'Sign in again' }).click()
    await page.getByRole('heading', { name: 'Your applications' }).waitFor()
    t.equal(
      front.takeSeen().filter(request => request.includes('/exchangeToken')).length,
      1,
      'the link on the page must lead to a second exchange',
    )
  },
)

t.test(
  'PG-15: if the answer to a form is lost, the browser sends the form again, and the client creates only one application',
  { skip },
  async t => {
    const { page, front, publicUrl, troubles } = await startVisit(t, { at: '/applications' })
    await fillNew(page, publicUrl)
    cutFirst(front, isCreation, { after: true })
    await page.getByRole('button', { name: 'Create application' }).click()
    await page.getByRole('heading', { name: 'Weather station is registered' }).waitFor()
    t.equal(front.seen.filter(seen => isCreation({ seen } as Exchange)).length, 2, 'the form must be delivered twice')
    t.equal(await countApplications(page, publicUrl), 1)
    t.same(troubles, [])
  },
)

t.test(
  'F-28: if the browser sends a form to one replica, and then again to a second replica, the second replica finds the application that the first one created',
  { skip },
  async t => {
    const { page, front, publicUrl } = await startVisit(t, { at: '/applications', replicas: 2 })
    await fillNew(page, publicUrl)
    cutFirst(front, isCreation, { after: true })
    await page.getByRole('button', { name: 'Create application' }).click()
    await page.getByText('create a new one below.').waitFor()
    const [first, second] = front.seen.filter(seen => isCreation({ seen } as Exchange))
    t.not(first?.replica, second?.replica)
    t.equal(await countApplications(page, publicUrl), 1)
  },
)

t.test('F-40: if the tab is closed during the exchange, nobody is signed in', { skip }, async t => {
  const { page, context, front, publicUrl, person } = await startVisit(t)
  await page.goto(`${publicUrl}/login`)
  await enterPassword(page, person)
  const { reach, release, left } = holdAnswers(front, isCallback)
  await page.getByRole('button', { name: 'Allow' }).click({ noWaitAfter: true })
  await reach(1)
  await page.close()
  await left
  release()
  const another = await context.newPage()
  await another.goto(publicUrl)
  await another.getByRole('link', { name: 'Sign in' }).waitFor()
  const names = (await context.cookies()).map(({ name }) => name)
  t.notOk(names.some(name => /^__Host-(session|refresh)/.test(name)))
})

t.test(
  'F-40: if the visitor presses Stop while the browser sends a form, the list shows whether the application was created',
  { skip },
  async t => {
    const { page, context, front, publicUrl } = await startVisit(t, { at: '/applications' })
    await fillNew(page, publicUrl)
    const { reach, release } = holdAnswers(front, isCreation)
    await page.getByRole('button', { name: 'Create application' }).click({ noWaitAfter: true })
    await reach(1)
    const session = await context.newCDPSession(page)
    await session.send('Page.stopLoading')
    release()
    t.equal(page.url(), `${publicUrl}/applications/new`)
    t.equal(
      await page.getByLabel('Name', { exact: true }).inputValue(),
      'Weather station',
      'the form must still contain the typed text',
    )
    t.equal(await countApplications(page, publicUrl), 1)
  },
)

t.test(
  'F-41: without JavaScript, if the visitor sends a form twice before the answer arrives, only one application is created',
  { skip },
  async t => {
    const { page, front, publicUrl, troubles } = await startVisit(t, {
      at: '/applications',
      browser: { javaScriptEnabled: false },
    })
    await fillNew(page, publicUrl)
    const { reach, release } = holdAnswers(front, isCreation)
    await page.getByRole('button', { name: 'Create application' }).click({ noWaitAfter: true })
    await reach(1)
    // The Enter key presses the button again, because the button still has the focus.
    await page.keyboard.press('Enter')
    await reach(2)
    release()
    await page.getByRole('heading', { name: 'Weather station is registered' }).waitFor()
    t.equal(front.seen.filter(seen => isCreation({ seen } as Exchange)).length, 2)
    t.equal(await countApplications(page, publicUrl), 1)
    t.same(troubles, [])
  },
)
