// Tests what happens when one of these API calls fails: the calls that read, change and create an application, and the
// call for the list of groups. api-faults.ts tests the call for the list of applications.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, passNotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectWithFix, fail } from '../../findings.ts'
import { isAtOrigin, namesAddress } from '../../steps/addresses.ts'
import {
  type ApplicationForm,
  isWrite,
  openPagesAbout,
  openWithApplication,
  typedInto,
} from '../../steps/application-pages.ts'
import { makeApplication } from '../../steps/applications.ts'
import {
  created,
  findCreateForm,
  isCreation,
  noCreation,
  openCreateForm,
  submitCreate,
} from '../../steps/create-form.ts'
import {
  changes as changeNames,
  isOrdinary,
  type OpenForms,
  openForms,
  reopen,
  type SentForm,
  sendAgain,
  sendFormsUnder,
} from '../../steps/every-form.ts'
import { expectOwnHeaders, foreignHeaders } from '../../steps/foreign-headers.ts'
import { addsNoWord, expectAnswer, shownIn, visitUnder } from '../../steps/list-page.ts'
import { missingValueOn } from '../../steps/missing-values.ts'
import { shownTexts, showsInside } from '../../steps/page-content.ts'
import { redirectAway } from '../../steps/redirect-trap.ts'
import { asksToSignIn } from '../../steps/sessions.ts'

const needs: NonNullable<CheckDefinition['needs']> = ['page']
const formNeeds: NonNullable<CheckDefinition['needs']> = ['page', 'create']

async function expectStillSignedIn(context: CheckContext, { browser, person }: Pick<OpenForms, 'browser' | 'person'>) {
  await context.dropFaults()
  expect(await context.isSignedIn(browser, { person }), 'The API works again, but the visitor is no longer signed in.')
}

/**
 * Fails if the API call for a form failed, but the client's answer looks like a success, or like the page before the
 * form was sent.
 */
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
    `${said}. The visitor got the same text as after a successful change.`,
    page,
    call,
  )
  // If the API does not find an application that the visitor removes, the application is gone.
  if (call.request.method === 'DELETE' && call.response.status === 404) return
  const message = await messageOf(success, open.browser)
  const shown = piecesOf(page)
  expect(
    message.length === 0 || !message.every(text => shown.includes(text)),
    `${said}. The visitor got the message that a successful change shows: “${message.join(' ')}”.`,
    page,
    call,
  )
}

/**
 * Returns the message about a form that the client has carried out: all text that is on the page after the form, but
 * neither on the page with the form nor on the page of a later visit to the same address.
 */
async function messageOf({ found, page }: SentForm, browser: Browser): Promise<string[]> {
  const later = await browser.newTab().visit(page.url.split('?')[0]!)
  const known = [found.page, later].flatMap(piecesOf)
  return piecesOf(page).filter(text => !known.includes(text))
}

/** Returns the strings on a page, without digits, because times and numbers differ from one page to the next. */
const piecesOf = (page: Page): string[] =>
  shownTexts(page)
    .map(text => text.replace(/\d+/g, '').replace(/\s+/g, ' ').trim())
    .filter(text => text !== '')

/**
 * Fails if the page after a refused call does not say that the form had no effect. The page may also ask the visitor to
 * sign in, or to send the form again.
 */
async function expectLostFormTold(context: CheckContext, browser: Browser, page: Page): Promise<void> {
  if (page.status >= 400 || asksToSignIn(context, page)) return
  expect(
    !(await isOrdinary(context, page, browser)),
    `When the visitor sent the form, the API answered the client's call with 401. The client did not repeat the call, and the visitor got ${describePage(page)}, which does not say that the form had no effect.`,
    page,
  )
}

/**
 * Fails if the client repeated a refused call with another body or without its If-Match. `calls`: the calls for one
 * form.
 */
function expectRepeatedUnchanged(calls: LabStep[]): void {
  const fix =
    'When you repeat a call after a renewal, replace only the access token. Keep the body and all other headers.'
  const [refused, ...others] = calls.filter(isWrite)
  for (const again of others) {
    const { method, url, body, headers } = refused!.request
    if (again.request.method !== method || again.request.url !== url) continue
    const isSameBody = JSON.stringify(again.request.body) === JSON.stringify(body)
    const isMatchKept = headers['if-match'] === undefined || again.request.headers['if-match'] !== undefined
    expectWithFix(
      fix,
      isSameBody && isMatchKept,
      `After the 401 answer, the client repeated the call ${isSameBody ? 'without its If-Match' : 'with another body'}.`,
      refused!,
      again,
    )
  }
}

const failures: [failure: string, rule: CheckDefinition['rule'], what: string][] = [
  ['reset', 'UP-06', 'the API resets the connection during a change'],
  ['500', 'UP-06', 'the API answers a change with status 500'],
  ['503', 'UP-06', 'the API is down during a change (503)'],
  ['400', 'UP-14', 'the API refuses a change (400)'],
  ['403', 'UP-14', 'the API forbids a change (403)'],
  ['404', 'UP-14', 'the API does not find the application that the visitor changes (404)'],
  ['409', 'UP-14', 'the API reports a conflict for a change (409)'],
  ['412', 'UP-14', 'the API reports that somebody else has changed the application (412)'],
  ['422-fields', 'UP-14', 'the API refuses fields of a change (422)'],
  ['429', 'UP-14', 'the API answers 429 (too many calls) to a change'],
]

const changes: CheckDefinition[] = failures.map(([failure, rule, what]) => ({
  id: `change-${failure}`,
  title: `When ${what}, the client reports the failure, and the visitor stays signed in`,
  rule,
  why: 'A visitor who sees no error message believes that the application was changed or removed, or that a new secret exists.',
  fix: 'Check the status of every API answer. Catch failed calls, and show a page that says what failed.',
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
  const { settings, platform } = context
  const isOfLogin = (url: string) => url.startsWith(context.url(settings.login)) || isAtOrigin(url, platform.portalUrl)
  const isLed = page.stoppedAt !== undefined || page.trail.some(({ request }) => isOfLogin(request.url))
  expect(!isLed, 'After the 403 answer, the client sent the visitor to the login.', page)
  const renewals = context.arrived('refresh').length - renewalsBefore
  expect(renewals === 0, `After the 403 answer, the client renewed the tokens ${renewals} times.`, page)
}

const forbidden = {
  rule: 'UP-14',
  why: 'Status 403 means that the visitor lacks the permission. A new token or a new login does not change this.',
  fix: 'Renew the tokens or offer the login only after a 401 answer. After a 403 answer, show a page that says that the visitor lacks the permission.',
} as const

/** Fails if the page shows a word such as `undefined`, but no page from `usual` shows the same word. */
async function expectNothingInvented(page: Page, usual: () => Promise<Page[]>): Promise<void> {
  const word = missingValueOn(page)
  if (word === undefined) return
  const usualPages = await usual()
  if (usualPages.some(one => one.status >= 400 || missingValueOn(one) === word)) return
  fail(`The page shows “${word}” in place of a value that is missing from the API's answer.`, page)
}

const malformed = ['html', 'half', 'empty', 'not-an-object', 'members-missing']

/** Invalid entries for a list of groups or applications. */
const oddEntries = [null, 7, 'text', [], {}, { data: null }, { '@id': 7, to: 7, data: { name: null } }, { data: [] }]

const oddList = JSON.stringify({ '@type': 'collection', ItemList: oddEntries })
const json = 'application/json; charset=utf-8'

/** Orders the fault for the call that reads an application, and opens the pages about this application. */
async function openUnder(context: CheckContext, fault: string, options: Record<string, unknown> = {}, times = 20) {
  const application = await openWithApplication(context)
  await openPagesAbout(context, application)
  await context.platform.settle()
  if (!context.arrived('api').some(({ request }) => request.method === 'GET' && request.url.includes(application.id)))
    throw new NotApplicable('no page about an application reads this application from the API')
  await context.order(fault, { times, options })
  const pages = await openPagesAbout(context, application)
  await context.platform.settle()
  await endFault(context, fault, pages, new NotApplicable('no page reads the application from the API again'))
  return { ...application, pages }
}

/**
 * Removes the fault, and returns how many calls met it. If no call met the fault, the pages prove nothing, and the
 * check ends. If a page failed, the check is undecided, because the client may have failed before it made the call. If
 * no page failed, the check ends with the given error.
 */
export async function endFault(
  context: CheckContext,
  fault: string,
  pages: Page[],
  error: NotApplicable,
): Promise<number> {
  const met = context.timesMet(fault)
  await context.dropFaults()
  if (met > 0) return met
  const failed = pages.find(({ status }) => status === 0 || status >= 500)
  if (failed) throw new Undecided(`No call met the fault ${fault}, and the browser got ${describePage(failed)}.`)
  throw error
}

const reads: CheckDefinition[] = [
  ['reset', 'the API resets the connection'],
  ['503', 'the API is down (503)'],
  ['html', 'the API answers with a web page'],
  ['half', "the API's answer ends in the middle of its JSON"],
  ['empty', 'the API sends an empty answer'],
  ['not-an-object', 'the API answers with null'],
  ['members-missing', 'the application has only a type and an id'],
  ['403', 'the API forbids the call (403)'],
  ['404', 'the API does not find the application (404)'],
].map(([failure, what]) => ({
  id: `get-${failure}`,
  title: `When ${what} while the client reads one application for a page, the visitor gets an answer and stays signed in`,
  rule: 'UP-06' as const,
  why: 'A failure of the API does not mean that the session has ended. If the client crashes or ends the session, the visitor gets no explanation.',
  fix: 'Catch every failed call, and check that a JSON member exists before you use it. Show a page that says what failed.',
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

export const places: [place: string, what: string][] = [
  ['get', 'one application'],
  ['change', 'a change'],
  ['create', 'a creation'],
  ['groups', 'the list of groups'],
]

const holds = (page: Page, text: string) =>
  [page.body, ...page.forms.flatMap(({ fields }) => fields.map(([, value]) => value))].some(one => one.includes(text))

/** The addresses of those forms on the page that are about the application. */
const formAddresses = ({ forms }: Page) => forms.filter(({ method }) => method === 'POST').map(({ action }) => action)

/** Whether the page shows the application and has a form about it. */
const isAbout = (page: Page, id: string, name: string) =>
  page.status === 200 && holds(page, name) && formAddresses(page).some(action => `${page.url} ${action}`.includes(id))

const hasFormsOf = (page: Page, known: Page) =>
  page.url === known.url && formAddresses(known).every(action => formAddresses(page).includes(action))

const noGroups = () => new NotApplicable('the form does not ask the API for groups')

/**
 * Orders the fault for one of the calls in `places`, and lets the client make this call. Returns the pages. Ends the
 * check if no call meets the fault.
 */
export async function meet(context: CheckContext, place: string, fault: string, options: Record<string, unknown> = {}) {
  // With a slow fault, the visitor waits for each answer, so the check opens only one page.
  const isSlow = fault === 'never' || fault === 'drip' || 'byteSeconds' in options
  if (place === 'get') return openUnder(context, `get-${fault}`, options, isSlow ? 1 : 20)
  if (place === 'change') {
    const open = await openForms(context)
    // Tries all forms, because a client may handle a failed call in only one of several functions. With a slow fault,
    // tries only one form.
    const forms = isSlow ? open.forms.slice(0, 1) : open.forms
    const sent = await sendFormsUnder(context, { ...open, forms }, fault, { options })
    return { ...open, pages: sent.map(({ page }) => page) }
  }
  if (!context.settings.create) throw new NotApplicable('the client creates no applications')
  if (place === 'create') {
    const open = await openCreateForm(context)
    await context.order(`create-${fault}`, { times: 5, options })
    const page = await open.browser.submit(open.page, open.form, open.values)
    await context.platform.settle()
    await endFault(context, `create-${fault}`, [page], noCreation())
    return { ...open, pages: [page] }
  }
  const { browser, person } = await context.signedIn()
  await context.order(`groups-${fault}`, { times: 5, options })
  const page = await browser.newTab().visit(context.url(context.settings.create))
  await context.platform.settle()
  await endFault(context, `groups-${fault}`, [page], noGroups())
  return { browser, person, pages: [page] }
}

const hanging: CheckDefinition[] = places.map(([place, what]) => ({
  id: `${place}-never`,
  title: `When the API does not answer the call for ${what}, the visitor gets an answer in time`,
  rule: 'UP-03',
  why: 'Without a deadline, the visitor waits until the API answers, and the request uses a socket and memory. This check allows 20 seconds.',
  fix: 'Give each call one deadline, from the start of the call to the end of the answer. Set the deadline in the one function that makes all API calls.',
  needs: place === 'get' || place === 'change' ? needs : formNeeds,
  longestMs: 90_000,
  async run(context) {
    if (place === 'change') return expectAnswersWithoutApi(context)
    const { pages } = await meet(context, place, 'never')
    for (const page of pages) expectAnswer(page)
  },
}))

/**
 * Sends all forms about an application at the same time, while the API answers none of their calls. A client that
 * handles one request at a time may answer too late. If a form gets no answer, the function therefore sends this form
 * again, alone. Fails if the form still gets no answer.
 */
async function expectAnswersWithoutApi(context: CheckContext): Promise<void> {
  const names = changeNames.map(place => `${place}-never`)
  const open = await openForms(context)
  const send = async (forms: ApplicationForm[]) => {
    for (const name of names) await context.order(name, { times: 5 })
    const pages = await Promise.all(
      forms.map(({ page, form }) =>
        open.browser.newTab().submit(page, form, typedInto({ page, form }), context.beforePortal),
      ),
    )
    const isMet = names.some(name => context.timesMet(name) > 0)
    await context.dropFaults()
    return { pages, isMet }
  }
  const forms: ApplicationForm[] = []
  for (const found of open.forms) forms.push((await reopen(open.browser, found)) ?? found)
  const { pages, isMet } = await send(forms)
  if (!isMet) throw new NotApplicable('no form about an application makes the client call the API')
  for (const [at, found] of open.forms.entries()) {
    if (pages[at]!.status !== 0) {
      expectAnswer(pages[at]!)
      continue
    }
    const again = await reopen(open.browser, found)
    if (again) for (const page of (await send([again])).pages) expectAnswer(page)
  }
}

const redirected: CheckDefinition = {
  id: 'every-call-redirect',
  title:
    'When the API redirects a call that reads or changes an application, or reads the groups, the client does not follow the redirect',
  rule: 'UP-02',
  why: 'A client that follows the redirect sends the access token to an unknown address.',
  fix: 'Switch off redirects in the one function that makes all API calls, and treat every 3xx answer as a failed call.',
  needs,
  async run(context) {
    let met = 0
    for (const [place, what] of places)
      for (const status of [302, 307]) {
        if (place === 'create' && status === 307) continue
        await meet(context, place, `redirect-${status}`).catch(passNotApplicable)
        await context.platform.settle()
        const steps = context.arrived('api', 'trap')
        met += steps.filter(({ fault }) => fault?.name.endsWith(`redirect-${status}`)).length
        const trapped = steps.find(({ request }) => request.url.startsWith('/trap/'))
        expect(
          trapped === undefined,
          `The client followed a redirect of the call for ${what}.`,
          ...(trapped ? [trapped] : []),
        )
      }
    for (const [place] of places) {
      const { options, expectNotFollowed } = redirectAway(context, 308)
      if (await meet(context, place, 'answer', options).catch(passNotApplicable)) met++
      expectNotFollowed()
    }
    if (met === 0) throw noOtherCall()
  },
}

export const noOtherCall = () => new NotApplicable('the client makes no API call except the call for the list')

const words = 'words_of_the_api_4712'

export const everyCallRows: CheckDefinition[] = [
  ...changes,
  ...reads,
  {
    id: 'get-failed-not-blank',
    title:
      'When the call that reads one application fails, the client does not show the usual page with the values of the application missing',
    rule: 'UP-06',
    why: 'Without a message, the visitor believes that the values are gone. If the visitor saves an empty form, the client overwrites the values.',
    fix: 'Check the status of the API answer before you use the answer. If the call failed, show a page that says that the call failed. Leave out the form.',
    needs,
    async run(context) {
      const name = 'Weather-of-conformance-4719'
      const application = await openWithApplication(context, { name, description: name })
      const { browser } = application
      const usual = (await openPagesAbout(context, application)).slice(1, 4)
      const visitWith = async (failure: string, url: string) => {
        await context.order(`get-${failure}`, { times: 5 })
        const page = await browser.newTab().visit(url, context.beforePortal)
        await context.platform.settle()
        const isMet = context.timesMet(`get-${failure}`) > 0
        await context.dropFaults()
        return isMet ? page : undefined
      }
      let met = 0
      for (const known of usual.filter(page => isAbout(page, application.id, name)))
        for (const failure of ['503', '404', 'reset']) {
          const page = await visitWith(failure, known.url)
          if (!page) continue
          met++
          if (page.status >= 400 || !hasFormsOf(page, known) || holds(page, name)) continue
          const blank = await visitWith('members-missing', known.url)
          const isSilent = [blank, known].some(one => one && addsNoWord(shownIn(page), shownIn(one)))
          expect(
            !isSilent,
            `With the fault get-${failure}, the client answered the request for ${new URL(known.url).pathname.replaceAll(application.id, '…')} with status ${page.status} and the usual forms. The values of the application are missing, and the page does not mention the failure.`,
            page,
          )
        }
      if (met === 0) throw new NotApplicable('no page with a form reads the application from the API')
    },
  },
  ...hanging,
  redirected,
  {
    id: 'list-403-no-login',
    title:
      'When the API answers 403 to the call for the list, the client neither renews the tokens nor sends the visitor to the login',
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
      'When the API answers 403 to the call that creates an application, the client neither renews the tokens nor sends the visitor to the login',
    ...forbidden,
    needs: formNeeds,
    async run(context) {
      const { pages } = await meet(context, 'create', '403')
      expectNoLogin(context, { page: pages[0]! }, 0)
    },
  },
  {
    id: 'groups-403-no-login',
    title:
      'When the API answers 403 to the call for the list of groups, the client neither renews the tokens nor sends the visitor to the login',
    ...forbidden,
    needs: formNeeds,
    async run(context) {
      const { pages } = await meet(context, 'groups', '403')
      expectNoLogin(context, { page: pages[0]! }, 0)
    },
  },
  {
    id: 'change-403-no-login',
    title:
      'When the API answers 403 to a change, the client neither renews the tokens nor sends the visitor to the login',
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
    title:
      'When the API answers 401 to the call that creates an application, the client renews the tokens or offers the login',
    rule: 'UP-14',
    why: 'An access token can become invalid before it expires. A visitor who sees only an error message does not know that a new login helps.',
    fix: 'Handle a 401 answer in the one function that makes all API calls: renew the tokens once, and if this does not help, offer the login.',
    needs: formNeeds,
    async run(context) {
      const open = await openCreateForm(context)
      await context.order('create-401', { times: 1 })
      const page = await open.browser.submit(open.page, open.form, open.values, context.beforePortal)
      await context.platform.settle()
      if (!context.arrived('api').some(({ fault }) => fault?.name === 'create-401')) throw noCreation()
      expectAnswer(page)
      const isRenewed = context.arrived('refresh').length > 0
      expect(
        isRenewed || asksToSignIn(context, page),
        `The client did not renew the session. The visitor got ${describePage(page)}, which does not offer to sign in.`,
        page,
      )
      expectRepeatedUnchanged(context.arrived('api').filter(isCreation))
      if ((await created(context, open.person)).length === 0) await expectLostFormTold(context, open.browser, page)
    },
  },
  {
    id: 'change-401',
    title: 'When the API answers 401 to a change, the client renews the tokens or offers the login',
    rule: 'UP-14',
    why: 'An access token can become invalid before it expires. A visitor who sees only an error message does not know that a new login helps.',
    fix: 'Handle a 401 answer in the one function that makes all API calls: renew the tokens once, and if this does not help, offer the login.',
    needs,
    async run(context) {
      const open = await openForms(context)
      let met = 0
      for (const found of open.forms) {
        await context.platform.settle()
        const renewals = context.arrived('refresh').length
        const all = await sendFormsUnder(context, { ...open, forms: [found] }, '401', { times: 1 }).catch(
          passNotApplicable,
        )
        for (const { page, calls } of all ?? []) {
          met++
          expectAnswer(page)
          expect(
            context.arrived('refresh').length > renewals || asksToSignIn(context, page),
            `For the form to ${new URL(found.form.action).pathname.replaceAll(open.id, '…')}, the client did not renew the session. The visitor got ${describePage(page)}, which does not offer to sign in.`,
            page,
          )
          expectRepeatedUnchanged(calls)
          const isDone = calls.some(step => isWrite(step) && step.response.status < 400)
          if (!isDone) await expectLostFormTold(context, open.browser, page)
        }
      }
      if (met === 0) throw new NotApplicable('no form about an application makes the client call the API')
    },
  },
  ...['create', 'change'].map(
    (place): CheckDefinition => ({
      id: `${place}-429-not-repeated`,
      title: `When the API answers 429 (too many calls) to ${place === 'create' ? 'the call that creates an application' : 'a change'}, the client does not repeat the call at once`,
      rule: 'UP-07',
      why: 'If the client repeats the call at once, the overloaded API gets even more calls, and the visitor waits longer.',
      fix: 'Show a page that says when to try again. Make no more calls for this request from the visitor.',
      needs: place === 'create' ? formNeeds : needs,
      async run(context) {
        const { pages } = await meet(context, place, '429', { retryAfter: 3600 })
        for (const page of pages) expectAnswer(page)
        const refused = context.arrived('api').filter(step => isWrite(step) && step.response.status === 429)
        expect(
          refused.length <= pages.length,
          `For ${pages.length === 1 ? 'one form' : `${pages.length} forms`}, the client sent ${refused.length} calls that the API refused with 429.`,
          ...refused,
        )
      },
    }),
  ),
  {
    id: 'secret-not-repeated',
    title: 'When the call for a new client secret fails, the client does not repeat the call',
    rule: 'renewal-not-repeated',
    why: 'The platform may have created the secret before the call failed. A second call creates one more secret, and the platform then drops an older secret that running clients may still use.',
    fix: 'Never repeat a POST automatically. Show a page that says that a new secret may exist.',
    needs,
    async run(context) {
      const failures: [failure: string, options?: Record<string, unknown>][] = [
        ['reset'],
        ['503'],
        ['503-after'],
        ['429', { retryAfter: 1 }],
        ['503', { retryAfter: 1 }],
      ]
      for (const [failure, options = {}] of failures) {
        // Opens the forms again for each failure, because sendFormsUnder also sends the form that removes the
        // application.
        const all = await sendFormsUnder(context, await openForms(context), failure, { at: ['secret'], options })
        for (const { calls, page } of all) {
          const secrets = calls.filter(({ request }) => request.method === 'POST')
          expect(
            secrets.length <= 1,
            `The API received ${secrets.length} calls for a new secret (${failure}).`,
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
      title: `When the API's answer to the call for a new client secret is malformed (${failure}), the client neither answers with status 500 nor shows a word such as "undefined" in place of a missing value`,
      rule: 'UP-06',
      why: 'The API is another program, and the secret may be missing from its answer.',
      fix: 'Before you show the secret, check that the answer contains it. If the secret is missing, say that a new secret may exist.',
      needs,
      async run(context) {
        const open = await openForms(context)
        for (const { page } of await sendFormsUnder(context, open, failure, { at: ['secret'] })) {
          expectAnswer(page)
          expect(page.status !== 500, 'The answer has status 500.', page)
          await expectNothingInvented(page, async () => open.pages)
        }
        await expectStillSignedIn(context, open)
      },
    }),
  ),
  ...['empty', 'not-an-object', 'members-missing'].map(
    (failure): CheckDefinition => ({
      id: `create-${failure}`,
      title: `When the API's answer to the call that creates an application is malformed (${failure}), the client neither answers with status 500 nor shows a word such as "undefined" in place of a missing value`,
      rule: 'UP-06',
      why: 'The API is another program, and the OAuth client or its secret may be missing from its answer.',
      fix: 'Check that a JSON member exists before you use it. If a member is missing, link to the list of applications: the API may have created the application anyway.',
      needs: formNeeds,
      async run(context) {
        const opened = await meet(context, 'create', failure)
        for (const page of opened.pages) {
          expectAnswer(page)
          expect(page.status !== 500, 'The answer has status 500.', page)
          await expectNothingInvented(page, async () => [await submitCreate(context, await openCreateForm(context))])
        }
        await expectStillSignedIn(context, opened)
      },
    }),
  ),
  {
    id: 'groups-malformed',
    title: 'When the API refuses the call for the list of groups or sends a malformed list, the visitor gets an answer',
    rule: 'UP-06',
    why: 'The form does not need the list of groups. The list comes from another program, and may have unexpected entries.',
    fix: 'Catch a failed call, and check the type of each entry. If the client cannot use the list, show a text field instead.',
    needs: formNeeds,
    async run(context) {
      let met = 0
      for (const [failure, options] of groupFailures) {
        const opened = await meet(context, 'groups', failure, options).catch(passNotApplicable)
        if (!opened) continue
        met++
        for (const page of opened.pages) {
          expectAnswer(page)
          expect(page.status !== 500, `With the fault groups-${failure}, the page has status 500.`, page)
        }
        await expectStillSignedIn(context, opened)
      }
      if (met === 0) throw noGroups()
    },
  },
  {
    id: 'groups-malformed-form',
    title: 'When the API answers the call for the list of groups with an error, the page still has the form',
    rule: 'group-by-hand',
    why: 'Without the list of groups, a visitor can still create an application by typing the id of a group.',
    fix: 'If the list is missing, show a text field for the id of the group, whatever the status of the API answer is.',
    needs: formNeeds,
    async run(context) {
      let met = 0
      for (const failure of ['400', '403', '404', '405', '429', '500', '501', '502', '503']) {
        const opened = await meet(context, 'groups', failure).catch(passNotApplicable)
        if (!opened) continue
        met++
        for (const page of opened.pages)
          expect(
            findCreateForm(page),
            `When the API answered the call for the groups with ${failure}, ${describePage(page)} had no form.`,
            page,
          )
      }
      if (met === 0) throw noGroups()
    },
  },
  {
    id: 'forms-error-not-json',
    title:
      'When the API refuses the values of a form, but its answer is not JSON or has an incomplete message, the client does not answer with status 500',
    rule: 'UP-06',
    why: 'A proxy in front of the API can answer with a web page or an empty body. A client that parses every error answer as JSON then fails with an unexpected error.',
    fix: 'Catch the errors of the JSON parser, whatever the status of the answer is. Check each part of a message before you use it. Show a page that says that the call failed.',
    needs,
    async run(context) {
      const answers = [
        { status: 502, type: 'text/html; charset=utf-8', body: '<!doctype html><h1>Bad gateway</h1>' },
        { status: 422, type: 'text/html; charset=utf-8', body: '<!doctype html><h1>Unprocessable</h1>' },
        { status: 403, type: json, body: '' },
        { status: 422, type: json, body: '{"error":{"status":422}}' },
        { status: 422, type: json, body: '{"error":{"status":422,"message":{"name":"Taken.","description":null}}}' },
      ]
      let met = 0
      for (const place of ['create', 'change'])
        for (const options of answers) {
          const opened = await meet(context, place, 'answer', options).catch(passNotApplicable)
          for (const page of opened?.pages ?? []) {
            met++
            expectAnswer(page)
            expect(
              page.status !== 500,
              `The API answered with status ${options.status} and the body ${JSON.stringify(options.body)}, and the client answered with status 500.`,
              page,
            )
          }
          if (opened) await expectStillSignedIn(context, opened)
        }
      if (met === 0) throw new NotApplicable('the client has no form about applications')
    },
  },
  {
    id: 'get-one-member-missing',
    title:
      'When the API answer about one application lacks a JSON member, such as "client", the pages about the application do not have status 500',
    rule: 'UP-06',
    why: 'Another installation of the platform may leave out the member "client". If a page reads a value inside a missing object, the page crashes, although the rest of the answer is complete.',
    fix: 'Check that each JSON member exists before you read a value inside it. Leave out the values that are missing.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const application = await openWithApplication(context)
      const usual = await openPagesAbout(context, application)
      if (usual.some(({ status }) => status === 500)) throw new NotApplicable('a page about an application fails')
      let met = 0
      for (const member of membersOfApplication) {
        await context.order('get-members-missing', { times: 'always', options: { member } })
        const pages = await openPagesAbout(context, application)
        // Not every page links to the edit form if a value is missing.
        for (const { url } of usual)
          if (!pages.some(page => page.url === url)) pages.push(await application.browser.newTab().visit(url))
        await context.platform.settle()
        met += context.timesMet('get-members-missing')
        await context.dropFaults()
        for (const page of pages) {
          expectAnswer(page)
          expect(page.status !== 500, `Without the member ${member}, the visitor gets ${describePage(page)}.`, page)
        }
      }
      if (met === 0) throw new NotApplicable('no page about an application reads this application from the API')
    },
  },
  {
    id: 'list-one-member-missing',
    title: 'When the applications in a list lack a JSON member, such as "metadata", the page does not have status 500',
    rule: 'UP-06',
    why: 'The list comes from another program. If a page checks only the name, and then reads a value inside a missing object, the page crashes for everyone whose list contains this application.',
    fix: 'Check that each JSON member exists before you read a value inside it. Leave out the values that are missing.',
    needs,
    async run(context) {
      await makeApplication(context, await context.person(), { name: 'Weather' })
      const { browser } = await context.signedIn()
      for (const member of membersOfApplication) {
        const { page } = await visitUnder(context, 'list-members-missing', { member }, 20, browser)
        await context.dropFaults()
        expectAnswer(page)
        expect(page.status !== 500, `Without the member ${member}, the page has status 500.`, page)
      }
    },
  },
  {
    id: 'create-one-member-missing',
    title: `When the API's answer to the call that creates an application lacks a JSON member, such as "tokens", the client does not answer with status 500`,
    rule: 'UP-06',
    why: 'The specification of the platform does not say which members this answer contains. The API has created the application, so an error confuses the visitor.',
    fix: 'Check that each JSON member exists before you read a value inside it. If the secret is missing, link to the list of applications.',
    needs: formNeeds,
    async run(context) {
      for (const member of [...membersOfCreation, ...membersOfApplication]) {
        const { pages } = await meet(context, 'create', 'members-missing', { member })
        for (const page of pages) {
          expectAnswer(page)
          expect(page.status !== 500, `Without the member ${member}, the visitor gets ${describePage(page)}.`, page)
        }
      }
    },
  },
  {
    id: 'list-odd-entries',
    title:
      'When a list contains null, numbers, strings or incomplete entries, the visitor gets an answer with a status other than 500',
    rule: 'UP-06',
    why: 'The list comes from another program. One wrong entry would break the page for everyone whose list contains this entry.',
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
    title: 'When API answers contain unknown JSON members, pages and forms work as usual',
    rule: 'unknown-members',
    why: 'APIs grow. If the API adds a JSON member, a client that refuses unknown members stops working.',
    fix: 'Check only the JSON members that you use, and ignore all other members.',
    needs,
    async run(context) {
      const open = await openForms(context)
      for (const place of ['get', 'update', 'secret'])
        await context.order(`${place}-unknown-members`, { times: 'always' })
      const pages = await openPagesAbout(context, open)
      for (const [at, page] of pages.entries())
        expect(
          page.status === open.pages[at]?.status || page.status < 400,
          `With unknown JSON members, the visitor gets ${describePage(page)}.`,
          page,
        )
      for (const found of open.forms) {
        const sent = await sendAgain(context, open.browser, found)
        // The answer to a removal has no JSON members.
        const isDone = sent?.calls.some(step => isWrite(step) && step.fault && step.response.status < 400)
        if (sent && isDone) expect(sent.page.status < 400, `A change ended with ${describePage(sent.page)}.`, sent.page)
      }
      if (!context.settings.create) return
      const plain = await context.signedIn({ person: await context.otherPerson() })
      for (const place of ['create', 'groups']) await context.order(`${place}-unknown-members`, { times: 'always' })
      const form = await plain.browser.visit(context.url(context.settings.create))
      expect(findCreateForm(form), `With unknown JSON members, ${describePage(form)} has no form.`, form)
      const made = await openCreateForm(context)
      await context.order('create-unknown-members', { times: 'always' })
      const page = await submitCreate(context, made)
      if (page.status < 400) return
      await context.dropFaults()
      // Finds out whether a creation also fails without the fault. A client with several processes may fail only
      // sometimes, so the check tries several times.
      for (let tries = 0; tries < 3; tries++) {
        const usual = await submitCreate(context, await openCreateForm(context))
        if (usual.status >= 400) throw new ReportedElsewhere('a creation also fails without unknown members')
      }
      fail(`A creation ended with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'every-call-own-words',
    title: 'No page shows the error text of a failed API call',
    rule: 'PG-20',
    why: 'Error text is meant for developers, and can contain details that help an attacker.',
    fix: 'Write the error text into the log, and show the visitor a sentence of your own.',
    needs,
    async run(context) {
      let met = 0
      // If the API refuses a form with 400, 403, 404, 409 or 422, its answer may contain a message for the visitor.
      // This check therefore uses only other statuses for forms.
      for (const [place] of places)
        for (const status of place === 'get' || place === 'groups' ? [400, 403, 404, 429, 500, 503] : [429, 500, 503]) {
          const body = JSON.stringify({ error: { status, message: words } })
          const opened = await meet(context, place, 'answer', { status, body, type: json }).catch(passNotApplicable)
          if (opened) met++
          for (const page of opened?.pages ?? []) {
            expect(!page.body.includes(words), `The page shows the text of the API (${place}, ${status}).`, page)
            expect(!showsInside(page), 'The page shows a stack trace, a file name or an internal address.', page)
          }
        }
      if (met === 0) throw noOtherCall()
    },
  },
  {
    id: 'every-call-no-address',
    title: 'The page for a failed call does not show the address of the API or the path of the call',
    rule: 'PG-20',
    why: 'Internal addresses help an attacker find weaknesses.',
    fix: 'Answer every error with a fixed message, and write the details into the log.',
    needs,
    async run(context) {
      const { host } = new URL(context.platform.apiUrl)
      const { browser } = await context.signedIn()
      const usual = await browser.newTab().visit(context.url(context.settings.page))
      const hints = [host, '/apps/v1', '/identities/v1'].filter(hint => !namesAddress(usual.body, hint))
      const pages = []
      for (const failure of ['reset', '503', 'html', '404']) {
        pages.push((await visitUnder(context, `list-${failure}`, {}, 5, browser)).page)
        await context.dropFaults()
      }
      for (const [place] of places)
        for (const failure of ['reset', '503'])
          pages.push(...((await meet(context, place, failure).catch(passNotApplicable))?.pages ?? []))
      for (const page of pages.filter(({ status }) => status >= 400))
        for (const hint of hints) expect(!namesAddress(page.body, hint), `The page shows ${hint}.`, page)
    },
  },
  {
    id: 'every-call-headers',
    title: 'The client does not pass response headers of any API call on to the browser',
    rule: 'UP-13',
    why: 'If the client copies headers that the platform sent, these headers can set cookies or grant permissions in the name of the client.',
    fix: 'Set the headers of every answer yourself. Do not copy any header that the platform sent.',
    needs,
    async run(context) {
      const open = await openForms(context).catch(passNotApplicable)
      const trails = []
      const order = () => context.order('api-headers', { times: 'always', options: { headers: foreignHeaders } })
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
      expectOwnHeaders(trails)
    },
  },
]

/** Members of an application that may be missing from the answers of another installation of the platform. */
const membersOfApplication = [
  'client',
  'client.clientId',
  'client.redirectUris',
  'client.scopes',
  'metadata',
  'inLinks',
  'outLinks',
  'data.description',
  'data.webPageUrl',
]

/** Members that only the answer to a creation has. */
const membersOfCreation = ['tokens', 'client.clientSecrets']

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
