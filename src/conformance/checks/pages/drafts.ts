// Checks what happens to the text of a form that a visitor sends after the session has ended. The checks are about long
// forms, drafts that the client keeps during the login, and the way back to the form.
import { randomBytes } from 'node:crypto'
import type { Page } from '../../browser/browser.ts'
import type { Form, Values } from '../../browser/form.ts'
import { type Check, type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed, fail } from '../../findings.ts'
import {
  type ApplicationForm,
  changeName,
  nameField,
  type OwnApplication,
  openEditForm,
  openWithApplication,
  saveForm,
} from '../../steps/application-pages.ts'
import { applicationName, redirectUri } from '../../steps/applications.ts'
import { type OpenForm, openCreateForm, typedField } from '../../steps/create-form.ts'
import {
  expectTold,
  expireSession,
  isInForm,
  sendAfterEndedSession,
  sendWithoutSession,
  signInAfter,
  signInLinks,
} from '../../steps/ended-sessions.ts'
import { shownIn } from '../../steps/list-page.ts'

const needs: Check['needs'] = ['create', 'page']

/** The length of each long text. The API accepts longer values, but two of these texts do not fit into one cookie. */
const longLength = 1900

/**
 * Returns a random string. Each character has 6 random bits, so a client can compress the string by at most a quarter.
 * If the client then writes the compressed string into a cookie as base64, the string is as long as before.
 */
const longText = (start: string) => (start + randomBytes(longLength).toString('base64url')).slice(0, longLength)

/** Values that are too long for a cookie: a long redirect URI, and a long description if the form has this field. */
function longValues({ controls }: Form): Values {
  const visible = controls.filter(({ type }) => type !== 'hidden')
  const filledIn = visible.filter(({ values }) => values.some(value => value.includes(redirectUri)))
  const redirect = typedField(visible, /^redirect_?uris?$/i, /redirect_?uri/i) ?? typedField(filledIn, /redirect/i)
  const description = typedField(visible, /desc/i)
  return {
    ...(redirect && { [redirect.name]: longText('https://long.example/') }),
    ...(description && { [description.name]: longText('Typed before the session ended ') }),
  }
}

const openLongForm = async (context: CheckContext): Promise<OpenForm> => {
  const open = await openCreateForm(context, `Long form ${Date.now()}`)
  return { ...open, values: { ...open.values, ...longValues(open.form) } }
}

/** Returns the longest of the typed values. Ends the check if the form has no field for a long text. */
function longOf(values: Values): string {
  const texts = Object.values(values).map(String)
  const [longest = ''] = texts.toSorted((one, other) => other.length - one.length)
  if (longest.length < longLength) throw new NotApplicable('the form has no field for a long text')
  return longest
}

const long = {
  rule: 'PG-14',
  why: 'Clients often keep a short form in a cookie while the visitor signs in. A long form does not fit into a cookie. If the client then only redirects to the login path, the text is lost, and the visitor believes that the form was processed.',
  fix: 'If the form is too long for a cookie, answer with the filled-in form, a message, and a link to the login path that opens in a new tab.',
} as const

const sendLong = [
  ['no-session', 'without a session', sendWithoutSession],
  ['ended-session', 'after the platform has ended the session', sendAfterEndedSession],
] as const

export const drafts: CheckDefinition[] = [
  ...sendLong.map(
    ([id, when, send]): CheckDefinition => ({
      id: `create-${id}-long`,
      title: `If a long form arrives ${when}, the visitor sees the typed text again, or a message that the form was not processed`,
      ...long,
      needs,
      async run(context) {
        const open = await openLongForm(context)
        const typed = longOf(open.values)
        await expectTold(context, open.browser, await send(context, open), typed, open.page.url)
      },
    }),
  ),
  {
    id: 'edit-no-session-long',
    title:
      'If a long edit form arrives without a session, the visitor sees the typed text again, or a message that nothing was changed',
    ...long,
    needs: ['page'],
    async run(context) {
      const { browser, ...application } = await openWithApplication(context)
      const { page, form } = await openEditForm(context, { browser, ...application })
      const values = longValues(form)
      const typed = longOf(values)
      await expireSession(context, browser)
      const answer = await browser.newTab().submit(page, form, values)
      expectServed(answer, `The form was answered with ${describePage(answer)}.`)
      await expectTold(context, browser, answer, typed, page.url)
    },
  },
  {
    id: 'create-draft-once',
    title: 'If the client keeps a form during a login, it shows the typed text only once',
    rule: 'draft-once',
    why: 'If the client shows the text again and again, each new form contains the text of the old form. A visitor who does not notice this creates the same application twice.',
    fix: 'When you show a draft, delete it in the same answer.',
    needs,
    async run(context) {
      const typed = `Draft of conformance ${Date.now()}`
      const open = await openCreateForm(context, typed)
      const answer = await sendWithoutSession(context, open, context.beforePortal)
      const landed = await signInAfter(context, open.browser, answer, signInLinks(context, answer)[0])
      const openForm = () => open.browser.newTab().visit(open.page.url)
      const isShown = isInForm(landed, typed) || isInForm(await openForm(), typed)
      if (!isShown) throw new NotApplicable('the client does not keep a form during a login')
      const again = await openForm()
      expect(
        !isInForm(again, typed),
        'The client showed the typed text after the login. When the visitor opened the form once more, it contained the same text again.',
        again,
      )
    },
  },
  {
    id: 'create-sign-in-leads-back',
    title:
      'If a form arrives without a session and the client keeps the typed text, the sign-in link leads back to this text, or opens in a new tab',
    rule: 'sign-in-leads-back',
    why: 'If the link leads to another page, the visitor does not find the text, or the browser throws away the page with the filled-in form.',
    fix: 'If the client keeps a draft, add the address of the form to the link as the return address. If the answer contains the filled-in form, add target="_blank" and rel="noopener" to the link.',
    needs,
    async run(context) {
      let met = 0
      for (const open of [await openCreateForm(context, `Kept form ${Date.now()}`), await openLongForm(context)]) {
        const typed = `${open.values[nameField(open.form)]}`
        const answer = await sendWithoutSession(context, open, context.beforePortal)
        if (await leadsBack(context, open, answer, typed)) met++
      }
      if (met === 0)
        throw new NotApplicable('the client does not keep the form, or the answer to the form has no sign-in link')
    },
  },
  {
    id: 'edit-overtaken-draft',
    title:
      'If the client keeps the edit form during a login, this form does not overwrite a change that somebody else makes in the meantime',
    rule: 'edit-overtaken',
    why: 'After the login, some clients put the typed text into a new form, together with the ETag of the current version. The form then overwrites the change of the other person, and nobody notices.',
    fix: 'Keep the ETag of the form in the draft, and send this ETag as If-Match when the visitor sends the form again.',
    needs: ['page'],
    async run(context) {
      const [others, typed] = ['Changed by somebody else', 'Draft of a change']
      const keep = async (meanwhile: (application: OwnApplication) => Promise<unknown>) => {
        const application = await openWithApplication(context)
        const kept = await keepDuringLogin(context, application, typed, () => meanwhile(application))
        return { application, kept }
      }
      const send = ({ application, kept }: Awaited<ReturnType<typeof keep>>) => saveForm(context, application, kept)
      // If nobody else makes a change, the kept form must work. Otherwise the client may refuse it for another reason.
      const plain = await keep(async () => {})
      if ((await send(plain)).stored.name !== typed)
        throw new NotApplicable('an edit form that the client has kept during a login saves nothing')
      const overtaken = await keep(application => changeName(context, application, others))
      // Perhaps the page already says that somebody else has changed the application. The visitor then decides.
      if (shownIn(overtaken.kept.page, others) !== shownIn(plain.kept.page, applicationName)) return
      const { answer, stored } = await send(overtaken)
      expect(
        stored.name === others,
        `Somebody else changed the name while the client kept the form. After the login, the page with the form did not mention this change. The form replaced the name with “${stored.name}”.`,
        overtaken.kept.page,
        answer,
      )
    },
  },
]

/**
 * Fails if no sign-in link of the answer leads back to the typed text. Returns false if the client does not keep the
 * text, or if the answer has no sign-in link.
 */
async function leadsBack(
  context: CheckContext,
  { browser, page }: OpenForm,
  answer: Page,
  typed: string,
): Promise<boolean> {
  const links = signInLinks(context, answer)
  const isShown = isInForm(answer, typed)
  if (isShown && links.some(({ opensTab }) => opensTab)) return true
  if (!answer.stoppedAt && links.length === 0) return false
  const landed: Page[] = []
  for (const link of answer.stoppedAt ? [undefined] : links) {
    const next = await signInAfter(context, browser, answer, link)
    if (isInForm(next, typed)) return true
    landed.push(next)
  }
  // If the text is not in the form either, the client does not keep it. Other checks report whether the client says so.
  if (!isShown && !isInForm(await browser.newTab().visit(page.url), typed)) return false
  const where = landed.map(describePage).join(', and to ')
  fail(
    isShown
      ? `The answer to the form contains the filled-in form. Its sign-in link opens in the same tab, and leads to ${where}. The typed text is lost.`
      : `The client keeps the typed text, but after the login, the visitor gets to ${where}. This page does not contain the text.`,
    answer,
    ...landed,
  )
}

/**
 * Types a name into the edit form, and sends the form without a session. Then calls `meanwhile` and signs in.
 * Returns the form that contains the typed name: the form that the client shows after the login, or the form in the
 * answer. Ends the check if there is no such form.
 */
async function keepDuringLogin(
  context: CheckContext,
  application: OwnApplication,
  typed: string,
  meanwhile: () => Promise<unknown>,
): Promise<ApplicationForm> {
  const { page, form } = await openEditForm(context, application)
  const tab = application.browser.newTab()
  await expireSession(context, tab)
  const answer = await tab.submit(page, form, { [nameField(form)]: typed }, context.beforePortal)
  await meanwhile()
  const landed = await signInAfter(context, tab, answer, signInLinks(context, answer)[0])
  const formIn = (one: Page) =>
    one.forms.find(({ action, fields }) => action === form.action && fields.some(([, text]) => text === typed))
  for (const open of [async () => landed, async () => tab.newTab().visit(page.url), async () => answer]) {
    const one = await open()
    const kept = formIn(one)
    if (kept) return { page: one, form: kept }
  }
  throw new NotApplicable('the client does not keep an edit form during a login')
}
