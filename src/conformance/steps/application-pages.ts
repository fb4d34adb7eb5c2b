// Finds the client's pages about one application, and their forms. No option of the command names these pages, so the
// suite follows links.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../browser/browser.ts'
import type { Form, Values } from '../browser/form.ts'
import { NotApplicable } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { headerOf, statusOf } from '../findings.ts'
import type { Person } from '../platform.ts'
import { isAtOrigin, leadsTo } from './addresses.ts'
import { applicationName, makeApplication, redirectUri } from './applications.ts'
import { cookieHeader } from './callback.ts'

/** A form, and the page about one application that contains the form. */
export interface ApplicationForm {
  page: Page
  form: Form
}

export interface OwnApplication {
  browser: Browser
  person: Person
  id: string
}

/** The suite opens at most this many pages about one application. */
const mostPages = 8

/** Creates an application at the API, and signs its owner in. */
export async function openWithApplication(
  context: CheckContext,
  fields: Record<string, string> = {},
  someone?: Person,
): Promise<OwnApplication> {
  const person = someone ?? (await context.person())
  const id = await makeApplication(context, person, fields)
  const { browser } = await context.signedIn({ person })
  return { browser, person, id }
}

/**
 * Opens the page behind the login, and the pages whose address contains the id of the application. Links that seem to
 * remove the application come last. Stops after a page for which `isLast` is true.
 */
export async function openPagesAbout(
  context: CheckContext,
  { browser, id }: OwnApplication,
  isLast: (page: Page) => boolean = () => false,
): Promise<Page[]> {
  const pages = [await browser.visit(context.url(context.settings.page))]
  const seen = new Set(pages.map(({ url }) => url))
  while (pages.length <= mostPages && !isLast(pages.at(-1)!)) {
    const [next] = pages
      .flatMap(from => linksAbout(context, from, id).map(link => ({ from, link })))
      .filter(({ link }) => !seen.has(withoutHash(link)))
      .toSorted((one, other) => rank(one.link) - rank(other.link))
    if (!next) break
    seen.add(withoutHash(next.link))
    pages.push(await browser.visit(next.link, { from: next.from, ...context.beforePortal }))
  }
  return pages
}

const withoutHash = (url: string) => url.split('#')[0]!

/** Returns a number by which forms and links are sorted. Changes come first, and removals last. */
function rank(url: string): number {
  if (/remove|delete|trash|destroy/i.test(url)) return 2
  return /edit|change|update|modif/i.test(url) ? 0 : 1
}

/** Returns the addresses of all links on the page that lead to the client and contain the id. */
function linksAbout(context: CheckContext, { links }: Page, id: string): string[] {
  return links.map(({ url }) => url).filter(url => isOfClient(context, url) && url.includes(id))
}

/** Whether the address belongs to the client, and neither begins a login nor ends the session. */
export function isOfClient({ settings, url }: CheckContext, address: string): boolean {
  if (!isAtOrigin(address, settings.client)) return false
  const others = [settings.login, settings.callback, settings.logout?.path ?? settings.login]
  return !others.some(path => leadsTo(address, url(path)))
}

/** The values of an application at the API. */
export interface StoredValues {
  name: string
  description: string
  webPageUrl: string
  iconUrl: string
  privacyPolicyUrl: string
  redirectUris: string
  defaultRedirectUri: string
  scopes: string
  defaultScopes: string
}

/** Changes the name of the application at the API, as another member of the group does. */
export async function changeName(context: CheckContext, application: OwnApplication, name: string): Promise<void> {
  await changeAtApi(context, application, { name })
}

/**
 * Changes the application at the API, as another member of the group does. If `fields` has no name, the application has
 * the name of `openWithApplication`.
 */
export async function changeAtApi(
  { platform }: CheckContext,
  { person, id }: OwnApplication,
  fields: Partial<StoredValues>,
): Promise<void> {
  const data = { name: applicationName, redirectUris: redirectUri, ...fields }
  const { statusCode } = await platform.callApi(await platform.tokenOf(person), 'PUT', `/apps/v1/${id}`, data)
  if (statusCode !== 200) throw new Error('The API refused the change.')
}

/** Returns the name that the application has at the API. */
export async function readName(context: CheckContext, application: OwnApplication): Promise<string> {
  return (await readAtApi(context, application)).name
}

/** Returns the values that the application has at the API. */
export async function readAtApi({ platform }: CheckContext, { person, id }: OwnApplication): Promise<StoredValues> {
  const answer = await platform.callApi(await platform.tokenOf(person), 'GET', `/apps/v1/${id}`)
  const { data, client } = answer.json<{ data: object; client: object }>()
  return { ...data, ...client } as StoredValues
}

/**
 * Finds the form that changes the application. This form contains the redirect URIs of the application. Ends the check
 * if no page has such a form.
 */
export async function openEditForm(context: CheckContext, application: OwnApplication): Promise<ApplicationForm> {
  const pages = await openPagesAbout(context, application, page => editFormOf(page) !== undefined)
  const page = pages.at(-1)!
  const form = editFormOf(page)
  if (!form) throw new NotApplicable('no linked page has a form that changes an application')
  return { page, form }
}

/** Sends the edit form. Returns the answer, and the values that the application then has at the API. */
export async function saveForm(
  context: CheckContext,
  application: OwnApplication,
  { page, form }: ApplicationForm,
  values: Values = {},
): Promise<{ answer: Page; stored: StoredValues }> {
  const answer = await application.browser.newTab().submit(page, form, values)
  await context.platform.settle()
  return { answer, stored: await readAtApi(context, application) }
}

/**
 * Ends the check if even a newly opened edit form saves nothing. The client may then have refused an older form for
 * another reason.
 */
export async function requireWorkingEditForm(
  context: CheckContext,
  application: OwnApplication,
  reason = 'the edit form saves nothing',
): Promise<void> {
  const name = 'Changed by a new form'
  const opened = await openEditForm(context, application)
  const { stored } = await saveForm(context, application, opened, { [nameField(opened.form)]: name })
  if (stored.name !== name) throw new NotApplicable(reason)
}

/** Recognizes the form by the redirect URI of the application. */
function editFormOf({ forms }: Page): Form | undefined {
  return forms.find(
    ({ method, fields }) =>
      method === 'POST' &&
      fields.some(([name]) => /name/i.test(name)) &&
      fields.some(([name, value]) => /redirect/i.test(name) && value.includes(redirectUri)),
  )
}

/** Returns the name of the form field that contains the application's name. */
export function nameField({ controls }: Form): string {
  const names = controls.filter(({ type }) => type !== 'hidden' && type !== 'button').map(({ name }) => name)
  return (names.find(name => /^name$/i.test(name)) ?? names.find(name => /name/i.test(name)))!
}

/**
 * Returns what a person types into the form. If the form can change the application, the person types a new name for
 * the application.
 */
export function typedInto({ page, form }: ApplicationForm, name = 'Changed by conformance'): Values {
  return editFormOf({ ...page, forms: [form] }) ? { [nameField(form)]: name } : {}
}

/** Returns the POST forms about the application, with removals last. Leaves out the sign-out form. */
export function formsAbout(context: CheckContext, pages: Page[], id: string): ApplicationForm[] {
  const found = new Map<string, ApplicationForm>()
  for (const page of pages)
    for (const form of page.forms) {
      const isAbout = form.action.includes(id) || page.url.includes(id)
      const names = form.controls.map(({ name }) => name).join(' ')
      if (form.method === 'POST' && isAbout && isOfClient(context, form.action))
        found.set(`${form.action} ${names}`, { page, form })
    }
  return [...found.values()].toSorted((one, other) => rank(describeForm(one)) - rank(describeForm(other)))
}

function describeForm({ form, page }: ApplicationForm): string {
  return [form.action, page.url, ...form.buttons.map(({ text }) => text)].join(' ')
}

/** Returns the API calls that change something on the person's behalf. Leaves out the calls in `before`. */
export async function changesSince(context: CheckContext, person: Person, before: LabStep[]): Promise<LabStep[]> {
  await context.platform.settle()
  const known = new Set(before)
  return context.arrived('api').filter(step => !known.has(step) && step.about.userId === person.id && isWrite(step))
}

/** Whether this is a request that can change something. */
export const isWrite = ({ request: { method } }: LabStep) => !['GET', 'HEAD', 'OPTIONS'].includes(method)

/**
 * Sends the form from its own page, and returns whether the client then changes something at the API. If the form can
 * change the application, the suite types a new name for the application.
 */
export async function worksFromItsPage(
  context: CheckContext,
  { browser, person }: OwnApplication,
  { page, form }: ApplicationForm,
): Promise<boolean> {
  const before = context.arrived('api')
  await browser.newTab().submit(page, form, typedInto({ page, form }))
  return (await changesSince(context, person, before)).length > 0
}

/** Returns the fields of the form with some values replaced, for a request that no browser sends. */
export function filledFields(
  { fields }: Pick<Form, 'fields'>,
  values: Record<string, string | string[]>,
): Form['fields'] {
  return [
    ...fields.filter(([name]) => !(name in values)),
    ...Object.entries(values).map(([name, value]): [string, string] => [name, `${value}`]),
  ]
}

/** Sends a form with these headers, without a browser. */
export async function sendForm(
  context: CheckContext,
  browser: Browser,
  { action, fields }: Pick<Form, 'action' | 'fields'>,
  headers: Record<string, string>,
) {
  const answer = await context.request(action, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      cookie: cookieHeader(context, browser, action),
      ...headers,
    },
    body: `${new URLSearchParams(fields)}`,
  })
  return { answer, status: statusOf(answer), location: headerOf(answer, 'location') }
}

/** Returns the headers that a browser sends with the request of a script on another port of the client's host. */
export function scriptOfOtherPort({ settings }: CheckContext, mode: string): Record<string, string> {
  const { protocol, hostname } = new URL(settings.client)
  return {
    origin: `${protocol}//${hostname}:1`,
    'sec-fetch-site': 'same-site',
    'sec-fetch-mode': mode,
    'sec-fetch-dest': 'empty',
  }
}

/** Returns the headers that a browser sends with a form on the client's own page. */
export const ownForm = ({ settings }: CheckContext): Record<string, string> => ({
  origin: settings.client,
  'sec-fetch-site': 'same-origin',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-user': '?1',
  accept: 'text/html',
})
