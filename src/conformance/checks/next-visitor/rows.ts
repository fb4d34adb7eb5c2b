// What the next person at the same browser sees after a visitor has signed out or a session has ended.
import type { Browser, Page } from '../../browser/browser.ts'
import { type Row, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import type { Person } from '../../platform.ts'
import { followCallback } from '../../steps/callback.ts'
import { created, type OpenForm, openCreateForm } from '../../steps/create-form.ts'
import { sessionOf } from '../../steps/sessions.ts'
import { isSame, signOut } from '../../steps/sign-out.ts'

/** A mark that no page contains by itself. */
const typed = 'Typed-by-the-former-visitor-4711'

/** Every page that the next person would open. The first is the page after a login. */
async function lookAround(context: CheckContext, browser: Browser, landed?: Page): Promise<Page[]> {
  const { page, create } = context.settings
  const stop = { stopAt: (url: URL) => url.origin === context.platform.portalUrl }
  const pages = landed ? [landed] : []
  for (const path of [page, create, '/'].filter(path => path !== ''))
    pages.push(await browser.visit(context.url(path), stop))
  return pages
}

function expectNothingOf(pages: Page[], what: string, texts: string[]): void {
  for (const page of pages)
    for (const text of texts.filter(text => text.length >= 8))
      expect(!allText(page).includes(text), `${describePage(page)} shows ${what}.`, page)
}

/** The parts of a navigation that a browser may show or keep. Redirects do not count. */
function allText({ body, forms }: Page): string {
  return [body, ...forms.flatMap(({ fields }) => fields.map(([, value]) => value))].join('\n')
}

/** Another person signs in in that browser, in the way that the client offers. */
async function nextPerson(
  context: CheckContext,
  browser: Browser,
  from?: Page,
): Promise<{ person: Person; landed: Page }> {
  const person = await context.otherPerson()
  const { login } = context.settings
  // If the page has a link that leads back, the person follows it, because drafts come back that way.
  const link = from?.links.find(({ url }) => url.startsWith(context.url(login)))
  const start = await context.startLogin(browser, link?.url ?? login)
  const landed = await followCallback(context, browser, await context.authorize(start, person))
  if (!(await context.isSignedIn(browser, { person }))) throw new Undecided('The next person could not sign in.')
  return { person, landed }
}

/** Sends the form and does not open the answer, as if the browser was closed at that moment. */
async function createAndLeave(context: CheckContext, open: OpenForm): Promise<{ page: Page; secrets: string[] }> {
  const page = await open.browser.submit(open.page, open.form, open.values, undefined, { stopAt: () => true })
  const steps = await created(context, open.person)
  if (steps.length !== 1) throw new Undecided('The form created nothing, which another check reports.')
  const body = JSON.parse(String(steps[0]!.response.body)) as {
    client?: { clientSecrets?: string[] }
    tokens?: { token?: string }[]
  }
  const secrets = [...(body.client?.clientSecrets ?? []), ...(body.tokens ?? []).flatMap(({ token }) => token ?? [])]
  return { page, secrets }
}

/** Removes the cookies of a session, as a browser does when they expire. */
async function endSession(context: CheckContext): Promise<{ browser: Browser; names: string[] }> {
  const { browser, cookies } = await sessionOf(context)
  return { browser, names: cookies.map(({ cookie }) => cookie.name) }
}

/** Signs out with the form of the open page, so that the visitor sees no other page before. */
async function signOutFrom(context: CheckContext, { browser, page }: OpenForm): Promise<void> {
  const { method, path } = context.settings.logout!
  const form = page.forms.find(one => isSame(one.action, context.url(path)) && one.method === method)
  if (form) await browser.submit(page, form)
  else await signOut(context, browser)
}

function isNoStore({ headers }: Page): boolean {
  return /no-store/i.test(headers.get('cache-control') ?? '')
}

export const nextVisitor: Row[] = [
  {
    id: 'next-visitor-secret-after-sign-out',
    title: 'The secret of a new application is not shown to the next person after its owner has signed out',
    rule: 'next-visitor',
    why: 'A secret that waits for the next page goes to whoever opens that page.',
    fix: 'Delete the waiting secret at sign-out, and bind it to the visitor who created the application.',
    needs: ['page', 'create', 'logout'],
    async run(context) {
      const open = await openCreateForm(context)
      const { secrets } = await createAndLeave(context, open)
      await signOutFrom(context, open)
      expectNothingOf(await lookAround(context, open.browser), 'the secret of the former visitor', secrets)
      const { landed } = await nextPerson(context, open.browser)
      expectNothingOf(await lookAround(context, open.browser, landed), 'the secret of the former visitor', secrets)
    },
  },
  {
    id: 'next-visitor-secret-other-login',
    title: 'The secret of a new application is not shown to somebody else who signs in in the same browser',
    rule: 'next-visitor',
    why: 'Somebody else may have signed in in another tab while the secret waits for the next page.',
    fix: 'Bind the waiting secret to its visitor, and delete it when somebody else signs in.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const { secrets } = await createAndLeave(context, open)
      const { landed } = await nextPerson(context, open.browser)
      expectNothingOf(await lookAround(context, open.browser, landed), 'the secret of the former visitor', secrets)
    },
  },
  {
    id: 'next-visitor-draft',
    title: 'Text that was typed before the session ended is shown to nobody else',
    rule: 'next-visitor',
    why: 'A draft that waits for the next login is shown to the next person who signs in.',
    fix: 'Bind a draft to the visitor who typed it, and delete it when somebody else signs in.',
    needs: ['page', 'create'],
    async run(context) {
      const { names } = await endSession(context)
      const open = await openCreateForm(context, typed)
      for (const name of names) open.browser.cookies.delete(name)
      const stop = { stopAt: (url: URL) => url.origin === context.platform.portalUrl }
      const page = await open.browser.submit(open.page, open.form, { ...open.values }, undefined, stop)
      const { landed } = await nextPerson(context, open.browser, page)
      expectNothingOf(await lookAround(context, open.browser, landed), 'what the former visitor has typed', [typed])
    },
  },
  {
    id: 'next-visitor-draft-after-sign-out',
    title: 'Text that a visitor typed into a form is gone after signing out',
    rule: 'next-visitor',
    why: 'A visitor who signs out at a shared computer wants to leave nothing behind.',
    fix: 'Delete drafts at sign-out.',
    needs: ['page', 'create', 'logout'],
    async run(context) {
      const { names } = await endSession(context)
      const open = await openCreateForm(context, typed)
      const kept = open.browser.copy()
      for (const name of names) open.browser.cookies.delete(name)
      const stop = { stopAt: (url: URL) => url.origin === context.platform.portalUrl }
      await open.browser.submit(open.page, open.form, { ...open.values }, undefined, stop)
      // They sign in again, and sign out without opening the form.
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
    title: 'Text that a visitor typed into a refused form fills the form of nobody else',
    rule: 'next-visitor',
    why: 'A server that keeps data without its owner gives it to the next visitor, at any browser.',
    fix: 'Answer a refused form with the form itself, and keep nothing of it at the server.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context, typed)
      await context.order('create-422', { times: 1 })
      await open.browser.submit(open.page, open.form, { ...open.values })
      const other = await context.signedIn({ person: await context.otherPerson() })
      expectNothingOf(await lookAround(context, other.browser), 'what another visitor has typed', [typed])
    },
  },
  {
    id: 'next-visitor-session-ended',
    title: 'When the session has ended, no page shows anything about its visitor',
    rule: 'next-visitor',
    why: 'Cookies that outlive the session, such as one with a name for a greeting, tell who was here.',
    fix: 'Give every cookie about a visitor the same end as the session, and show a name only while there is a session.',
    needs: ['page'],
    async run(context) {
      const { browser, names } = await endSession(context)
      const person = await context.person()
      await lookAround(context, browser)
      for (const name of names) browser.cookies.delete(name)
      expectNothingOf(await lookAround(context, browser), 'the former visitor', [
        person.email,
        person.id,
        person.groupId,
      ])
    },
  },
  {
    id: 'next-visitor-signed-out',
    title: 'After a visitor has signed out, no page shows anything about them',
    rule: 'next-visitor',
    why: 'Cookies that outlive the session, such as one with a name for a greeting, tell who was here.',
    fix: 'At sign-out delete every cookie that says something about the visitor.',
    needs: ['page', 'logout'],
    async run(context) {
      const { browser, page: landed, person } = await context.signedIn()
      await lookAround(context, browser)
      await signOut(context, browser, landed)
      expectNothingOf(await lookAround(context, browser), 'the former visitor', [
        person.email,
        person.id,
        person.groupId,
      ])
    },
  },
  {
    id: 'next-visitor-form-no-store',
    title: 'The browser may not store a page with a form of the visitor',
    rule: 'PG-11',
    why: 'The Back button shows a stored page, with everything on it, without asking the client.',
    fix: 'Send Cache-Control: no-store with every page behind the login, forms included.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context, typed)
      expect(isNoStore(open.page), 'The browser may store the form.', open.page)
    },
  },
  {
    id: 'next-visitor-refused-no-store',
    title: 'The browser may not store a refused form with the typed values',
    rule: 'PG-11',
    why: 'The Back button shows a stored page, with the typed values, to the next person.',
    fix: 'Send Cache-Control: no-store with every answer to a form, whatever its status.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context, typed)
      const uri = Object.keys(open.values).find(name => /redirect/i.test(name))!
      const page = await open.browser.submit(open.page, open.form, {
        ...open.values,
        [uri]: 'ftp://not-allowed.example/',
      })
      expect(!allText(page).includes(typed) || isNoStore(page), 'The browser may store the answer.', page)
    },
  },
  {
    id: 'next-visitor-secret-no-store',
    title: 'The browser may not store a page with the secret of a new application',
    rule: 'PG-11',
    why: 'The Back button shows a stored page without asking the client, with a secret that was to be shown once.',
    fix: 'Send Cache-Control: no-store with the page that shows it.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const page = await open.browser.submit(open.page, open.form, open.values)
      const [step] = await created(context, open.person)
      if (!step) throw new Undecided('The form created nothing, which another check reports.')
      const body = JSON.parse(String(step.response.body)) as { client?: { clientSecrets?: string[] } }
      const isShown = (body.client?.clientSecrets ?? []).some(secret => page.body.includes(secret))
      expect(!isShown || isNoStore(page), 'The browser may store the page.', page)
    },
  },
]
