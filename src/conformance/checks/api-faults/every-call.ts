// Failures of all calls except the list: the calls that read, change and create an application, and the list of groups.
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, setCookiesOf } from '../../findings.ts'
import { openPagesAbout, openWithApplication } from '../../steps/application-pages.ts'
import { findCreateForm, openCreateForm, submitCreate } from '../../steps/create-form.ts'
import {
  isOrdinary,
  isWrite,
  type OpenForms,
  openForms,
  type SentForm,
  sendAgain,
  sendFormsUnder,
} from '../../steps/every-form.ts'
import { expectAnswer, shownIn, visitUnder } from '../../steps/list-page.ts'
import { showsInside } from '../../steps/page-content.ts'
import { asksToSignIn } from '../../steps/sessions.ts'

const needs: NonNullable<CheckDefinition['needs']> = ['page']
const formNeeds: NonNullable<CheckDefinition['needs']> = ['page', 'create']

async function expectStillSignedIn(context: CheckContext, { browser, person }: Pick<OpenForms, 'browser' | 'person'>) {
  await context.dropFaults()
  expect(await context.isSignedIn(browser, { person }), 'Afterwards the visitor is no longer signed in.')
}

/** Fails if the call for a form failed, and the answer to the form looks like a success or like a plain visit of its page. */
async function expectSaysSo(context: CheckContext, open: OpenForms, sent: SentForm): Promise<void> {
  const { page, calls } = sent
  expectAnswer(page)
  if (page.status >= 400 || page.stoppedAt !== undefined) return
  const call = calls.find(isWrite)
  const isDone = call && call.response.status >= 200 && call.response.status < 400
  if (!call || isDone || call.fault?.acted === 'after') return
  const said = `The API answered ${call.request.method} with ${call.response.status || 'nothing'}`
  expect(
    !(await isOrdinary(context, page, open.browser)),
    `${said}. The visitor got ${describePage(page)}, which does not mention the failure.`,
    page,
    call,
  )
  const success = await sendAgain(context, open.browser, sent.found)
  if (!success?.calls.some(step => isWrite(step) && step.response.status < 400)) return
  expect(
    shownIn(page) !== shownIn(success.page),
    `${said}. The visitor got the same text as after a success.`,
    page,
    call,
  )
}

const failures: [failure: string, rule: CheckDefinition['rule'], what: string][] = [
  ['reset', 'UP-06', 'the API resets the connection of a change'],
  ['500', 'UP-06', 'a change fails at the API (500)'],
  ['503', 'UP-06', 'the API is down during a change (503)'],
  ['400', 'UP-14', 'the API refuses a change (400)'],
  ['403', 'UP-14', 'the API forbids a change (403)'],
  ['409', 'UP-14', 'the API reports a conflict for a change (409)'],
  ['412', 'UP-14', 'the API reports that somebody else has changed the application (412)'],
  ['422-fields', 'UP-14', 'the API refuses fields of a change (422)'],
  ['429', 'UP-14', 'the API answers a change with 429 (too many calls)'],
]

const changes: CheckDefinition[] = failures.map(([failure, rule, what]) => ({
  id: `change-${failure}`,
  title: `When ${what}, the client says so, and the visitor stays signed in`,
  rule,
  why: 'A visitor who sees no message believes that the application was changed or removed, or that a new secret exists.',
  fix: 'Look at the status of every answer of the API. Catch the failures of a call, and show a page that says what failed.',
  needs,
  async run(context) {
    const open = await openForms(context)
    const all = await sendFormsUnder(context, open, failure)
    for (const sent of all) {
      if (rule === 'UP-14') expect(sent.page.status !== 500, 'The answer has status 500.', sent.page)
      await expectSaysSo(context, open, sent)
    }
    await expectStillSignedIn(context, open)
  },
}))

/** Fails if the client renewed the tokens or sent the visitor to the login. */
function expectNoLogin(context: CheckContext, { page }: Pick<SentForm, 'page'>, renewalsBefore: number): void {
  const { login } = context.settings
  const isLed =
    page.stoppedAt !== undefined || page.trail.some(({ request }) => request.url.startsWith(context.url(login)))
  expect(!isLed, 'After the 403, the client sent the visitor to the login.', page)
  const renewals = context.arrived('refresh').length - renewalsBefore
  expect(renewals === 0, `After the 403, the client renewed the tokens ${renewals} times.`, page)
}

const forbidden = {
  rule: 'UP-14',
  why: '403 means that the visitor may not do this. A new token changes nothing, and the portal sends the visitor back at once.',
  fix: 'Renew or offer the login only after a 401. After a 403 show a page that says that this is not allowed.',
} as const

const malformed = ['html', 'half', 'empty', 'not-an-object', 'members-missing']

/** Wrong entries of a list of groups or applications. */
const oddEntries = [null, 7, 'text', [], {}, { data: null }, { '@id': 7, to: 7, data: { name: null } }, { data: [] }]

const oddList = JSON.stringify({ '@type': 'collection', ItemList: oddEntries })
const json = 'application/json; charset=utf-8'

/** Opens the pages about an application while the platform answers the call for it with the fault. */
async function openUnder(context: CheckContext, fault: string, options: Record<string, unknown> = {}, times = 20) {
  const application = await openWithApplication(context)
  await openPagesAbout(context, application)
  await context.platform.settle()
  if (!context.arrived('api').some(({ request }) => request.method === 'GET' && request.url.includes(application.id)))
    throw new NotApplicable('no page about an application reads this application from the API')
  await context.order(fault, { times, options })
  const pages = await openPagesAbout(context, application)
  await context.platform.settle()
  await context.dropFaults()
  return { ...application, pages }
}

const reads: CheckDefinition[] = [
  ['reset', 'the API resets the connection'],
  ['503', 'the API is down (503)'],
  ['html', 'the API answers with a web page'],
  ['half', 'the answer of the API ends in the middle of its JSON'],
  ['empty', 'the API sends an empty answer'],
  ['not-an-object', 'the API answers with null'],
  ['members-missing', 'the application has only a type and an id'],
  ['403', 'the API forbids the call (403)'],
  ['404', 'the API does not find the application (404)'],
].map(([failure, what]) => ({
  id: `get-${failure}`,
  title: `When ${what} while a page reads one application, the visitor gets an answer and stays signed in`,
  rule: 'UP-06' as const,
  why: 'A failure of the API says nothing about who is signed in. A client that crashes or ends the session leaves the visitor without an explanation.',
  fix: 'Catch every failure of a call, check that a member exists before you use it, and show a page that says what failed.',
  needs,
  async run(context: CheckContext) {
    const renewals = context.arrived('refresh').length
    const opened = await openUnder(context, `get-${failure}`)
    for (const page of opened.pages) {
      expectAnswer(page)
      expect(page.status !== 500, 'The answer has status 500.', page)
      if (failure === '403') expectNoLogin(context, { page }, renewals)
    }
    await expectStillSignedIn(context, opened)
  },
}))

const places: [place: string, what: string][] = [
  ['get', 'one application'],
  ['change', 'a change'],
  ['create', 'a creation'],
  ['groups', 'the list of groups'],
]

/** Makes the call of the place while the platform answers it with the fault. Returns the pages. */
async function meet(context: CheckContext, place: string, fault: string, options: Record<string, unknown> = {}) {
  if (place === 'get') return openUnder(context, `get-${fault}`, options, fault === 'never' ? 1 : 20)
  if (place === 'change') {
    const open = await openForms(context)
    // Clients often switch off redirects in only one of several functions. For other faults, one form is enough.
    const forms = fault.startsWith('redirect') ? open.forms : open.forms.slice(0, 1)
    const sent = await sendFormsUnder(context, { ...open, forms }, fault, { options })
    return { ...open, pages: sent.map(({ page }) => page) }
  }
  if (!context.settings.create) throw new NotApplicable('the client creates no applications')
  if (place === 'create') {
    const open = await openCreateForm(context)
    await context.order(`create-${fault}`, { times: 5, options })
    const page = await open.browser.submit(open.page, open.form, open.values)
    await context.platform.settle()
    await context.dropFaults()
    return { ...open, pages: [page] }
  }
  const { browser, person } = await context.signedIn()
  await context.order(`groups-${fault}`, { times: 5, options })
  const page = await browser.newTab().visit(context.url(context.settings.create))
  await context.platform.settle()
  await context.dropFaults()
  return { browser, person, pages: [page] }
}

const hanging: CheckDefinition[] = places.map(([place, what]) => ({
  id: `${place}-never`,
  title: `When the API does not answer the call for ${what}, the visitor gets an answer in time`,
  rule: 'UP-03',
  why: 'Without a deadline, the visitor waits for as long as the API does not answer, and the request uses a socket and memory. This check allows 20 seconds.',
  fix: 'Give each call one deadline from its start to the end of the body. Set it in the function that makes every call.',
  needs: place === 'get' || place === 'change' ? needs : formNeeds,
  longestMs: 90_000,
  async run(context) {
    const { pages } = await meet(context, place, 'never')
    for (const page of pages) expectAnswer(page)
  },
}))

const redirected: CheckDefinition = {
  id: 'every-call-redirect',
  title: 'The client follows no redirect of the API: for one application, a change, and the list of groups',
  rule: 'UP-02',
  why: 'A client that follows the redirect sends the access token to an address that it has not chosen.',
  fix: 'Switch redirects off in the function that makes every call, and treat every 3xx as a failure.',
  needs,
  async run(context) {
    let met = 0
    for (const [place] of places)
      for (const status of [302, 307]) {
        if (place === 'create' && status === 307) continue
        await meet(context, place, `redirect-${status}`).catch(passNotApplicable)
        await context.platform.settle()
        const steps = context.arrived('api', 'trap')
        met += steps.filter(({ fault }) => fault?.name.endsWith(`redirect-${status}`)).length
        const trapped = steps.find(({ request }) => request.url.startsWith('/trap/'))
        expect(
          trapped === undefined,
          `The client followed a redirect of the call for ${place}.`,
          ...(trapped ? [trapped] : []),
        )
      }
    if (met === 0) throw new NotApplicable('the client makes no call other than the list')
  },
}

function passNotApplicable(error: unknown): undefined {
  if (!(error instanceof NotApplicable)) throw error
  return undefined
}

const words = 'words_of_the_api_4712'

export const everyCallRows: CheckDefinition[] = [
  ...changes,
  ...reads,
  ...hanging,
  redirected,
  {
    id: 'list-403-no-login',
    title: 'After a 403 for the list, the client does not renew the tokens and does not send the visitor to the login',
    ...forbidden,
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const renewals = context.arrived('refresh').length
      const { page } = await visitUnder(context, 'list-403', {}, 5, browser)
      expectAnswer(page)
      expectNoLogin(context, { page }, renewals)
    },
  },
  {
    id: 'create-403-no-login',
    title:
      'After a 403 for a creation, the client does not renew the tokens and does not send the visitor to the login',
    ...forbidden,
    needs: formNeeds,
    async run(context) {
      const { pages } = await meet(context, 'create', '403')
      expectNoLogin(context, { page: pages[0]! }, 0)
    },
  },
  {
    id: 'change-403-no-login',
    title: 'After a 403 for a change, the client does not renew the tokens and does not send the visitor to the login',
    ...forbidden,
    needs,
    async run(context) {
      const open = await openForms(context)
      const renewals = context.arrived('refresh').length
      for (const sent of await sendFormsUnder(context, open, '403')) expectNoLogin(context, sent, renewals)
    },
  },
  {
    id: 'create-401',
    title: 'When the API refuses the access token of a creation (401), the client renews once or offers the login',
    rule: 'UP-14',
    why: 'A token can end early. A visitor who sees another error does not know that a new login helps.',
    fix: 'Handle a 401 in the function that makes every call: renew once, and then offer the login.',
    needs: formNeeds,
    async run(context) {
      const open = await openCreateForm(context)
      await context.order('create-401', { times: 1 })
      const stop = { stopAt: (url: URL) => url.origin === context.platform.portalUrl }
      const page = await open.browser.submit(open.page, open.form, open.values, undefined, stop)
      await context.platform.settle()
      if (!context.arrived('api').some(({ fault }) => fault?.name === 'create-401'))
        throw new NotApplicable('the form creates nothing, which another check reports')
      expectAnswer(page)
      // Some clients ask the visitor to send the form again after the renewal, in place of repeating the call.
      const isRenewed = context.arrived('refresh').length > 0
      expect(
        isRenewed || asksToSignIn(context, page),
        `The client did not renew the session, and the visitor got ${describePage(page)}, which does not offer to sign in.`,
        page,
      )
    },
  },
  {
    id: 'change-401',
    title: 'When the API refuses the access token of a change (401), the client renews once or offers the login',
    rule: 'UP-14',
    why: 'A token can end early. A visitor who sees another error does not know that a new login helps.',
    fix: 'Handle a 401 in the function that makes every call: renew once, and then offer the login.',
    needs,
    async run(context) {
      const open = await openForms(context)
      const sent = await sendFormsUnder(context, open, '401', { times: 1 })
      // Some clients ask the visitor to send the form again after the renewal, in place of repeating the call.
      const isRenewed = context.arrived('refresh').length > 0
      for (const { page } of sent) {
        expectAnswer(page)
        expect(
          isRenewed || asksToSignIn(context, page),
          `The client did not renew the session, and the visitor got ${describePage(page)}, which does not offer to sign in.`,
          page,
        )
      }
    },
  },
  ...['create', 'change'].map(
    (place): CheckDefinition => ({
      id: `${place}-429-not-repeated`,
      title: `When the API answers a ${place === 'create' ? 'creation' : 'change'} with 429 (too many calls), the client does not repeat the call at once`,
      rule: 'UP-07',
      why: 'A client that repeats the call at once makes the overload of the API worse, and the visitor waits longer.',
      fix: 'Show a page that says when to try again, and make no further call for this request.',
      needs: place === 'create' ? formNeeds : needs,
      async run(context) {
        await meet(context, place, '429', { retryAfter: 3600 })
        const refused = context.arrived('api').filter(step => isWrite(step) && step.response.status === 429)
        expect(refused.length <= 1, `The client sent the call ${refused.length} times.`, ...refused)
      },
    }),
  ),
  {
    id: 'secret-not-repeated',
    title: 'When the call for a new secret fails, the client does not send it again',
    rule: 'renewal-not-repeated',
    why: 'The platform may have made the secret before the failure. A second call makes one more secret, and the platform then drops an older secret that running clients may still use.',
    fix: 'Never repeat a POST automatically. Show a page that says that a new secret may exist.',
    needs,
    async run(context) {
      for (const failure of ['reset', '503', '503-after']) {
        // Opens the forms again, because the form that removes the application was sent, too.
        const all = await sendFormsUnder(context, await openForms(context), failure, { at: ['secret'] })
        for (const { calls, page } of all) {
          const secrets = calls.filter(({ request }) => request.method === 'POST')
          expect(
            secrets.length <= 1,
            `${secrets.length} calls for a new secret arrived (${failure}).`,
            page,
            ...secrets,
          )
        }
      }
    },
  },
  ...malformed.map(
    (failure): CheckDefinition => ({
      id: `secret-${failure}`,
      title: `When the answer with a new secret is malformed (${failure}), the visitor gets an answer, and not with status 500`,
      rule: 'UP-06',
      why: 'The answer comes from another program, and may contain no secret.',
      fix: 'Check that the answer has the secret before you show it, and otherwise say that a new secret may exist.',
      needs,
      async run(context) {
        const open = await openForms(context)
        for (const { page } of await sendFormsUnder(context, open, failure, { at: ['secret'] })) {
          expectAnswer(page)
          expect(page.status !== 500, 'The answer has status 500.', page)
        }
        await expectStillSignedIn(context, open)
      },
    }),
  ),
  ...['empty', 'not-an-object', 'members-missing'].map(
    (failure): CheckDefinition => ({
      id: `create-${failure}`,
      title: `When the answer to a creation is malformed (${failure}), the visitor gets an answer, and not with status 500`,
      rule: 'UP-06',
      why: 'The answer comes from another program, and may not contain the client or its secret.',
      fix: 'Check that the members of the answer exist before you use them. If one is missing, link to the list, because the application may exist.',
      needs: formNeeds,
      async run(context) {
        const opened = await meet(context, 'create', failure)
        for (const page of opened.pages) {
          expectAnswer(page)
          expect(page.status !== 500, 'The answer has status 500.', page)
        }
        await expectStillSignedIn(context, opened)
      },
    }),
  ),
  {
    id: 'groups-malformed',
    title: 'When the API refuses the list of groups or sends a malformed list, the visitor gets an answer',
    rule: 'UP-06',
    why: 'The form also works without the list of groups. The list comes from another program, and may have unexpected entries.',
    fix: 'Catch the failures of the call, check the type of each entry, and show a text field in place of the list.',
    needs: formNeeds,
    async run(context) {
      for (const [failure, options] of groupFailures) {
        const opened = await meet(context, 'groups', failure, options)
        for (const page of opened.pages) {
          expectAnswer(page)
          expect(page.status !== 500, `The answer to a list of groups (${failure}) has status 500.`, page)
        }
        await expectStillSignedIn(context, opened)
      }
    },
  },
  {
    id: 'groups-malformed-form',
    title: 'When the API answers the list of groups with any error status, the page still has the form',
    rule: 'group-by-hand',
    why: 'A visitor can create an application without the list of groups, by typing the id of a group.',
    fix: 'Show a text field in place of the list, whatever the status of the answer is.',
    needs: formNeeds,
    async run(context) {
      for (const failure of ['400', '403', '405', '500', '501']) {
        const { pages } = await meet(context, 'groups', failure)
        if (!context.arrived('api').some(({ fault }) => fault?.name.startsWith('groups-')))
          throw new NotApplicable('the form does not ask the API for groups')
        const form = findCreateForm(pages[0]!)
        expect(form, `With a list of groups (${failure}), ${describePage(pages[0]!)} has no form.`, pages[0]!)
      }
    },
  },
  {
    id: 'list-odd-entries',
    title:
      'When entries of a list are null, numbers, texts or incomplete, the visitor gets an answer, and not with status 500',
    rule: 'UP-06',
    why: 'The list comes from another program. One wrong entry would break the page for everybody who sees it.',
    fix: 'Check the type of each entry and of each value that you show.',
    needs,
    async run(context) {
      const { page, browser } = await visitUnder(context, 'list-answer', { status: 200, body: oddList, type: json })
      expectAnswer(page)
      expect(page.status !== 500, 'The answer has status 500.', page)
      await expectStillSignedIn(context, { browser, person: await context.person() })
    },
  },
  {
    id: 'unknown-members-everywhere',
    title: 'When the answer to any call has unknown members, pages and forms work as usual',
    rule: 'unknown-members',
    why: 'An API grows. When the API adds a member, a client that refuses unknown members stops working.',
    fix: 'Check the members that you use, and ignore the rest.',
    needs,
    async run(context) {
      const open = await openForms(context)
      for (const place of ['get', 'update', 'secret'])
        await context.order(`${place}-unknown-members`, { times: 'always' })
      const pages = await openPagesAbout(context, open)
      for (const [at, page] of pages.entries())
        expect(
          page.status === open.pages[at]?.status || page.status < 400,
          `With unknown members, the visitor gets ${describePage(page)}.`,
          page,
        )
      for (const found of open.forms) {
        const sent = await sendAgain(context, open.browser, found)
        const isDone = sent?.calls.some(step => isWrite(step) && step.response.status < 400)
        if (sent && isDone) expect(sent.page.status < 400, `A change ended with ${describePage(sent.page)}.`, sent.page)
      }
      if (!context.settings.create) return
      const plain = await context.signedIn({ person: await context.otherPerson() })
      for (const place of ['create', 'groups']) await context.order(`${place}-unknown-members`, { times: 'always' })
      const form = await plain.browser.visit(context.url(context.settings.create))
      expect(findCreateForm(form), `With unknown members, ${describePage(form)} has no form.`, form)
      const made = await openCreateForm(context)
      await context.order('create-unknown-members', { times: 'always' })
      const page = await submitCreate(context, made)
      expect(page.status < 400, `A creation ended with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'every-call-own-words',
    title: 'No page shows the error text of the API, whichever call has failed',
    rule: 'PG-20',
    why: 'An error text is for developers, and may contain details that help an attacker.',
    fix: 'Write the error text into the log, and show the visitor a sentence of your own.',
    needs,
    async run(context) {
      // A refusal of a form with 400, 403 or 422 may have a message for the visitor.
      for (const [place] of places)
        for (const status of place === 'get' || place === 'groups' ? [403, 500] : [500]) {
          const body = JSON.stringify({ error: { status, message: words } })
          const met = await meet(context, place, 'answer', { status, body, type: json }).catch(passNotApplicable)
          for (const page of met?.pages ?? []) {
            expect(!page.body.includes(words), `The page shows the text of the API (${place}, ${status}).`, page)
            expect(!showsInside(page), 'The page shows a stack, a file or an internal address.', page)
          }
        }
    },
  },
  {
    id: 'every-call-no-address',
    title: 'The page for a failed call does not show the address of the API or the path of the call',
    rule: 'PG-20',
    why: 'Internal addresses help an attacker to find weak places.',
    fix: 'Answer every error with fixed words, and put the details into the log.',
    needs,
    async run(context) {
      const { host } = new URL(context.platform.apiUrl)
      const { browser } = await context.signedIn()
      const usual = await browser.newTab().visit(context.url(context.settings.page))
      const hints = [host, '/apps/v1', '/identities/v1'].filter(hint => !usual.body.includes(hint))
      const pages = []
      for (const failure of ['reset', '503', 'html', '404']) {
        pages.push((await visitUnder(context, `list-${failure}`, {}, 5, browser)).page)
        await context.dropFaults()
      }
      for (const [place] of places)
        for (const failure of ['reset', '503'])
          pages.push(...((await meet(context, place, failure).catch(passNotApplicable))?.pages ?? []))
      for (const page of pages.filter(({ status }) => status >= 400))
        for (const hint of hints) expect(!page.body.includes(hint), `The page shows ${hint}.`, page)
    },
  },
  {
    id: 'every-call-headers',
    title: 'The client passes no response header of any call of the API to the browser',
    rule: 'UP-13',
    why: 'The browser would accept a cookie or a permission of another server as if the client had sent it.',
    fix: 'Write the headers of every answer yourself, and copy no header from an answer of the platform.',
    needs,
    async run(context) {
      const open = await openForms(context).catch(passNotApplicable)
      const trails = []
      const order = () => context.order('api-headers', { times: 'always', options: { headers: foreign } })
      if (open) {
        await order()
        for (const page of await openPagesAbout(context, open)) trails.push(...page.trail)
        for (const found of open.forms)
          trails.push(...((await sendAgain(context, open.browser, found))?.page.trail ?? []))
        await context.dropFaults()
      }
      if (context.settings.create) {
        const form = await openCreateForm(context)
        await order()
        trails.push(...(await form.browser.submit(form.page, form.form, form.values)).trail)
      }
      for (const one of trails) {
        if (!('status' in one.response)) continue
        const isPassed =
          one.response.headers.has('x-conformance-mark') ||
          setCookiesOf(one).some(line => line.includes('conformance-planted'))
        expect(!isPassed, 'A header of the API reached the browser.', one)
      }
    },
  },
]

const foreign = { 'set-cookie': 'conformance-planted=1; Path=/', 'x-conformance-mark': 'passed-back' }

const groupFailures: [failure: string, options?: Record<string, unknown>][] = [
  ['reset'],
  ['html'],
  ['half'],
  ['not-an-object'],
  ['members-missing'],
  ['403'],
  ['429'],
  ['500'],
  ['answer', { status: 200, body: oddList, type: json }],
  ['answer', { status: 200, body: '{"ItemList":{"first":{}}}', type: json }],
]
