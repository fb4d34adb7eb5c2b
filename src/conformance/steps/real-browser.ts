// Does what a person does in a real browser: signs in, opens the page, fills in the form, and signs out.
import type { Locator } from 'playwright-core'
import type { Window } from '../browser/window.ts'
import { Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { expect } from '../findings.ts'
import type { Person } from '../platform.ts'
import { isCallOfUser } from '../platform-calls.ts'
import { tokensIssuedIn } from '../tokens.ts'
import { isAtOrigin, leadsTo } from './addresses.ts'
import { chooseGroup } from './create-form.ts'

export interface Visitor {
  window: Window
  person: Person
}

/** Returns the address of the window, without the query. */
export const placeOf = ({ page }: Window): string => page.url().replace(/[?#].*$/s, '')

/**
 * Begins a login and fills in the portal's form. `isAtRest` is false if the page after the login does not stop loading.
 */
export async function signInWithChromium(context: CheckContext): Promise<Visitor & { isAtRest: boolean }> {
  const person = await context.person()
  const window = await context.window()
  const { login } = context.settings
  await window.goTo(context.url(login))
  const form = window.page.locator('form[action="/sign-in"]')
  const password = form.locator('input[name=password]')
  const isThere = isAtOrigin(window.page.url(), context.platform.portalUrl) && (await password.count()) === 1
  expect(isThere, `${login} did not lead to the portal's sign-in page, but to ${placeOf(window)}.`)
  await form.locator('input[name=email]').fill(person.email)
  await password.fill(person.password)
  const isAtRest = await window.act(() => password.press('Enter'))
  return { window, person, isAtRest }
}

/** Returns the callback addresses that the window has opened so far. */
export function callbacksIn(context: CheckContext, { asked }: Window): string[] {
  return asked
    .filter(({ url, isPage }) => isPage && url.split('?')[0] === context.platform.redirectUri)
    .map(({ url }) => url)
}

/**
 * Returns the number of successful API calls for this person. `before`: the number of earlier steps that do not count.
 */
async function callsSince(context: CheckContext, { id }: Person, before: number): Promise<number> {
  await context.platform.settle()
  return context.platform.steps
    .slice(before)
    .filter(step => step.listener === 'api' && isCallOfUser(step, id) && step.response.status < 400).length
}

/** Whether the client makes an API call for this person after the action, without another login. */
export async function isServed(
  context: CheckContext,
  { window, person }: Visitor,
  open: () => Promise<unknown>,
): Promise<boolean> {
  const before = context.platform.steps.length
  const askedBefore = window.asked.length
  await open()
  const calls = await callsSince(context, person, before)
  const isAtPortal = window.asked
    .slice(askedBefore)
    .some(({ url, isPage }) => isPage && isAtOrigin(url, context.platform.portalUrl))
  return calls > 0 && !isAtPortal
}

/** Whether the visitor is signed in after typing the address of the page behind the login. */
export async function isSignedIn(context: CheckContext, visitor: Visitor): Promise<boolean> {
  return isServed(context, visitor, () => visitor.window.goTo(context.url(context.settings.page)))
}

/**
 * Signs in and opens the page behind the login. If nobody is signed in, the check is undecided, because the check
 * `chromium-login` reports the failure.
 */
export async function signedInWithChromium(context: CheckContext): Promise<Visitor> {
  const visitor = await signInWithChromium(context)
  if (!(await isSignedIn(context, visitor)))
    throw new Undecided('In Chromium, nobody is signed in after a login. The check `chromium-login` reports this.')
  return visitor
}

/** Returns everything that a script on the client's pages could read. */
export async function readableByScripts({ page }: Window): Promise<Record<string, string>> {
  const read = (expression: string) => page.evaluate<string>(expression)
  return {
    'document.cookie': await read('document.cookie'),
    localStorage: await read('JSON.stringify({ ...localStorage })'),
    sessionStorage: await read('JSON.stringify({ ...sessionStorage })'),
    'the address': page.url(),
    'the page': await page.content(),
  }
}

/** Returns the tokens that the portal issued for the logins of this check. */
export async function issuedTokens(context: CheckContext): Promise<string[]> {
  await context.platform.settle()
  const tokens = context.arrived().flatMap(tokensIssuedIn)
  if (tokens.length === 0) throw new Undecided('The portal did not answer the exchange with tokens.')
  return tokens
}

/** Fills in the form at --create as a person does. Returns the button that sends the form. */
export async function fillCreateForm(
  context: CheckContext,
  { window, person }: Visitor,
  name: string,
): Promise<Locator> {
  await window.goTo(context.url(context.settings.create))
  const { page } = window
  const fields = await page.locator('input:not([type=hidden]):visible, textarea:visible, select:visible').all()
  const named = await Promise.all(
    fields.map(async field => ({
      field,
      name: (await field.getAttribute('name')) || (await field.getAttribute('id')) || '',
    })),
  )
  const find = (...patterns: RegExp[]) =>
    patterns.map(pattern => named.find(({ name }) => pattern.test(name))?.field).find(field => field !== undefined)
  const [nameField, uris, group] = [find(/^name$/i, /name/i), find(/redirect_?uri/i), find(/group/i)]
  if (!nameField || !uris)
    throw new Undecided(`In Chromium, ${placeOf(window)} shows no form with fields for a name and redirect URIs.`)
  const form = nameField.locator('xpath=ancestor::form[1]')
  const around = (await form.count()) === 1 ? form : page.locator('body')
  const buttons = around.locator('button:not([type=button]):not([type=reset]), input[type=submit], input[type=image]')
  // If the fields are not in a form element, a script sends them. Usually the last button starts this script.
  const button = (await buttons.count()) > 0 ? buttons.first() : around.locator('button').last()
  if ((await button.count()) === 0)
    throw new Undecided(`The form at ${placeOf(window)} has no button that sends the form.`)
  await nameField.fill(name)
  await uris.fill('https://created.example/callback')
  if (group) await fillGroup(group, person)
  return button
}

/** Types or chooses the group of the person. `field`: a text field, a list, or the first of several radio buttons. */
async function fillGroup(field: Locator, { groupId }: Person): Promise<void> {
  const page = field.page()
  const isList = (await field.and(page.locator('select')).count()) > 0
  const isRadio = (await field.and(page.locator('input[type=radio]')).count()) > 0
  if (!isList && !isRadio) return field.fill(groupId)
  const name = await field.getAttribute('name')
  const options = isList
    ? await field.locator('option:not([disabled])').all()
    : await page.locator(`input[type=radio][name=${JSON.stringify(name)}]:not([disabled])`).all()
  const values = await Promise.all(
    options.map(async option => (await option.getAttribute('value')) ?? (await option.textContent()) ?? ''),
  )
  const choice = chooseGroup(values, groupId)
  if (choice === undefined) return
  if (isList) await field.selectOption(choice)
  else await options[values.indexOf(choice)]!.check()
}

const wordsToSignOut = /\b(sign|log)[ -]?(out|off)\b/i

/** The suite looks for the sign-out control on at most this many pages. */
const mostPages = 8

/**
 * Signs out as a visitor does, with a form or link to --logout, or with a control whose text says that it signs out.
 * Looks on the open page first, and then on other pages of the client.
 */
export async function signOutWithChromium(context: CheckContext, { window }: Visitor): Promise<void> {
  const { logout, create, login } = context.settings
  const address = context.url(logout!.path)
  const seen = new Set([address, context.url(login), placeOf(window)])
  const waiting = ['/', create].filter(path => path !== '').map(path => context.url(path))
  let control = await controlToSignOut(context, window)
  while (!control && waiting.length > 0 && seen.size < mostPages) {
    const url = waiting.shift()!
    if (seen.has(url)) continue
    seen.add(url)
    await window.goTo(url)
    control = await controlToSignOut(context, window)
    for (const link of await window.page.locator('a[href]').all()) {
      const target = URL.parse((await link.getAttribute('href')) ?? '', window.page.url())
      if (target?.origin === context.settings.client) waiting.push(target.origin + target.pathname)
    }
  }
  if (!control) throw new Undecided(`No page has a form or link to ${logout!.path}, or a button that says "Sign out".`)
  // Sends the click event to the control itself, because the control may be hidden in a menu.
  const found = control
  await window.act(() => found.dispatchEvent('click'))
}

async function controlToSignOut(context: CheckContext, { page }: Window): Promise<Locator | undefined> {
  const there = context.url(context.settings.logout!.path)
  const leadsThere = async (element: Locator, attribute: string) => {
    const address = (await element.getAttribute(attribute)) ?? ''
    return URL.canParse(address, page.url()) && leadsTo(new URL(address, page.url()).href, there)
  }
  for (const form of await page.locator('form').all())
    if (await leadsThere(form, 'action')) return form.locator('button, input[type=submit], input[type=image]').first()
  for (const link of await page.locator('a[href]').all()) if (await leadsThere(link, 'href')) return link
  const byWords = page
    .getByRole('button', { name: wordsToSignOut })
    .or(page.getByRole('link', { name: wordsToSignOut }))
  return (await byWords.count()) > 0 ? byWords.first() : undefined
}
