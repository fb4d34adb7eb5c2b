// Tests the portal's pages in Chromium, with and without JavaScript.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import t from 'tap'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import { seeded } from '../support/build-test-sandbox.ts'
import { type OpenPortal, openPortal } from '../support/open-portal.ts'
import { fillSignUp, makeThroughClient } from '../support/walk-portal.ts'

async function signIn({ startUrl }: OpenPortal, page: Page): Promise<void> {
  await page.goto(startUrl)
  await page.getByLabel('E-mail').first().fill(seeded.email)
  await page.getByLabel('Password').first().fill(seeded.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'wants to sign you in' }).waitFor()
}

t.test(
  'without JavaScript a person can sign up, make a group, get a token, allow an application, withdraw the consent, and remove what this application has made',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page } = await openPage(t, { javaScriptEnabled: false })
    await page.goto(portal.portalUrl)
    await fillSignUp(page, 'nojs@example.test')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    t.equal(
      await page.getByRole('button', { name: /^Copy/ }).count(),
      0,
      'without JavaScript there must be no such button',
    )
    await page.getByRole('link', { name: 'Groups', exact: true }).click()
    await page.getByLabel('Name').fill('Weather')
    await page.getByRole('button', { name: 'Create group' }).click()
    await page.getByRole('heading', { name: 'Weather' }).waitFor()
    await page.getByRole('link', { name: 'Weather' }).click()
    t.equal(await page.evaluate('getComputedStyle(document.querySelector("code.id")).userSelect'), 'all')
    await page.getByRole('link', { name: 'Tokens', exact: true }).click()
    await page.getByRole('button', { name: 'Create access token' }).click()
    await page.getByRole('heading', { name: 'Create an application' }).waitFor()
    await page.goto(portal.startUrl)
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('heading', { name: 'Client' }).waitFor()
    await makeThroughClient(portal)
    await page.goto(`${portal.portalUrl}/account/applications`)
    await page.getByRole('link', { name: 'Withdraw access from' }).click()
    await page.getByRole('button', { name: 'Withdraw access' }).click()
    await page.getByText('must ask you again before it can sign you in').waitFor()
    await page.getByRole('button', { name: 'New secret for Weather' }).click()
    await page.getByRole('heading', { name: 'New client secret' }).waitFor()
    t.match(await page.locator('code.id').last().innerText(), /^[\w-]{43}$/)
    await page.getByRole('link', { name: 'I have stored it' }).click()
    await page.getByRole('link', { name: 'Remove Weather' }).click()
    await page.getByRole('button', { name: 'Remove permanently' }).click()
    await page.getByRole('heading', { name: 'Created by applications that you no longer allow' }).waitFor()
    t.equal(await page.getByRole('link', { name: 'Remove Weather' }).count(), 0)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  },
)

t.test(
  'the first page shows either the sign-in form or the sign-up form; a link switches between the forms and keeps the typed text, even without JavaScript',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page } = await openPage(t, { javaScriptEnabled: false })
    await page.goto(portal.startUrl)
    const [signInForm, signUpForm] = [page.locator('[action="/sign-in"]'), page.locator('[action="/sign-up"]')]
    t.strictSame([await signInForm.isVisible(), await signUpForm.isVisible()], [true, false])
    await page.getByLabel('E-mail').first().fill('typed@example.test')
    await page.getByRole('link', { name: 'Create an account' }).click()
    await signUpForm.waitFor()
    t.equal(await signInForm.isVisible(), false)
    t.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Create an account')
    await page.getByRole('link', { name: 'Sign in', exact: true }).click()
    await signInForm.waitFor()
    t.equal(await page.getByLabel('E-mail').first().inputValue(), 'typed@example.test')

    await fillSignUp(page, seeded.email)
    await signUpForm.getByRole('button').click()
    await page.getByRole('alert').waitFor()
    t.strictSame(
      [await signInForm.isVisible(), await signUpForm.isVisible()],
      [false, true],
      'after a problem the form for a new account must be visible',
    )
    await page.getByRole('link', { name: 'Sign in', exact: true }).click()
    await page.locator('#email').fill(seeded.email)
    await page.locator('#password').fill(seeded.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'wants to sign you in' }).waitFor()
  },
)

t.test(
  'a visitor can sign in and give consent with only the keyboard, and always sees which element has the focus',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page } = await openPage(t)
    await page.goto(portal.startUrl)
    // Wait for the focus: Chromium sets it a moment after the page has loaded, and ignores letters that are typed
    // earlier.
    await page.getByLabel('E-mail').and(page.locator(':focus')).waitFor()
    await page.keyboard.type(seeded.email)
    await page.keyboard.press('Tab')
    await page.keyboard.type(seeded.password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'wants to sign you in' }).waitFor()
    const stops: string[] = []
    for (let index = 0; index < 4; index += 1) {
      await page.keyboard.press('Tab')
      stops.push((await page.evaluate('document.activeElement.textContent')) as string)
      if (index > 0)
        t.equal(
          await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'),
          'solid',
          String(stops.at(-1)),
        )
    }
    t.strictSame(stops, ['Skip to the content', 'Use another account', 'Allow', 'Decline'])
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Client' }).waitFor()
  },
)

t.test(
  'if the portal refuses a sign-up, the first bad field has the focus, and the problem is next to this field',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page } = await openPage(t)
    await page.goto(portal.startUrl)
    await fillSignUp(page, 'someone@example.test')
    const form = page.locator('[action="/sign-up"]')
    await form.getByLabel('E-mail').fill(seeded.email)
    await form.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('alert').waitFor()
    t.equal(await page.evaluate('document.activeElement.id'), 'new-email')
    const described = 'document.getElementById(document.activeElement.getAttribute("aria-describedby")).textContent'
    t.match(await page.evaluate(described), 'You cannot use this address')
    t.equal(await form.getByLabel('E-mail').inputValue(), seeded.email)
    t.equal(await form.getByLabel('First name').inputValue(), 'Maximiliane')
    t.equal(await form.getByLabel('I accept').isChecked(), true)
    t.equal(await form.getByLabel('Password').inputValue(), '')
  },
)

t.test(
  'a button next to the password field shows the password, and works with mouse and keyboard; when the form is sent, the password is hidden again',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page, troubles } = await openPage(t)
    await page.goto(portal.startUrl)
    const password = page.locator('#password')
    await page.getByLabel('E-mail').first().fill(seeded.email)
    await password.fill(seeded.password)
    await password.press('Tab')
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Show password')
    await page.keyboard.press('Enter')
    t.equal(await password.getAttribute('type'), 'text')
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Hide password')
    t.equal(await password.inputValue(), seeded.password, 'the form must not be sent')
    await page.evaluate('document.forms[0].addEventListener("submit", event => event.preventDefault())')
    await password.press('Enter')
    t.equal(await password.getAttribute('type'), 'password')
    const plain = await openPage(t, { javaScriptEnabled: false })
    await plain.page.goto(portal.startUrl)
    t.equal(
      await plain.page.getByRole('button', { name: 'Show' }).count(),
      0,
      'without JavaScript there must be no such button',
    )
    t.strictSame(troubles, [])
  },
)

t.test(
  'the portal shows times in the visitor’s time zone; without JavaScript it shows times in UTC',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const zone = { timezoneId: 'Asia/Tokyo', locale: 'en-GB' }
    const { page } = await openPage(t, zone)
    await signIn(portal, page)
    await page.goto(`${portal.portalUrl}/account/token`)
    await page.getByRole('button', { name: 'Create access token' }).click()
    // The sandbox's clock shows noon in UTC, which is 21:00 in the time zone of this browser.
    t.match(await page.locator('time').innerText(), '2 Mar 2026, 21:00')
    const plain = await openPage(t, { ...zone, javaScriptEnabled: false })
    await signIn(portal, plain.page)
    await plain.page.goto(`${portal.portalUrl}/account/token`)
    await plain.page.getByRole('button', { name: 'Create access token' }).click()
    t.equal(await plain.page.locator('time').innerText(), '2026-03-02 12:00 UTC')
  },
)

t.test('the page of a group has a button that copies the group’s id', { skip }, async t => {
  const portal = await openPortal(t)
  const { page } = await openPage(t, { permissions: ['clipboard-read', 'clipboard-write'] })
  await signIn(portal, page)
  await page.goto(`${portal.portalUrl}/account/groups`)
  await page.getByRole('link', { name: 'Sandbox developers' }).click()
  await page.getByRole('button', { name: 'Copy group ID' }).click()
  await page.getByText('Copied: group ID').waitFor({ state: 'attached' })
  t.equal(
    await page.evaluate('navigator.clipboard.readText()'),
    await page.locator('[data-copy="group ID"]').innerText(),
  )
})

t.test('PS-08: a page on another site cannot show the portal in a frame', { skip }, async t => {
  const portal = await openPortal(t)
  const { page } = await openPage(t)
  await signIn(portal, page)
  for (const address of [portal.startUrl, `${portal.portalUrl}/account`, `${portal.portalUrl}/nowhere`]) {
    await page.goto(portal.clientUrl)
    const refused = page.waitForEvent('console', message => message.text().includes('frame-ancestors'))
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('iframe'), { src: ${JSON.stringify(address)} }))`,
    )
    await refused
    for (const frame of page.frames().slice(1)) t.notMatch(await frame.content(), 'Login portal')
  }
})

t.test(
  'PS-09, PS-10: after consent the browser opens the client with GET, and sends the client no data from the portal’s forms',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page, troubles } = await openPage(t)
    await signIn(portal, page)
    const consent = await page.reload()
    t.match(consent?.headers()['content-security-policy'], `form-action 'self' ${portal.clientUrl};`)
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('heading', { name: 'Client' }).waitFor()
    const [arrival] = portal.arrivals
    t.match(arrival, { method: 'GET', url: /^\/exchangeToken\?code=/, body: '' })
    t.notMatch(JSON.stringify(portal.arrivals), /correct horse|correct\+horse|correct%20horse/)
    t.strictSame(troubles, [], 'Chromium must report no violation of the policy')
    const error = await page.goto(`${portal.portalUrl}/?client_id=nobody`)
    t.match(error?.headers()['content-security-policy'], "form-action 'self';", 'an error page must not name a client')
  },
)

t.test('PS-10: if the visitor has given consent before, signing in leads straight to the client', { skip }, async t => {
  const portal = await openPortal(t)
  const { page, troubles } = await openPage(t)
  await signIn(portal, page)
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByRole('heading', { name: 'Client' }).waitFor()
  await page.context().clearCookies()
  await page.goto(portal.startUrl)
  await page.getByLabel('E-mail').first().fill(seeded.email)
  await page.getByLabel('Password').first().fill(seeded.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Client' }).waitFor()
  t.strictSame(troubles, [])
})

t.test(
  'PS-11: if a visitor follows a link on the consent page, the browser does not send a Referer header',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const referers: (string | undefined)[] = []
    const target = createServer((request, response) => {
      if (request.url === '/') referers.push(request.headers.referer)
      response.setHeader('content-type', 'text/html').end('<title>Target</title><h1>Target</h1>')
    }).listen(0, 'localhost')
    t.teardown(async () => {
      target.closeAllConnections()
      target.close()
    })
    await new Promise(resolve => target.once('listening', resolve))
    const address = `http://localhost:${(target.address() as AddressInfo).port}/`
    await portal.sandbox.store.write(db =>
      db
        .updateTable('applications')
        .set({ web_page_url: address, privacy_policy_url: address, icon_url: address })
        .execute(),
    )
    const { page } = await openPage(t)
    await signIn(portal, page)
    for (const name of ['Website', 'Privacy policy', 'Icon']) {
      await page.goto(portal.startUrl)
      await page.getByRole('link', { name }).click()
      await page.getByRole('heading', { name: 'Target' }).waitFor()
    }
    // Each link has its own referrer policy. For all other navigations, such as a navigation by a script, the policy of
    // the page applies.
    await page.goto(portal.startUrl)
    await page.evaluate(`location.href = ${JSON.stringify(address)}`)
    await page.getByRole('heading', { name: 'Target' }).waitFor()
    t.strictSame(referers, [undefined, undefined, undefined, undefined])
  },
)

t.test(
  'AZ-16: if a visitor goes back and answers the consent page again, the portal shows a page with a next step',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page } = await openPage(t)
    await signIn(portal, page)
    const form = { formToken: await page.locator('input[name="formToken"]').inputValue(), decision: 'allow' }
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('heading', { name: 'Client' }).waitFor()
    const headers = { 'sec-fetch-site': 'same-origin' }
    const again = await page.request.post(`${portal.portalUrl}/consent`, { form, headers, maxRedirects: 0 })
    t.equal(again.status(), 409)
    t.match(await again.text(), 'Start again')
    // The test does not use `goBack`, because `goBack` waits for a load event. Chromium may show the page from its
    // cache without a load event.
    const { length } = portal.arrivals
    const arrival = page.url()
    await page.evaluate('setTimeout(() => history.back())')
    await page.waitForURL(url => url.href !== arrival, { waitUntil: 'commit' })
    await page.getByRole('heading', { name: /^(Client|.* wants to sign you in .*)$/ }).waitFor()
    if (await page.getByRole('button', { name: 'Allow' }).isVisible()) {
      await page.getByRole('button', { name: 'Allow' }).click()
      await page.getByText('You have already answered this question.').waitFor()
      await page.getByRole('link', { name: 'Start again' }).click()
    }
    while (portal.arrivals.length === length) await setImmediate()
    await page.getByRole('heading', { name: 'Client' }).waitFor()
    t.equal(portal.arrivals.at(-1)?.method, 'GET', 'the second login request must lead to the client by GET')
  },
)
