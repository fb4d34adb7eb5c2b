// Tests what the client does when the application API sends a wrong answer or no answer.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, waitedMs } from '../../findings.ts'
import { formsAbout, openPagesAbout, openWithApplication, worksFromItsPage } from '../../steps/application-pages.ts'
import { makeApplication } from '../../steps/applications.ts'
import { created, isCreation, noCreation, openCreateForm, submitCreate } from '../../steps/create-form.ts'
import { failurePages } from '../../steps/failure-pages.ts'
import { expectCallEnds } from '../../steps/hanging-calls.ts'
import {
  compareUnder,
  expectAnswer,
  expectFittingAnswer,
  listCalls,
  shownIn,
  visitUnder,
} from '../../steps/list-page.ts'
import { rareRedirects, redirectAway, requestAtTrap } from '../../steps/redirect-trap.ts'
import { errorAnswers } from './error-answers.ts'
import { everyCallRows } from './every-call.ts'
import { manyFailures } from './many-failures.ts'
import { refusedForms } from './refused-forms.ts'

const needs = ['page' as const]

/** Removes the faults, and fails unless the visitor is still signed in without a new login. */
async function expectSessionKept(context: CheckContext, browser: Browser): Promise<void> {
  await context.dropFaults()
  expect(await context.isSignedIn(browser), 'The API works again, but the visitor is no longer signed in.')
}

const failures: [failure: string, what: string][] = [
  ['reset', 'the API resets the connection'],
  ['cut', 'the API resets the connection in the middle of its answer'],
  ['half', "the API's answer ends in the middle of its JSON"],
  ['empty', 'the API sends an empty answer'],
  ['html', 'the API answers with a web page'],
  ['not-an-object', 'the API answers with null'],
  ['endless-header', 'the API sends a header that never ends'],
  ['gzip', 'the API compresses its answer, although the client did not ask for it'],
  ['400', 'the API answers with status 400'],
  ['403', 'the API answers with status 403'],
  ['404', 'the API answers with status 404'],
  ['429', 'the API answers with status 429 (too many calls)'],
  ['500', 'the API answers with status 500'],
  ['502', 'the API answers with status 502'],
  ['503', 'the API is down for maintenance (503)'],
  ['not-a-list', 'the API sends an object in place of a list'],
]

const survivals: CheckDefinition[] = failures.map(([failure, what]) => ({
  id: `list-${failure}`,
  title: `When ${what}, the page shows the list or says that the call failed, and the visitor stays signed in`,
  rule: ['endless-header', 'gzip'].includes(failure) ? 'UP-04' : 'UP-06',
  why: 'A failure of the API does not mean that the session has ended. If the client ends the session, the visitor is signed out for no reason.',
  fix: 'Catch every failed call. Show a page that says that the call failed, and do not change the cookies.',
  needs,
  async run(context) {
    const compared = await compareUnder(context, `list-${failure}`)
    expectFittingAnswer(compared)
    await expectSessionKept(context, compared.browser)
  },
}))

const deadlines: CheckDefinition[] = [
  ['never', 'the API does not answer'],
  ['drip', 'the API sends its answer one byte at a time'],
  ['endless-body', 'the API sends an answer that never ends'],
  ['slow-header', 'the API sends the headers of its answer one byte at a time'],
].map(([failure, what]) => ({
  id: `list-${failure}`,
  title: `When ${what}, the visitor gets an answer in time${failure === 'never' ? ' and stays signed in, and the client ends the call' : ''}`,
  rule: 'UP-03' as const,
  why: 'Without a deadline, the client and the visitor wait until the API has finished its answer. During this time, the request uses a socket and memory. This check allows 20 seconds.',
  fix: 'Give each call one deadline, from the start of the call to the end of the answer, and limit the size of the answer. A timeout for each read is not enough. When the deadline passes, close the connection of the call.',
  needs,
  longestMs: 90_000,
  async run(context: CheckContext) {
    const compared = await compareUnder(context, `list-${failure}`, failure === 'drip' ? { seconds: 1 } : {})
    expectFittingAnswer(compared)
    if (failure !== 'never') return
    await expectCallEnds(context, 'api', 'list-never')
    await expectSessionKept(context, compared.browser)
  },
}))

const redirects: CheckDefinition[] = [302, 307].map(status => ({
  id: `list-redirect-${status}`,
  title: `When the API redirects a call (${status}), the client does not follow the redirect`,
  rule: 'UP-02',
  why: 'A client that follows the redirect sends the access token to an unknown address.',
  fix: 'Switch off redirects for API calls. Treat every 3xx answer as a failed call, and show a page that says that the call failed.',
  needs,
  async run(context) {
    const { page } = await visitUnder(context, `list-redirect-${status}`)
    const trapped = requestAtTrap(context, `list-redirect-${status}`)
    expect(trapped === undefined, 'The client followed the redirect.', ...(trapped ? [trapped] : []))
    expectAnswer(page)
  },
}))

const followed = () => new ReportedElsewhere('the client follows the redirect')

const redirectsReported: CheckDefinition = {
  id: 'redirect-reported',
  title:
    'When the API redirects the call for the list or the call that creates an application, the page says that the call failed',
  rule: 'UP-06',
  why: 'Some clients treat every status below 400 as a success. The visitor then sees an empty list, or believes that the application was created.',
  fix: 'Treat a call as successful only if the API description lists its status as a success, such as 200 or 201. After any other status, show a page that says that the call failed.',
  needs,
  async run(context) {
    const compared = await compareUnder(context, 'list-redirect-302')
    if (requestAtTrap(context, 'list-redirect-302')) throw followed()
    expectFittingAnswer(compared)
    await context.dropFaults()
    if (!context.settings.create) return
    const under = await createUnder(context, 'create-redirect-307')
    if (requestAtTrap(context, 'create-redirect-307')) throw followed()
    await expectFittingCreation(context, under)
  },
}

const otherRedirects: CheckDefinition = {
  id: 'list-redirect-others',
  title:
    'When the API redirects the call for the list with status 301, 303 or 308, the client does not follow the redirect',
  rule: 'UP-02',
  why: 'A client that follows the redirect sends the access token to an unknown address. Some clients refuse only 302 and 307.',
  fix: 'Switch off redirects for API calls. Treat every 3xx answer as a failed call, and show a page that says that the call failed.',
  needs,
  async run(context) {
    const { browser } = await context.signedIn()
    for (const status of rareRedirects) {
      const { options, expectNotFollowed } = redirectAway(context, status)
      const { page } = await visitUnder(context, 'list-answer', options, 5, browser)
      await context.dropFaults()
      expectNotFollowed()
      expectAnswer(page)
    }
  },
}

/** Orders the fault for the call that creates the application, and sends the form once. */
async function createUnder(context: CheckContext, fault: string, options: Record<string, unknown> = {}) {
  const name = `Weather of "tomorrow" & 'today', typed by hand`
  const open = await openCreateForm(context, name)
  await context.order(fault, { times: 5, options })
  const page = await open.browser.submit(open.page, open.form, open.values)
  await context.platform.settle()
  const creations = context.arrived('api').filter(isCreation)
  if (!creations.some(step => step.fault?.name === fault) && page.status !== 0) throw noCreation()
  return { browser: open.browser, name, page, creations, hasMade: (await created(context, open.person)).length > 0 }
}

type CreatedUnder = Awaited<ReturnType<typeof createUnder>>

/**
 * Fails if the answer has no error status, and its page is the usual page or looks like the page after a successful
 * creation. Accepts any page if the platform created the application in spite of the fault.
 */
async function expectFittingCreation(
  context: CheckContext,
  { browser, name, page, hasMade }: CreatedUnder,
): Promise<void> {
  expectAnswer(page)
  if (page.status >= 400 || hasMade) return
  await context.dropFaults()
  const usual = await browser.newTab().visit(context.url(context.settings.page))
  expect(
    shownIn(page, name) !== shownIn(usual, name),
    'The client shows the usual page, which does not mention the failure.',
    page,
  )
  const open = await openCreateForm(context, name)
  const success = await submitCreate(context, open)
  // Leaves the name out of the comparison, because only a page with the new application in its list shows the name.
  expect(
    shownIn(page, name) !== shownIn(success, name),
    'The page has the same text as after a successful creation.',
    page,
  )
}

const creations: CheckDefinition[] = ['reset', 'reset-after', '503', '503-after', 'html', 'half'].map(failure => ({
  id: `create-${failure}-not-repeated`,
  title: `When the call that creates an application fails (${failure}), the client answers the visitor and does not repeat the call`,
  rule: 'UP-07',
  why: 'The platform may have created the application before the call failed. A second call may create a second application.',
  fix: 'Never repeat a POST automatically. Show a page that says that the application may exist, and link to the list.',
  needs: ['page', 'create'],
  async run(context) {
    const under = await createUnder(context, `create-${failure}`)
    const { creations } = under
    expect(
      creations.length <= 1,
      `The API received ${creations.length} calls that create an application.`,
      ...creations,
    )
    // The client may report success if the platform created the application in spite of the fault, or if the status was
    // 2xx.
    if (!['reset', '503'].includes(failure)) expectAnswer(under.page)
    else await expectFittingCreation(context, under)
    await expectSessionKept(context, under.browser)
  },
}))

const refusals: CheckDefinition[] = ['400', '403', '404', '409', '422-sentence', '422-fields', '422-oauth', '429'].map(
  failure => ({
    id: `create-${failure}`,
    title: `When the API refuses to create an application (${failure}), the visitor gets an answer with a status other than 500`,
    rule: 'UP-14',
    why: 'The API uses several formats to refuse a request. If the client cannot read a format, it cannot tell the visitor the reason.',
    fix: 'Check the format of each error answer when you read the answer, and tell the visitor what to change.',
    needs: ['page', 'create'],
    async run(context) {
      const under = await createUnder(context, `create-${failure}`)
      expect(under.page.status !== 500, 'The answer has status 500.', under.page)
      await expectFittingCreation(context, under)
      await expectSessionKept(context, under.browser)
    },
  }),
)

export const apiFaults: CheckDefinition[] = [
  ...survivals,
  ...deadlines,
  ...redirects,
  otherRedirects,
  redirectsReported,
  ...creations,
  ...refusals,
  {
    id: 'list-401-once',
    title: 'When the API refuses one access token, the visitor gets a page and the client makes only a few calls',
    rule: 'UP-14',
    why: 'An access token can become invalid before it expires. The client must then renew it once, or ask the visitor to sign in.',
    fix: 'After a 401 answer, renew the tokens once and repeat the call once. If the API also refuses the new token, offer to sign in.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      // Some clients make several calls for each page, even without a fault.
      const countCalls = async (visit: () => Promise<unknown>) => {
        const before = listCalls(context).length
        await visit()
        await context.platform.settle()
        return listCalls(context).length - before
      }
      const usual = await countCalls(() => browser.newTab().visit(context.url(context.settings.page)))
      const calls = await countCalls(async () => {
        const { page } = await visitUnder(context, 'list-401', {}, 1, browser)
        expectAnswer(page)
        expect(page.status !== 500, 'The answer has status 500.', page)
      })
      const most = 3 * Math.max(usual, 1)
      expect(
        calls <= most,
        `Calls for the list during one visit: ${calls}. Calls when the API accepted the token: ${usual}.`,
      )
    },
  },
  {
    id: 'list-401-always',
    title: 'If the API refuses every token, the client makes only a few calls for one visit',
    rule: 'UP-14',
    why: 'Endless renewals and calls overload the platform, and the visitor never gets a page.',
    fix: 'For each request from a visitor, renew the tokens at most once and repeat the call at most once. If the API also refuses the new token, show a page that offers to sign in. Do not redirect to the login.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('list-401', { times: 200 })
      const before = listCalls(context).length
      const page = await browser.newTab().visit(context.url(context.settings.page), context.beforePortal)
      await context.platform.settle()
      const [calls, renewals] = [listCalls(context).length - before, context.arrived('refresh').length]
      expectAnswer(page)
      expect(calls <= 3, `For one visit, the client called the API ${calls} times.`)
      expect(renewals <= 2, `For one visit, the client renewed the tokens ${renewals} times.`)
    },
  },
  {
    id: 'list-401-no-loop',
    title: 'If the API refuses every token, the client does not send the visitor to the login again and again',
    rule: 'UP-14',
    why: 'The portal remembers its visitors and sends them back to the client at once. The redirects repeat until the browser stops with "too many redirects".',
    fix: 'If the API refuses a new token, show a page and do not redirect to the login again.',
    needs,
    isAlone: true,
    async run(context) {
      const { browser } = await context.signedIn()
      // Without a state value, the fault applies to the calls of every login, not only to the calls of the first login.
      await context.order('list-401', { times: 'always', state: undefined })
      const page = await browser.newTab().visit(context.url(context.settings.page))
      await context.platform.settle()
      const logins = context.arrived('exchange').length - 1
      expect(
        !page.error && logins <= 2,
        `One visit led to ${logins} logins${page.error ? ` and ended with ${page.error}` : ''}.`,
      )
    },
  },
  {
    id: 'list-429-not-repeated',
    title: 'When the API answers 429 (too many calls), the client does not repeat the call at once',
    rule: 'UP-07',
    why: 'If the client repeats the call at once, the overloaded API gets even more calls, and the visitor waits longer.',
    fix: 'Show a page that says when to try again. Make no more calls for this request from the visitor.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const before = listCalls(context).length
      await browser.newTab().visit(context.url(context.settings.page))
      await context.platform.settle()
      const usual = listCalls(context).length - before
      const { page } = await visitUnder(context, 'list-429', { retryAfter: 3600 }, 20, browser)
      expectAnswer(page)
      const refused = listCalls(context).filter(({ response }) => response.status === 429).length
      expect(
        refused <= Math.max(1, usual),
        `API calls during one visit: ${refused}. API calls during a usual visit: ${usual}.`,
        page,
      )
    },
  },
  ...[
    [
      'members-missing',
      'an application that lacks its usual JSON members',
      'One incomplete application would break the page for everyone whose list contains this application.',
    ],
    [
      'hostile-texts',
      'unusual strings',
      'People choose the names. A name can be 20,000 characters long, and can contain line breaks or half a surrogate pair.',
    ],
  ].map(
    ([failure, what, why]): CheckDefinition => ({
      id: `list-${failure}`,
      title: `When the API sends a list with ${what}, the visitor gets an answer with a status other than 500`,
      rule: 'UP-06',
      why: why!,
      fix: 'Check the type of each value that you show. If the value is missing or has another type, show a placeholder.',
      needs,
      async run(context) {
        await makeApplication(context, await context.person(), { name: 'Weather' })
        const { page } = await visitUnder(context, `list-${failure}`)
        expectAnswer(page)
        expect(page.status !== 500, 'The answer has status 500.', page)
      },
    }),
  ),
  {
    id: 'list-unknown-members',
    title: 'When the applications in a list have unknown JSON members, the page shows the list as usual',
    rule: 'unknown-members',
    why: 'APIs grow. If the API adds a JSON member, a client that refuses unknown members stops working.',
    fix: 'Check only the JSON members that you show, and ignore all other members.',
    needs,
    async run(context) {
      // The visitor needs an application: the fault adds its unknown JSON members to the applications in the list.
      const { page, empty, full } = await compareUnder(context, 'list-unknown-members')
      expect(
        page.status === full.status,
        `The page has status ${page.status}. Without the unknown JSON members, the page has status ${full.status}.`,
        page,
      )
      expect(
        shownIn(full) === shownIn(empty) || shownIn(page) !== shownIn(empty),
        'The page does not show the application that has unknown JSON members.',
        page,
      )
    },
  },
  {
    id: 'list-5000',
    title: 'When the API lists 5,000 applications, the visitor gets the page within ten seconds',
    rule: 'long-list',
    why: 'The platform does not limit the length of the list. A page that shows thousands of applications arrives too late, or not at all.',
    fix: 'Show only the first few hundred applications, or divide the list into pages. Say how many applications the list has.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('list-5000', { times: 2 })
      const page = await browser.newTab().visit(context.url(context.settings.page))
      expectAnswer(page)
      expect(page.status < 500, `The page has status ${page.status}.`, page)
      expect(waitedMs(page) < 10_000, `The answer took ${Math.round(waitedMs(page))} ms.`)
    },
  },
  {
    id: 'list-bounded',
    title: 'When the API sends a list of 32 MiB, the client closes the connection before the list ends',
    rule: 'bounded-answers',
    why: 'A client that reads every answer to its end can fill the memory that all visitors share.',
    fix: 'Count the bytes of every answer while you read the answer, and stop after a few megabytes.',
    needs,
    async run(context) {
      await visitUnder(context, 'list-large', {}, 1)
      await context.platform.settle(2000)
      const step = context.arrived('api').find(({ fault }) => fault?.name === 'list-large')
      if (!step) throw new NotApplicable('the client does not ask the API for the list')
      expect(step.response.isCut, 'The client read the whole list.', step)
    },
  },
  ...failurePages(
    {
      place: 'list',
      call: 'the API',
      needs,
      meet: async (context, failure) => (await visitUnder(context, `list-${failure}`)).page,
    },
    ['reset', 'html', 'members-missing'],
  ),
  {
    id: 'create-redirect-307',
    title: 'When the API redirects the call that creates an application, the client does not follow the redirect',
    rule: 'UP-02',
    why: 'A client that follows the redirect sends the access token and the values of the form to an unknown address.',
    fix: 'Switch off redirects for every API call.',
    needs: ['page', 'create'],
    async run(context) {
      const { page } = await createUnder(context, 'create-redirect-307')
      const trapped = requestAtTrap(context, 'create-redirect-307')
      expect(trapped === undefined, 'The client followed the redirect.', ...(trapped ? [trapped] : []))
      expectAnswer(page)
    },
  },
  {
    id: 'create-422-keeps-the-form',
    title: 'When the API refuses a field, the form still contains the values that the visitor typed',
    rule: 'form-kept',
    why: 'A visitor who must fill in ten fields again makes mistakes, or gives up. This check only warns, because a simple client that shows the error without the form is still correct.',
    fix: 'Answer with the same form and the values that the visitor sent. Show each problem beside its field.',
    needs: ['page', 'create'],
    async run(context) {
      const { name, page } = await createUnder(context, 'create-422-fields')
      const kept = page.forms.flatMap(({ fields }) => fields.map(([, value]) => value))
      expect(kept.includes(name), 'No field of the page contains the text that the visitor typed.', page)
    },
  },
  everyCall(
    {
      id: 'api-no-client-secret',
      title: 'No API call contains the client secret',
      rule: 'UP-15',
      why: 'The API needs only the access token. Every server and log that gets the secret can leak it.',
      fix: 'Send the access token in the Authorization header. In the body, send only the fields that the API documents.',
    },
    needs,
    useApplication,
    expectNoSecret,
  ),
  everyCall(
    {
      id: 'create-no-client-secret',
      title: 'The client does not send its secret when it creates an application',
      rule: 'UP-15',
      why: 'The API needs only the access token. Every server and log that gets the secret can leak it.',
      fix: 'Send the access token in the Authorization header. In the body, send only the fields that the API documents.',
    },
    ['page', 'create'],
    useCreateForm,
    expectNoSecret,
  ),
  everyCall(
    {
      id: 'api-bearer-every-call',
      title: 'Every API call about an application has an Authorization header with the scheme Bearer',
      rule: 'bearer-header',
      why: 'The API refuses a call with another scheme. If the client ignores the refusal, the page lacks data and does not say why.',
      fix: 'Set the Authorization header in the one function that makes all API calls.',
    },
    needs,
    useApplication,
    expectBearer,
  ),
  everyCall(
    {
      id: 'create-bearer-every-call',
      title:
        'Every API call for the form that creates an application has an Authorization header with the scheme Bearer',
      rule: 'bearer-header',
      why: 'The API refuses a call with another scheme. If the client ignores the refusal, the form lacks data such as the groups, and does not say why.',
      fix: 'Set the Authorization header in the one function that makes all API calls.',
    },
    ['page', 'create'],
    useCreateForm,
    expectBearer,
  ),
  ...everyCallRows,
  ...errorAnswers,
  ...manyFailures,
  ...refusedForms,
]

/** Returns a check that judges all calls that the client makes while a visitor uses pages and forms. */
function everyCall(
  definition: Omit<CheckDefinition, 'run' | 'needs'>,
  needs: NonNullable<CheckDefinition['needs']>,
  use: (context: CheckContext) => Promise<string[]>,
  judge: (call: LabStep, context: CheckContext) => void,
): CheckDefinition {
  return {
    ...definition,
    needs,
    async run(context) {
      const first = context.platform.steps.length
      const ids = await use(context)
      await context.platform.settle()
      // The platform cannot tell which visitor a call without a token belongs to. The check recognizes the calls of its
      // own visitor by their addresses, because each address contains one of the ids.
      const ours = new Set(context.arrived('api', 'me'))
      const calls = context.platform.steps
        .slice(first)
        .filter(step => ours.has(step) || (step.listener === 'api' && ids.some(id => step.request.url.includes(id))))
      if (calls.length === 0) throw new Undecided('The client made no API call.')
      for (const call of calls) judge(call, context)
    },
  }
}

/**
 * Opens the pages about an application, and sends their forms. Returns the ids of the application and of the visitor.
 * The address of every API call for these pages contains one of these ids.
 */
async function useApplication(context: CheckContext): Promise<string[]> {
  const application = await openWithApplication(context)
  const pages = await openPagesAbout(context, application)
  for (const form of formsAbout(context, pages, application.id).slice(0, 4))
    await worksFromItsPage(context, application, form)
  return [application.id, application.person.id]
}

async function useCreateForm(context: CheckContext): Promise<string[]> {
  const open = await openCreateForm(context)
  await submitCreate(context, open)
  return [open.person.id]
}

function expectNoSecret(call: LabStep, { platform }: CheckContext): void {
  const secret = platform.clientSecret.reveal()
  const { url, headers, body } = call.request
  const text = JSON.stringify([url, headers, body])
  const forms = [secret, encodeURIComponent(secret), Buffer.from(`${platform.clientId}:${secret}`).toString('base64')]
  expect(!forms.some(form => text.includes(form)), 'An API call contains the client secret.', call)
}

function expectBearer(call: LabStep): void {
  const { authorization } = call.request.headers
  const said = authorization === undefined ? 'no Authorization header' : 'an Authorization header with another scheme'
  expect(/^Bearer \S+$/i.test(`${authorization}`), `An API call has ${said}.`, call)
  expect(call.response.status !== 401, 'The API answered a call with status 401, so it refused the token.', call)
}
