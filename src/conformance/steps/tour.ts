// Collects answers of every kind from the client: pages with and without a session, answers to accepted and refused
// forms, errors, redirects, and the files that pages load.
import type { HttpExchange, Page } from '../browser/browser.ts'
import type { CheckContext } from '../context.ts'
import { headerOf, statusOf } from '../findings.ts'
import type { Person } from '../platform.ts'
import { openPagesAbout, openWithApplication } from './application-pages.ts'
import { makeGroup } from './applications.ts'
import { typedAddress } from './callback.ts'
import { findCreateForm, openFormIn } from './create-form.ts'
import { findCancelUrl } from './declined-login.ts'
import { openGroupPages } from './group-form.ts'
import { loadsIn } from './page-content.ts'
import { signOut } from './sign-out.ts'

export interface TourAnswer {
  what: string
  exchange: HttpExchange
  /** `file` is a file that a page loads. `visitor` is a page for a signed-in visitor. */
  kind: 'public' | 'visitor' | 'file'
}

export interface Tour {
  person: Person
  answers: TourAnswer[]
  /** The page behind the login. */
  page: Page
}

/**
 * The name of the application and of a group, and the text that the visitor types. Both are unusual, so that checks
 * recognise pages that contain the visitor's data.
 */
export const marks = ['Seen-by-conformance-4713', 'Typed-by-conformance-4713']

const addressOfErrors = '/there-is-nothing-here-conformance'

/**
 * Visits the client without a session and as a signed-in visitor. Leaves out features that the client does not have.
 */
export async function takeTour(context: CheckContext): Promise<Tour> {
  const { settings } = context
  const answers: TourAnswer[] = []
  const add = (what: string, kind: TourAnswer['kind'], ...trail: HttpExchange[]) => {
    for (const exchange of trail)
      if (exchange.request.url.startsWith(`${settings.client}/`) && statusOf(exchange) > 0)
        answers.push({ what, exchange, kind })
  }
  const ask = async (what: string, path: string, request: Parameters<typeof context.request>[1] = {}) =>
    add(what, 'public', await context.request(path, { headers: typedAddress, ...request }))
  await ask('the start page', '/')
  await ask('an unknown address', addressOfErrors)
  await ask('a refused callback', `${settings.callback}?code=a&state=b`)
  await ask('another method', settings.login, { method: 'PUT' })
  const stranger = context.browser()
  const start = await context.startLogin(stranger)
  add('the start of a login', 'public', ...start.page.trail)
  const cancelUrl = findCancelUrl(context, start)
  if (cancelUrl) await ask('the page for a declined login', cancelUrl.href)
  if (settings.page) await ask('a page without a session', settings.page)
  const application = await openWithApplication(context, { name: marks[0]!, description: marks[0]! })
  const { browser, person } = application
  const pages = await openPagesAbout(context, application)
  for (const page of pages) add('a page of the visitor', 'visitor', ...page.trail)
  if (settings.create) {
    const form = await browser.visit(context.url(settings.create))
    add('the form for a new application', 'visitor', ...form.trail)
    if (findCreateForm(form)) {
      const open = await openFormIn(context, browser, person, marks[1])
      const uri = Object.keys(open.values).find(name => /redirect/i.test(name))!
      const wrong = { ...open.values, [uri]: 'ftp://not-allowed.example/' }
      add('a refused form', 'visitor', ...(await browser.submit(open.page, open.form, wrong)).trail)
      const again = await openFormIn(context, browser, person, marks[1])
      add('a successful form', 'visitor', ...(await browser.submit(again.page, again.form, again.values)).trail)
    }
  }
  const groupPages = await openGroupPages(context, browser)
  if (groupPages.length > 0) await makeGroup(context, person, marks[0]!)
  for (const { url } of groupPages) {
    const page = await browser.visit(url)
    // Without the name of the visitor's group, this may be a page for everybody, such as an explanation.
    if (page.body.includes(marks[0]!)) add('a page about groups', 'visitor', ...page.trail)
  }
  await context.order('api-503', { times: 'always' })
  for (const page of pages.slice(0, 3))
    add('a page while the API is down', 'visitor', ...(await browser.newTab().visit(page.url)).trail)
  await context.dropFaults()
  const files = new Set(pages.flatMap(page => loadsIn(page)).filter(url => url.startsWith(`${settings.client}/`)))
  for (const file of [...files].slice(0, 6)) add('a file', 'file', await context.request(file))
  if (settings.logout) add('signing out', 'public', ...(await signOut(context, browser)).trail)
  return { person, answers, page: pages[0]! }
}

export const typeOf = (exchange: HttpExchange): string => headerOf(exchange, 'content-type') ?? ''
