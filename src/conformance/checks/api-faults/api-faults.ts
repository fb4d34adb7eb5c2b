// How the client handles an application API that answers wrongly or not at all.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect } from '../../findings.ts'
import { formsAbout, openPagesAbout, openWithApplication, worksFromItsPage } from '../../steps/application-pages.ts'
import { makeApplication } from '../../steps/applications.ts'
import { created, openCreateForm, submitCreate } from '../../steps/create-form.ts'
import { failurePages } from '../../steps/failure-pages.ts'
import {
  compareUnder,
  expectAnswer,
  expectFittingAnswer,
  listCalls,
  shownIn,
  visitUnder,
} from '../../steps/list-page.ts'
import { requestAtTrap } from '../../steps/redirect-trap.ts'
import { everyCallRows } from './every-call.ts'

const needs = ['page' as const]

/** Fails unless the visitor is still signed in after the fault, without a new login. */
async function expectSessionKept(context: CheckContext, browser: Browser): Promise<void> {
  await context.dropFaults()
  expect(await context.isSignedIn(browser), 'When the API is back, the visitor is no longer signed in.')
}

const failures: [failure: string, what: string][] = [
  ['reset', 'the API resets the connection'],
  ['cut', 'the API resets the connection in the middle of its answer'],
  ['half', 'the answer of the API ends in the middle of its JSON'],
  ['empty', 'the API sends an empty answer'],
  ['html', 'the API answers with a web page'],
  ['not-an-object', 'the API answers with null'],
  ['endless-header', 'the API sends a header without end'],
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
  title: `When ${what}, the page shows the list or a failure, and the visitor stays signed in`,
  rule: ['endless-header', 'gzip'].includes(failure) ? 'UP-04' : 'UP-06',
  why: 'An API failure says nothing about who is signed in. A client that ends the session signs the visitor out without a reason.',
  fix: 'Catch every failure of a call, show a page that says so, and do not change the cookies.',
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
  ['endless-body', 'the API sends an answer without end'],
  ['slow-header', 'the API sends the headers of its answer one byte at a time'],
].map(([failure, what]) => ({
  id: `list-${failure}`,
  title: `When ${what}, the visitor gets an answer in time${failure === 'never' ? ' and stays signed in' : ''}`,
  rule: 'UP-03' as const,
  why: 'Without a deadline, the client waits for as long as the API does not finish its answer. The visitor waits, and the request uses a socket and memory. This check allows 20 seconds.',
  fix: 'Give each call one deadline from its start to the end of the body, and a limit on its size. A timeout for each read is not enough.',
  needs,
  longestMs: 90_000,
  async run(context: CheckContext) {
    const compared = await compareUnder(context, `list-${failure}`, failure === 'drip' ? { seconds: 1 } : {})
    expectFittingAnswer(compared)
    if (failure === 'never') await expectSessionKept(context, compared.browser)
  },
}))

const redirects: CheckDefinition[] = [302, 307].map(status => ({
  id: `list-redirect-${status}`,
  title: `The client follows no redirect of the API (${status})`,
  rule: 'UP-02',
  why: 'A client that follows the redirect sends the access token to an address that it has not chosen.',
  fix: 'Switch redirects off for these calls, and treat every 3xx as a failure.',
  needs,
  async run(context) {
    const compared = await compareUnder(context, `list-redirect-${status}`)
    expectFittingAnswer(compared)
    const trapped = requestAtTrap(context, `list-redirect-${status}`)
    expect(trapped === undefined, 'The client followed the redirect.', ...(trapped ? [trapped] : []))
  },
}))

/** Sends the form once, while the sandbox answers the creation with the fault. */
async function createUnder(context: CheckContext, fault: string, options: Record<string, unknown> = {}) {
  const name = `Weather of "tomorrow" & 'today', typed by hand`
  const open = await openCreateForm(context, name)
  await context.order(fault, { times: 5, options })
  const page = await open.browser.submit(open.page, open.form, open.values)
  await context.platform.settle()
  const creations = context
    .arrived('api')
    .filter(({ request }) => request.method === 'POST' && request.url === '/apps/v1')
  if (!creations.some(step => step.fault?.name === fault) && page.status !== 0)
    throw new NotApplicable('the form creates nothing, which another check reports')
  return { browser: open.browser, name, page, creations, hasMade: (await created(context, open.person)).length > 0 }
}

type CreatedUnder = Awaited<ReturnType<typeof createUnder>>

/**
 * Fails unless the answer is an error, or a page that differs from the page after a successful creation. If
 * the platform created the application in spite of the fault, any page is accepted.
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
  // A list shows the new application, so only the rest of the page is compared.
  expect(
    shownIn(page, name) !== shownIn(success, name),
    'The page has the same text as after a successful creation.',
    page,
  )
}

const creations: CheckDefinition[] = ['reset', 'reset-after', '503', '503-after', 'html', 'half'].map(failure => ({
  id: `create-${failure}-not-repeated`,
  title: `When a creation fails (${failure}), the client answers the visitor and does not send the creation again`,
  rule: 'UP-07',
  why: 'The platform may have created the application before the failure. A second call may create a second application.',
  fix: 'Never repeat a POST automatically. Show a page that says that the application may exist, and link to the list.',
  needs: ['page', 'create'],
  async run(context) {
    const under = await createUnder(context, `create-${failure}`)
    const { creations } = under
    expect(creations.length <= 1, `${creations.length} creations arrived.`, ...creations)
    // The client may report a success if the application was created after all, or if the status was 2xx.
    if (!['reset', '503'].includes(failure)) expectAnswer(under.page)
    else await expectFittingCreation(context, under)
  },
}))

const refusals: CheckDefinition[] = ['403', '404', '409', '422-sentence', '422-fields', '422-oauth'].map(failure => ({
  id: `create-${failure}`,
  title: `When the API refuses a creation (${failure}), the client answers the visitor, and not with status 500`,
  rule: 'UP-14',
  why: 'The API sends refusals in several formats. A client that cannot read one of these formats cannot tell the visitor the reason.',
  fix: 'Check the format of the refusal while reading it, and say what the visitor must change.',
  needs: ['page', 'create'],
  async run(context) {
    const under = await createUnder(context, `create-${failure}`)
    expect(under.page.status !== 500, 'The answer has status 500.', under.page)
    await expectFittingCreation(context, under)
  },
}))

export const apiFaults: CheckDefinition[] = [
  ...survivals,
  ...deadlines,
  ...redirects,
  ...creations,
  ...refusals,
  {
    id: 'list-401-once',
    title: 'When the API refuses one access token, the visitor gets a page and the client makes only a few calls',
    rule: 'UP-14',
    why: 'A token can end early. The client then renews it once, or asks the visitor to sign in.',
    fix: 'After a 401 renew once and repeat the call once. If the API refuses again, offer to sign in.',
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
      expect(calls <= most, `${calls} calls of the list arrived for one visit, and ${usual} without the refused token.`)
    },
  },
  {
    id: 'list-401-always',
    title: 'If the API refuses every token, one visit makes only a few calls',
    rule: 'UP-14',
    why: 'Endless renewals and calls overload the platform, and the visitor never gets a page.',
    fix: 'Renew at most once for a request, and repeat the call once. If the API refuses the new token, too, show a page that offers to sign in, and do not redirect to the login.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('list-401', { times: 200 })
      const before = listCalls(context).length
      const page = await browser
        .newTab()
        .visit(context.url(context.settings.page), { stopAt: url => url.origin === context.platform.portalUrl })
      await context.platform.settle()
      const [calls, renewals] = [listCalls(context).length - before, context.arrived('refresh').length]
      expectAnswer(page)
      expect(calls <= 3, `One visit made ${calls} calls of the API.`)
      expect(renewals <= 2, `One visit renewed the tokens ${renewals} times.`)
    },
  },
  {
    id: 'list-401-no-loop',
    title: 'If the API refuses every token, the client does not send the visitor to the login again and again',
    rule: 'UP-14',
    why: 'The portal remembers its visitors and sends them back at once. The redirects repeat until the browser stops with "too many redirects".',
    fix: 'If the API refuses a new token, show a page and do not redirect to the login again.',
    needs,
    isAlone: true,
    async run(context) {
      const { browser } = await context.signedIn()
      // Without a state, the fault affects the calls of every login, not only of the first.
      await context.order('list-401', { times: 'always', state: undefined })
      const page = await browser.newTab().visit(context.url(context.settings.page))
      await context.platform.settle()
      const logins = context.arrived('exchange').length - 1
      expect(
        !page.fault && logins <= 2,
        `One visit led to ${logins} logins${page.fault ? ` and ended with ${page.fault}` : ''}.`,
      )
    },
  },
  {
    id: 'list-429-not-repeated',
    title: 'When the API answers 429 (too many calls), the client does not repeat the call at once',
    rule: 'UP-07',
    why: 'A client that repeats the call at once makes the overload of the API worse, and the visitor waits longer.',
    fix: 'Show a page that says when to try again, and make no further call for this request.',
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
        `The client asked the API ${refused} times for one visit, and ${usual} times for a usual visit.`,
        page,
      )
    },
  },
  ...[
    [
      'members-missing',
      'an application without its usual members',
      'One incomplete application would break the page for everybody who sees it.',
    ],
    [
      'hostile-texts',
      'texts of every kind',
      'People choose the names, and a name can contain 20,000 characters, half a surrogate pair or line breaks.',
    ],
  ].map(
    ([failure, what, why]): CheckDefinition => ({
      id: `list-${failure}`,
      title: `When the API sends a list with ${what}, the visitor gets an answer, and not with status 500`,
      rule: 'UP-06',
      why: why!,
      fix: 'Check the type of each value that you show, and show a placeholder if it is missing.',
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
    title: 'A list whose applications have unknown members shows the usual page',
    rule: 'unknown-members',
    why: 'An API grows. When the API adds a member, a client that refuses unknown members stops working.',
    fix: 'Check the members that you show, and ignore the rest.',
    needs,
    async run(context) {
      // An empty list has no application that could have unknown members.
      const { page, empty, full } = await compareUnder(context, 'list-unknown-members')
      expect(
        page.status === full.status,
        `The page has status ${page.status}, and status ${full.status} without the unknown members.`,
        page,
      )
      expect(
        shownIn(full) === shownIn(empty) || shownIn(page) !== shownIn(empty),
        'The page does not show the application that has unknown members.',
        page,
      )
    },
  },
  {
    id: 'list-5000',
    title: 'A list of 5,000 applications is answered within ten seconds',
    rule: 'long-list',
    why: 'The platform sets no limit for the list, so it can become long.',
    fix: 'Show the first few hundred, or one page at a time, and say how many there are.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('list-5000', { times: 2 })
      const began = performance.now()
      const page = await browser.newTab().visit(context.url(context.settings.page))
      expectAnswer(page)
      expect(page.status < 500, `The page has status ${page.status}.`, page)
      expect(performance.now() - began < 10_000, `The answer took ${Math.round(performance.now() - began)} ms.`)
    },
  },
  {
    id: 'list-bounded',
    title: 'The client closes the connection while it receives a list of 32 MB',
    rule: 'bounded-answers',
    why: 'A client that reads an answer of any size to its end fills the memory that all visitors share.',
    fix: 'Count the bytes of every answer while reading, and stop after a few megabytes.',
    needs,
    async run(context) {
      await visitUnder(context, 'list-large', {}, 1)
      await context.platform.settle(2000)
      const step = context.arrived('api').find(({ fault }) => fault?.name === 'list-large')
      if (!step) throw new NotApplicable('the page does not ask for the list')
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
    title: 'The client follows no redirect of a creation',
    rule: 'UP-02',
    why: 'A client that follows the redirect sends the token and the form to an address that it has not chosen.',
    fix: 'Switch redirects off for every call.',
    needs: ['page', 'create'],
    async run(context) {
      await expectFittingCreation(context, await createUnder(context, 'create-redirect-307'))
      const trapped = requestAtTrap(context, 'create-redirect-307')
      expect(trapped === undefined, 'The client followed the redirect.', ...(trapped ? [trapped] : []))
    },
  },
  {
    id: 'create-422-keeps-the-form',
    title: 'When the API refuses a field, the visitor keeps what they typed',
    rule: 'form-kept',
    why: 'A visitor who has to type ten fields again makes mistakes, or stops. This check only warns, because a simple client that shows the error without the form is still correct.',
    fix: 'Answer with the form again, filled in as it was sent, and the problem beside its field.',
    needs: ['page', 'create'],
    async run(context) {
      const { name, page } = await createUnder(context, 'create-422-fields')
      const kept = page.forms.flatMap(({ fields }) => fields.map(([, value]) => value))
      expect(kept.includes(name), 'No field of the page contains the text that was typed.', page)
    },
  },
  everyCall(
    {
      id: 'api-no-client-secret',
      title: 'The client sends its secret in no call of the API',
      rule: 'UP-15',
      why: 'The API needs only the token. Every other place that gets the secret can leak it.',
      fix: 'Send only the access token to the API, in the Authorization header, and in the body only the fields that the API documents.',
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
      why: 'The API needs only the token. Every other place that gets the secret can leak it.',
      fix: 'Send only the access token to the API, in the Authorization header, and in the body only the fields that the API documents.',
    },
    ['page', 'create'],
    useCreateForm,
    expectNoSecret,
  ),
  everyCall(
    {
      id: 'api-bearer-every-call',
      title: 'Every call about an application has an Authorization header with the scheme Bearer',
      rule: 'bearer-header',
      why: 'The API refuses a call with another scheme. If the client ignores the refusal, the page lacks data and does not say why.',
      fix: 'Set the Authorization header in the function that makes every call of the API.',
    },
    needs,
    useApplication,
    expectBearer,
  ),
  everyCall(
    {
      id: 'create-bearer-every-call',
      title: 'Every call for the form that creates an application has an Authorization header with the scheme Bearer',
      rule: 'bearer-header',
      why: 'The API refuses a call with another scheme. If the client ignores the refusal, the form lacks data, such as the groups, and does not say why.',
      fix: 'Set the Authorization header in the function that makes every call of the API.',
    },
    ['page', 'create'],
    useCreateForm,
    expectBearer,
  ),
  ...everyCallRows,
]

/** A check that judges all calls that the client makes while a visitor uses pages and forms. */
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
      // The platform does not know the visitor of a call without a token, but its address contains an id of this check.
      const ours = new Set(context.arrived('api', 'me'))
      const calls = context.platform.steps
        .slice(first)
        .filter(step => ours.has(step) || (step.listener === 'api' && ids.some(id => step.request.url.includes(id))))
      if (calls.length === 0) throw new Undecided('The client made no call of the API.')
      for (const call of calls) judge(call, context)
    },
  }
}

/** Opens the pages about an application, and sends their forms. Returns the ids that calls about them contain. */
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
  expect(!forms.some(form => text.includes(form)), 'A call of the API contains the client secret.', call)
}

function expectBearer(call: LabStep): void {
  const { authorization } = call.request.headers
  const said = authorization === undefined ? 'no Authorization header' : 'an Authorization header of another scheme'
  expect(/^Bearer \S+$/i.test(`${authorization}`), `A call has ${said}.`, call)
  expect(call.response.status !== 401, 'The API refused the token of a call with 401.', call)
}
