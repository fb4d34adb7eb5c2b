// What answers of the platform bring along: ids that lead elsewhere, bodies that grow, words and headers of others.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser, Exchange, Page } from '../../browser/browser.ts'
import { NotApplicable, type Row } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, headerOf, setCookiesOf } from '../../findings.ts'
import { makeApplication } from '../../steps/applications.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { created, openCreateForm, submitCreate } from '../../steps/create-form.ts'
import { compareUnder, expectAnswer, shownIn, visitUnder } from '../../steps/list-page.ts'

const needs: Row['needs'] = ['page']
const other = 'other.example'

// ---- Ids in the list

const ids: [id: string, what: string, rule: Row['rule'], values: unknown[]][] = [
  ['path', 'leads to another path or host', 'PG-23', ['../logout', '%2e%2e/%2e%2e/logout', `//${other}/x`, 'a/b/c']],
  ['query', 'begins a query or a fragment', 'PG-23', ['?x=1&y=2', '#x', 'a?x=1']],
  [
    'markup',
    'is markup, or a script behind a link',
    'PG-07',
    ['<script>conformance()</script>', '"><img src=x onerror=conformance()>', 'javascript:conformance()'],
  ],
  ['long', 'has 9,000 characters', 'UP-06', ['a'.repeat(9000)]],
  ['type', 'is no text', 'UP-06', [7, null, { a: 1 }, ['a']]],
]

const idRows: Row[] = ids.map(([id, what, rule, values]) => ({
  id: `list-id-${id}`,
  title: `An application whose id ${what} breaks no page, and its links lead nowhere else`,
  rule,
  why: 'An id comes from another program; pasted into a page or an address it becomes part of that.',
  fix: 'Check the form of an id, encode it as one segment of a path, and escape it on the page.',
  needs,
  async run(context) {
    const { browser, person } = await context.signedIn()
    const visit = () => browser.newTab().visit(context.url(context.settings.page))
    const empty = await visit()
    await makeApplication(context, person, { name: 'Weather of conformance' })
    const full = await visit()
    const usual = newLinks(empty, full)
    for (const value of values) {
      const { page } = await visitUnder(context, 'list-id', { id: value }, 5, browser)
      await context.dropFaults()
      const said = JSON.stringify(value).slice(0, 60)
      expectAnswer(page)
      expect(page.status !== 500, `With the id ${said} the page has status 500.`, page)
      expect(!holdsMarkup(page), `The id ${said} stands in the page as markup, or as a script behind a link.`, page)
      const links = newLinks(empty, page)
      for (const url of links)
        expect(
          usual.some(one => isLike(one, url)),
          `The id ${said} makes a link to ${url.slice(0, 100)}.`,
          page,
        )
      for (const url of links.slice(0, 2)) await expectOwnCalls(context, browser, page, url)
    }
  },
}))

/** Those that a page has beyond the one without an application. */
function newLinks(empty: Page, page: Page): string[] {
  const known = new Set(empty.links.map(({ url }) => url))
  return [...new Set(page.links.map(({ url }) => url))].filter(url => !known.has(url))
}

/** Whether a link differs from a usual one in one segment of its path, or in the value of one parameter. */
function isLike(usual: string, url: string): boolean {
  const [one, two] = [new URL(usual), new URL(url)]
  const [first, second] = [one.pathname.split('/'), two.pathname.split('/')]
  const different = first.filter((segment, at) => segment !== second[at]).length
  const names = ({ searchParams }: URL) => [...searchParams.keys()].join()
  return (
    one.origin === two.origin &&
    first.length === second.length &&
    different <= 1 &&
    names(one) === names(two) &&
    (two.hash === '' || one.hash !== '')
  )
}

/** Behind the link nothing is called but the application API, one segment deep. */
async function expectOwnCalls(context: CheckContext, browser: Browser, from: Page, url: string): Promise<void> {
  const before = new Set(context.arrived('api', 'me', 'exchange'))
  const page = await browser.newTab().visit(url, { from })
  expectAnswer(page)
  await context.platform.settle()
  const { id } = await context.person()
  const isOwn = ({ request }: LabStep) =>
    /^\/apps\/v1(\/(?!\.\.?$|%2e)[^/?#]+)?$|^\/apps\/v1\?|^\/api\/me$/i.test(request.url) ||
    request.url.startsWith(`/identities/v1/${id}/links`)
  const wrong = context.arrived('api', 'me', 'exchange').filter(step => !before.has(step) && !isOwn(step))
  expect(wrong.length === 0, `Behind its link the client called ${wrong[0]?.request.url.slice(0, 100)}.`, ...wrong)
}

function holdsMarkup({ headers, body }: Page): boolean {
  if (!/html/i.test(headers.get('content-type') ?? 'text/html')) return false
  return (
    body.includes('<script>conformance()') ||
    body.includes('<img src=x onerror=conformance') ||
    /\b(href|src|action|formaction)\s*=\s*["']?\s*javascript:/i.test(body)
  )
}

// ---- The id of what was created

const createdIds: [id: string, what: string, values: string[]][] = [
  ['elsewhere', 'names another host or path', [`//${other}/x`, `https://${other}/x`, `\\\\${other}`, '../../logout']],
  ['header', 'holds a line break', ['a\r\nSet-Cookie: conformance-planted=1', 'a\nb']],
]

/** Where an answer of the client sends the browser, if that is neither the client nor the portal. */
function awayFrom({ settings, platform }: CheckContext, one: Exchange): string | undefined {
  const location = headerOf(one, 'location')
  if (location === undefined || !URL.canParse(location, one.request.url)) return undefined
  const { origin, href } = new URL(location, one.request.url)
  return [settings.client, platform.portalUrl].includes(origin) ? undefined : href
}

const createdRows: Row[] = createdIds.map(([id, what, values]) => ({
  id: `create-id-${id}`,
  title: `An application whose id ${what} leads the visitor nowhere else when it was created`,
  rule: id === 'header' ? 'header-injection' : 'CL-25',
  why: 'Who answers a form with a redirect to the new application builds an address of what the API says.',
  fix: 'Check the form of the id, and encode it as one segment of the path.',
  needs: ['page', 'create'],
  async run(context) {
    for (const value of values) {
      const open = await openCreateForm(context)
      await context.order('create-id', { times: 1, options: { id: value } })
      const page = await open.browser.submit(open.page, open.form, open.values, undefined, {
        stopAt: ({ hostname }) => hostname === other,
      })
      if ((await created(context, open.person)).length === 0)
        throw new NotApplicable('the form creates nothing, which another check says')
      const said = JSON.stringify(value)
      // Some browsers hold such a redirect back for a page that forbids it.
      const away = page.trail.map(one => awayFrom(context, one)).find(address => address !== undefined)
      expect(away === undefined, `With the id ${said} the browser is sent to ${away}.`, page)
      expect(
        !page.links.some(({ url }) => new URL(url).hostname === other),
        `With the id ${said} the page links there.`,
      )
      expectAnswer(page)
      const planted = page.trail.flatMap(setCookiesOf).filter(line => line.includes('conformance-planted='))
      expect(planted.length === 0, `The id ${said} has set a cookie.`, page)
      expect(await context.isSignedIn(open.browser), `With the id ${said} the visitor is signed out.`, page)
    }
  },
}))

// ---- Sizes

const sizes: Row[] = [
  {
    id: 'list-gzip-bomb',
    title: 'A list is not unpacked beyond reason',
    rule: 'bounded-answers',
    why: 'A few kilobytes become as many megabytes as a stranger likes, in the memory that all visitors share.',
    fix: 'Ask for no compression, or count the bytes after unpacking.',
    needs,
    async run(context) {
      const { page, empty, full } = await compareUnder(context, 'list-gzip-bomb')
      expectAnswer(page)
      if (shownIn(full) === shownIn(empty)) throw new NotApplicable('the page shows nothing of the list')
      expect(page.status >= 400 || shownIn(page) !== shownIn(full), 'The page shows a list of 32 MiB.', page)
    },
  },
  {
    id: 'exchange-gzip-bomb',
    title: 'The answer to the exchange is not unpacked beyond reason',
    rule: 'bounded-answers',
    why: 'A few kilobytes become as many megabytes as a stranger likes, in the memory that all visitors share.',
    fix: 'Ask for no compression, or count the bytes after unpacking.',
    needs,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-gzip-bomb')
      expectAnswer(await followCallback(context, browser, callback))
      expect(!(await context.isSignedIn(browser)), 'An answer of 32 MiB signs in.')
    },
  },
  {
    id: 'list-deep',
    title: 'A list that is 100,000 levels deep breaks no page',
    rule: 'UP-04',
    why: 'A reader that goes down level by level ends with its stack, and in some languages with the process.',
    fix: 'Count the levels before or while reading, and catch what the reader throws.',
    needs,
    async run(context) {
      const { page } = await visitUnder(context, 'list-deep')
      expectAnswer(page)
      expect(page.status !== 500, 'The answer has status 500.', page)
      await context.dropFaults()
    },
  },
]

// ---- Words

const words = 'words_of_the_api_4711'
const markup = '<img src=x onerror=conformance()>'
const bodies: [status: number, body: string, type: string][] = [
  [500, JSON.stringify({ error: { status: 500, message: `${words} ${markup}` } }), 'application/json; charset=utf-8'],
  [403, JSON.stringify({ error: { status: 403, message: `${words} ${markup}` } }), 'application/json; charset=utf-8'],
  [502, `<!doctype html><h1>${words}</h1><script>conformance()</script>`, 'text/html; charset=utf-8'],
]

function onErrors(row: Omit<Row, 'run' | 'needs'>, judge: (page: Page) => void): Row {
  return {
    ...row,
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      for (const [status, body, type] of bodies) {
        const { page } = await visitUnder(context, 'list-answer', { status, body, type }, 5, browser)
        await context.dropFaults()
        expectAnswer(page)
        judge(page)
      }
    },
  }
}

const errorRows: Row[] = [
  onErrors(
    {
      id: 'list-error-escaped',
      title: 'What the API says of a failure is never markup of the page',
      rule: 'PG-07',
      why: 'Text from elsewhere in a page without escaping is a script of somebody else.',
      fix: 'Show words of your own, or escape what is shown; pass no answer on.',
    },
    page => expect(!holdsMarkup(page), 'The page holds the markup of the answer.', page),
  ),
  onErrors(
    {
      id: 'list-error-own-words',
      title: 'What the API or a proxy says of a failure is not shown to the visitor',
      rule: 'PG-20',
      why: 'It is written for the developer, and may say more than a visitor should know.',
      fix: 'Log it; show a sentence of your own.',
    },
    page => expect(!page.body.includes(words), 'The page shows what was answered.', page),
  ),
  {
    id: 'create-error-escaped',
    title: 'What the API says of a field is text on the page',
    rule: 'PG-07',
    why: 'It repeats what was typed, and may hold anything.',
    fix: 'Escape every value, the messages of the API included.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const body = { error: { status: 422, message: { name: [markup], [`redirectUris${markup}`]: [markup] } } }
      await context.order('create-422-body', { times: 1, options: { body } })
      const page = await open.browser.submit(open.page, open.form, open.values)
      await context.platform.settle()
      if (!context.arrived('api').some(step => step.fault?.name === 'create-422-body'))
        throw new NotApplicable('the form creates nothing, which another check says')
      expectAnswer(page)
      expect(!holdsMarkup(page), 'The page holds it as markup.', page)
      await submitCreate(context, await openCreateForm(context))
    },
  },
]

// ---- Headers

const foreign = {
  'set-cookie': 'conformance-planted=1; Path=/',
  'x-conformance-mark': 'passed-back',
  refresh: `0; url=https://${other}/`,
  'clear-site-data': '"cookies"',
  'access-control-allow-origin': 'https://conformance-mark.example',
}

function expectOwnHeaders(page: Page): void {
  for (const one of page.trail) {
    if (!('status' in one.response)) continue
    const { headers } = one.response
    const isPassed =
      setCookiesOf(one).some(line => line.includes('conformance-planted')) ||
      headers.has('x-conformance-mark') ||
      (headers.get('refresh') ?? '').includes(other) ||
      headers.get('access-control-allow-origin') === foreign['access-control-allow-origin']
    expect(!isPassed, 'A header of the platform came back to the browser.', one)
  }
}

const headerRule = {
  rule: 'UP-13',
  why: 'A cookie, a refresh or a permission that another server sends would be the client’s own.',
  fix: 'Write the headers of every answer yourself, and copy none.',
} as const

const headerRows: Row[] = [
  {
    id: 'list-headers-not-passed-back',
    title: 'Headers of an answer of the API do not come back to the browser',
    ...headerRule,
    needs,
    async run(context) {
      const { page } = await visitUnder(context, 'list-headers', { headers: foreign })
      expectAnswer(page)
      expectOwnHeaders(page)
    },
  },
  {
    id: 'exchange-headers-not-passed-back',
    title: 'Headers of the answer to the exchange do not come back to the browser',
    ...headerRule,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-headers', { options: { headers: foreign } })
      const page = await followCallback(context, browser, callback, ({ hostname }) => hostname === other)
      if (!(await context.exchanges()).some(({ fault }) => fault))
        throw new NotApplicable('the callback exchanges nothing, which another check says')
      expectAnswer(page)
      expectOwnHeaders(page)
    },
  },
  {
    id: 'api-cookie-not-kept',
    title: 'A cookie that the API sets for one visitor goes along with no call for another',
    rule: 'visitors-apart',
    why: 'A session of an HTTP library that all requests share keeps cookies, and sends those of one visitor for all.',
    fix: 'Switch the cookie jar of the HTTP library off, or make a client for each request.',
    needs,
    async run(context) {
      const cookie = `conformance-visitor=${(await context.person()).id}`
      await visitUnder(context, 'list-headers', { headers: { 'set-cookie': `${cookie}; Path=/` } }, 1)
      const person = await context.otherPerson()
      const { browser } = await context.signedIn({ person })
      await browser.visit(context.url(context.settings.page))
      await context.platform.settle()
      const told = context
        .arrived('api', 'me', 'exchange')
        .find(({ request, about }) => about.userId === person.id && `${request.headers.cookie ?? ''}`.includes(cookie))
      expect(told === undefined, 'A call for the second visitor carries the cookie of the first.')
    },
  },
]

export const apiAnswers: Row[] = [...idRows, ...createdRows, ...sizes, ...errorRows, ...headerRows]
