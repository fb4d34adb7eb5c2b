// Error answers and slow answers from the API, and calls that the client must not repeat. Many clients limit the size
// and the time of a correct answer, but read an error answer to its end. Other clients have these limits in only one of
// several functions.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type CheckDefinition, NotApplicable, passNotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import { isRenewal } from '../../platform-calls.ts'
import { isWrite, openPagesAbout, openWithApplication } from '../../steps/application-pages.ts'
import { created, isCreation, noCreation, openCreateForm } from '../../steps/create-form.ts'
import { openForms, sendFormsUnder } from '../../steps/every-form.ts'
import { compareUnder, expectAnswer, expectFittingAnswer, shownIn, visitUnder } from '../../steps/list-page.ts'
import { asksToSignIn } from '../../steps/sessions.ts'
import { endFault, meet, noOtherCall, places } from './every-call.ts'

type Needs = NonNullable<CheckDefinition['needs']>
const needs: Needs = ['page']
const formNeeds: Needs = ['page', 'create']
const needsOf = (place: string): Needs => (place === 'create' || place === 'groups' ? formNeeds : needs)
const json = 'application/json; charset=utf-8'
const largeMiB = 32

const noListCall = () => new NotApplicable('the client does not ask the API for the list of applications')

/** Returns an error answer for the API to send. At one byte per second, its body takes more than a minute to arrive. */
const errorAnswer = (status: number) => ({
  status,
  type: json,
  body: JSON.stringify({
    error: { status, message: 'The application API cannot do this now. Please try again later.' },
  }),
})

/** For each call, the status of the error answer that the API sends slowly. */
const slowErrors: Record<string, number> = { get: 404, change: 409, create: 422, groups: 500 }

const slowWhy =
  'Some timeouts cover only the headers, or start again with each byte. A slow answer then keeps the visitor waiting, and the request uses a socket and memory. This check allows 20 seconds.'
const slowFix =
  'Give each call one deadline, from the start of the call to the end of the answer, whatever the status is. Set the deadline in the one function that makes all API calls.'

const slow: CheckDefinition[] = places.map(([place, what]) => ({
  id: `${place}-drip`,
  title: `When the API sends its answer to the call for ${what} one byte at a time, the visitor gets an answer in time`,
  rule: 'UP-03',
  why: slowWhy,
  fix: slowFix,
  needs: needsOf(place),
  longestMs: 120_000,
  async run(context) {
    const late = await meet(context, place, 'drip', { seconds: 1 })
    for (const page of late.pages) expectAnswer(page)
    const failed = await meet(context, place, 'answer', { ...errorAnswer(slowErrors[place]!), byteSeconds: 1 })
    for (const page of failed.pages) expectAnswer(page)
  },
}))

/**
 * Waits a moment, and then returns the steps of this check that met one of the faults. The wait is necessary because
 * the sandbox records an incomplete answer only after the client has closed the connection. If the client keeps the
 * connection open, the sandbox records no step.
 */
async function metFault(context: CheckContext, ...names: string[]): Promise<LabStep[]> {
  await context.platform.settle(2000)
  return context.arrived('api').filter(({ fault }) => fault && names.includes(fault.name))
}

/** Sends the form once. The API answers the Create call with the answer that `options` describes. */
async function createUnder(context: CheckContext, options: Record<string, unknown>, name: string) {
  const open = await openCreateForm(context, name)
  await context.order('create-answer', { times: 5, options })
  const page = await open.browser.submit(open.page, open.form, open.values)
  await context.platform.settle(2000)
  await endFault(context, 'create-answer', [page], noCreation())
  return page
}

const secretMark = 'Secret-of-conformance-4716-0123456789'

/** The answer to a creation, with a secret that only this answer contains. */
const madeAnswer = (secret: string) => ({
  status: 201,
  type: json,
  body: JSON.stringify({
    '@type': 'App',
    '@id': '3f0c9a52-8a52-4b4e-9a39-0b8f1f9f4716',
    data: { name: 'Created by conformance', description: '', privacyPolicyUrl: '', webPageUrl: '', iconUrl: '' },
    client: { clientId: '3f0c9a52-8a52-4b4e-9a39-0b8f1f9f4716', clientSecrets: [secret], redirectUris: '', scopes: '' },
    tokens: [],
  }),
})

const problems = (field: string) => ({
  status: 422,
  type: json,
  body: JSON.stringify({
    error: { status: 422, message: { [field]: [`Refused by conformance because of ${field}.`] } },
  }),
})

/** Some HTTP libraries repeat a failed call only if the answer has a short Retry-After. */
const failuresOfCreation: [failure: string, options?: Record<string, unknown>][] = [
  ['500'],
  ['502'],
  ['504'],
  ['cut'],
  ['empty'],
  ['408'],
  ['429', { retryAfter: 1 }],
  ['503', { retryAfter: 1 }],
]

/** Answers that a client must not accept as a list. A client that reads them as an empty list hides the failure. */
const noLists = [
  '{}',
  '{"@context":"https://schema.org/","@type":"collection"}',
  '{"error":{"status":500,"message":"Failed"}}',
]

const endedAtPortal = {
  rule: 'UP-14',
  why: 'The browser still has the cookies, but the API and the portal refuse the tokens. A client that checks only the cookies shows a page as if the form had worked, or an error message that does not help the visitor.',
} as const

export const errorAnswers: CheckDefinition[] = [
  ...slow,
  {
    id: 'list-error-drip',
    title: 'When the API sends an error answer for the list one byte at a time, the visitor gets an answer in time',
    rule: 'UP-03',
    why: slowWhy,
    fix: slowFix,
    needs,
    longestMs: 120_000,
    async run(context) {
      const { browser } = await context.signedIn()
      for (const status of [500, 403]) {
        const { page } = await visitUnder(
          context,
          'list-answer',
          { ...errorAnswer(status), byteSeconds: 1 },
          5,
          browser,
        )
        await context.dropFaults()
        expectAnswer(page)
      }
    },
  },
  {
    id: 'error-answers-bounded',
    title: 'When the API sends an error answer of 32 MiB, the client closes the connection before the answer ends',
    rule: 'bounded-answers',
    why: 'Many clients limit the size of a list, but read an error answer to its end, whatever its size. A large error answer then fills the memory that all visitors share.',
    fix: 'In the one function that reads every answer, count the bytes and stop at a limit, whatever the status is. Or close the connection without reading the body of an error answer.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      // After status 500, a client may make no calls for a while, so 403 comes first.
      const statuses = [403, 500]
      let met = 0
      for (const status of statuses) {
        await context.order('list-answer', { times: 1, options: { ...errorAnswer(status), largeMiB } })
        const page = await browser.newTab().visit(context.url(context.settings.page))
        met += (await endFault(context, 'list-answer', [page], noListCall()).catch(passNotApplicable)) ?? 0
        for (const step of await metFault(context, 'list-answer'))
          expect(
            step.response.isCut,
            `The client read the whole error answer with status ${step.response.status}.`,
            step,
          )
      }
      if (met === 0) throw noListCall()
      if (met < statuses.length) throw new Undecided('The client did not make a call for each of the error answers.')
      if ((await metFault(context, 'list-answer')).length < met)
        throw new Undecided('The client has not yet closed the connection on which an error answer arrived.')
    },
  },
  {
    id: 'every-call-bounded',
    title:
      'When the API sends an answer of 32 MiB to any call, the client closes the connection before the answer ends',
    rule: 'bounded-answers',
    why: 'A client that reads every answer to its end, whatever its size, fills the memory that all visitors share.',
    fix: 'In the one function that reads every answer, count the bytes and stop after a few megabytes.',
    needs,
    longestMs: 90_000,
    async run(context) {
      let met = 0
      const unclosed: string[] = []
      const judge = async (places: string[], what: string, least = 1) => {
        met++
        const steps = await metFault(context, ...places.map(place => `${place}-large`))
        for (const step of steps)
          expect(step.response.isCut, `The client read the whole answer to the call for ${what}.`, step)
        if (steps.length < least) unclosed.push(what)
      }
      for (const [place, what] of places.filter(([place]) => place !== 'change'))
        if (await meet(context, place, 'large').catch(passNotApplicable)) await judge([place], what)
      const open = await openForms(context).catch(passNotApplicable)
      const at = ['update', 'secret']
      const sent = open && (await sendFormsUnder(context, open, 'large', { at }).catch(passNotApplicable))
      if (sent) await judge(at, 'a change or a new secret', sent.length)
      if (met === 0) throw noOtherCall()
      if (unclosed.length > 0)
        throw new Undecided(`The client has not yet closed the connection of the call for ${unclosed.join(' and ')}.`)
    },
  },
  {
    id: 'create-large-refused',
    title:
      'The client limits the size of the API answer to the call that creates an application, whether the API accepts or refuses the call',
    rule: 'UP-04',
    why: 'A client that reads an answer without a limit can fill the memory that all visitors share.',
    fix: 'In the one function that reads every answer, count the bytes and stop after a few megabytes, whatever the status is.',
    needs: formNeeds,
    longestMs: 90_000,
    async run(context) {
      let judged = 0
      const small = await createUnder(context, madeAnswer(secretMark), 'Large by conformance 1')
      if (small.body.includes(secretMark)) {
        judged++
        const large = await createUnder(
          context,
          { ...madeAnswer(`${secretMark}9`), largeMiB },
          'Large by conformance 2',
        )
        expectAnswer(large)
        expect(!large.body.includes(secretMark), 'The page shows the secret from an answer of 32 MiB.', large)
      }
      // If the text of the page depends on the field that the API refused, the client reads the error answer.
      const [name, address] = [
        await createUnder(context, problems('name'), 'Large by conformance 3'),
        await createUnder(context, problems('redirectUris'), 'Large by conformance 3'),
      ]
      const isRead = shownIn(name) !== shownIn(address)
      if (isRead) {
        judged++
        const large = await createUnder(context, { ...problems('name'), largeMiB }, 'Large by conformance 3')
        expectAnswer(large)
        expect(
          shownIn(large) !== shownIn(name),
          'The page shows the messages about fields that an error answer of 32 MiB contains.',
          large,
        )
      }
      if (judged === 0) throw new NotApplicable('no page shows text from these answers')
    },
  },
  {
    id: 'list-without-items',
    title: 'When the answer for the list has status 200 but contains no list, the page does not show an empty list',
    rule: 'UP-06',
    why: 'Some languages read a missing list as an empty list. The visitor then believes that all applications are gone.',
    fix: 'Check that ItemList exists and is a list. If not, show a page that says that the call failed.',
    needs,
    async run(context) {
      for (const body of noLists) {
        const compared = await compareUnder(context, 'list-answer', { status: 200, body, type: json })
        await context.dropFaults()
        expectFittingAnswer(compared)
      }
    },
  },
  {
    id: 'create-never-not-repeated',
    title:
      'When the API does not answer the request that creates an application, the client does not repeat this request',
    rule: 'UP-07',
    why: 'The platform may have created the application even if its answer is late. A second call may create a second application.',
    fix: 'Do not let the HTTP library repeat a POST automatically, not even after a timeout.',
    needs: formNeeds,
    longestMs: 120_000,
    async run(context) {
      const open = await openCreateForm(context)
      await context.order('create-never', { times: 5 })
      const page = await open.browser.submit(open.page, open.form, open.values)
      await context.platform.settle(3000)
      // The sandbox does not record a call whose connection is still open, so this check counts the calls.
      const calls = await endFault(context, 'create-never', [page], noCreation())
      expect(calls === 1, `The API received ${calls} calls that create an application.`, page)
    },
  },
  {
    id: 'create-failures-not-repeated',
    title: 'When the creation of an application fails, the client does not repeat the call, whatever the failure is',
    rule: 'UP-07',
    why: 'The platform may have created the application before the call failed. A second call may create a second application.',
    fix: 'Never repeat a POST automatically, whatever the failure is.',
    needs: formNeeds,
    async run(context) {
      let met = 0
      for (const [failure, options = {}] of failuresOfCreation) {
        const after = 'retryAfter' in options ? ' and Retry-After' : ''
        const open = await openCreateForm(context, `Failed with ${failure}${after}`)
        await context.order(`create-${failure}`, { times: 5, options })
        const { steps } = await context.during(() => open.browser.submit(open.page, open.form, open.values))
        met += context.timesMet(`create-${failure}`)
        await context.dropFaults()
        const calls = steps.filter(isCreation)
        expect(
          calls.length <= 1,
          `After the failure ${failure}${after}, the client sent ${calls.length} calls that create an application.`,
          ...calls,
        )
      }
      if (met === 0) throw noCreation()
    },
  },
  {
    id: 'every-call-429-not-repeated',
    title:
      'When the API answers 429 (too many calls) to a call that reads data, the client does not repeat the call at once',
    rule: 'UP-07',
    why: 'If the client repeats the call at once, the overloaded API gets even more calls, and the visitor waits longer.',
    fix: 'Show a page that says when to try again, even if the answer has no Retry-After. Make no more calls for this request from the visitor.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const countRefused = () => context.arrived('api').filter(({ response }) => response.status === 429).length
      const visit = async (path: string, from = browser) => {
        await context.platform.settle()
        const before = context.arrived('api').length
        const page = await from.newTab().visit(context.url(path))
        await context.platform.settle()
        return { page, calls: context.arrived('api').length - before }
      }
      let met = 0
      const judge = async (path: string, fault: string, from = browser) => {
        const usual = await visit(path, from)
        for (const options of [{}, { retryAfter: 3600 }]) {
          const before = countRefused()
          await context.order(fault, { times: 20, options })
          const { page } = await visit(path, from)
          await context.dropFaults()
          const refused = countRefused() - before
          if (refused === 0) return
          met += refused
          expect(
            refused <= Math.max(1, usual.calls),
            `Calls that the API refused with 429 during one visit: ${refused}. Calls during a usual visit: ${usual.calls}.`,
            page,
          )
        }
      }
      await judge(context.settings.page, 'list-429')
      if (context.settings.create) await judge(context.settings.create, 'groups-429')
      const application = await openWithApplication(context)
      for (const { url } of (await openPagesAbout(context, application)).slice(1, 3))
        await judge(url, 'get-429', application.browser)
      if (met === 0) throw new NotApplicable('no page makes a call that the API could refuse with 429')
    },
  },
  {
    id: 'get-401',
    title:
      'When the API answers 401 to the call that reads one application, the client renews the tokens or offers the login',
    rule: 'UP-14',
    why: 'An access token can become invalid before it expires. A visitor who sees only an error message does not know that a new login helps.',
    fix: 'Handle a 401 answer in the one function that makes all API calls: renew the tokens once, and if this does not help, offer the login.',
    needs,
    async run(context) {
      const application = await openWithApplication(context)
      const pages = (await openPagesAbout(context, application)).slice(1, 3)
      let met = 0
      for (const { url } of pages) {
        await context.platform.settle()
        await context.order('get-401', { times: 1 })
        const { result: page, steps } = await context.during(() =>
          context.visitUntilPortal(application.browser.newTab(), url),
        )
        await context.dropFaults()
        if (!steps.some(({ fault }) => fault?.name === 'get-401')) continue
        met++
        expectAnswer(page)
        // If the client has renewed the session just before this call, it does not have to renew the session again. It
        // may repeat the call with the new token.
        const refused = steps.find(({ fault }) => fault?.name === 'get-401')!
        const isRepeated = steps.some(
          ({ request: { url, headers }, response }) =>
            url === refused.request.url &&
            response.status < 400 &&
            headers.authorization !== refused.request.headers.authorization,
        )
        expect(
          isRepeated || steps.some(isRenewal) || asksToSignIn(context, page),
          `The client did not renew the session. The visitor got ${describePage(page)}, which does not offer to sign in.`,
          page,
        )
      }
      if (met === 0) throw new NotApplicable('no page about an application reads this application from the API')
    },
  },
  ...['create', 'get'].map(
    (place): CheckDefinition => ({
      id: `${place}-401-always`,
      title: `If the API refuses every token in ${place === 'create' ? 'the call that creates an application' : 'the call that reads one application'}, the client makes only a few calls, and renews the tokens or offers the login`,
      rule: 'UP-14',
      why: 'Endless renewals and calls overload the platform. A visitor who sees only an error message does not know that a new login helps.',
      fix: 'For each request from a visitor, renew the tokens at most once and repeat the call at most once. If the API also refuses the new token, show a page that offers to sign in.',
      needs: needsOf(place),
      async run(context) {
        const open =
          place === 'create'
            ? await openCreateForm(context).then(
                form => () => form.browser.submit(form.page, form.form, form.values, context.beforePortal),
              )
            : await openWithApplication(context).then(async application => {
                const about = (await openPagesAbout(context, application))[1]
                if (!about) throw new NotApplicable('the client has no page about one application')
                return () => application.browser.newTab().visit(about.url, context.beforePortal)
              })
        await context.platform.settle()
        await context.order(`${place}-401`, { times: 200 })
        const { result: page, steps } = await context.during(open)
        const refused = steps.filter(({ fault }) => fault?.name === `${place}-401`)
        if (refused.length === 0)
          throw place === 'create'
            ? noCreation()
            : new NotApplicable('no page about an application reads this application from the API')
        const renewals = steps.filter(isRenewal)
        expectAnswer(page)
        expect(refused.length <= 3, `For one request, the client made the call ${refused.length} times.`, page)
        expect(renewals.length <= 2, `For one request, the client renewed the tokens ${renewals.length} times.`, page)
        expect(
          renewals.length > 0 || asksToSignIn(context, page),
          `The client did not renew the session. The visitor got ${describePage(page)}, which does not offer to sign in.`,
          page,
        )
      },
    }),
  ),
  {
    id: 'create-session-ended-at-portal',
    title:
      'If the platform ends the session before the visitor sends the form for a new application, the client creates nothing and offers to sign in',
    ...endedAtPortal,
    fix: 'If the API refuses the token and the renewal fails, answer with a page that says that nothing was created, and that links to the login.',
    needs: formNeeds,
    async run(context) {
      const open = await openCreateForm(context, 'Typed before the platform ended the session')
      await context.order('create-401', { times: 20 })
      await context.order('refresh-400', { times: 20, options: { error: 'invalid_grant' } })
      const page = await open.browser.submit(open.page, open.form, open.values, context.beforePortal)
      await context.platform.settle()
      if (!context.arrived('api').some(({ fault }) => fault?.name === 'create-401')) throw noCreation()
      expectAnswer(page)
      expect((await created(context, open.person)).length === 0, 'The application was created.', page)
      expect(context.arrived('api').filter(isWrite).length <= 3, 'The client repeated the call again and again.', page)
      expect(
        asksToSignIn(context, page),
        `The client answered with ${describePage(page)}, which does not offer to sign in.`,
        page,
      )
    },
  },
  {
    id: 'change-session-ended-at-portal',
    title:
      'If the platform ends the session before the visitor sends a form about an application, the client changes nothing and offers to sign in',
    ...endedAtPortal,
    fix: 'If the API refuses the token and the renewal fails, answer with a page that says that nothing was changed, and that links to the login.',
    needs,
    async run(context) {
      let judged = 0
      for (let at = 0; at < 4; at++) {
        // Opens the forms again, because the client may have ended the session.
        const open = await openForms(context)
        const found = open.forms[at]
        if (!found) break
        await context.order('refresh-400', { times: 20, options: { error: 'invalid_grant' } })
        const all = await sendFormsUnder(context, { ...open, forms: [found] }, '401').catch(passNotApplicable)
        await context.dropFaults()
        for (const { page, calls } of all ?? []) {
          judged++
          expectAnswer(page)
          const isDone = calls.some(step => isWrite(step) && step.response.status < 400)
          expect(!isDone, 'The client made the change that the form asks for.', page, ...calls)
          expect(
            asksToSignIn(context, page),
            `The client answered with ${describePage(page)}, which does not offer to sign in.`,
            page,
          )
        }
      }
      if (judged === 0) throw new NotApplicable('no form about an application makes the client call the API')
    },
  },
]
