// Checks what the next person who uses the same browser sees after a visitor has signed out, or after a session has
// ended.
import { type Browser, noRedirects, type Page } from '../../browser/browser.ts'
import type { Values } from '../../browser/form.ts'
import { type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed, expectWithFix } from '../../findings.ts'
import type { Person } from '../../platform.ts'
import { typedInto } from '../../steps/application-pages.ts'
import { credentialsOf } from '../../steps/applications.ts'
import { followCallback } from '../../steps/callback.ts'
import {
  created,
  noCreation,
  type OpenForm,
  openCreateForm,
  openFormIn,
  textFieldsOf,
} from '../../steps/create-form.ts'
import { openForms, reopen } from '../../steps/every-form.ts'
import { credentialSecrets } from '../../steps/leaks.ts'
import { ownCookies, sessionOf } from '../../steps/sessions.ts'
import { signOut, signOutFormOf } from '../../steps/sign-out.ts'

/** A string that no page contains unless a visitor typed it. */
const typed = 'Typed-by-the-former-visitor-4711'

/**
 * Opens every page that the next person could open, and returns the pages. If `landed` (the page after the login) is
 * given, this page comes first. `further` contains more addresses to open.
 */
async function lookAround(
  context: CheckContext,
  browser: Browser,
  landed?: Page,
  further: string[] = [],
): Promise<Page[]> {
  const { page, create } = context.settings
  const pages = landed ? [landed] : []
  for (const path of [...further, page, create, '/'].filter(path => path !== ''))
    pages.push(await browser.visit(context.url(path), context.beforePortal))
  return pages
}

function expectNothingOf(pages: Page[], what: string, texts: string[]): void {
  for (const page of pages)
    for (const text of texts.filter(text => text.length >= 8))
      expect(!allText(page).includes(text), `${describePage(page)} shows ${what}.`, page)
}

/** Fails if a page shows a secret of the former visitor, or the name that the former visitor gave an application. */
function expectNoHandOver(pages: Page[], secrets: string[]): void {
  expectNothingOf(pages, 'the secret of the former visitor', secrets)
  for (const page of pages)
    expectWithFix(
      'If the client keeps a message for the next page, bind the message to the visitor, and delete it at sign-out.',
      !allText(page).includes(typed),
      `${describePage(page)} shows the name of an application that the former visitor created.`,
      page,
    )
}

/**
 * Fails if a page shows who the former visitor was. The first name is a reliable sign, because nobody else in the run
 * has the same first name.
 */
function expectNobody(pages: Page[], { email, id, groupId, firstName }: Person): void {
  expectNothingOf(pages, 'the former visitor', [email, id, groupId])
  for (const page of pages)
    expect(
      !allText(page).split(/\W+/).includes(firstName),
      `${describePage(page)} shows the first name of the former visitor.`,
      page,
    )
}

/** Fails if a page of this visitor shows the first name of any other person in the run. */
function expectNoOtherName({ platform }: CheckContext, pages: Page[], visitor: Person): void {
  for (const page of pages) {
    const words = new Set(allText(page).split(/\W+/))
    const shown = platform.people.find(person => person !== visitor && words.has(person.firstName))
    expect(
      shown === undefined,
      `${describePage(page)} of the visitor ${visitor.firstName} shows the first name of another visitor, ${shown?.firstName}.`,
      page,
    )
  }
}

function shows(page: Page, { firstName }: Person): boolean {
  return allText(page).split(/\W+/).includes(firstName)
}

/**
 * Returns all text of the last page of a navigation, including the values of form fields. Ignores answers with
 * redirects.
 */
function allText({ body, forms }: Page): string {
  return [body, ...forms.flatMap(({ fields }) => fields.map(([, value]) => value))].join('\n')
}

/** Signs another person in with the same browser. Uses the login link of the page `from`, if this page has one. */
async function nextPerson(
  context: CheckContext,
  browser: Browser,
  from?: Page,
): Promise<{ person: Person; landed: Page }> {
  const person = await context.otherPerson()
  const { login } = context.settings
  // The login link can contain a return address, perhaps of a page with a draft of the former visitor.
  const link = from?.links.find(({ url }) => url.startsWith(context.url(login)))
  const start = await context.startLogin(browser, link?.url ?? login)
  const landed = await followCallback(context, browser, await context.authorize(start, person))
  if (!(await context.isSignedIn(browser, { person }))) throw new Undecided('The next person could not sign in.')
  return { person, landed }
}

/**
 * Sends the form, but does not follow the redirect in the answer, as if the visitor closed the browser at this moment.
 */
async function createAndLeave(context: CheckContext, open: OpenForm): Promise<{ page: Page; secrets: string[] }> {
  const page = await open.browser.submit(open.page, open.form, open.values, noRedirects)
  const steps = await created(context, open.person)
  if (steps.length !== 1) throw noCreation()
  const { clientSecrets, tokens } = credentialsOf(steps[0]!)
  return { page, secrets: [...clientSecrets, ...tokens] }
}

/** The address of the client to which the answer redirects the browser. */
const nextAddress = ({ settings }: CheckContext, { stoppedAt }: Page): string[] =>
  stoppedAt?.startsWith(`${settings.client}/`) ? [stoppedAt] : []

/**
 * Fails if a secret is visible in a browser in which somebody else or nobody is signed in. `page` is the answer to the
 * form that made the secret. If this answer is a redirect, the browser has not followed it.
 */
async function expectSecretsApart(context: CheckContext, others: Browser, page: Page, secrets: string[]) {
  const further = nextAddress(context, page)
  const seen = await lookAround(context, others, undefined, further)
  expectNothingOf(seen, 'the secret of another visitor', secrets)
  expectNothingOf(await lookAround(context, context.browser(), undefined, further), 'the secret of a visitor', secrets)
}

/**
 * Signs a visitor in and opens the form for a new application. `names` contains the names of the cookies that the
 * client set at sign-in.
 */
async function openFormOfSession(context: CheckContext): Promise<{ open: OpenForm; names: string[] }> {
  const { browser, person } = await context.signedIn()
  // Reads the names before the form opens, so that `names` does not include a cookie set by the form page, such as a
  // draft.
  const names = ownCookies(context, browser)
  return { open: await openFormIn(context, browser, person, typed), names }
}

/**
 * Removes the cookies in `names`, as a browser does when they expire. Ends the check if the visitor is still signed in.
 */
async function endSession(context: CheckContext, browser: Browser, names: string[]): Promise<void> {
  for (const name of names) browser.cookies.delete(name)
  if (await context.isSignedIn(browser.copy()))
    throw new Undecided('The visitor is still signed in without the cookies that the client set at sign-in.')
}

/**
 * Signs out with the sign-out form of the open page. Does not open another page for the sign-out form, because the
 * client could show the secret on that page, and then delete the secret.
 */
async function signOutFrom(context: CheckContext, { browser, page }: OpenForm): Promise<void> {
  const form = signOutFormOf(context, page)
  if (form) await browser.submit(page, form)
  else await signOut(context, browser)
}

/** Returns the values of the form, and the string `typed` for every text field without a value. */
function typeAll({ form, values }: OpenForm): Values {
  const texts = textFieldsOf(form)
  return { ...Object.fromEntries(texts.map(({ name }) => [name, typed])), ...values }
}

function isNoStore({ headers }: Page): boolean {
  return /no-store/i.test(headers.get('cache-control') ?? '')
}

export const nextVisitor: CheckDefinition[] = [
  {
    id: 'next-visitor-secret-after-sign-out',
    title:
      'After a visitor has signed out, the next person does not see the secret of an application that the visitor created',
    rule: 'next-visitor',
    why: 'If the client keeps a secret for the next page, anyone who opens this page sees the secret.',
    fix: 'If the client keeps the secret for the next page, bind it to the visitor who created the application, and delete it at sign-out.',
    needs: ['page', 'create', 'logout'],
    async run(context) {
      const open = await openCreateForm(context, typed)
      const { secrets } = await createAndLeave(context, open)
      await signOutFrom(context, open)
      expectNoHandOver(await lookAround(context, open.browser), secrets)
      const { landed } = await nextPerson(context, open.browser)
      expectNoHandOver(await lookAround(context, open.browser, landed), secrets)
    },
  },
  {
    id: 'next-visitor-secret-other-login',
    title:
      'If a second person signs in with the same browser, this person does not see the secret of an application that the first person created',
    rule: 'next-visitor',
    why: 'While the client keeps the secret for the next page, another person can sign in from another tab of the same browser.',
    fix: 'If the client keeps the secret for the next page, bind it to the visitor who created the application, and delete it when another person signs in.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context, typed)
      const { page, secrets } = await createAndLeave(context, open)
      const { landed } = await nextPerson(context, open.browser)
      expectNoHandOver(await lookAround(context, open.browser, landed, nextAddress(context, page)), secrets)
    },
  },
  {
    id: 'next-visitor-secret-elsewhere',
    title: 'A visitor in another browser does not see the secret of an application that somebody else created',
    rule: 'next-visitor',
    why: "A client that keeps the secret in the server's memory can show it to the wrong visitor.",
    fix: 'Show the secret in the answer to the form. If the client keeps it for the next page instead, bind it to the visitor who created the application.',
    needs: ['page', 'create'],
    async run(context) {
      const other = await context.signedIn({ person: await context.otherPerson() })
      const { page, secrets } = await createAndLeave(context, await openCreateForm(context))
      await expectSecretsApart(context, other.browser, page, secrets)
    },
  },
  {
    id: 'next-visitor-new-secret',
    title: 'Only the visitor who made a new secret for an application sees this secret',
    rule: 'next-visitor',
    why: 'Many clients keep a new secret for the next page. If the secret is not bound to the visitor, anyone who opens this page sees the secret.',
    fix: 'Show the secret in the answer to the form. If the client keeps it for the next page instead, bind it to the visitor who made it, not only to the browser.',
    needs: ['page'],
    async run(context) {
      const open = await openForms(context)
      for (const found of open.forms) {
        const other = await context.signedIn({ person: await context.otherPerson() })
        const again = await reopen(open.browser, found)
        if (!again) continue
        await context.platform.settle()
        const { result: page, steps } = await context.during(() =>
          open.browser.submit(again.page, again.form, typedInto(again), noRedirects),
        )
        const secrets = steps
          .filter(step => step.kind === 'api' && step.request.url.endsWith('/refreshSecret'))
          .flatMap(credentialSecrets)
          .map(({ value }) => value)
        if (secrets.length === 0) continue
        await expectSecretsApart(context, other.browser, page, secrets)
        const { landed } = await nextPerson(context, open.browser)
        const pages = await lookAround(context, open.browser, landed, nextAddress(context, page))
        return expectNothingOf(pages, 'the new secret of the former visitor', secrets)
      }
      throw new NotApplicable('no form about an application makes a new secret')
    },
  },
  {
    id: 'next-visitor-draft',
    title: 'If a visitor sends a form after the session has ended, no other person sees the typed text',
    rule: 'next-visitor',
    why: 'If the client keeps a draft for the next login, the next person who signs in sees the draft.',
    fix: 'Bind a draft to the visitor who typed it, and delete it when somebody else signs in.',
    needs: ['page', 'create'],
    async run(context) {
      const { open, names } = await openFormOfSession(context)
      await endSession(context, open.browser, names)
      const page = await open.browser.submit(open.page, open.form, { ...open.values }, context.beforePortal)
      // Another browser does not have the cookie with the draft, so it can show the draft only if the server keeps
      // drafts in memory.
      const other = await context.signedIn({ person: await context.otherPerson() })
      expectNothingOf(await lookAround(context, other.browser), 'what another visitor has typed', [typed])
      const { landed } = await nextPerson(context, open.browser, page)
      expectNothingOf(await lookAround(context, open.browser, landed), 'what the former visitor has typed', [typed])
    },
  },
  {
    id: 'next-visitor-draft-after-sign-out',
    title: 'After a visitor has signed out, the client does not show text that the visitor typed into a form',
    rule: 'next-visitor',
    why: 'A visitor who signs out on a shared computer expects that no typed text remains on this computer.',
    fix: 'Delete drafts at sign-out.',
    needs: ['page', 'create', 'logout'],
    async run(context) {
      const { open, names } = await openFormOfSession(context)
      const kept = open.browser.copy()
      await endSession(context, open.browser, names)
      await open.browser.submit(open.page, open.form, { ...open.values }, context.beforePortal)
      // Restores the session cookies, as if the visitor signed in again. Then signs out without opening the form again.
      for (const cookie of kept.cookies.list(context.url('/')))
        if (names.includes(cookie.name))
          open.browser.cookies.set(
            context.url('/'),
            `${cookie.name}=${cookie.value}; Path=${cookie.path}; Secure; HttpOnly`,
          )
      await signOutFrom(context, open)
      const { landed } = await nextPerson(context, open.browser)
      expectNothingOf(await lookAround(context, open.browser, landed), 'what the former visitor has typed', [typed])
    },
  },
  {
    id: 'next-visitor-refused-form',
    title: 'If the API refuses a form, no other visitor sees the text that was typed into the form',
    rule: 'next-visitor',
    why: 'If a client keeps a refused form but does not store who sent it, the next visitor sees this form, in any browser.',
    fix: 'Answer a refused form with a page that contains the filled-in form, and do not keep any part of the form on the server.',
    needs: ['page', 'create'],
    async run(context) {
      // Clients often have separate code for each status of a refusal.
      for (const fault of ['create-422', 'create-403', 'create-500', 'create-503']) {
        const open = await openCreateForm(context, typed)
        await context.order(fault, { times: 1 })
        const page = await open.browser.submit(open.page, open.form, { ...open.values })
        await context.dropFaults()
        const other = await context.signedIn({ person: await context.otherPerson() })
        const seen = await lookAround(context, other.browser, undefined, [page.url])
        expectNothingOf(seen, 'what another visitor has typed', [typed])
      }
    },
  },
  ...(
    [
      ['empty-name', 'because its name is empty', (values: Values, name: string) => ({ ...values, [name]: '' })],
      [
        'wrong-address',
        'because of a wrong address',
        (values: Values, _name: string, uri: string) => ({ ...values, [uri]: 'x' }),
      ],
    ] as const
  ).map(
    ([id, what, change]): CheckDefinition => ({
      id: `next-visitor-${id}`,
      title: `If the client refuses a form ${what}, no other visitor sees the text that was typed into the form`,
      rule: 'next-visitor',
      why: 'Many clients check some fields themselves, before they call the API. Such a client often has separate code for its own refusals and for the refusals of the API. Both kinds of code can keep the form on the server.',
      fix: 'Answer a refused form with a page that contains the filled-in form, and do not keep any part of the form on the server.',
      needs: ['page', 'create'],
      async run(context) {
        const { browser, person } = await context.signedIn()
        const open = await openFormIn(context, browser, person, typed)
        const name = Object.keys(open.values).find(name => /name/i.test(name))!
        const uri = Object.keys(open.values).find(name => /redirect/i.test(name))!
        const page = await browser.submit(open.page, open.form, change(typeAll(open), name, uri))
        expectServed(page, `The form was answered with ${describePage(page)}.`)
        if ((await created(context, person)).length > 0) throw new NotApplicable('the API accepts this form')
        const other = await context.signedIn({ person: await context.otherPerson() })
        expectNothingOf(await lookAround(context, other.browser), 'what another visitor has typed', [typed])
      },
    }),
  ),
  {
    id: 'next-visitor-session-ended',
    title: 'After the session has ended, no page shows who the visitor was',
    rule: 'next-visitor',
    why: 'A cookie that lives longer than the session shows who was signed in before, for example if it contains a name for a greeting.',
    fix: 'Let every cookie about a visitor expire with the session, and show a name only while there is a session.',
    needs: ['page'],
    async run(context) {
      // Removes only the session cookies, because another cookie may contain the name of the visitor.
      const { browser, person, cookies } = await sessionOf(context)
      await lookAround(context, browser)
      await endSession(
        context,
        browser,
        cookies.map(({ cookie }) => cookie.name),
      )
      expectNobody(await lookAround(context, browser), person)
    },
  },
  {
    id: 'next-visitor-signed-out',
    title: 'After a visitor has signed out, no page shows who the visitor was',
    rule: 'next-visitor',
    why: 'A cookie that lives longer than the session shows who was signed in before, for example if it contains a name for a greeting.',
    fix: 'At sign-out, delete every cookie that says something about the visitor.',
    needs: ['page', 'logout'],
    async run(context) {
      const { browser, page: landed, person } = await context.signedIn()
      await lookAround(context, browser)
      await signOut(context, browser, landed)
      expectNobody(await lookAround(context, browser), person)
    },
  },
  {
    id: 'next-visitor-without-name',
    title: 'If the client cannot get the name of the next person, no page shows the name of the former visitor',
    rule: 'next-visitor',
    why: 'If a client keeps the name in a separate cookie and a login does not replace or delete this cookie, pages show the old name.',
    fix: 'Keep the name together with the session. At each login, replace or delete the earlier name.',
    needs: ['page'],
    async run(context) {
      const { browser, person, page: landed } = await context.signedIn()
      const shown = await lookAround(context, browser, landed)
      if (!shown.some(page => allText(page).split(/\W+/).includes(person.firstName)))
        throw new NotApplicable('no page shows the name of the visitor')
      const copy = browser.copy()
      if (context.settings.logout) await signOut(context, browser, landed)
      for (const one of context.settings.logout ? [browser, copy] : [copy]) {
        const next = await context.otherPerson()
        const callback = await context.authorize(await context.startLogin(one), next)
        await context.order('me-500', { times: 'always' })
        const page = await followCallback(context, one, callback)
        const pages = await lookAround(context, one, page)
        await context.dropFaults()
        if (!(await context.isSignedIn(one, { person: next })))
          throw new ReportedElsewhere('nobody can sign in without a name')
        expectNobody(pages, person)
      }
    },
  },
  {
    id: 'next-visitor-name-elsewhere',
    title: 'No page shows the name of a visitor who uses another browser',
    rule: 'next-visitor',
    why: 'Some clients keep the name in a variable of the program, or in a cache for all visitors. Such a client shows the name of one visitor to everybody.',
    fix: 'Keep the name together with the session of the visitor.',
    needs: ['page'],
    async run(context) {
      const first = await context.signedIn()
      const own = await lookAround(context, first.browser, first.page)
      const second = await context.signedIn({ person: await context.otherPerson() })
      const theirs = await lookAround(context, second.browser, second.page)
      // The client may have kept the name of an earlier visitor, and show it on these pages.
      expectNoOtherName(context, own, first.person)
      expectNoOtherName(context, theirs, second.person)
      if (![...own, ...theirs].some(page => [first, second].some(({ person }) => shows(page, person))))
        throw new NotApplicable('no page shows the name of the visitor')
      expectNobody(theirs, first.person)
      expectNobody(await lookAround(context, first.browser), second.person)
      const strangers = await lookAround(context, context.browser())
      for (const { person } of [first, second]) expectNobody(strangers, person)
    },
  },
  {
    id: 'next-visitor-form-no-store',
    title: 'The client tells browsers not to store the page with the form for a new application',
    rule: 'PG-11',
    why: 'When the next person presses Back, the browser shows a stored page without asking the client.',
    fix: 'Send Cache-Control: no-store with every page behind the login, including pages with forms.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context, typed)
      expect(isNoStore(open.page), 'The page with the form has no Cache-Control: no-store.', open.page)
    },
  },
  {
    id: 'next-visitor-refused-no-store',
    title: 'If the client refuses a form, the client tells browsers not to store the page with the typed values',
    rule: 'PG-11',
    why: 'When the next person presses Back, the browser shows a stored page with the typed values.',
    fix: 'Send Cache-Control: no-store with every answer to a form, whatever its status.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context, typed)
      const uri = Object.keys(open.values).find(name => /redirect/i.test(name))!
      const page = await open.browser.submit(open.page, open.form, {
        ...open.values,
        [uri]: 'ftp://not-allowed.example/',
      })
      expect(
        !allText(page).includes(typed) || isNoStore(page),
        'The answer with the typed values has no Cache-Control: no-store.',
        page,
      )
    },
  },
  {
    id: 'next-visitor-secret-no-store',
    title: 'The client tells browsers not to store a page with the secret of a new application',
    rule: 'PG-11',
    why: 'When the next person presses Back, the browser shows a stored page with the secret.',
    fix: 'Send Cache-Control: no-store with the page that shows the secret.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const page = await open.browser.submit(open.page, open.form, open.values)
      const [step] = await created(context, open.person)
      if (!step) throw noCreation()
      const isShown = credentialsOf(step).clientSecrets.some(secret => page.body.includes(secret))
      expect(!isShown || isNoStore(page), 'The page with the secret has no Cache-Control: no-store.', page)
    },
  },
]
