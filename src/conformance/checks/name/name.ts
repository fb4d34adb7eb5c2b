// Checks how the client asks the portal for the visitor's name. The name is only for display, so a failure of this
// request must not break a login or a page.
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, setCookiesOf, waitedMs } from '../../findings.ts'
import { isRenewal } from '../../platform-calls.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { expectOwnHeaders, foreignHeaders, foreignHeadersRule } from '../../steps/foreign-headers.ts'
import { expectAnswer } from '../../steps/list-page.ts'
import { expectNoMissingValue } from '../../steps/missing-values.ts'
import { expectNameNotAskedAtEachVisit } from '../../steps/name-calls.ts'
import { runsScript } from '../../steps/page-content.ts'
import { requestAtTrap } from '../../steps/redirect-trap.ts'
import { visitPage } from '../../steps/sessions.ts'
import { readSetCookie } from '../../steps/set-cookies.ts'

const needs: CheckDefinition['needs'] = ['page']

const json = 'application/json; charset=utf-8'

/** Faults of the request for the name: the request fails, or its answer has no usable name. */
const failures: [fault: string, options?: Record<string, unknown>][] = [
  ['me-401'],
  ['me-403'],
  ['me-404'],
  ['me-429'],
  ['me-500'],
  ['me-reset'],
  ['me-cut'],
  ['me-half'],
  ['me-empty'],
  ['me-html'],
  ['me-not-an-object'],
  ...['{}', '[]', '"name"', '{"firstName":null,"lastName":null}', '{"firstName":5,"lastName":{"a":1}}'].map(
    (body): [string, Record<string, unknown>] => ['me-answer', { status: 200, body, type: json }],
  ),
]

/** Answers with no name, or with only part of a name. */
const incomplete: [fault: string, options?: Record<string, unknown>][] = [
  ['me-403'],
  ['me-500'],
  ['me-not-an-object'],
  ...[
    '{}',
    '{"firstName":"Ada"}',
    '{"lastName":"Lovelace"}',
    '{"firstName":null,"lastName":null}',
    '{"firstName":"Ada","lastName":{"a":1}}',
  ].map((body): [string, Record<string, unknown>] => ['me-answer', { status: 200, body, type: json }]),
]

/** Names that some clients cannot write into a cookie, a header or a database. */
const oddNames: [what: string, firstName: string, lastName: string][] = [
  ['letters outside ASCII', 'Zoë', 'Müller'],
  ['Chinese characters and an emoji', '小明', '😀'],
  ['the characters ; , = " % and a line break', 'A; b, "c" = 100%', 'D\r\nE: f'],
  ['a null character', 'A\0b', 'C'],
  ['no letters', '', ''],
]

const longName = 'Long name of conformance '.repeat(200)

/** Ends the check if the client asks for the name neither during a login nor for a page. */
async function needsName(context: CheckContext): Promise<void> {
  const { browser } = await context.signedIn()
  await visitPage(context, browser)
  if (context.arrived('me').length === 0) throw new NotApplicable('the client does not ask for the name of the visitor')
}

/** Signs a visitor in and opens the page behind the login. Each request for the name gets the fault. */
async function signInUnder(context: CheckContext, fault: string, options: Record<string, unknown> = {}) {
  const { browser, callback } = await beginLogin(context)
  await context.order(fault, { times: 'always', options })
  const landed = await followCallback(context, browser, callback)
  const { page, steps } = await visitPage(context, browser)
  await context.dropFaults()
  return { browser, landed, page, steps }
}

export const name: CheckDefinition[] = [
  {
    id: 'name-failures',
    title: "If the request for the visitor's name fails, or its answer has no name, the visitor still gets the pages",
    rule: 'UP-06',
    why: 'The name is only for display. If the visitor gets an error page because of the name, the visitor cannot use the client, although everything else works.',
    fix: 'Catch every failure of this request, check the type of each field, and continue without the name.',
    needs,
    longestMs: 90_000,
    async run(context) {
      await needsName(context)
      for (const [fault, options] of failures) {
        const { landed, page } = await signInUnder(context, fault, options)
        for (const one of [landed, page]) {
          expectAnswer(one)
          expect(one.status !== 500, `With ${describeFault(fault, options)}, the answer is ${describePage(one)}.`, one)
        }
      }
    },
  },
  {
    id: 'name-failures-login',
    title: "If the request for the visitor's name fails, or its answer has no name, the visitor is signed in anyway",
    rule: 'name-is-optional',
    why: 'The client needs the token for the API, but the name is only for display.',
    fix: 'Catch every failure of this request, check the type of each field, and continue the login without the name.',
    needs,
    longestMs: 90_000,
    async run(context) {
      await needsName(context)
      // Leaves out the fault me-401, because after a 401 answer, a client may assume that the token is no longer valid.
      for (const [fault, options] of failures.filter(([fault]) => fault !== 'me-401').filter((_, at) => at % 2 === 0)) {
        const { page, steps } = await signInUnder(context, fault, options)
        const isCalled = steps.some(({ kind, response }) => kind === 'api' && response.status < 400)
        expect(
          isCalled,
          `With ${describeFault(fault, options)}, the client makes no API call for the page behind the login. The visit ends with ${describePage(page)}.`,
          page,
          ...steps,
        )
      }
    },
  },
  {
    id: 'name-incomplete',
    title:
      'If the portal does not send the name of the visitor, or sends only part of it, no page shows a word such as “undefined” in its place',
    rule: 'missing-values',
    why: 'A client that joins the first and the last name without a check greets the visitor as “undefined undefined”.',
    fix: 'Use only the parts of the name that are strings. If there are none, show the id of the visitor, or nothing.',
    needs,
    longestMs: 90_000,
    async run(context) {
      await needsName(context)
      const usual = await visitAll(context, (await context.signedIn()).browser)
      for (const [fault, options = {}] of incomplete) {
        const { browser, callback } = await beginLogin(context)
        await context.order(fault, { times: 'always', options })
        const landed = await followCallback(context, browser, callback)
        const pages = [landed, ...(await visitAll(context, browser))]
        await context.dropFaults()
        for (const page of pages) expectNoMissingValue(page, usual, `With ${describeFault(fault, options)}`)
      }
    },
  },
  {
    id: 'name-odd',
    title: 'Visitors can sign in, whatever characters their names contain',
    rule: 'login-works',
    why: 'People choose their names themselves. If a client writes a name into a cookie or a header without encoding it, people with some names can never sign in.',
    fix: 'Encode the name before you write it into a cookie or a header. If you cannot use a name, continue the login without the name.',
    needs,
    async run(context) {
      await needsName(context)
      for (const [what, firstName, lastName] of oddNames) {
        const { landed, page, steps } = await signInUnder(
          context,
          'me-answer',
          await personAs(context, firstName, lastName),
        )
        const isCalled = steps.some(({ kind, response }) => kind === 'api' && response.status < 400)
        expect(
          isCalled,
          `If the name contains ${what}, nobody is signed in after the login. The login ends with ${describePage(landed)}, and the page behind the login is ${describePage(page)}.`,
          landed,
          page,
        )
      }
    },
  },
  {
    id: 'name-long-cookie',
    title: 'If the name of the visitor has 5,000 characters, the client sets no cookie of more than 4,096 bytes',
    rule: 'CK-03',
    why: 'Browsers silently drop a larger cookie. Nobody is then signed in after the login.',
    fix: 'Shorten the name before you write it into a cookie, or keep the name on the server.',
    needs,
    async run(context) {
      await needsName(context)
      const { landed, page } = await signInUnder(context, 'me-answer', await personAs(context, longName, longName))
      for (const exchange of [...landed.trail, ...page.trail])
        for (const line of setCookiesOf(exchange)) {
          const { name, value } = readSetCookie(line)
          const size = Buffer.byteLength(name + value)
          expect(
            size <= 4096,
            `The name and the value of the cookie ${name} are together ${size} bytes long.`,
            exchange,
          )
        }
    },
  },
  {
    id: 'name-long',
    title: 'If the name of the visitor has 5,000 characters, the visitor is signed in',
    rule: 'name-is-optional',
    why: 'The name is only for display. A name that is too long is no reason to refuse the login.',
    fix: 'Shorten the name, or continue the login without the name.',
    needs,
    async run(context) {
      await needsName(context)
      const { landed, page, steps } = await signInUnder(
        context,
        'me-answer',
        await personAs(context, longName, longName),
      )
      const isCalled = steps.some(({ kind, response }) => kind === 'api' && response.status < 400)
      expect(
        isCalled,
        `Nobody is signed in. The login ends with ${describePage(landed)}, and the page behind the login is ${describePage(page)}.`,
        landed,
        page,
      )
    },
  },
  {
    id: 'name-failure-keeps-session',
    title: 'If the request for the name of a signed-in visitor fails, the session continues',
    rule: 'UP-06',
    why: 'The failed request does not mean that the session is invalid. If the session ends, the visitor has to sign in again for no reason.',
    fix: 'Show the page without the name. Do not end the session.',
    needs,
    async run(context) {
      await needsName(context)
      for (const fault of ['me-403', 'me-500', 'me-reset', 'me-html']) {
        const { browser } = await context.signedIn()
        const before = context.arrived('me').length
        await context.order(fault, { times: 'always' })
        await visitPage(context, browser)
        await context.dropFaults()
        if (context.arrived('me').length === before)
          throw new NotApplicable('a page behind the login does not ask for the name')
        expect(await context.isSignedIn(browser), `After ${describeFault(fault)}, the visitor is no longer signed in.`)
      }
    },
  },
  ...(['never', 'drip', 'endless-body'] as const).map(
    (fault): CheckDefinition => ({
      id: `name-${fault}`,
      title: `If the request for the visitor's name ${{ never: 'gets no answer', drip: 'gets its answer one byte at a time', 'endless-body': 'gets an answer that never ends' }[fault]}, the visitor still gets a page in time`,
      rule: 'UP-03',
      why: 'Without a deadline, the visitor waits for a name that is only for display.',
      fix: 'Set one deadline for the whole call, including the body of its answer. If the deadline passes, continue without the name.',
      needs,
      longestMs: 120_000,
      async run(context) {
        await needsName(context)
        const { landed, page } = await signInUnder(context, `me-${fault}`, fault === 'drip' ? { seconds: 0.5 } : {})
        for (const one of [landed, page]) expect(one.status !== 0, `The browser got no answer: ${one.error}.`, one)
      },
    }),
  ),
  {
    id: 'name-waits',
    title: 'During a login, the visitor waits at most one second for the name',
    rule: 'name-once',
    why: 'The name is only for display. While the client waits for it, the visitor also has to wait.',
    fix: 'Give the request for the name a deadline of one second.',
    needs,
    async run(context) {
      await needsName(context)
      const usual = await beginLogin(context)
      const fast = waitedMs(await followCallback(context, usual.browser, usual.callback))
      for (const [fault, options, what] of [
        ['me-late', { seconds: 3 }, 'needed 3 seconds to send the name'],
        ['me-drip', { seconds: 0.5 }, 'sent the name one byte at a time'],
      ] as const) {
        const { browser, callback } = await beginLogin(context)
        await context.order(fault, { times: 'always', options })
        const landed = await followCallback(context, browser, callback)
        const longer = waitedMs(landed) - fast
        await context.platform.settle(3500)
        if (fault === 'me-late' && !context.arrived('me').some(step => step.fault?.name === fault))
          throw new Undecided('The client did not ask for the name during this login.')
        expect(
          longer < 1900,
          `When the portal ${what}, the login took ${(longer / 1000).toFixed(1)} seconds longer than usual.`,
          landed,
        )
      }
    },
  },
  {
    id: 'name-asked-once',
    title:
      'The client asks for the name only once during a login, even if the request fails, and does not ask again during a renewal',
    rule: 'name-once',
    why: 'The name is only for display. Each additional call makes the visitor wait. If the portal is overloaded, repeated calls make the overload worse.',
    fix: 'Ask for the name once after the exchange, and do not repeat the call. Keep the name with the session: a renewal does not change it.',
    needs,
    async run(context) {
      await needsName(context)
      for (const fault of ['me-500', 'me-html']) {
        const { browser, callback } = await beginLogin(context)
        await context.order(fault, { times: 'always' })
        const stopAt = ({ href }: URL) => href !== callback.href
        const { steps } = await context.during(() => followCallback(context, browser, callback, { stopAt }))
        await context.dropFaults()
        const calls = steps.filter(({ kind }) => kind === 'me')
        expect(
          calls.length <= 1,
          `With ${describeFault(fault)}, the client asked for the name ${calls.length} times after one callback.`,
          ...calls,
        )
      }
      const { browser, person } = await context.signedIn()
      await visitPage(context, browser)
      const plain = (await visitPage(context, browser)).steps.filter(({ kind }) => kind === 'me')
      await context.platform.endAccessTokens(person)
      const { steps } = await visitPage(context, browser)
      const calls = steps.filter(({ kind }) => kind === 'me')
      if (!steps.some(isRenewal)) return
      expect(calls.length <= plain.length, 'The client asks for the name again during a renewal.', ...calls)
    },
  },
  {
    id: 'name-not-asked-again',
    title: 'If the portal does not send the name during the login, the client does not ask again for each page',
    rule: 'name-once',
    why: 'The name is only for display. While the portal cannot send the name, a call for each page makes every page slower, and adds load to the portal.',
    fix: 'Ask for the name once after the exchange. If the call fails, keep the session without a name.',
    needs,
    async run(context) {
      await needsName(context)
      for (const [fault, options] of [['me-500'], ['me-answer', { status: 200, body: '{}', type: json }]] as [
        string,
        Record<string, unknown>?,
      ][]) {
        const { browser, callback } = await beginLogin(context)
        await context.order(fault, { times: 'always', ...(options && { options }) })
        await followCallback(context, browser, callback)
        await visitPage(context, browser)
        const who = `After a login with ${describeFault(fault, options)}, the client`
        await expectNameNotAskedAtEachVisit(context, browser, who)
        await context.dropFaults()
      }
    },
  },
  {
    id: 'name-escaped',
    title: 'If the name of the visitor contains markup, every page escapes the name',
    rule: 'PG-07',
    why: 'People choose their names themselves. If a page does not escape a name, a script in the name can run.',
    fix: 'Escape the name on every page, like any other text that comes from outside.',
    needs,
    async run(context) {
      await needsName(context)
      const names = { firstName: '<script>alert(1)</script>', lastName: '"><img src=x onerror=alert(1)>' }
      const body = JSON.stringify({ '@type': 'Person', '@id': (await context.person()).id, ...names })
      const { browser, landed, page } = await signInUnder(context, 'me-answer', { status: 200, body, type: json })
      const pages = [landed, page, await browser.visit(context.url('/'))]
      if (context.settings.create) pages.push(await browser.visit(context.url(context.settings.create)))
      for (const one of pages)
        expect(!runsScript(one, 'alert(1)'), 'The page does not escape the name of the visitor.', one)
    },
  },
  {
    id: 'name-headers-not-passed-back',
    title:
      "When the portal sends the visitor's name, the client does not pass headers of this answer on to the browser",
    ...foreignHeadersRule,
    needs,
    async run(context) {
      await needsName(context)
      const { landed, page } = await signInUnder(context, 'me-headers', { headers: foreignHeaders })
      expectOwnHeaders([...landed.trail, ...page.trail])
    },
  },
  {
    id: 'name-large-refused',
    title: "The client limits the size of the portal's answer with the visitor's name",
    rule: 'UP-04',
    why: 'A client that reads an answer of any size fills the memory that all visitors share.',
    fix: 'Count the bytes of the answer while you read it, and stop at about 64 KiB. Continue without the name.',
    needs,
    longestMs: 90_000,
    async run(context) {
      await needsName(context)
      const { person, browser } = await context.signedIn()
      const usual = await visitPage(context, browser)
      if (!usual.page.body.includes(person.firstName))
        throw new NotApplicable('the page does not show the name of the visitor')
      const { page } = await signInUnder(context, 'me-large')
      expectAnswer(page)
      expect(!page.body.includes(person.firstName), 'The page shows a name from an answer of 32 MiB.', page)
    },
  },
  ...[302, 307].map(
    (status): CheckDefinition => ({
      id: `name-redirect-${status}`,
      title: `If the portal redirects the request for the visitor's name (status ${status}), the client does not follow the redirect`,
      rule: 'UP-02',
      why: 'A client that follows the redirect sends the access token to an unknown address. Many HTTP libraries follow redirects by default.',
      fix: 'Switch off redirects for this call, and treat every 3xx as a failure.',
      needs,
      async run(context) {
        await needsName(context)
        const fault = `me-redirect-${status}`
        await signInUnder(context, fault)
        await context.platform.settle()
        const trapped = requestAtTrap(context, fault)
        expect(
          trapped === undefined,
          `The client followed the redirect with ${trapped?.request.method}.`,
          ...(trapped ? [trapped] : []),
        )
      },
    }),
  ),
  {
    id: 'name-bearer',
    title: "The request for the visitor's name contains the access token in the Authorization header",
    rule: 'bearer-header',
    why: 'Without the token, the portal does not know which visitor the client asks about.',
    fix: 'Set the header `Authorization: Bearer` with the access token of the visitor.',
    needs,
    // Runs alone: the suite cannot tell which visitor a call without a token belongs to.
    isAlone: true,
    async run(context) {
      await needsName(context)
      for (const call of context.arrived('me'))
        expect(
          /^Bearer \S+$/i.test(`${call.request.headers.authorization}`) && call.response.status === 200,
          'The portal refused the call, or the call has no Authorization header with the scheme Bearer.',
          call,
        )
    },
  },
]

/** Opens the page behind the login, the start page and the page with the form for a new application. */
async function visitAll({ settings, url }: CheckContext, browser: Browser): Promise<Page[]> {
  const pages = []
  for (const path of new Set([settings.page, '/', settings.create]))
    if (path !== '') pages.push(await browser.newTab().visit(url(path)))
  return pages
}

/** The options of a fault that gives the visitor of the check this name. */
async function personAs(context: CheckContext, firstName: string, lastName: string): Promise<Record<string, unknown>> {
  const { id, email } = await context.person()
  const body = JSON.stringify({ '@type': 'Person', '@id': id, email, role: 'developer', firstName, lastName })
  return { status: 200, body, type: json }
}

function describeFault(fault: string, { body }: Record<string, unknown> = {}): string {
  return typeof body === 'string' ? `the answer ${body}` : `the fault ${fault}`
}
