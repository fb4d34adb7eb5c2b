// Checks on the security headers of answers that refuse a request. Many clients set these headers only when they render
// a page.
import type { Browser, HttpExchange, Page } from '../../browser/browser.ts'
import { type Check, type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { bodyOf, expect, headerOf, statusOf } from '../../findings.ts'
import type { RuleId } from '../../rules/rules.ts'
import { ownForm, sendForm } from '../../steps/application-pages.ts'
import { typedAddress } from '../../steps/callback.ts'
import { openFormIn } from '../../steps/create-form.ts'
import { isNotFramed } from '../../steps/frames.ts'

interface Answer {
  what: string
  exchange: HttpExchange
}

/**
 * The number of characters in the long form. A client refuses such a form before it reads the fields. A longer form
 * would not fit into the buffers of the connection, so the suite could miss the answer.
 */
const tooLong = 100_000

type Read = (name: string) => string | undefined

/** The security headers that these checks know. Each function says whether an answer has the header. */
const headers: Record<string, (read: Read) => boolean> = {
  nosniff: read => /nosniff/i.test(read('x-content-type-options') ?? ''),
  policy: read => read('content-security-policy') !== undefined,
  frame: read => isNotFramed(read),
}

const ofPage = (page: Page) => (name: string) => page.headers.get(name) ?? undefined
const ofAnswer =
  ({ exchange }: Answer) =>
  (name: string) =>
    headerOf(exchange, name)

/**
 * Collects answers with a status of 400 or above. They are answers to GET, POST and DELETE requests. Some errors come
 * from the client itself, others from failures of the platform.
 */
async function collect(context: CheckContext): Promise<{ page: Page; answers: Answer[] }> {
  const { settings } = context
  const { browser, person } = await context.signedIn()
  const page = await browser.visit(context.url(settings.page))
  const answers: Answer[] = []
  const add = (what: string, exchange: HttpExchange) => {
    if (statusOf(exchange) >= 400) answers.push({ what, exchange })
  }
  add('an unknown address', await context.request('/there-is-nothing-here-conformance', { headers: typedAddress }))
  add('a refused callback', await context.request(`${settings.callback}?code=a&state=b`, { headers: typedAddress }))
  await addForms(context, browser, add)
  if (settings.create) await addRefusedForm(context, browser, person, add)
  await context.order('list-503', { times: 5 })
  const failed = await browser.newTab().visit(context.url(settings.page))
  await context.dropFaults()
  for (const exchange of failed.trail) add('a request whose API call failed', exchange)
  if (answers.length === 0) throw new NotApplicable('no answer from the client has a status of 400 or above')
  return { page, answers }
}

type Add = (what: string, exchange: HttpExchange) => void

/**
 * Adds the answers to requests that the client must refuse: forms from another site, bodies with a content type that no
 * form has, forms that are too long, and DELETE requests.
 */
async function addForms(context: CheckContext, browser: Browser, add: Add): Promise<void> {
  const { create, page } = context.settings
  for (const path of new Set([create, page].filter(path => path !== ''))) {
    const form = { action: context.url(path), fields: [] }
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    add(`a form to ${path} from another site`, (await sendForm(context, browser, form, foreign)).answer)
    const wrongType = { ...ownForm(context), 'content-type': 'text/plain' }
    add(
      `a body with the content type text/plain to ${path}`,
      (await sendForm(context, browser, form, wrongType)).answer,
    )
    const long = { ...form, fields: [['name', 'a'.repeat(tooLong)]] as [string, string][] }
    add(`a form to ${path} that is too long`, (await sendForm(context, browser, long, ownForm(context))).answer)
    add(`a DELETE request for ${path}`, await context.request(path, { method: 'DELETE', headers: ownForm(context) }))
  }
}

/** Fills in the form for a new application with one wrong value, sends it, and passes each answer to `add`. */
async function addRefusedForm(
  context: CheckContext,
  browser: Browser,
  person: Parameters<typeof openFormIn>[2],
  add: Add,
): Promise<void> {
  const open = await openFormIn(context, browser, person)
  const uri = Object.keys(open.values).find(name => /redirect/i.test(name))!
  const page = await browser.submit(open.page, open.form, { ...open.values, [uri]: 'ftp://not-allowed.example/' })
  for (const exchange of page.trail) add('a form with a wrong value', exchange)
}

const rows: { id: string; title: string; rule: RuleId; why: string; fix: string; names: string[] }[] = [
  {
    id: 'error-headers',
    title: "If the client's pages have security headers, its answers with a status of 400 or above also have them",
    rule: 'PG-09',
    why: 'An error page often shows values from the request, and often comes from different code than the normal pages.',
    fix: 'Set the headers in one function that runs for every answer, before the routes and the error handler.',
    names: ['nosniff', 'policy', 'frame'],
  },
  {
    id: 'error-not-framed',
    title: 'Other sites cannot show an error page in a frame',
    rule: 'PG-08',
    why: 'The page for a refused form contains the typed values and a button. If another site shows this page in a frame, it can trick the visitor into pressing the button.',
    fix: "Send frame-ancestors 'none' or X-Frame-Options: DENY with every page, whatever its status.",
    names: ['frame'],
  },
  {
    id: 'error-nosniff',
    title:
      "If the client's pages have X-Content-Type-Options: nosniff, its answers with a status of 400 or above also have it",
    rule: 'nosniff',
    why: 'The answer can repeat values from the request, so browsers must not guess its type.',
    fix: 'Send X-Content-Type-Options: nosniff with every answer, whatever its status.',
    names: ['nosniff'],
  },
  {
    id: 'error-content-security-policy',
    title: "If the client's other pages have a Content-Security-Policy, its error pages also have one",
    rule: 'content-security-policy',
    why: 'Error pages often show values from the request, so they need the policy more than other pages.',
    fix: 'Send the Content-Security-Policy with every page, whatever its status.',
    names: ['policy'],
  },
]

const needs: Check['needs'] = ['page']

/**
 * Each check looks at the headers in `names`. If the page behind the login has some of these headers, each error answer
 * must also have at least one of the headers that the page has.
 */
export const errorHeaders: CheckDefinition[] = rows.map(
  ({ names, ...definition }): CheckDefinition => ({
    ...definition,
    needs,
    async run(context) {
      const { page, answers } = await collect(context)
      const ofPages = names.filter(name => headers[name]!(ofPage(page)))
      if (ofPages.length === 0) throw new NotApplicable('even the page behind the login does not have the header')
      for (const answer of answers) {
        // Only an HTML page with content needs a policy, or a header that forbids frames.
        const isPage = /html/i.test(headerOf(answer.exchange, 'content-type') ?? '') && bodyOf(answer.exchange) !== ''
        if (!isPage && !names.includes('nosniff')) continue
        const has = ofPages.some(name => headers[name]!(ofAnswer(answer)))
        const status = statusOf(answer.exchange)
        expect(
          has,
          `The answer to ${answer.what} (status ${status}) lacks headers that the page behind the login has.`,
          answer.exchange,
        )
      }
    },
  }),
)
