// Tests the client's script. Also tests the client without JavaScript, and without the permission to copy.
import { setTimeout as wait } from 'node:timers/promises'
import type { Locator } from 'playwright-core'
import t from 'tap'
import { webTexts } from '../../src/client/web/texts.ts'
import { skip } from '../support/launch-chromium.ts'
import { openOptionalFields } from './support/open-optional-fields.ts'
import { signIn } from './support/sign-in.ts'
import { startVisit } from './support/start-visit.ts'

t.test(
  'CL-27: without JavaScript, a person can sign in, create, edit and remove an application, and sign out',
  { skip },
  async t => {
    const { both, page, publicUrl, troubles } = await startVisit(t, { browser: { javaScriptEnabled: false } })
    const press = (name: string) => page.getByRole('button', { name }).click()
    await signIn(page, both)
    t.match(
      await page.locator('footer time').innerText(),
      /^\w{3} \d{1,2}, \d{4}, \d\d:\d\d [AP]M UTC$/,
      'the page must show times in UTC',
    )

    await page.getByRole('link', { name: 'New application' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Weather station')
    await page.getByLabel('Redirect URIs').fill('http://example.test/not-https')
    await press('Create application')
    await page.getByRole('alert').getByRole('link').waitFor()
    await page.getByLabel('Redirect URIs').fill('http://localhost:5000/exchangeToken')
    await press('Create application')

    await page.getByRole('heading', { name: 'Weather station is registered' }).waitFor()
    t.equal(
      await page.getByRole('button', { name: /^Copy/ }).count(),
      0,
      'without JavaScript there must be no copy button',
    )
    const secret = await page.locator('dt:text-is("Client secret") + dd code').first().innerText()
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('Download as .env').click()])
    t.equal(download.suggestedFilename(), 'client.env')
    const stream = await download.createReadStream()
    const file = Buffer.concat(await stream.toArray()).toString()
    t.match(
      file,
      new RegExp(
        `^# Weather station\nLOGIN_URL=${both.portalUrl}\nAPI_URL=${both.apiUrl}\nCLIENT_ID=[\\w-]{36}\nCLIENT_SECRET=${secret}\n`,
      ),
    )
    t.equal(file.match(/^APP_ACCESS_TOKEN_[12]=ey[\w.-]+$/gm)?.length, 2)

    await page.getByRole('link', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Weather of tomorrow')
    await press('Save changes')
    await page.getByText('Your changes are saved.').waitFor()
    await page.getByRole('link', { name: 'Create new client secret…' }).click()
    await press('Create new client secret')
    await page.getByText('Copy these credentials now').waitFor()
    await page.getByRole('link', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'Remove application…' }).click()
    await press('Remove application')
    await page.getByText('The application has been removed').waitFor()
    await press('Sign out')
    await page.getByText('You are signed out.').waitFor()
    await page.goto(`${publicUrl}/applications`)
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
    t.same(troubles, [])
  },
)

t.test(
  'a page shows times in the visitor’s time zone, and a time such as “5 minutes ago” has the exact time as its title',
  { skip },
  async t => {
    const there = { locale: 'de-DE', timezoneId: 'Asia/Tokyo' }
    const { page, clientId, publicUrl, troubles } = await startVisit(t, { at: '/applications', browser: there })
    await page.goto(`${publicUrl}/applications/${clientId}`)
    // The page is in English, so its times are also in English.
    const format = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'Asia/Tokyo' })
    const exactOf = async (time: Locator) => format.format(new Date((await time.getAttribute('datetime')) ?? ''))
    const ages = await page.locator('main time').all()
    t.equal(
      ages.length,
      2,
      'nobody has changed the application, so the page must show two dates: the creation of the application, and the creation of its client secret',
    )
    for (const age of ages) {
      t.equal(await age.getAttribute('title'), await exactOf(age))
      t.match(await age.innerText(), /^(just now|\d+ (second|minute)s? ago)\s+\(/)
      t.match(await age.innerText(), `(${await exactOf(age)})`)
    }
    const end = page.locator('footer time')
    t.equal(await end.innerText(), await exactOf(end))
    t.match(await end.getAttribute('title'), /^\w{3} \d{1,2}, \d{4}, \d\d:\d\d [AP]M UTC$/)
    const inDays = (Date.parse((await end.getAttribute('datetime')) ?? '') - Date.now()) / 86_400_000
    t.ok(inDays > 29.9 && inDays <= 30, 'the session must end when its refresh token expires')
    t.same(troubles, [])
  },
)

t.test('the visitor can copy every redirect URI, and the settings for a client', { skip }, async t => {
  const { context, page, clientId, publicUrl, portalUrl, apiUrl, troubles } = await startVisit(t, {
    at: '/applications',
  })
  await page.goto(`${publicUrl}/applications/${clientId}`)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: publicUrl })
  const redirectUri = `${publicUrl}/exchangeToken`
  const copy = async (name: string) => {
    await page.getByRole('button', { name: `Copy: ${name}` }).click()
    await page.getByText(`Copied: ${name}`).waitFor()
    return await page.evaluate('navigator.clipboard.readText()')
  }
  t.equal(await copy(redirectUri), redirectUri)
  await page.locator('details.panel > summary').click()
  t.match(
    await copy('Settings for your client'),
    `LOGIN_URL=${portalUrl}\nAPI_URL=${apiUrl}\nCLIENT_ID=${clientId}\nCLIENT_SECRET=\nREDIRECT_URI=`,
  )
  t.match(await copy('A call to the application API'), `Bearer $TOKEN" ${apiUrl}/apps/v1/${clientId}`)
  t.same(troubles, [])
})

t.test(
  'the visitor chooses the default redirect URI from a list of the redirect URIs in the form',
  { skip },
  async t => {
    const { page, troubles } = await startVisit(t, { at: '/applications/new' })
    await openOptionalFields(page)
    const choices = page.getByLabel('Default redirect URI')
    t.same(await choices.locator('option').allInnerTexts(), ['The first redirect URI'])
    await page.getByLabel('Name', { exact: true }).fill('Weather station')
    const entered = ['https://weather.example.test/back', 'http://localhost:5000/exchangeToken']
    await page.getByLabel('Redirect URIs').fill(entered.join('\n'))
    t.same(await choices.locator('option').allInnerTexts(), ['The first redirect URI', ...entered])
    await choices.selectOption(entered[1]!)
    await page.getByLabel('Redirect URIs').fill(entered[0]!)
    t.equal(await choices.inputValue(), entered[1], 'another redirect URI must not become the default by itself')
    await page.getByLabel('Redirect URIs').fill(`${entered[1]}, ${entered[0]}`)
    t.equal(await choices.inputValue(), entered[1], 'the choice must not change when the list changes')
    await page.getByRole('button', { name: 'Create application' }).click()
    await page.getByRole('link', { name: 'Done' }).click()
    await page.getByText(`${entered[1]} default`).waitFor()
    t.same(troubles, [])
  },
)

t.test(
  'if the visitor presses a button twice, the form is sent once, and after three seconds the page says that it is still waiting',
  { skip },
  async t => {
    const { context, page, publicUrl, troubles } = await startVisit(t, { at: '/applications/new' })
    let posts = 0
    await context.route(`${publicUrl}/applications`, async route => {
      if (route.request().method() === 'POST') {
        posts++
        await wait(4_000)
      }
      await route.continue()
    })
    await page.getByLabel('Name', { exact: true }).fill('Weather station')
    await page.getByLabel('Redirect URIs').fill('http://localhost:5000/exchangeToken')
    // The test cannot read the page during a navigation. So a script in the page records the text, and presses the
    // button again.
    await page.evaluate(`
    const form = document.querySelector('main form')
    new MutationObserver(() => sessionStorage.setItem('waiting', form.querySelector('.waiting').textContent))
      .observe(form, { subtree: true, childList: true, characterData: true })
    form.addEventListener('submit', () => setTimeout(() => form.querySelector('button').click(), 500), { once: true })`)
    await page.getByRole('button', { name: 'Create application' }).click()
    await page.getByRole('heading', { name: 'Weather station is registered' }).waitFor()
    t.equal(posts, 1)
    t.equal(await page.evaluate("sessionStorage.getItem('waiting')"), webTexts.waiting)
    t.same(troubles, [])
  },
)

t.test(
  'the button “Copy” copies a credential, and the page tells visitors and screen readers that it is copied',
  { skip },
  async t => {
    const { context, page, clientId, publicUrl, troubles } = await startVisit(t, { at: '/applications' })
    await page.goto(`${publicUrl}/applications/${clientId}`)
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: publicUrl })
    await page.getByRole('button', { name: 'Copy: Client ID' }).click()
    await page.getByText('Copied', { exact: true }).waitFor()
    t.equal(await page.evaluate('navigator.clipboard.readText()'), clientId)
    t.equal(await page.locator('main > [role=status]').last().innerText(), 'Copied: Client ID')
    t.same(troubles, [])
  },
)

t.test('if the browser refuses to copy, the credential is selected instead', { skip }, async t => {
  const { context, page, clientId, publicUrl, troubles } = await startVisit(t, { at: '/applications' })
  await page.goto(`${publicUrl}/applications/${clientId}`)
  await page.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error("refused"))')
  await context.clearPermissions()
  await page.getByRole('button', { name: 'Copy: Client ID' }).click()
  await page.getByText('Selected', { exact: true }).waitFor()
  t.equal(await page.evaluate('getSelection().toString()'), clientId)
  t.same(troubles, [])
})

t.test('the button “Copy all” copies the same text that “Download as .env” saves in a file', { skip }, async t => {
  const { context, page, publicUrl, troubles } = await startVisit(t, { at: '/applications/new' })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: publicUrl })
  await page.getByLabel('Name', { exact: true }).fill('Weather station')
  await page.getByLabel('Redirect URIs').fill('http://localhost:5000/exchangeToken')
  await page.getByRole('button', { name: 'Create application' }).click()
  const link = await page.getByText('Download as .env').getAttribute('href')
  await page.getByRole('button', { name: 'Copy all' }).click()
  await page.getByText('Copied', { exact: true }).waitFor()
  t.equal(await page.evaluate('navigator.clipboard.readText()'), decodeURIComponent(link!.replace(/^[^,]*,/, '')))
  t.same(troubles, [])
})

t.test(
  'after a click, the button says that the form is being sent; if the visitor goes back, the button shows its usual text again',
  { skip },
  async t => {
    const { page, troubles } = await startVisit(t, { at: '/applications/new', browser: { isWhole: true } })
    await page.getByLabel('Name', { exact: true }).fill('Weather station')
    await page.getByLabel('Redirect URIs').fill('http://localhost:5000/exchangeToken')
    // The test cannot read the page during a navigation. So a script in the page stores the text for the next page.
    await page.evaluate(`addEventListener('submit', ({ submitter }) =>
    sessionStorage.setItem('button', submitter.textContent + ' ' + submitter.ariaBusy))`)
    await page.getByRole('button', { name: 'Create application' }).click()
    await page.getByRole('heading', { name: 'Weather station is registered' }).waitFor()
    t.equal(await page.evaluate("sessionStorage.getItem('button')"), 'Creating… true')
    await page.goBack({ waitUntil: 'commit' })
    await page.getByRole('button', { name: 'Create application', exact: true }).waitFor()
    t.same(troubles, [])
  },
)

t.test(
  'if the visitor comes back and sends the form again, the form is busy for 30 seconds after the second submission',
  { skip },
  async t => {
    const { page, publicUrl, troubles } = await startVisit(t, { at: '/applications/new' })
    // After an answer with status 204, the browser stays on the page.
    await page.route(`${publicUrl}/applications`, route => route.fulfill({ status: 204 }))
    await page.clock.install()
    await page.reload()
    await page.getByLabel('Name', { exact: true }).fill('Weather station')
    await page.getByLabel('Redirect URIs').fill('http://localhost:5000/exchangeToken')
    const button = page.locator('main form button').last()
    const isBusy = async () => (await button.getAttribute('aria-busy')) === 'true'
    await button.click()
    t.equal(await isBusy(), true)
    await page.clock.runFor(20_000)
    // The browser sends this event when the visitor comes back to the page.
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    t.equal(await isBusy(), false)
    await button.click()
    await page.clock.runFor(29_000)
    t.equal(await isBusy(), true, 'the timer of the first submission must not release the form')
    await page.clock.runFor(1_000)
    t.equal(await isBusy(), false)
    t.same(troubles, [])
  },
)

t.test('the browser asks for confirmation only if the visitor leaves a form with changes', { skip }, async t => {
  const { context, page, publicUrl } = await startVisit(t, { at: '/applications/new' })
  context.removeAllListeners('dialog')
  let questions = 0
  page.on('dialog', async dialog => {
    questions++
    t.equal(dialog.type(), 'beforeunload')
    // The visitor chooses to stay on the page.
    await dialog.dismiss()
  })
  const cancel = () => page.getByRole('link', { name: 'Cancel' }).click({ noWaitAfter: true })

  await cancel()
  await page.waitForURL(`${publicUrl}/applications`)
  t.equal(questions, 0, 'the browser must not ask if nothing was typed')

  await page.goto(`${publicUrl}/applications/new`)
  // The test types with real key presses, because browsers ask for confirmation only if the visitor has pressed a key
  // or a button.
  await page.getByLabel('Name', { exact: true }).pressSequentially('Weather station')
  await Promise.all([page.waitForEvent('dialog'), cancel()])
  t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Weather station', 'the visitor stayed')

  await wait(3_500)
  t.equal(await page.getByText(webTexts.waiting).count(), 0, 'the page must not say that it is waiting')

  const signOut = page.getByRole('button', { name: webTexts.page.signOut })
  await Promise.all([page.waitForEvent('dialog'), signOut.click({ noWaitAfter: true })])
  t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Weather station', 'the visitor stayed')
  t.equal(await signOut.getAttribute('aria-busy'), null, 'the visitor can press the button again')

  await page.getByLabel('Redirect URIs').fill('http://example.test/not-https')
  await page.getByRole('button', { name: 'Create application' }).click()
  await page.getByRole('alert').waitFor()
  t.equal(questions, 2, 'the browser must not ask when the form is sent')

  await page.getByLabel('Name', { exact: true }).click()
  await Promise.all([page.waitForEvent('dialog'), cancel()])
  t.equal(questions, 3, 'the browser must ask, because the text of a refused form exists only on this page')
})
