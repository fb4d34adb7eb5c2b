// Checks with access tokens that are not JWTs, or that are JWTs with unusual claims. A client must send these tokens to
// the API unchanged, and must work without reading their content.
import { randomUUID } from 'node:crypto'
import type { Browser } from '../../browser/browser.ts'
import { type CheckDefinition, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed, expectWithFix, fail } from '../../findings.ts'
import type { Person } from '../../platform.ts'
import { isRenewal } from '../../platform-calls.ts'
import { makeApplication } from '../../steps/applications.ts'
import { followCallback } from '../../steps/callback.ts'
import { created, isCreation, openFormIn } from '../../steps/create-form.ts'
import { visitPage } from '../../steps/sessions.ts'

const forms: [id: string, what: string][] = [
  ['plain', 'a random string'],
  ['dotted', 'three random strings with dots between them'],
]

/**
 * Other forms of a token. Each entry contains the name of the form, as the fault expects it, and a description of the
 * token.
 */
const otherForms: [form: string, what: string][] = [
  ['characters', 'a string with the characters +, /, ~ and ='],
  ['past-claims', 'a JWT with the number 5 as sub, and with an exp in the past'],
  ['future-claims', 'a JWT with an object as sub, and with nbf, iat and exp far in the future'],
  ['no-claims', 'a JWT whose content is {}'],
  ['null-claims', 'a JWT whose content is null'],
]

interface Options {
  browser?: Browser
  person?: Person
  /** The user whose id replaces the subject in the callback. */
  subject?: Person
  /** How long the check waits between the login and the next page. */
  waitMs?: number
}

/**
 * Signs a visitor in. The portal issues an access token of this form. `steps` contains the steps from the callback to
 * the page behind the login.
 */
async function signInWith(
  context: CheckContext,
  form: string,
  { browser = context.browser(), person, subject, waitMs = 0 }: Options = {},
) {
  const visitor = person ?? (await context.person())
  const callback = await context.authorize(await context.startLogin(browser), visitor)
  if (subject) callback.searchParams.set('subject', subject.id)
  const before = new Set(context.arrived())
  await context.order('exchange-opaque-access-token', { options: { form } })
  const landed = await followCallback(context, browser, callback)
  await context.platform.settle()
  const steps = () => context.arrived().filter(step => !before.has(step))
  if (!steps().some(({ kind, fault }) => kind === 'exchange' && fault))
    throw new Undecided('The portal answered the exchange without the fault that this check had ordered.')
  await context.pause(waitMs)
  const { page } = await visitPage(context, browser)
  return { browser, landed, page, person: visitor, steps: steps() }
}

type SignedIn = Awaited<ReturnType<typeof signInWith>>

const isCall = ({ kind, response }: SignedIn['steps'][number]) => kind === 'api' && response.status < 400

/** Fails if the API did not accept a call from the client, or if the client did not use the token of this login. */
async function expectUsed(context: CheckContext, what: string, { landed, page, steps }: SignedIn): Promise<void> {
  const said = `The access token was ${what}.`
  expectServed(landed, `${said} The login ended with ${describePage(landed)}.`)
  const refused = steps.find(({ kind, response }) => kind === 'api' && response.status === 401)
  expectWithFix(
    'Store the token in a way that keeps every character, and write it into the Authorization header without encoding it.',
    refused === undefined,
    `${said} The client changed the token: the API refused a call with an unknown token.`,
    ...(refused ? [refused] : []),
  )
  const renewal = steps.find(isRenewal)
  expectWithFix(
    'Take the lifetime of the token only from expires_in.',
    renewal === undefined,
    `${said} The client renewed the session long before expires_in had passed.`,
    ...(renewal ? [renewal] : []),
  )
  if (steps.some(isCall)) return
  await context.signedIn()
  fail(
    `${said} After the login, the client made no API call for the page behind the login. The visit ended with ${describePage(page)}.`,
    landed,
    page,
    ...steps,
  )
}

function expectNoCrash(what: string, { landed, page }: SignedIn): void {
  for (const one of [landed, page])
    expect(
      one.status !== 500 && one.status !== 0,
      `The access token was ${what}. The answer is ${describePage(one)}.`,
      one,
    )
}

const unchanged = {
  rule: 'token-is-opaque',
  why: 'The portal and the API decide on the format of tokens, and may change the format without telling clients.',
  fix: 'Send the token unchanged. If you read the id of the visitor from the token, and the token contains no id, continue without the id.',
  needs: ['page'],
} satisfies Partial<CheckDefinition>

const noCrash = {
  rule: 'UP-06',
  why: 'If a client cannot use such a token, it must say so on a page. Status 500 means an unexpected error.',
  fix: 'Catch the error when you read the token. Then continue without the content of the token, or refuse the login with a page.',
  needs: ['page'],
} satisfies Partial<CheckDefinition>

const apart: CheckDefinition[] = [
  {
    id: 'opaque-token-visitors-apart',
    title: 'If the access tokens of two visitors are random strings, each visitor sees only their own data',
    rule: 'visitors-apart',
    why: 'Some clients use the visitor id from the token as the key of stored data. A random string contains no id, so all visitors of such a client share the same data.',
    fix: 'Do not keep API answers. If you must keep them, store them with the session, and do not use an id from the token as the key.',
    needs: ['page'],
    async run(context) {
      const secret = `Plan ${randomUUID().slice(0, 8)}`
      const owner = await context.person()
      await makeApplication(context, owner, { name: secret })
      const first = await signInWith(context, 'plain')
      const second = await signInWith(context, 'plain', { person: await context.otherPerson() })
      if (![first, second].every(({ steps }) => steps.some(isCall)))
        throw new ReportedElsewhere('nobody can sign in with such a token')
      const { create } = context.settings
      const pages = [second.landed, second.page]
      if (create) {
        await first.browser.newTab().visit(context.url(create), context.beforePortal)
        pages.push(await second.browser.newTab().visit(context.url(create), context.beforePortal))
      }
      for (const page of pages) {
        const text = [page.body, ...page.forms.flatMap(({ fields }) => fields.map(([, value]) => value))].join('\n')
        expect(!text.includes(secret), 'The page shows an application of another visitor.', page)
        const isNamed = text.split(/\W+/).includes(owner.firstName)
        expect(!isNamed, 'The page shows the name of another visitor.', page)
        expect(!text.includes(owner.groupId), 'The page shows a group of another visitor.', page)
      }
    },
  },
  {
    id: 'opaque-token-other-visitor',
    title:
      "If the access tokens of two visitors are random strings, the form of one visitor creates nothing on the other visitor's behalf",
    rule: 'form-of-its-visitor',
    why: 'Some clients bind forms to the visitor id from the token. A random string contains no id. If the client then binds all forms to the same value, every visitor can send the forms of all other visitors.',
    fix: 'If a token contains no id, bind forms to the session, or to a random id created during the login.',
    needs: ['page', 'create'],
    async run(context) {
      const first = await signInWith(context, 'plain')
      const open = await openFormIn(context, first.browser, first.person)
      const tab = first.browser.newTab()
      const second = await signInWith(context, 'plain', { browser: tab, person: await context.otherPerson() })
      if (![first, second].every(({ steps }) => steps.some(isCall)))
        throw new ReportedElsewhere('nobody can sign in with such a token')
      const page = await open.browser.submit(open.page, open.form, open.values)
      await context.platform.settle()
      // The second visitor is not in the first visitor's group, so perhaps the API refuses the call.
      const calls = context.arrived('api').filter(step => isCreation(step) && step.about.userId === second.person.id)
      expect(
        calls.length === 0,
        "The form of the first visitor was sent on the second visitor's behalf.",
        page,
        ...calls,
      )
    },
  },
]

const otherSubject: CheckDefinition = {
  id: 'opaque-token-subject-other',
  title: 'If the access token contains no id, the client does not use the subject parameter of the callback',
  rule: 'CL-12',
  why: 'Anybody can change the address of a callback. Some clients take the id of the visitor from the token, or from the subject parameter if the token contains no id. In that case, an attacker decides whose id the client uses.',
  fix: 'If the token contains no id, continue without an id, or create a random id during the login.',
  needs: ['page'],
  async run(context) {
    const { settings } = context
    const other = await context.otherPerson()
    for (const [form, what] of [...forms, ['no-claims', 'a JWT whose content is {}']] as const) {
      const person = await context.otherPerson()
      const { browser, landed, page, steps } = await signInWith(context, form, { person, subject: other })
      const pages = [landed, page]
      if (settings.create && steps.some(isCall))
        pages.push(await browser.newTab().visit(context.url(settings.create), context.beforePortal))
      await context.platform.settle()
      const said = `The access token was ${what}, and the callback contained the id of another user as subject.`
      const calls = context.arrived('api').filter(({ request }) => request.url.includes(other.id))
      expect(calls.length === 0, `${said} The client asked the API about the other user.`, ...calls.slice(0, 1))
      for (const one of pages)
        expect(!one.body.includes(other.id), `${said} The page contains the id of the other user.`, one)
    }
  },
}

export const opaqueTokens: CheckDefinition[] = [
  ...forms.flatMap(([id, what]): CheckDefinition[] => [
    {
      id: `opaque-token-${id}`,
      title: `If the access token is ${what}, visitors can sign in`,
      ...unchanged,
      run: async context => expectUsed(context, what, await signInWith(context, id)),
    },
    {
      id: `opaque-token-${id}-no-crash`,
      title: `If the access token is ${what}, the client does not answer the callback or the next page with status 500`,
      ...noCrash,
      run: async context => expectNoCrash(what, await signInWith(context, id)),
    },
    {
      id: `opaque-token-${id}-create`,
      title: `If the access token is ${what}, visitors can create applications`,
      rule: 'token-is-opaque',
      why: 'Clients often bind forms to the id of the visitor, but a token that is not a JWT does not contain this id.',
      fix: 'If a token contains no id, bind forms to the session, or to a random id created during the login.',
      needs: ['page', 'create'],
      async run(context) {
        const { browser, person } = await signInWith(context, id)
        const open = await openFormIn(context, browser, person)
        const page = await browser.submit(open.page, open.form, open.values)
        if ((await created(context, person)).length === 1) return
        await context.signedIn()
        fail(`The API created nothing, and the client answered the form with ${describePage(page)}.`, page)
      },
    },
  ]),
  {
    id: 'opaque-token-other-forms',
    title: 'If the access token has unusual characters, or is a JWT with unusual claims, visitors can sign in',
    ...unchanged,
    async run(context) {
      for (const [form, what] of otherForms) {
        // If a client reads exp, it may end the session after one second. The check waits longer than that.
        const waitMs = form === 'past-claims' ? 1200 : 0
        await expectUsed(context, what, await signInWith(context, form, { waitMs }))
      }
    },
  },
  {
    id: 'opaque-token-other-forms-no-crash',
    title:
      'If the access token has unusual characters, or is a JWT with unusual claims, the client does not answer the callback or the next page with status 500',
    ...noCrash,
    async run(context) {
      for (const [form, what] of otherForms) expectNoCrash(what, await signInWith(context, form))
    },
  },
  otherSubject,
  ...apart,
]
