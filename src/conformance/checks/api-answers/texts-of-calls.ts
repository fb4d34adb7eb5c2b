// Tests what the client does with text and headers in the answers to all API calls except the call for the list. The
// text can be, for example, a secret that contains markup, or a message about a form field. Also tests whether pages
// show the messages that libraries write about a failed call.
import { randomBytes } from 'node:crypto'
import type { Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, passNotApplicable, ReportedElsewhere } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { bodyOf, expect, fail } from '../../findings.ts'
import { openPagesAbout, openWithApplication } from '../../steps/application-pages.ts'
import { createAtApi } from '../../steps/applications.ts'
import { isCreation, openCreateForm, openFormIn, secretOf, submitCreate } from '../../steps/create-form.ts'
import { openForms, sendFormsUnder } from '../../steps/every-form.ts'
import { expectOwnHeaders, foreignHeaders, foreignHeadersRule } from '../../steps/foreign-headers.ts'
import { expectAnswer, visitUnder } from '../../steps/list-page.ts'
import { runsScript, shownText } from '../../steps/page-content.ts'

const needs: CheckDefinition['needs'] = ['page']
const json = 'application/json; charset=utf-8'
const markup = `Marker"'></code></textarea></p></script><img src=x onerror=conformance()>`

function expectEscaped(page: Page, what: string): void {
  expect(!runsScript(page, 'conformance()'), `The page does not escape ${what}.`, page)
}

/** Messages that libraries and languages write about a failed call or an unreadable answer. */
const libraryMessages: RegExp[] = [
  /Unexpected (token|end of JSON|non-whitespace)|is not valid JSON|in JSON at position/,
  /Expecting value: line|Expecting property name|JSONDecodeError|Extra data: line/,
  /invalid character '.*' (looking|after|in)|cannot unmarshal|unexpected end of JSON input/,
  /Syntax error, malformed JSON|json_decode|JSON::ParserError/,
  /fetch failed|socket hang up|UND_ERR_|Headers Overflow|other side closed|\bterminated\b.*\bundici\b/,
  /context deadline exceeded|Client\.Timeout|connection reset by peer|unexpected EOF|malformed HTTP/i,
  /Connection aborted|RemoteDisconnected|Read timed out|ReadTimeout|IncompleteRead|ConnectionResetError/,
  /cURL error|Empty reply from server|Recv failure|Operation timed out after/,
  /'NoneType' object|Cannot read propert|is not iterable|is not a function|undefined method|nil pointer|index out of range/,
  /\b(KeyError|TypeError|AttributeError|ValueError|SyntaxError|ReferenceError|NoMethodError)\b/,
  /Undefined (array key|index|property)|Trying to access array offset|on null\b/,
]

export const textsOfCalls: CheckDefinition[] = [
  {
    id: 'secret-escaped',
    title: 'The page escapes the client id and the secret that the API sends',
    rule: 'PG-07',
    why: 'These values come from another program. If a page does not escape them, they can run as a script.',
    fix: 'Let the template escape every value from the API, including the secret and the client id.',
    needs,
    async run(context) {
      let shown = false
      const judge = (page: Page) => {
        shown ||= page.body.includes('Marker')
        expectEscaped(page, 'a client id or a secret from the API')
      }
      if (context.settings.create) {
        const open = await openCreateForm(context)
        const client = { clientId: markup, clientSecrets: [markup], redirectUris: '', scopes: '', defaultScopes: '' }
        const made = { '@type': 'App', '@id': open.person.groupId, data: { name: markup }, client, tokens: [] }
        const options = { status: 201, body: JSON.stringify(made), type: json }
        await context.order('create-answer', { times: 1, options })
        judge(await open.browser.submit(open.page, open.form, open.values))
        await context.dropFaults()
      }
      const open = await openForms(context).catch(passNotApplicable)
      const options = { status: 201, body: JSON.stringify({ clientSecret: markup }), type: json }
      const sent =
        open && (await sendFormsUnder(context, open, 'answer', { options, at: ['secret'] }).catch(passNotApplicable))
      for (const { page } of sent ?? []) judge(page)
      if (!shown) throw new NotApplicable('no page shows a client id or a secret')
    },
  },
  {
    id: 'secret-of-long-credentials',
    title: 'If the access tokens of a new application are long, a page still shows its secret',
    rule: 'secret-shown',
    why: 'The platform sets no limit for the length of a token. A cookie that keeps the credentials for the next page can become longer than 4,096 bytes. Browsers silently drop such a cookie, and the API never shows the secret again.',
    fix: 'If the credentials do not fit into a cookie, show them in the answer to the form.',
    needs: ['create', 'page'],
    async run(context) {
      const open = await openCreateForm(context)
      const plain = await submitCreate(context, open)
      const again = await openFormIn(context, open.browser, open.person)
      // The application exists, so that the client can also read it for the next page.
      const made = await createAtApi(context, open.person, { name: 'Application with long tokens' })
      const tokens = made.tokens.map(one => ({ ...one, token: one.token + randomBytes(3000).toString('base64url') }))
      const options = { status: 201, body: JSON.stringify({ ...made, tokens }), type: json }
      await context.order('create-answer', { times: 1, options })
      const page = await again.browser.submit(again.page, again.form, again.values)
      await context.dropFaults()
      const [secret = ''] = made.client.clientSecrets
      if (page.trail.some(one => bodyOf(one).includes(secret))) return
      const isShown = plain.trail.some(one => bodyOf(one).includes(secretOf(context.arrived('api').filter(isCreation))))
      if (!isShown) throw new ReportedElsewhere('the page that follows the form does not show the secret')
      fail('The client created the application, but no page showed its secret.', page)
    },
  },
  {
    id: 'change-error-escaped',
    title: "When the API refuses a change, the page escapes the API's error text about a form field",
    rule: 'PG-07',
    why: "The API's error text repeats what the visitor typed, which can contain markup.",
    fix: 'On the page of every form, escape every value, including error text from the API.',
    needs,
    async run(context) {
      const open = await openForms(context)
      const body = { error: { status: 422, message: { name: [markup], [`redirectUris${markup}`]: [markup] } } }
      for (const { page } of await sendFormsUnder(context, open, '422-body', { options: { body } })) {
        expectAnswer(page)
        expectEscaped(page, 'error text from the API')
      }
    },
  },
  {
    id: 'error-headers-not-passed-back',
    title: 'The client does not pass headers from an API error answer on to the browser',
    ...foreignHeadersRule,
    needs,
    async run(context) {
      const application = await openWithApplication(context)
      const { browser, person } = application
      const about = (await openPagesAbout(context, application)).slice(1, 3)
      const visit = (url: string) => browser.newTab().visit(url, context.beforePortal)
      for (const status of [500, 404, 403, 401]) {
        const body = JSON.stringify({ error: { status, message: 'Refused' } })
        const options = { status, body, type: json, headers: foreignHeaders }
        const order = (place: string) => context.order(`${place}-answer`, { times: 2, options })
        await order('list')
        expectOwnHeaders((await visit(context.url(context.settings.page))).trail)
        for (const { url } of about) {
          await order('get')
          expectOwnHeaders((await visit(url)).trail)
        }
        if (status !== 401 && context.settings.create) {
          const open = await openFormIn(context, browser, person, `Refused with ${status}`)
          await order('create')
          expectOwnHeaders((await browser.newTab().submit(open.page, open.form, open.values)).trail)
        }
        await context.dropFaults()
      }
    },
  },
  {
    id: 'failures-in-own-words',
    title: 'The page for a failed API call shows no message from a library or from the programming language',
    rule: 'generic-errors',
    why: "A message from a library shows an attacker how the client is built, and can contain part of the API's answer. It does not help the visitor.",
    fix: 'Show a fixed sentence for every failed call, and write the message of the error into the log.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const usual = shownText(await browser.newTab().visit(context.url(context.settings.page)))
      const patterns = libraryMessages.filter(pattern => !pattern.test(usual))
      const judge = (page: Page) => {
        const found = patterns.map(pattern => pattern.exec(shownText(page))?.[0]).find(text => text !== undefined)
        expect(found === undefined, `The page shows the message “${found}”.`, page)
      }
      const unreadable = { status: 200, body: 'words_of_the_api are not JSON', type: json }
      for (const [fault, options] of [
        ['reset', {}],
        ['cut', {}],
        ['html', {}],
        ['half', {}],
        ['empty', {}],
        ['not-an-object', {}],
        ['not-a-list', {}],
        ['members-missing', {}],
        ['answer', unreadable],
      ] as const) {
        judge((await visitUnder(context, `list-${fault}`, options, 5, browser)).page)
        await context.dropFaults()
      }
      await judgeOthers(context, judge)
    },
  },
]

/** Orders faults for the call that reads an application and for the call that creates one, and judges the pages. */
async function judgeOthers(context: CheckContext, judge: (page: Page) => void): Promise<void> {
  const application = await openWithApplication(context)
  const about = (await openPagesAbout(context, application)).slice(1, 3)
  for (const fault of ['reset', 'html', 'half', 'not-an-object', 'members-missing'])
    for (const { url } of about) {
      await context.order(`get-${fault}`, { times: 5 })
      judge(await application.browser.newTab().visit(url))
      await context.dropFaults()
    }
  if (!context.settings.create) return
  for (const fault of ['reset', 'html', 'half', 'empty', 'not-an-object', 'members-missing']) {
    const open = await openFormIn(context, application.browser, application.person, `Failed with ${fault}`)
    await context.order(`create-${fault}`, { times: 1 })
    judge(await open.browser.submit(open.page, open.form, open.values))
    await context.dropFaults()
  }
}
