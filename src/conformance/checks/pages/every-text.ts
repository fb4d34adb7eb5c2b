// Checks all text that the client can show but has not written itself: the fields of platform answers, the parameters
// of requests, and the fields of forms.
import { randomUUID } from 'node:crypto'
import type { Browser, HttpExchange, Page } from '../../browser/browser.ts'
import type { Form } from '../../browser/form.ts'
import { type CheckDefinition, NotApplicable, passNotApplicable, passUndecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, headerOf, setCookiesOf } from '../../findings.ts'
import { withQuery } from '../../steps/addresses.ts'
import { nameField, openEditForm, openPagesAbout, openWithApplication } from '../../steps/application-pages.ts'
import { makeApplication, redirectUri, visitListAndLinks } from '../../steps/applications.ts'
import { cookieHeader, typedAddress } from '../../steps/callback.ts'
import { created, openFormIn } from '../../steps/create-form.ts'
import { findCancelUrl } from '../../steps/declined-login.ts'
import { openGroupPages } from '../../steps/group-form.ts'
import { expectNoMissingValue } from '../../steps/missing-values.ts'
import {
  breaksScript,
  foreignLoads,
  leadsToScript,
  linkAddressesIn,
  runsScript,
  shownText,
} from '../../steps/page-content.ts'
import { signOut } from '../../steps/sign-out.ts'

const needs: CheckDefinition['needs'] = ['page']
const json = 'application/json; charset=utf-8'
/** The script in the hostile text for this field. Each field has its own script, so the report can name the field. */
const scriptOf = (field: string) => `conformance(${field})`
const script = scriptOf('')

/** All three quotation marks of JavaScript, one after the other. */
const quotesOf = (field: string) => `Marker${field}'"\``

/**
 * Hostile text for this field. If a page does not escape this text, the text ends the attribute (with or without
 * quotes), the element, the script or the comment that contains it.
 */
const markupOf = (field: string) =>
  `${quotesOf(field)}\${${scriptOf(field)}}></textarea></title></option></script></style>--><img src=x onerror=${scriptOf(field)}> onmouseover=${scriptOf(field)} x='`
const markup = markupOf('')

/** Values that the API sends in place of a string. JSON leaves out a member that is undefined. */
const missing: [is: string, value: unknown][] = [
  ['is null', null],
  ['is missing', undefined],
  ['is an object', {}],
]

/** Text that shows how often a page has escaped it. */
const twice = 'Marker & Co'

/** Fails if an answer contains the hostile text for this field without escaping. */
function expectEscaped(answers: (Page | HttpExchange)[], where: string, field = ''): void {
  for (const answer of answers) {
    expect(
      !runsScript(answer, scriptOf(field)),
      `A page contains ${where} without escaping. The text becomes a script.`,
      answer,
    )
    expect(!breaksScript(answer, quotesOf(field)), `A script of a page contains ${where} without escaping.`, answer)
  }
}

interface Application {
  '@id': string
  data: Record<string, unknown>
  client?: Record<string, unknown>
  metadata?: Record<string, unknown>
}

/**
 * Until the check calls dropFaults, the platform answers each call for the list with `applications`, and each call for
 * one application with `one`.
 */
async function answerWith(context: CheckContext, applications: Application[], one = applications[0]!): Promise<void> {
  const list = { '@context': 'https://schema.org/', '@type': 'collection', ItemList: applications }
  for (const [place, body] of [
    ['list', list],
    ['get', one],
  ] as const)
    await context.order(`${place}-answer`, {
      times: 'always',
      options: { status: 200, body: JSON.stringify(body), type: json },
    })
}

/** Until the check calls dropFaults, the API answers each call for the list of groups with `ItemList`. */
function answerGroups(context: CheckContext, ItemList: unknown[]) {
  const options = { status: 200, body: JSON.stringify({ '@type': 'collection', ItemList }), type: json }
  return context.order('groups-answer', { times: 'always', options })
}

async function readApplication(context: CheckContext, id: string): Promise<Application> {
  const token = await context.platform.tokenOf(await context.person())
  return (await context.platform.callApi(token, 'GET', `/apps/v1/${id}`)).json<Application>()
}

const mapTexts = (texts: Record<string, unknown> | undefined, to: (text: string, name: string) => string) =>
  Object.fromEntries(
    Object.entries(texts ?? {}).map(([name, value]) => [
      name,
      typeof value === 'string' && name !== 'clientId' ? to(value, name) : value,
    ]),
  )

/** Addresses that must not be links, because a browser runs them, opens their content as a page, or reads a file. */
const addresses = [
  `javascript:${script}`,
  `JaVaScRiPt:${script}`,
  `  javascript:${script}`,
  `\tjavascript:${script}`,
  `java\nscript:${script}`,
  `java\tscript:${script}`,
  `\u0001javascript:${script}`,
  `javascript://a.example/%0a${script}`,
  `javascript:https://a.example/;${script}`,
  `vbscript:${script}`,
  `VBScript:${script}`,
  `data:text/html,<script>${script}</script>`,
  `DATA:text/html,${script}`,
  `file:///${script}`,
  `ftp://a.example/${script}`,
  `blob:${script}`,
  // A client that looks only for the text http, or for https at the beginning of any line, accepts these addresses.
  `httpx://a.example/${script}`,
  `http+javascript:${script}`,
  `javascript:${script}\nhttps://a.example/`,
  `javascript:${script}//http://a.example/`,
]

/** The fields of the forms. Some clients fill in a form from the query. */
const formFields = [
  ...['description', 'groupId', 'group', 'webPageUrl', 'iconUrl', 'privacyPolicyUrl', 'redirectUris'],
  ...['defaultRedirectUri', 'scopes', 'defaultScopes'],
]

/** Names of query parameters that many clients read and show. */
const parameters = [
  ...['q', 'query', 'search', 'filter', 'sort', 'order', 'page', 'name', 'id', 'error', 'error_description', 'message'],
  ...['msg', 'notice', 'flash', 'status', 'info', 'title', 'next', 'return', 'return_to', 'returnTo', 'returnUrl'],
  ...[
    'redirect',
    'redirect_to',
    'back',
    'from',
    'url',
    'state',
    'code',
    'lang',
    'locale',
    'created',
    'made',
    'deleted',
  ],
]

/** Names of cookies. Many clients show the values of such cookies without a check. */
const shownCookies = ['flash', 'message', 'notice', 'error', 'lang', 'locale', 'theme', 'name', 'user', 'username']

/**
 * The headers of a request after a click on a link on another site. The client may answer this request with a page that
 * opens the same address again.
 */
const fromElsewhere = { ...typedAddress, 'sec-fetch-site': 'cross-site' }

/**
 * Requests every known page with these headers, and with the text in every parameter. Does this without a session, with
 * a session, from another site, and after a sign-out.
 */
async function requestWith(
  context: CheckContext,
  text: string,
  headers: Record<string, string>,
): Promise<HttpExchange[]> {
  const { login, callback, page, create, returnTo, logout } = context.settings
  const start = await context.startLogin(context.browser())
  const cancelUrl = findCancelUrl(context, start)
  const own = cancelUrl ? [cancelUrl.href] : []
  const names = [...new Set([...parameters, ...(returnTo ? [returnTo] : [])])]
  // All parameters in one address would make the headers of the request too long for many servers.
  const queries = [names, formFields].map(
    some => `${new URLSearchParams(some.map((name): [string, string] => [name, text]))}`,
  )
  const all = ['/', login, callback, page, create, logout?.method === 'GET' ? '' : (logout?.path ?? ''), ...own]
  const paths = [...new Set(all.filter(path => path !== ''))]
  const answers: HttpExchange[] = []
  const ask = async (path: string, cookie?: string, kind: Record<string, string> = typedAddress) => {
    const cookies = [cookie, headers.cookie].filter(text => text !== undefined && text !== '').join('; ')
    const sent = { ...kind, ...headers, ...(cookies && { cookie: cookies }) }
    for (const query of [...queries, `${names[0]}=${encodeURIComponent(text)}`])
      answers.push(await context.request(withQuery(path, query), { headers: sent }))
  }
  for (const path of paths) await ask(path)
  if (!page) return answers
  const behind = [page, create].filter(path => path !== '')
  const below = `${page.split('?')[0]!.replace(/\/$/, '')}/${encodeURIComponent(text)}`
  for (const path of [...behind, below]) await ask(path, undefined, fromElsewhere)
  const { browser } = await context.signedIn()
  for (const path of paths) await ask(path, cookieHeader(context, browser, path))
  if (!logout) return answers
  // If the suite cannot sign out, it still judges the other answers.
  await signOut(context, browser).catch(passUndecided)
  for (const path of behind) await ask(path, cookieHeader(context, browser, path))
  return answers
}

const isTyped = (type: string) => ['text', 'url', 'search', 'tel', 'textarea', 'email'].includes(type)

function everywhere(form: Form, text: string): Record<string, string> {
  return Object.fromEntries(
    form.controls.filter(({ type, choices }) => isTyped(type) && !choices).map(({ name }) => [name, text]),
  )
}

/**
 * Sends the form for a new application and the edit form several times. At first, all fields contain the text.
 * Later, only the name contains the text. In the form for a new application, the description then also contains it.
 */
async function typeText(context: CheckContext, text: string): Promise<Page[]> {
  const pages: Page[] = []
  const { browser, person } = await context.signedIn()
  const send = async (browser: Browser, page: Page, form: Form, values: Record<string, string>) => {
    pages.push(await browser.submit(page, form, values))
  }
  if (context.settings.create) {
    for (const fault of ['', 'create-422-fields', 'create-503']) {
      const open = await openFormIn(context, browser, person)
      if (fault) await context.order(fault, { times: 5 })
      const values = everywhere(open.form, text)
      await send(browser, open.page, open.form, fault ? { ...values, ...keptUris(open.values) } : values)
      await context.dropFaults()
    }
    const open = await openFormIn(context, browser, person)
    const about = Object.keys(everywhere(open.form, text)).filter(name => /^(name|description)$/i.test(name))
    const made = Object.fromEntries(about.map(name => [name, text]))
    await send(browser, open.page, open.form, { ...(open.values as Record<string, string>), ...made })
    await created(context, person)
    pages.push(await browser.newTab().visit(context.url(context.settings.page)))
  }
  const application = await openWithApplication(context)
  const edit = await openEditForm(context, application).catch(passNotApplicable)
  if (edit) {
    await send(application.browser, edit.page, edit.form, everywhere(edit.form, text))
    const again = await openEditForm(context, application)
    await context.order('update-422-fields', { times: 5 })
    await send(application.browser, again.page, again.form, { [nameField(again.form)]: text })
    await context.dropFaults()
    const last = await openEditForm(context, application)
    await send(application.browser, last.page, last.form, { [nameField(last.form)]: text })
    pages.push(...(await openPagesAbout(context, application)))
  }
  if (pages.length === 0) throw new NotApplicable('the client has no form for an application')
  return pages
}

const keptUris = (values: Record<string, string | string[]>) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (/name/i.test(name) ? [] : [[name, `${value}`]])),
  )

const planted = 'X-Conformance-Planted: 1'
const injection = `a\r\n${planted}\r\nSet-Cookie: conformance-planted=1`

function expectNoHeader(exchanges: HttpExchange[], where: string): void {
  for (const one of exchanges) {
    const isPlanted =
      headerOf(one, 'x-conformance-planted') !== undefined ||
      setCookiesOf(one).some(line => /^\s*conformance-planted=/.test(line))
    expect(!isPlanted, `${where} added a header to the answer.`, one)
  }
}

const headerRule = {
  rule: 'header-injection',
  why: "A line break in a header value begins a new header. With such a line break, an attacker can set the client's cookies, or write a whole page.",
  fix: 'Encode every value before you write it into a header, and refuse values with line breaks.',
} as const

export const everyText: CheckDefinition[] = [
  {
    id: 'page-addresses-not-linked',
    title: 'If an address of an application is not http or https, no page has a link to it',
    rule: 'PG-06',
    why: "A link to javascript: or data: can run another person's script on the visitor's behalf. Browsers also accept such a scheme in upper case, with spaces or control characters before it, or with tabs inside.",
    fix: 'Parse the address with a URL parser, and make a link only if its scheme is http or https.',
    needs,
    async run(context) {
      const application = await openWithApplication(context)
      const plain = await readApplication(context, application.id)
      const isAddress = (name: string) => /ur[il]/i.test(name)
      const all = addresses.map((address, at) => ({
        ...plain,
        '@id': at === 0 ? plain['@id'] : randomUUID(),
        data: mapTexts(plain.data, (text, name) => (isAddress(name) ? address : text)),
        client: mapTexts(plain.client, (text, name) => (isAddress(name) ? address : text)),
      }))
      const judge = (pages: Page[]) => {
        for (const page of pages) {
          const found = linkAddressesIn(page).find(
            address =>
              /conformance(\(|%28)/i.test(address) &&
              URL.canParse(address, page.url) &&
              !/^https?:$/.test(new URL(address, page.url).protocol),
          )
          expect(found === undefined, `A page has a link to ${JSON.stringify(found)}.`, page)
        }
      }
      for (const one of all) {
        await answerWith(context, all, { ...one, '@id': plain['@id'] })
        judge(await openPagesAbout(context, application))
        await context.dropFaults()
      }
    },
  },
  {
    id: 'page-escapes-every-field',
    title: 'Every page escapes all text from the API, including the names of groups',
    rule: 'PG-07',
    why: "Other members of the visitor's group can write this text. Without escaping, the text can end an attribute or an element and begin a script.",
    fix: 'Let the template escape every value. If you write a value into a script, write it as JSON, and escape < in it.',
    needs,
    async run(context) {
      const application = await openWithApplication(context)
      const plain = await readApplication(context, application.id)
      const fields = new Set<string>()
      const toMarkup = (_text: string, field: string) => {
        fields.add(field)
        return markupOf(field)
      }
      const hostile = { ...plain, data: mapTexts(plain.data, toMarkup), client: mapTexts(plain.client, toMarkup) }
      await answerWith(context, [hostile])
      const pages = [
        ...(await openPagesAbout(context, application)),
        ...(await visitListAndLinks(context, application.browser)),
      ]
      await context.dropFaults()
      const isShown = pages.some(page => page.body.includes('Marker'))
      if (context.settings.create) {
        const to = (await context.person()).groupId
        await answerGroups(context, [{ '@id': randomUUID(), to, data: { name: markupOf('groupName') } }])
        pages.push(await application.browser.visit(context.url(context.settings.create)))
        pages.push(...(await openGroupPages(context, application.browser)))
        await context.dropFaults()
      }
      for (const field of fields) expectEscaped(pages, `the field ${field} of an application`, field)
      expectEscaped(pages, 'the name of a group', 'groupName')
      if (!isShown) throw new NotApplicable('no page shows such an application')
    },
  },
  {
    id: 'page-missing-values',
    title:
      "If a value is missing from the API's answer about an application or about a group, no page shows a word such as “undefined” or “null” in its place",
    rule: 'missing-values',
    why: 'A client that writes each value into a page without a check shows “null” in place of the value. A client that joins a missing name to other text shows “undefined”.',
    fix: 'Use a value only if it has the right type. Otherwise show nothing in its place, or a sentence that says what is missing.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const application = await openWithApplication(context)
      const plain = await readApplication(context, application.id)
      const usual = await openPagesAbout(context, application)
      const judge = async (one: Application, what: string) => {
        await answerWith(context, [one])
        const pages = await openPagesAbout(context, application)
        await context.dropFaults()
        for (const page of pages) expectNoMissingValue(page, usual, `If ${what}`)
      }
      for (const [is, value] of missing) {
        for (const name of Object.keys(plain).filter(name => !name.startsWith('@')))
          await judge({ ...plain, [name]: value }, `${name} of an application ${is}`)
        for (const part of ['data', 'client', 'metadata'] as const)
          for (const name of Object.keys(plain[part] ?? {}))
            await judge({ ...plain, [part]: { ...plain[part], [name]: value } }, `${name} of an application ${is}`)
      }

      const { create } = context.settings
      const open = async () => [
        ...(create ? [await application.browser.visit(context.url(create))] : []),
        ...(await openPagesAbout(context, application)),
      ]
      const usualWithGroups = await open()
      const to = (await context.person()).groupId
      const lists: [what: string, list: unknown[]][] = [
        ['the list of groups is empty', []],
        ...missing.map(([is, name]): [string, unknown[]] => [
          `the name of a group ${is}`,
          [{ '@id': randomUUID(), to, data: { name } }],
        ]),
      ]
      for (const [what, list] of lists) {
        await answerGroups(context, list)
        const pages = await open()
        await context.dropFaults()
        for (const page of pages) expectNoMissingValue(page, usualWithGroups, `If ${what}`)
      }
      await context.order('groups-503', { times: 'always' })
      const pages = await open()
      for (const page of pages) expectNoMissingValue(page, usualWithGroups, 'If the API fails to list the groups')
    },
  },
  {
    id: 'page-escapes-once',
    title: 'No page escapes text twice',
    rule: 'PG-07',
    why: 'If text is escaped twice, visitors see &amp;amp; in place of &. If a form contains such text and the visitor saves the form, the API stores the wrong text.',
    fix: 'Escape each value once, where the page is made. Do not escape values when you store them or read them from the API.',
    needs,
    async run(context) {
      const application = await openWithApplication(context, { name: twice, description: twice })
      const pages = await openPagesAbout(context, application)
      if (context.settings.create) {
        const open = await openFormIn(context, application.browser, application.person, twice)
        const redirect = Object.keys(open.values).find(name => /redirect/i.test(name))!
        const wrong = { ...open.values, [redirect]: 'ftp://not-allowed.example/' }
        pages.push(open.page, await open.browser.submit(open.page, open.form, wrong))
      }
      for (const page of pages) {
        const texts = [shownText(page), ...page.forms.flatMap(({ fields }) => fields.map(([, value]) => value))]
        const wrong = texts.find(text => /Marker &(amp|#0*38|#x0*26);/i.test(text))
        const path = new URL(page.url).pathname.replaceAll(application.id, '…')
        expect(
          wrong === undefined,
          `On ${path}, visitors see “${/Marker &\S* Co/.exec(wrong ?? '')?.[0] ?? 'Marker &amp;'}” in place of “${twice}”.`,
          page,
        )
      }
    },
  },
  {
    id: 'page-escapes-visitor-name',
    title: 'Every page escapes the name of the visitor',
    rule: 'PG-07',
    why: 'The name comes from another server, and people can choose any name.',
    fix: 'Let the template escape the name.',
    needs,
    async run(context) {
      const browser = context.browser()
      const person = await context.person()
      const id = await makeApplication(context, person)
      const me = {
        '@type': 'Person',
        '@id': person.id,
        email: `${markup}@a.example`,
        firstName: markup,
        lastName: markup,
      }
      const start = await context.startLogin(browser)
      const callback = await context.authorize(start, person)
      await context.order('me-answer', {
        times: 'always',
        options: { status: 200, body: JSON.stringify(me), type: json },
      })
      const landed = await browser.visit(callback.href, { from: browser.show(`${context.platform.portalUrl}/`, '') })
      const pages = [landed]
      for (const path of ['/', context.settings.create].filter(path => path !== ''))
        pages.push(await browser.visit(context.url(path)))
      pages.push(...(await openPagesAbout(context, { browser, person, id })))
      pages.push(await browser.visit(context.url('/there-is-nothing-here-conformance')))
      await context.platform.settle()
      if (!context.arrived('me').some(({ fault }) => fault?.name === 'me-answer'))
        throw new NotApplicable('the client does not ask the portal for the name')
      expectEscaped(pages, 'the name of the visitor')
    },
  },
  {
    id: 'request-escapes',
    title: 'No page contains markup from a parameter or a header of the request',
    rule: 'PG-07',
    why: 'Anyone can make a visitor open an address that contains markup.',
    fix: 'Escape every value of a request, and never take the address of a link from a request.',
    async run(context) {
      // Another site on the same host can set such cookies.
      const cookie = shownCookies.map(name => `${name}=${encodeURIComponent(markup)}`).join('; ')
      const headers = {
        referer: `https://a.example/?${markup}`,
        'user-agent': markup,
        'accept-language': markup,
        'x-request-id': markup,
        'x-correlation-id': markup,
        'x-forwarded-for': markup,
        cookie,
      }
      expectEscaped(await requestWith(context, markup, headers), 'a value from the request')
      for (const answer of await requestWith(context, `javascript:${script}`, {}))
        expect(!leadsToScript(answer, script), 'A link on the page leads to an address from a parameter.', answer)
    },
  },
  {
    id: 'request-adds-no-header',
    title: 'A line break in the path or in a parameter of a request never adds a header to the answer',
    ...headerRule,
    async run(context) {
      expectNoHeader(await requestWith(context, injection, {}), 'A parameter of the request')
      // Some clients redirect to the decoded path without its last slash.
      const answers: HttpExchange[] = []
      for (const path of ['', '/nowhere', context.settings.page])
        for (const end of ['', '/'])
          answers.push(
            await context.request(`${path}/${encodeURIComponent(injection)}${end}`, { headers: typedAddress }),
          )
      expectNoHeader(answers, 'The path of the request')
    },
  },
  {
    id: 'typed-text-escaped',
    title: 'Every page escapes the text that was typed into a form, whether the form succeeds or is refused',
    rule: 'PG-07',
    why: 'If another site sends a form with a script as text, and the page does not escape the text, the browser runs the script.',
    fix: 'Let the template escape every value, including values in textareas, messages and titles.',
    needs,
    async run(context) {
      expectEscaped(await typeText(context, markup), 'typed text')
    },
  },
  {
    id: 'typed-text-adds-no-header',
    title:
      "A line break in a form field, or in the API's answer to the form, does not add a header to the client's answer",
    ...headerRule,
    needs,
    async run(context) {
      const pages = await typeText(context, injection)
      if (context.settings.create) {
        const { browser, person } = await context.signedIn()
        const open = await openFormIn(context, browser, person)
        await context.order('create-hostile-texts', { times: 1 })
        const page = await browser.submit(open.page, open.form, open.values)
        await context.dropFaults()
        const lines = page.trail.flatMap(setCookiesOf)
        expect(
          !lines.some(line => /^\s*two=2/.test(line)),
          "Text from the API added a cookie to the client's answer.",
          page,
        )
        pages.push(page)
      }
      expectNoHeader(
        pages.flatMap(({ trail }) => trail),
        'Typed text',
      )
    },
  },
  {
    id: 'typed-addresses-not-loaded',
    title: 'Neither the client nor its pages load an address that somebody typed into a form',
    rule: 'PG-05',
    why: 'If the client loads typed addresses, an attacker can make it call internal servers. If a page loads an image from a typed address, the owner of that site learns who sees the page.',
    fix: 'Check the syntax of an address without loading it, and show the address as text or as a link.',
    needs: ['page', 'create'],
    async run(context) {
      const { otherSite } = context.platform
      const { browser, person } = await context.signedIn()
      const mark = `/typed-by-${person.firstName}`
      const pages: Page[] = []
      for (const fault of ['create-422-fields', '']) {
        const open = await openFormIn(context, browser, person)
        const names = open.form.controls
          .filter(({ type, choices, name }) => isTyped(type) && !choices && /ur[il]/i.test(name))
          .map(({ name }) => name)
        const uris = Object.fromEntries(names.map(name => [name, otherSite.url(mark)]))
        if (fault) await context.order(fault, { times: 1 })
        pages.push(await browser.submit(open.page, open.form, { ...open.values, ...uris }))
        await context.dropFaults()
      }
      pages.push(...(await visitListAndLinks(context, browser)))
      const all = await openWithApplication(context, {
        iconUrl: otherSite.url(mark),
        webPageUrl: otherSite.url(mark),
        privacyPolicyUrl: otherSite.url(mark),
      })
      pages.push(...(await openPagesAbout(context, all)))
      const edit = await openEditForm(context, all).catch(passNotApplicable)
      const changed = { ...(edit && everywhere(edit.form, otherSite.url(mark))), redirectUris: redirectUri }
      const typed = Object.fromEntries(Object.entries(changed).filter(([name]) => /ur[il]/i.test(name)))
      if (edit) pages.push(await all.browser.newTab().submit(edit.page, edit.form, typed))
      for (const page of pages) {
        const loaded = foreignLoads(page, context.settings.client).find(url => url.includes(mark))
        expect(loaded === undefined, `${page.url} loads an address that was typed into a form.`, page)
      }
      expect(otherSite.arrived(mark).length === 0, 'The client loaded an address that was typed into a form.')
    },
  },
]
