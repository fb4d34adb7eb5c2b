// What the client makes of an application API that does not answer as it should.
import type { Browser } from '../../browser/browser.ts'
import { NotApplicable, type Row } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect } from '../../findings.ts'
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

const needs = ['page' as const]

/** The fault is over: the visitor is still signed in, with no new login. */
async function expectSessionKept(context: CheckContext, browser: Browser): Promise<void> {
  await context.dropFaults()
  expect(await context.isSignedIn(browser), 'When the API is back, the visitor is signed out.')
}

const failures: [failure: string, what: string][] = [
  ['reset', 'a connection that is reset'],
  ['cut', 'a connection that is reset in the middle of the answer'],
  ['half', 'an answer that ends in the middle of its JSON'],
  ['empty', 'an empty answer'],
  ['html', 'a page in place of an answer'],
  ['not-an-object', 'null in place of an answer'],
  ['endless-header', 'a header without end'],
  ['gzip', 'a compressed answer that nobody asked for'],
  ['400', 'an answer of status 400'],
  ['403', 'a refusal'],
  ['404', 'an answer of status 404'],
  ['429', 'a refusal as one too many'],
  ['500', 'an answer of status 500'],
  ['502', 'an answer of status 502'],
  ['503', 'an API that is down for maintenance'],
  ['not-a-list', 'an object in place of a list'],
]

const survivals: Row[] = failures.map(([failure, what]) => ({
  id: `list-${failure}`,
  title: `The page meets ${what}: the visitor gets an answer that fits and stays signed in`,
  rule: ['endless-header', 'gzip'].includes(failure) ? 'UP-04' : 'UP-06',
  why: 'An API that fails says nothing about who is signed in, and must end neither the session nor the client.',
  fix: 'Catch what can go wrong with a call, show a page that says so, and leave the cookies alone.',
  needs,
  async run(context) {
    const compared = await compareUnder(context, `list-${failure}`)
    expectFittingAnswer(compared)
    await expectSessionKept(context, compared.browser)
  },
}))

const deadlines: Row[] = [
  ['never', 'no answer at all'],
  ['drip', 'an answer that comes one byte at a time'],
  ['endless-body', 'an answer without end'],
].map(([failure, what]) => ({
  id: `list-${failure}`,
  title: `The page meets ${what}: the visitor gets an answer in time`,
  rule: 'UP-03' as const,
  why: 'Without a deadline of its own a client keeps the visitor, a socket and memory for as long as the API likes; 20 seconds are allowed here.',
  fix: 'Give each call a deadline for the whole of it, the body included, and a bound on its size.',
  needs,
  longestMs: 90_000,
  async run(context: CheckContext) {
    expectFittingAnswer(await compareUnder(context, `list-${failure}`, failure === 'drip' ? { seconds: 1 } : {}))
  },
}))

const redirects: Row[] = [302, 307].map(status => ({
  id: `list-redirect-${status}`,
  title: `A call of the API follows no redirect (${status})`,
  rule: 'UP-02',
  why: 'A redirect that is followed can take the access token to whoever it names.',
  fix: 'Switch redirects off for these calls, and take every 3xx for a failure.',
  needs,
  async run(context) {
    const compared = await compareUnder(context, `list-redirect-${status}`)
    expectFittingAnswer(compared)
    const trapped = requestAtTrap(context, `list-redirect-${status}`)
    expect(trapped === undefined, 'The redirect was followed.', ...(trapped ? [trapped] : []))
  },
}))

/** The form is sent once, and its call meets the fault. */
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
    throw new NotApplicable('the form creates nothing, which another check says')
  return { name, page, creations, hasMade: (await created(context, open.person)).length > 0 }
}

type CreatedUnder = Awaited<ReturnType<typeof createUnder>>

/** An error, or another page than after a creation that worked, unless the platform has made it all the same. */
async function expectFittingCreation(context: CheckContext, { name, page, hasMade }: CreatedUnder): Promise<void> {
  expectAnswer(page)
  if (page.status >= 400 || hasMade) return
  await context.dropFaults()
  const open = await openCreateForm(context, name)
  const success = await submitCreate(context, open)
  // A list has the new application; what else is told of it counts.
  expect(
    shownIn(page, name) !== shownIn(success, name),
    'The page says what it says after a creation that worked.',
    page,
  )
}

const creations: Row[] = ['reset', 'reset-after', '503', '503-after', 'html', 'half'].map(failure => ({
  id: `create-${failure}-not-repeated`,
  title: `A creation that meets trouble (${failure}) is answered, and not sent again by itself`,
  rule: 'UP-07',
  why: 'Nobody knows whether the platform has acted: sent again, there may be two applications.',
  fix: 'Retry no POST; tell the visitor to look at his list.',
  needs: ['page', 'create'],
  async run(context) {
    const under = await createUnder(context, `create-${failure}`)
    const { creations } = under
    expect(creations.length <= 1, `${creations.length} creations arrived.`, ...creations)
    // What has been made after all may be told as made, and so may what was answered with status 2xx.
    if (!['reset', '503'].includes(failure)) expectAnswer(under.page)
    else await expectFittingCreation(context, under)
  },
}))

const refusals: Row[] = ['403', '404', '409', '422-sentence', '422-fields', '422-oauth'].map(failure => ({
  id: `create-${failure}`,
  title: `A creation that the API refuses (${failure}) is no failure of the client`,
  rule: 'UP-14',
  why: 'A refusal is an answer: it comes in more shapes than one, and a client that breaks on it can say nothing about it.',
  fix: 'Read the refusal with care for its shape, and say what has to be changed.',
  needs: ['page', 'create'],
  async run(context) {
    const under = await createUnder(context, `create-${failure}`)
    expect(under.page.status !== 500, 'The answer has status 500.', under.page)
    await expectFittingCreation(context, under)
  },
}))

export const apiFaults: Row[] = [
  ...survivals,
  ...deadlines,
  ...redirects,
  ...creations,
  ...refusals,
  {
    id: 'list-401-once',
    title: 'One refused access token leads neither to a loop nor to a broken page',
    rule: 'UP-14',
    why: 'A token can end before its time: the client renews it once, or asks the visitor to sign in.',
    fix: 'After a 401 renew once and repeat the call once; then lead to the login.',
    needs,
    async run(context) {
      const { page } = await visitUnder(context, 'list-401', {}, 1)
      expectAnswer(page)
      expect(page.status !== 500, 'The answer has status 500.', page)
      const calls = listCalls(context).length
      expect(calls <= 5, `${calls} calls arrived.`)
    },
  },
  {
    id: 'list-401-always',
    title: 'An API that refuses every token is asked at most a few times for one visit',
    rule: 'UP-14',
    why: 'Renewing and asking again without end is a storm against the platform, and never ends for the visitor.',
    fix: 'Renew at most once for a request, then show a page that offers to sign in; never go to the login and back by itself.',
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
    title: 'An API that refuses every token does not send the visitor to the login and back without end',
    rule: 'UP-14',
    why: 'The portal remembers its visitor and sends him back at once, so the browser ends it with "too many redirects".',
    fix: 'When a fresh token is refused, show a page instead of leading to the login again.',
    needs,
    isAlone: true,
    async run(context) {
      const { browser } = await context.signedIn()
      // Whatever login a call belongs to.
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
    title: 'An API that is asked too often is not asked more often for it',
    rule: 'UP-07',
    why: 'Retries at once make an overload worse.',
    fix: 'Show a page that says when to try again; repeat no call at once.',
    needs,
    async run(context) {
      const { page } = await visitUnder(context, 'list-429', { retryAfter: 3600 }, 20)
      expectAnswer(page)
      // One visit before tells that somebody is signed in.
      const refused = listCalls(context).filter(({ response }) => response.status === 429).length
      expect(refused <= 3, `The API was asked ${refused} times for one visit.`)
    },
  },
  ...[
    [
      'members-missing',
      'an application without its members',
      'An answer of another shape must not break the page of all others.',
    ],
    [
      'hostile-texts',
      'texts of every kind',
      'Applications are named by people: with 20,000 characters, half characters and line breaks.',
    ],
  ].map(
    ([failure, what, why]): Row => ({
      id: `list-${failure}`,
      title: `The page bears ${what}`,
      rule: 'UP-06',
      why: why!,
      fix: 'Check the type of what you show, and show a placeholder where it is not there.',
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
    title: 'Members that nobody knows do not disturb the page',
    rule: 'unknown-members',
    why: 'An API grows: a client that refuses what is new breaks by itself one day.',
    fix: 'Check what you show, and ignore the rest.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const plain = await browser.newTab().visit(context.url(context.settings.page))
      await context.order('list-unknown-members', { times: 5 })
      const page = await browser.newTab().visit(context.url(context.settings.page))
      expect(
        page.status === plain.status,
        `The page has status ${page.status}, and ${plain.status} without them.`,
        page,
      )
    },
  },
  {
    id: 'list-5000',
    title: 'A list of 5,000 applications is answered within ten seconds',
    rule: 'long-list',
    why: 'The platform names no bound on the list, so it can become long.',
    fix: 'Show the first few hundred, or a page at a time, and say how many there are.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('list-5000', { times: 2 })
      const began = performance.now()
      const page = await browser.newTab().visit(context.url(context.settings.page))
      expectAnswer(page)
      expect(page.status < 500, `The page has status ${page.status}.`, page)
      expect(performance.now() - began < 10_000, `It took ${Math.round(performance.now() - began)} ms.`)
    },
  },
  {
    id: 'list-bounded',
    title: 'The client hangs up on a list of 32 MB',
    rule: 'bounded-answers',
    why: 'An answer that is read to its end, whatever its size, fills the memory that all visitors share.',
    fix: 'Count the bytes of every answer while reading, and give up beyond some megabytes.',
    needs,
    async run(context) {
      await visitUnder(context, 'list-large', {}, 1)
      await context.platform.settle(2000)
      const step = context.arrived('api').find(({ fault }) => fault?.name === 'list-large')
      if (!step) throw new NotApplicable('the page does not ask for the list')
      expect(step.response.isCut, 'The client read it to its end.', step)
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
    title: 'A creation follows no redirect',
    rule: 'UP-02',
    why: 'Followed, it takes token and form to whoever the redirect names.',
    fix: 'Switch redirects off for every call.',
    needs: ['page', 'create'],
    async run(context) {
      await expectFittingCreation(context, await createUnder(context, 'create-redirect-307'))
      const trapped = requestAtTrap(context, 'create-redirect-307')
      expect(trapped === undefined, 'The redirect was followed.', ...(trapped ? [trapped] : []))
    },
  },
  {
    id: 'create-422-keeps-the-form',
    title: 'What was typed is not lost when the API refuses a field',
    rule: 'form-kept',
    why: 'Who has to type ten fields again does so badly or not at all.',
    fix: 'Answer with the form again, filled as it was sent, and the problem beside its field.',
    needs: ['page', 'create'],
    async run(context) {
      const { name, page } = await createUnder(context, 'create-422-fields')
      const kept = page.forms.flatMap(({ fields }) => fields.map(([, value]) => value))
      expect(kept.includes(name), 'No field of the page holds what was typed.', page)
    },
  },
  {
    id: 'api-no-client-secret',
    title: 'The client secret goes to the token endpoint alone',
    rule: 'UP-15',
    why: 'The API needs the token; a secret that goes there as well is known to one more.',
    fix: 'Send the API the Authorization header with the access token and nothing else that is secret.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.isSignedIn(browser)
      const secret = context.platform.clientSecret.reveal()
      const call = context.arrived('api').find(({ request }) => JSON.stringify(request).includes(secret))
      expect(call === undefined, 'A call of the API holds the client secret.')
    },
  },
]
