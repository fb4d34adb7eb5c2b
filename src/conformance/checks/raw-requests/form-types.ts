// Forms that arrive with a content type that no form of the client has.
import type { Browser, Exchange } from '../../browser/browser.ts'
import type { Form } from '../../browser/form.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect } from '../../findings.ts'
import { changesSince, filledFields, ownForm, sendForm } from '../../steps/application-pages.ts'
import { cookieHeader } from '../../steps/callback.ts'
import { created, openCreateForm, submitCreate } from '../../steps/create-form.ts'
import { openForms, reopen, typedInto } from '../../steps/every-form.ts'
import { deletesCookies, signOutPathByPost } from '../../steps/sign-out.ts'

type Fields = Form['fields']
/** A content type, and the body in which it sends the fields of a form. */
type Coding = [type: string, encode: (fields: Fields) => string]

const asForm = (fields: Fields) => `${new URLSearchParams(fields)}`
const asJson = (fields: Fields) => JSON.stringify(Object.fromEntries(fields))
const boundary = 'conformance'
const asMultipart = (fields: Fields) =>
  `${fields.map(([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`).join('')}--${boundary}--\r\n`

/**
 * Types under which no framework reads a form: a client reads it only if it does not look at the type, or compares only a
 * part of the type.
 */
const wrongTypes: Coding[] = [
  ['text/plain', asForm],
  ['text/plain; a=application/x-www-form-urlencoded', asForm],
  ['text/x-form', asForm],
]

/** Types that many frameworks read like a form, although the client has no such form. */
const otherTypes: Coding[] = [
  [`multipart/form-data; boundary=${boundary}`, asMultipart],
  ['application/json', asJson],
]

async function sendAs(
  context: CheckContext,
  browser: Browser,
  { action, fields }: Pick<Form, 'action' | 'fields'>,
  [type, encode]: Coding,
): Promise<Exchange> {
  const headers = { ...ownForm(context), cookie: cookieHeader(context, browser, action), 'content-type': type }
  return context.request(action, { method: 'POST', headers, body: encode(fields) })
}

const wrong = {
  rule: 'PG-18',
  why: 'The client would read bodies that no form of its pages sends. Other sites can send text/plain without a question to the client.',
  fix: 'Compare the whole content type, without its parameters, with application/x-www-form-urlencoded, and answer any other type with status 415.',
} as const

const other = {
  rule: 'form-type-only',
  why: 'Such a request never comes from a form of the client. Each parser for another content type is additional code that an attacker can reach.',
  fix: 'Compare the content type, without its parameters, with application/x-www-form-urlencoded at one place before all routes, and answer any other type with status 415.',
} as const

async function expectNothingCreated(context: CheckContext, types: Coding[]): Promise<void> {
  const open = await openCreateForm(context)
  const form = { action: open.form.action, fields: filledFields(open.form, open.values) }
  for (const coding of types) {
    const answer = await sendAs(context, open.browser, form, coding)
    const isCreated = (await created(context, open.person)).length > 0
    expect(!isCreated, `A POST as ${coding[0]} created an application.`, answer)
  }
  // Ends the check unless the same fields create an application when they are sent as a form.
  await sendForm(context, open.browser, form, ownForm(context))
  if ((await created(context, open.person)).length === 0) await submitCreate(context, await openCreateForm(context))
}

/** `isJudged`: says which forms about an application the check sends. */
async function expectNothingChanged(
  context: CheckContext,
  types: Coding[],
  isJudged: (values: Record<string, string | string[]>) => boolean = () => true,
): Promise<void> {
  const { browser, person, forms } = await openForms(context)
  let works = 0
  let judged = 0
  for (const found of forms) {
    const open = await reopen(browser, found)
    const values = open && typedInto(open, 'Sent with another type')
    if (!open || !values || !isJudged(values)) continue
    judged++
    const form = { action: open.form.action, fields: filledFields(open.form, values) }
    const before = context.arrived('api')
    for (const coding of types) {
      const answer = await sendAs(context, browser, form, coding)
      const changes = await changesSince(context, person, before)
      const path = new URL(form.action).pathname.replaceAll(/[\w-]{30,}/g, '…')
      expect(changes.length === 0, `A POST to ${path} as ${coding[0]} was carried out.`, answer, ...changes)
    }
    await sendForm(context, browser, form, ownForm(context))
    if ((await changesSince(context, person, before)).length > 0) works++
  }
  if (judged === 0) throw new NotApplicable('no page about an application has such a form')
  if (works === 0) throw new Undecided('No form about an application changes anything, not even as a form.')
}

export const formTypes: CheckDefinition[] = [
  {
    id: 'raw-create-wrong-type',
    title: 'A POST as text/plain, or with a type that only contains the word form, creates no application',
    ...wrong,
    needs: ['page', 'create'],
    run: context => expectNothingCreated(context, wrongTypes),
  },
  {
    id: 'raw-edit-wrong-type',
    title: 'A POST as text/plain, or with a type that only contains the word form, changes no application',
    ...wrong,
    needs: ['page'],
    // A client may read no body for a new secret or a removal, so only a form with typed values proves that the body was read.
    run: context => expectNothingChanged(context, wrongTypes, values => Object.keys(values).length > 0),
  },
  {
    id: 'raw-create-other-type',
    title: 'A POST as multipart/form-data or JSON creates no application',
    ...other,
    needs: ['page', 'create'],
    run: context => expectNothingCreated(context, otherTypes),
  },
  {
    id: 'raw-forms-other-type',
    title: 'No form about an application is carried out if its content type is not the type of a form',
    ...other,
    needs: ['page'],
    run: context => expectNothingChanged(context, [...otherTypes, ...wrongTypes.slice(0, 1)]),
  },
  {
    id: 'raw-logout-other-type',
    title: 'A POST to the sign-out path signs nobody out if its content type is not the type of a form',
    ...other,
    needs: ['page', 'logout'],
    async run(context) {
      const path = signOutPathByPost(context)
      const { browser } = await context.signedIn()
      for (const coding of [...wrongTypes, ...otherTypes]) {
        const answer = await sendAs(context, browser, { action: context.url(path), fields: [['a', 'b']] }, coding)
        const [type] = coding
        expect(!deletesCookies(answer), `A POST as ${type} deletes the cookies.`, answer)
        expect(await context.isSignedIn(browser), `A POST as ${type} signs the visitor out.`, answer)
      }
    },
  },
]
