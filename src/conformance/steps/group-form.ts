// Finds the form with which a visitor creates a group. No option of the command names its page, so the suite follows
// links whose address contains the word "group".
import type { Browser, Page } from '../browser/browser.ts'
import type { Form, Values } from '../browser/form.ts'
import { NotApplicable, Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import type { Person } from '../platform.ts'
import { changesSince, isOfClient } from './application-pages.ts'

interface GroupForm {
  page: Page
  form: Form
  /** What a person types into the form. */
  values: Values
}

const mostPages = 3
const isAboutGroups = (address: string) => /group/i.test(new URL(address).pathname)

/**
 * Opens the pages about groups. The links to these pages are on the page behind the login or on the page at --create.
 */
export async function openGroupPages(context: CheckContext, browser: Browser): Promise<Page[]> {
  const { page, create } = context.settings
  const from = []
  for (const path of [page, create].filter(one => one !== '')) from.push(await browser.visit(context.url(path)))
  const links = from.flatMap(one => one.links.map(({ url }) => ({ from: one, url: url.split('#')[0]! })))
  const known = new Set(from.map(({ url }) => url))
  const pages: Page[] = []
  for (const link of links) {
    if (pages.length === mostPages || known.has(link.url) || !isOfClient(context, link.url)) continue
    known.add(link.url)
    if (isAboutGroups(link.url)) pages.push(await browser.visit(link.url, { from: link.from, ...context.beforePortal }))
  }
  return pages
}

/** Returns the first form of these pages with which a visitor can create a group. */
function groupFormIn(context: CheckContext, pages: Page[], name = 'Group of conformance'): GroupForm | undefined {
  for (const page of pages)
    for (const form of page.forms) {
      const [field, ...more] = form.controls.filter(({ type }) => type === 'text')
      if (form.method !== 'POST' || !isOfClient(context, form.action) || !isAboutGroups(form.action)) continue
      if (field && more.length === 0 && /name/i.test(field.name)) return { page, form, values: { [field.name]: name } }
    }
  return undefined
}

/** Opens the form with which a visitor creates a group. Ends the check if the suite does not find it. */
async function openGroupForm(context: CheckContext, browser: Browser): Promise<GroupForm> {
  const found = groupFormIn(context, await openGroupPages(context, browser))
  if (!found) throw new NotApplicable('no linked page whose address contains "group" has a form for a new group')
  return found
}

/** A form for a new group, after a visitor has sent it once and a group was created. */
interface WorkingGroupForm extends GroupForm {
  browser: Browser
  person: Person
  /** The answer to the form that was sent. */
  answer: Page
}

/**
 * Signs a visitor in, creates a group with the form, and opens the form again. Ends the check if the form creates
 * nothing.
 */
export async function openWorkingGroupForm(context: CheckContext): Promise<WorkingGroupForm> {
  const { browser, person } = await context.signedIn()
  const { page, form, values } = await openGroupForm(context, browser)
  const before = context.arrived('api')
  const answer = await browser.newTab().submit(page, form, values)
  if ((await changesSince(context, person, before)).length === 0)
    throw new Undecided(
      'The form for a new group creates nothing, even if the visitor sends it from the page that contains it.',
    )
  const again = groupFormIn(context, [await browser.visit(page.url)])
  if (!again) throw new Undecided(`The page at ${page.url} has no form for a new group when it is opened again.`)
  return { ...again, browser, person, answer }
}
