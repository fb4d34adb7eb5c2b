// Tests how the client handles harmful content in the platform's answers: ids that change an address, bodies that
// become very large when the client unpacks them, markup in text, and headers for a browser.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser, HttpExchange, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, headerOf, setCookiesOf } from '../../findings.ts'
import { isCallWithToken } from '../../platform-calls.ts'
import { openPagesAbout, openWithApplication } from '../../steps/application-pages.ts'
import { makeApplication, makeGroup } from '../../steps/applications.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { created, noCreation, openCreateForm, submitCreate } from '../../steps/create-form.ts'
import { expectOwnHeaders, foreignHeaders, foreignHeadersRule } from '../../steps/foreign-headers.ts'
import { compareUnder, expectAnswer, shownIn, visitUnder } from '../../steps/list-page.ts'
import { visitPage } from '../../steps/sessions.ts'
import { decodeSafely } from '../../steps/set-cookies.ts'
import { otherVisitors } from './other-visitors.ts'
import { textsOfCalls } from './texts-of-calls.ts'

const needs: CheckDefinition['needs'] = ['page']
const other = 'other.example'

// ---- Ids in the list

const ids: [id: string, what: string, rule: CheckDefinition['rule'], values: unknown[]][] = [
  ['path', 'leads to another path or host', 'PG-23', ['../logout', '%2e%2e/%2e%2e/logout', `//${other}/x`, 'a/b/c']],
  ['query', 'contains a query or a fragment', 'PG-23', ['?x=1&y=2', '#x', 'a?x=1']],
  [
    'markup',
    'is markup or a javascript: address',
    'PG-07',
    ['<script>conformance()</script>', '"><img src=x onerror=conformance()>', 'javascript:conformance()'],
  ],
  ['long', 'has 9,000 characters', 'UP-06', ['a'.repeat(9000)]],
  ['type', 'is not a string', 'UP-06', [7, null, { a: 1 }, ['a']]],
]

const idRows: CheckDefinition[] = ids.map(([id, what, rule, values]) => ({
  id: `list-id-${id}`,
  title: `If the id of an application ${what}, the page works, no link on it leads to another site, and the client calls only its usual addresses`,
  rule,
  why: 'The id comes from another program. If the client copies the id without escaping it, the id can change the page, or the address of a call.',
  fix: 'Check the format of each id. In an address, encode the id as one path segment. On a page, escape the id.',
  needs,
  async run(context) {
    const opened = await openList(context)
    const usual = opened.links.map(url => new URL(url).origin)
    for (const value of values) {
      const { page, links } = await linksUnder(context, opened, value)
      const said = JSON.stringify(value).slice(0, 60)
      expectAnswer(page)
      expect(page.status !== 500, `With the id ${said}, the page has status 500.`, page)
      expect(
        !holdsMarkup(page),
        `The page does not escape the id ${said}, so the id becomes markup, or a script in a link.`,
        page,
      )
      for (const url of links)
        expect(
          usual.includes(new URL(url).origin),
          `With the id ${said}, the page links to ${url.slice(0, 100)}.`,
          page,
        )
      for (const url of links.slice(0, 2)) await expectOwnCalls(context, opened.browser, page, url)
    }
  },
}))

const idLinks: CheckDefinition = {
  id: 'list-id-link',
  title: 'The link to an application contains the whole id as one path segment or one query value',
  // This rule is only a SHOULD, for two reasons: a wrong link still leads to the client, and some template languages,
  // such as Go's, do not encode a slash in a link.
  rule: 'id-in-link',
  why: 'If an id contains a slash or a question mark and is not encoded, the link opens another page of the client.',
  fix: 'Encode the id as one path segment when you write the link.',
  needs,
  async run(context) {
    const opened = await openList(context)
    for (const value of oddIds) {
      const { page, links } = await linksUnder(context, opened, value)
      for (const url of links)
        expect(
          opened.links.some(one => isLike(one, url) && namesId(one, url, value)),
          `With the id ${JSON.stringify(value)}, the page links to ${url.slice(0, 100)}.`,
          page,
        )
    }
  },
}

const idLinksOfPage: CheckDefinition = {
  id: 'get-id-link',
  title: 'The links and forms of a page about an application contain the id as one path segment or one query value',
  rule: 'id-in-link',
  why: 'If an id contains a slash or a question mark and is not encoded, the link or form leads to another page of the client.',
  fix: 'Encode the id as one path segment in every address that you write.',
  needs,
  async run(context) {
    const application = await openWithApplication(context)
    const { browser, id } = application
    const pages = (await openPagesAbout(context, application)).slice(1)
    if (pages.length === 0) throw new NotApplicable('the client has no page about one application')
    for (const value of oddIds)
      for (const usual of pages.filter(({ status }) => status === 200)) {
        await context.order('get-id', { times: 5, options: { id: value } })
        const page = await browser.newTab().visit(usual.url)
        await context.dropFaults()
        if (page.status >= 400) continue
        const known = addressesOf(usual)
        const about = known.filter(url => url.includes(id))
        for (const url of addressesOf(page).filter(url => !known.includes(url)))
          expect(
            about.some(one => isLike(one, url) && namesId(one, url, value)),
            `With the id ${JSON.stringify(value)}, the page contains the address ${url.slice(0, 100)}.`,
            page,
          )
      }
  },
}

/** Ids with characters that have a special meaning in an address, such as a slash. */
const oddIds = ['../logout', 'a/b/c', '?x=1&y=2', '#x', '<script>conformance()</script>', '100%41', 'a+b&c=d']

/** Returns the addresses of all links and forms of the page. */
const addressesOf = ({ links, forms }: Page) => [...links.map(({ url }) => url), ...forms.map(({ action }) => action)]

/**
 * Finds the path segment or the query values in which a link differs from a usual link. Returns whether each of them is
 * exactly the id.
 */
function namesId(usual: string, url: string, id: string): boolean {
  const [one, two] = [new URL(usual), new URL(url)]
  const segments = one.pathname.split('/')
  const segment = two.pathname.split('/').find((each, at) => each !== segments[at])
  if (segment !== undefined) return decodeSafely(segment) === id
  return [...two.searchParams].every(([name, value]) => value === one.searchParams.get(name) || value === id)
}

interface OpenedList {
  browser: Browser
  /** The page that a visitor without applications sees. */
  empty: Page
  /** The links that the page has only if the visitor has an application. */
  links: string[]
}

/** Signs a visitor in, and opens the page twice: before and after the visitor gets an application. */
async function openList(context: CheckContext): Promise<OpenedList> {
  const { browser, person } = await context.signedIn()
  const visit = () => browser.newTab().visit(context.url(context.settings.page))
  const empty = await visit()
  await makeApplication(context, person)
  return { browser, empty, links: newLinks(empty, await visit()) }
}

/**
 * Opens the page while the API's list gives the application the id `id` instead of its real one. Returns the page and
 * its new links.
 */
async function linksUnder(context: CheckContext, { browser, empty }: OpenedList, id: unknown) {
  const { page } = await visitUnder(context, 'list-id', { id }, 5, browser)
  await context.dropFaults()
  return { page, links: linksOfApplications(context, empty, page) }
}

/**
 * Returns the new links on the page, because these links can lead to the application. Returns an empty list for an
 * error page, because the links of an error page, such as a link to sign in again, do not depend on the id.
 */
function linksOfApplications({ settings, url }: CheckContext, empty: Page, page: Page): string[] {
  if (page.status >= 400) return []
  const ofOthers = [url('/'), url(settings.login)]
  return newLinks(empty, page).filter(link => !ofOthers.includes(link.split(/[?#]/)[0]!))
}

/** Returns the links of `page` that `empty` does not have. `empty` is the page of a visitor without applications. */
function newLinks(empty: Page, page: Page): string[] {
  const known = new Set(empty.links.map(({ url }) => url))
  return [...new Set(page.links.map(({ url }) => url))].filter(url => !known.has(url))
}

/**
 * Whether a link has the form of a usual link: at most one segment of its path differs, its parameters have the same
 * names, and it has a fragment only if the usual link has one.
 */
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

/**
 * Opens the link. Fails if the client then calls a path other than these: `/apps/v1` with at most one more segment,
 * `/api/me`, and the path of the visitor's links.
 */
async function expectOwnCalls(context: CheckContext, browser: Browser, from: Page, url: string): Promise<void> {
  const { result: page, steps } = await context.during(() => browser.newTab().visit(url, { from }))
  expectAnswer(page)
  const { id } = await context.person()
  const isOwn = ({ request }: LabStep) =>
    /^\/apps\/v1(\/(?!\.\.?$|%2e)[^/?#]+)?$|^\/apps\/v1\?|^\/api\/me$/i.test(request.url) ||
    request.url.startsWith(`/identities/v1/${id}/links`)
  const calls = steps.filter(step => isCallWithToken(step) || step.kind === 'exchange')
  const wrong = calls.filter(step => !isOwn(step))
  expect(
    wrong.length === 0,
    `When the browser opened the link to the application, the client called ${wrong[0]?.request.url.slice(0, 100)}.`,
    ...wrong,
  )
}

function holdsMarkup({ headers, body }: Page): boolean {
  if (!/html/i.test(headers.get('content-type') ?? 'text/html')) return false
  return (
    body.includes('<script>conformance()') ||
    body.includes('<img src=x onerror=conformance') ||
    /\b(href|src|action|formaction)\s*=\s*["']?\s*javascript:/i.test(body)
  )
}

// ---- The id of a new application

const createdIds: [id: string, what: string, values: string[]][] = [
  ['elsewhere', 'names another host or path', [`//${other}/x`, `https://${other}/x`, `\\\\${other}`, '../../logout']],
  ['header', 'contains a line break', ['a\r\nSet-Cookie: conformance-planted=1', 'a\nb']],
]

/**
 * If an answer redirects the browser to a server other than the client and the portal, returns the address of this
 * redirect.
 */
function awayFrom({ settings, platform }: CheckContext, one: HttpExchange): string | undefined {
  const location = headerOf(one, 'location')
  if (location === undefined || !URL.canParse(location, one.request.url)) return undefined
  const { origin, href } = new URL(location, one.request.url)
  return [settings.client, platform.portalUrl].includes(origin) ? undefined : href
}

const createdRows: CheckDefinition[] = createdIds.map(([id, what, values]) => ({
  id: `create-id-${id}`,
  title: `If the id of a new application ${what}, the client redirects the visitor only to pages of the client`,
  rule: id === 'header' ? 'header-injection' : 'CL-25',
  why: 'Clients put the id from the API answer into the address of the redirect. A hostile id can then lead to another host.',
  fix: 'Check the format of the id, and encode the id as one path segment.',
  needs: ['page', 'create'],
  async run(context) {
    for (const value of values) {
      const open = await openCreateForm(context)
      await context.order('create-id', { times: 1, options: { id: value } })
      const page = await open.browser.submit(open.page, open.form, open.values, {
        stopAt: ({ hostname }) => hostname === other,
      })
      if ((await created(context, open.person)).length === 0) throw noCreation()
      const said = JSON.stringify(value)
      // The check reads the Location header itself, because a browser does not follow a redirect that the page's
      // Content-Security-Policy forbids.
      const away = page.trail.map(one => awayFrom(context, one)).find(address => address !== undefined)
      expect(away === undefined, `With the id ${said}, the client sends the browser to ${away}.`, page)
      expect(
        !page.links.some(({ url }) => new URL(url).hostname === other),
        `With the id ${said}, the page links to ${other}.`,
      )
      expectAnswer(page)
      const planted = page.trail.flatMap(setCookiesOf).filter(line => line.includes('conformance-planted='))
      expect(
        planted.length === 0,
        `With the id ${said}, the client's answer contained a header that set a cookie in the browser.`,
        page,
      )
      expect(await context.isSignedIn(open.browser), `With the id ${said}, the visitor is no longer signed in.`, page)
    }
  },
}))

// ---- Sizes

const sizes: CheckDefinition[] = [
  ...(['gzip-bomb', 'large'] as const).map(
    (fault): CheckDefinition => ({
      id: fault === 'large' ? 'list-large-refused' : 'list-gzip-bomb',
      title: `The client limits the ${fault === 'large' ? 'size of a list' : 'unpacked size of a compressed list'}`,
      rule: 'UP-04',
      why:
        fault === 'large'
          ? 'A client that reads a list without a limit can fill the memory that all visitors share.'
          : 'A few compressed kilobytes can unpack to gigabytes, and fill the memory that all visitors share.',
      fix:
        fault === 'large'
          ? 'Count the bytes of every answer while you read the answer, and stop after a few megabytes.'
          : 'Do not ask for compression. Or count the unpacked bytes while you read the answer, and stop at a limit.',
      needs,
      async run(context) {
        const { page, empty, full } = await compareUnder(context, `list-${fault}`)
        expectAnswer(page)
        if (shownIn(full) === shownIn(empty)) throw new NotApplicable('the page does not show the list')
        expect(page.status >= 400 || shownIn(page) !== shownIn(full), 'The page shows a list of 32 MiB.', page)
      },
    }),
  ),
  ...(['large', 'gzip-bomb'] as const).map(
    (kind): CheckDefinition => ({
      id: kind === 'large' ? 'every-call-large-refused' : 'every-call-gzip-bomb',
      title: `The client limits the ${kind === 'large' ? 'size' : 'unpacked size'} of API answers that contain one application or the list of groups`,
      rule: 'UP-04',
      why: 'A client that reads an answer without a limit can fill the memory that all visitors share.',
      fix: 'In the function that makes all API calls, count the unpacked bytes of every answer while you read the answer. Stop after a few megabytes.',
      needs,
      async run(context) {
        const [name, group] = ['Large of conformance 4714', 'Group of conformance 4714']
        const application = await openWithApplication(context, { name })
        const { browser, person } = application
        await makeGroup(context, person, group)
        const open = async (url: string) => {
          const page = await browser.newTab().visit(url)
          await context.platform.settle()
          return page
        }
        const { create } = context.settings
        const details = (await openPagesAbout(context, application))[1]?.url
        const rows: [url: string | undefined, fault: string, text: string][] = [
          [details, `get-${kind}`, name],
          [create ? context.url(create) : undefined, `groups-${kind}`, group],
        ]
        let judged = 0
        for (const [url, fault, text] of rows) {
          if (url === undefined || !(await open(url)).body.includes(text)) continue
          await context.order(fault, { times: 5 })
          const page = await open(url)
          await context.dropFaults()
          if (!context.arrived('api').some(step => step.fault?.name === fault)) continue
          judged++
          expectAnswer(page)
          expect(!page.body.includes(text), `${new URL(url).pathname} shows text from an answer of 32 MiB.`, page)
        }
        if (judged === 0) throw new NotApplicable('no page shows an application or a group from these answers')
      },
    }),
  ),
  {
    id: 'name-gzip-bomb',
    title: "The client limits the unpacked size of the portal answer that contains the visitor's name",
    rule: 'UP-04',
    why: 'A few compressed kilobytes can unpack to gigabytes, and fill the memory that all visitors share.',
    fix: 'Do not ask for compression. Or count the unpacked bytes while you read the answer, and stop at a limit.',
    needs,
    async run(context) {
      const plain = await context.signedIn()
      const usual = await visitPage(context, plain.browser)
      if (!usual.page.body.includes(plain.person.firstName))
        throw new NotApplicable("the page does not show the visitor's name")
      const { browser, callback } = await beginLogin(context)
      await context.order('me-gzip-bomb', { times: 'always' })
      await followCallback(context, browser, callback)
      const { page } = await visitPage(context, browser)
      if (!context.arrived('me').some(({ fault }) => fault?.name === 'me-gzip-bomb'))
        throw new NotApplicable("the client does not ask the portal for the visitor's name")
      expectAnswer(page)
      expect(!page.body.includes(plain.person.firstName), 'The page shows a name from an answer of 32 MiB.', page)
    },
  },
  {
    id: 'exchange-gzip-bomb',
    title: 'The client limits the unpacked size of a compressed token response',
    rule: 'UP-04',
    why: 'A few compressed kilobytes can unpack to gigabytes, and fill the memory that all visitors share.',
    fix: 'Do not ask for compression. Or count the unpacked bytes while you read the answer, and stop at a limit.',
    needs,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-gzip-bomb')
      expectAnswer(await followCallback(context, browser, callback))
      expect(
        !(await context.isSignedIn(browser)),
        'The client accepted a token response of 32 MiB, and signed the visitor in.',
      )
    },
  },
  {
    id: 'list-deep',
    title:
      'When the API sends JSON with 100,000 nested levels, the visitor gets an answer with a status other than 500',
    rule: 'UP-04',
    why: 'A parser that calls itself for each level overflows its stack. In some languages, the process then ends.',
    fix: 'Count the levels before or while you parse the answer, and catch the errors of the parser.',
    needs,
    async run(context) {
      const { page } = await visitUnder(context, 'list-deep')
      expectAnswer(page)
      expect(page.status !== 500, 'The answer has status 500.', page)
      await context.dropFaults()
    },
  },
]

// ---- Text

const words = 'words_of_the_api_4711'
const markup = '<img src=x onerror=conformance()>'
const bodies: [status: number, body: string, type: string][] = [
  [500, JSON.stringify({ error: { status: 500, message: `${words} ${markup}` } }), 'application/json; charset=utf-8'],
  [403, JSON.stringify({ error: { status: 403, message: `${words} ${markup}` } }), 'application/json; charset=utf-8'],
  [502, `<!doctype html><h1>${words}</h1><script>conformance()</script>`, 'text/html; charset=utf-8'],
  [404, JSON.stringify({ error: { status: 404, message: `${words} ${markup}` } }), 'application/json; charset=utf-8'],
  [400, JSON.stringify({ message: `${words} ${markup}` }), 'application/json; charset=utf-8'],
  [429, JSON.stringify({ error: words, error_description: markup }), 'application/json; charset=utf-8'],
  [503, `${words} ${markup}`, 'text/plain; charset=utf-8'],
]

function onErrors(definition: Omit<CheckDefinition, 'run' | 'needs'>, judge: (page: Page) => void): CheckDefinition {
  return {
    ...definition,
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

const errorRows: CheckDefinition[] = [
  onErrors(
    {
      id: 'list-error-escaped',
      title: 'The page escapes markup in the text of an API error',
      rule: 'PG-07',
      why: 'If a page does not escape text from another program, this text can run as a script.',
      fix: "Show an error message of your own, or escape the text from the API. Never pass the API's answer on to the browser.",
    },
    page => expect(!holdsMarkup(page), 'The page does not escape the markup in the answer.', page),
  ),
  onErrors(
    {
      id: 'list-error-own-words',
      title: 'The page does not show error text from the API or from a proxy',
      rule: 'PG-20',
      why: 'Error text is meant for developers, and can contain details that help an attacker.',
      fix: 'Write the error text into the log, and show the visitor a sentence of your own.',
    },
    page => expect(!page.body.includes(words), 'The page shows the error text in the answer.', page),
  ),
  {
    id: 'create-error-escaped',
    title: "The page escapes the API's error text about a form field",
    rule: 'PG-07',
    why: "The API's error text repeats what the visitor typed, which can contain markup.",
    fix: 'Escape every value that a page shows, including error text from the API.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const body = { error: { status: 422, message: { name: [markup], [`redirectUris${markup}`]: [markup] } } }
      await context.order('create-422-body', { times: 1, options: { body } })
      const page = await open.browser.submit(open.page, open.form, open.values)
      await context.platform.settle()
      if (!context.arrived('api').some(step => step.fault?.name === 'create-422-body')) throw noCreation()
      expectAnswer(page)
      expect(!holdsMarkup(page), "The page does not escape the API's error text.", page)
      await submitCreate(context, await openCreateForm(context))
    },
  },
]

// ---- Headers

const headerRows: CheckDefinition[] = [
  {
    id: 'list-headers-not-passed-back',
    title: 'The client does not pass response headers from the API on to the browser',
    ...foreignHeadersRule,
    needs,
    async run(context) {
      const { page } = await visitUnder(context, 'list-headers', { headers: foreignHeaders })
      expectAnswer(page)
      expectOwnHeaders(page.trail)
    },
  },
  {
    id: 'exchange-headers-not-passed-back',
    title: 'The client does not pass headers of the token response on to the browser',
    ...foreignHeadersRule,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-headers', { options: { headers: foreignHeaders } })
      const page = await followCallback(context, browser, callback, { stopAt: ({ hostname }) => hostname === other })
      if (!(await context.codeExchanges()).some(({ fault }) => fault))
        throw new ReportedElsewhere('the client makes no exchange for the callback')
      expectAnswer(page)
      expectOwnHeaders(page.trail)
    },
  },
  {
    id: 'api-cookie-not-kept',
    title:
      "If the API's answer for one visitor sets a cookie, the client does not send this cookie in a call for another visitor",
    rule: 'visitors-apart',
    why: 'If all calls share one session of the HTTP library, this session keeps the cookies from a call for one visitor and sends them in calls for other visitors.',
    fix: 'Switch off the cookie jar of the HTTP library, or give each request its own jar.',
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
      expect(
        told === undefined,
        'A call for the second visitor contains the cookie that the API set for the first visitor.',
      )
    },
  },
]

export const apiAnswers: CheckDefinition[] = [
  ...idRows,
  idLinks,
  idLinksOfPage,
  ...createdRows,
  ...sizes,
  ...errorRows,
  ...headerRows,
  ...otherVisitors,
  ...textsOfCalls,
]
