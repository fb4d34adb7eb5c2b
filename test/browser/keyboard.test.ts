// Does every task with only the keyboard. The focus must always be visible.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { addApplication, changeApplication } from '../journey/support/add-person.ts'
import { skip } from '../support/launch-chromium.ts'
import { startVisit } from './support/start-visit.ts'

/** This code runs in the page. It returns the focused element, its name, and whether the visitor can see the focus. */
const focused = `(() => {
  const element = document.activeElement
  const { left, top, right, bottom } = element.getBoundingClientRect()
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  return {
    name: element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent,
    id: element.id,
    tag: element.tagName,
    isInView: right > 0 && left < innerWidth && bottom > 0 && top < innerHeight,
    hasOutline: outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2,
  }
})()`
type Focused = { name: string; id: string; tag: string; isInView: boolean; hasOutline: boolean }

/**
 * Presses Tab until the element with this name has the focus. Each element that gets the focus on the way must be
 * visible.
 */
async function tabTo(t: Test, page: Page, name: string | RegExp): Promise<void> {
  for (let steps = 0; steps < 60; steps++) {
    await page.keyboard.press('Tab')
    const found = (await page.evaluate(focused)) as Focused
    if (found.tag === 'BODY') continue
    const text = found.name.trim()
    if (!found.hasOutline || !found.isInView) t.fail(`${found.tag} ${text} at ${page.url()} is not visible`, found)
    if (typeof name === 'string' ? text === name : name.test(text)) return
  }
  throw new Error(`Pressing Tab does not lead to ${name} at ${page.url()}.`)
}

async function press(t: Test, page: Page, name: string | RegExp): Promise<void> {
  await tabTo(t, page, name)
  await page.keyboard.press('Enter')
}

t.test(
  'with only the keyboard, a person can sign in, create, edit and remove an application, create a new secret, and sign out',
  { skip },
  async t => {
    const { page, publicUrl, person, troubles } = await startVisit(t)
    const { keyboard } = page
    const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()

    await page.goto(publicUrl)
    await press(t, page, 'Sign in')
    // The portal sets the focus to its first field a moment after the page has loaded.
    await page.getByLabel('E-mail').and(page.locator(':focus')).waitFor()
    await keyboard.type(person.email)
    await keyboard.press('Tab')
    await keyboard.type(person.password)
    await keyboard.press('Enter')
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    await press(t, page, 'Allow')

    await heading('Your applications')
    await press(t, page, 'New application')
    await heading('New application')
    await tabTo(t, page, 'Name')
    await keyboard.type('Weather station')
    await tabTo(t, page, 'Redirect URIs')
    await keyboard.type('http://example.test/not-https')
    await press(t, page, 'Create application')

    await page.getByRole('alert').waitFor()
    t.match(
      await page.evaluate(focused),
      { id: 'problem', hasOutline: true },
      'the list of problems must have the focus',
    )
    await press(t, page, /^Redirect URIs: “http:\/\/example.test\/not-https” must begin with https/)
    t.match(await page.evaluate(focused), { id: 'redirectUris' }, 'the link must lead to its field')
    await keyboard.press('ControlOrMeta+a')
    await keyboard.type('http://localhost:5000/exchangeToken')
    await press(t, page, 'Create application')

    await heading('Weather station is registered')
    await press(t, page, 'Done')
    await heading('Weather station')
    await press(t, page, 'Edit')
    await heading('Edit Weather station')
    await tabTo(t, page, 'Name')
    await keyboard.press('End')
    await keyboard.type(' of tomorrow')
    await press(t, page, 'Save changes')
    await heading('Weather station of tomorrow')
    t.match(await page.evaluate(focused), { name: 'Your changes are saved.', hasOutline: true })
    await press(t, page, 'Create new client secret…')
    await heading('New client secret for Weather station of tomorrow')
    await press(t, page, 'Create new client secret')
    await page.getByText('Copy these credentials now').waitFor()
    await press(t, page, 'Done')
    await heading('Weather station of tomorrow')
    await press(t, page, 'Remove application…')
    await heading('Remove Weather station of tomorrow?')
    await press(t, page, 'Remove application')
    await page.getByText('The application has been removed').waitFor()
    await press(t, page, 'Sign out')
    await page.getByText('You are signed out.').waitFor()
    t.same(troubles, [])
  },
)

t.test(
  'if somebody else has changed the application, the visitor needs only the keyboard to choose which values to keep',
  { skip },
  async t => {
    const { both, page, publicUrl, troubles } = await startVisit(t, { at: '/applications' })
    const id = await addApplication(both, { name: 'Weather', description: 'Of today' })
    await page.goto(`${publicUrl}/applications/${id}/edit`)
    await changeApplication(both, id, { description: 'Of tomorrow' })
    await page.getByLabel('Name', { exact: true }).fill('Tides')
    await page.getByLabel('Description').fill('Of the sea')
    await page.keyboard.press('Tab')
    await press(t, page, 'Save changes')
    await page.getByRole('alert').waitFor()
    t.match(
      await page.evaluate(focused),
      { id: 'problem', hasOutline: true },
      'the list of problems must have the focus',
    )
    await press(t, page, 'Description: Choose one of the two values.')
    t.match(await page.evaluate(focused), { id: 'description' }, 'the link must lead to the choice')
    await page.keyboard.press('ArrowDown')
    t.match(await page.evaluate(focused), { name: /Saved now\s+Of tomorrow/, hasOutline: true, isInView: true })
    await press(t, page, 'Save changes')
    await page.getByText('Your changes are saved.').waitFor()
    await page.getByText('Of tomorrow').waitFor()
    t.same(troubles, [])
  },
)

t.test(
  'if the visitor presses Tab once on a page, the focus is on a link that skips to the content',
  { skip },
  async t => {
    const { page, troubles } = await startVisit(t, { at: '/applications' })
    await page.reload()
    await page.keyboard.press('Tab')
    t.match(await page.evaluate(focused), { name: 'Skip to the content', isInView: true, hasOutline: true })
    await page.keyboard.press('Enter')
    t.match(await page.evaluate(focused), { id: 'main' })
    await page.keyboard.press('Tab')
    t.match(await page.evaluate(focused), { name: 'New application' })
    t.same(troubles, [])
  },
)

t.test(
  'if a field has a problem, the field is marked as invalid, and refers to the text of the problem',
  { skip },
  async t => {
    const { page, troubles } = await startVisit(t, { at: '/applications/new', browser: { javaScriptEnabled: false } })
    await page.getByLabel('Name', { exact: true }).fill('Weather station')
    await page.getByLabel('Redirect URIs').fill('http://example.test/not-https')
    await page.getByRole('button', { name: 'Create application' }).click()
    await page.getByRole('alert').waitFor()
    t.match(await page.title(), /^Error: /, 'the title must begin with Error')
    const field = page.getByLabel('Redirect URIs')
    t.equal(await field.getAttribute('aria-invalid'), 'true')
    const described = ((await field.getAttribute('aria-describedby')) ?? '').split(' ')
    const texts = await Promise.all(described.map(id => page.locator(`[id="${id}"]`).innerText()))
    t.match(texts.join(' '), '“http://example.test/not-https” must begin with https://')
    t.equal(await page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid'), null)
    const link = page.getByRole('alert').getByRole('link')
    t.equal(await link.getAttribute('href'), `#${await field.getAttribute('id')}`)
    t.same(troubles, [])
  },
)
