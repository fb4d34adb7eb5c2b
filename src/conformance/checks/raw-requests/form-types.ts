// Checks with forms that have a different content type than the client's own forms.
import type { Browser, HttpExchange } from '../../browser/browser.ts'
import type { Form } from '../../browser/form.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect } from '../../findings.ts'
import { changesSince, filledFields, ownForm, sendForm, typedInto } from '../../steps/application-pages.ts'
import { cookieHeader } from '../../steps/callback.ts'
import { created, openCreateForm, submitCreate } from '../../steps/create-form.ts'
import { openForms, reopen } from '../../steps/every-form.ts'
import { deletesCookies, expectWorkingSignOut, signOutPathByPost } from '../../steps/sign-out.ts'

type Fields = Form['fields']
/**
 * A content type, and the function that encodes the fields of a form in this type. The type is undefined for a request
 * without a content type.
 */
type Coding = [type: string | undefined, encode: (fields: Fields) => string]

const asForm = (fields: Fields) => `${new URLSearchParams(fields)}`
const asJson = (fields: Fields) => JSON.stringify(Object.fromEntries(fields))
const boundary = 'conformance'
const asMultipart = (fields: Fields) =>
  `${fields.map(([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`).join('')}--${boundary}--\r\n`

/**
 * Types that no framework reads as a form. A client that accepts a form with such a type does not check the type, or
 * does not compare the whole type.
 */
const wrongTypes: Coding[] = [
  ['text/plain', asForm],
  ['text/plain; a=application/x-www-form-urlencoded', asForm],
  ['text/x-form', asForm],
]

/** Types that many frameworks also read as a form. The client has no form with such a type. */
const otherTypes: Coding[] = [
  [`multipart/form-data; boundary=${boundary}`, asMultipart],
  ['application/json', asJson],
  [undefined, asForm],
]

const withType = (type: string | undefined) => (type === undefined ? 'without a content type' : `with the type ${type}`)

async function sendAs(
  context: CheckContext,
  browser: Browser,
  { action, fields }: Pick<Form, 'action' | 'fields'>,
  [type, encode]: Coding,
): Promise<HttpExchange> {
  const headers = { ...ownForm(context), cookie: cookieHeader(context, browser, action) }
  return context.request(action, {
    method: 'POST',
    headers: type === undefined ? headers : { ...headers, 'content-type': type },
    body: encode(fields),
  })
}

const wrong = {
  rule: 'PG-18',
  why: "No form on the client's pages sends such a body. But other sites can send a body of the type text/plain, because browsers send this type without first asking the client.",
  fix: 'Accept only application/x-www-form-urlencoded. Remove the parameters from the content type, and compare all of the remaining text with this type. Answer any other type with status 415.',
} as const

const other = {
  rule: 'form-type-only',
  why: 'Such a request never comes from a form of the client. Each parser for another content type is additional code that an attacker can reach.',
  fix: 'Accept only application/x-www-form-urlencoded. In one function before all routes, remove the parameters from the content type, and compare all of the remaining text with this type. Answer any other type with status 415.',
} as const

async function expectNothingCreated(context: CheckContext, types: Coding[]): Promise<void> {
  const open = await openCreateForm(context)
  const form = { action: open.form.action, fields: filledFields(open.form, open.values) }
  for (const coding of types) {
    const answer = await sendAs(context, open.browser, form, coding)
    const isCreated = (await created(context, open.person)).length > 0
    expect(!isCreated, `A POST ${withType(coding[0])} created an application.`, answer)
  }
  // Sends the same fields as a normal form. If even a normal form creates no application, the check ends.
  await sendForm(context, open.browser, form, ownForm(context))
  if ((await created(context, open.person)).length === 0) await submitCreate(context, await openCreateForm(context))
}

/** Sends the forms about an application. `isJudged` chooses the forms by the values that the check types into them. */
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
      expect(
        changes.length === 0,
        `The client carried out a POST to ${path} ${withType(coding[0])}.`,
        answer,
        ...changes,
      )
    }
    await sendForm(context, browser, form, ownForm(context))
    if ((await changesSince(context, person, before)).length > 0) works++
  }
  if (judged === 0) throw new NotApplicable('no page about an application has such a form')
  if (works === 0)
    throw new Undecided('The forms about an application change nothing, even with the right content type.')
}

export const formTypes: CheckDefinition[] = [
  {
    id: 'raw-create-wrong-type',
    title:
      'If a POST has the type text/plain, or a type that merely contains the word form, the client does not create an application',
    ...wrong,
    needs: ['page', 'create'],
    run: context => expectNothingCreated(context, wrongTypes),
  },
  {
    id: 'raw-edit-wrong-type',
    title:
      'If a POST has the type text/plain, or a type that merely contains the word form, the client does not change an application',
    ...wrong,
    needs: ['page'],
    // Sends only forms with typed values. For a new secret or a removal, a client may ignore the body, so these forms
    // prove nothing.
    run: context => expectNothingChanged(context, wrongTypes, values => Object.keys(values).length > 0),
  },
  {
    id: 'raw-create-other-type',
    title:
      'If a POST has the type multipart/form-data or JSON, or no content type, the client does not create an application',
    ...other,
    needs: ['page', 'create'],
    run: context => expectNothingCreated(context, otherTypes),
  },
  {
    id: 'raw-forms-other-type',
    title:
      "If a form about an application arrives with a content type that the client's forms do not have, the client does not do what the form asks for",
    ...other,
    needs: ['page'],
    run: context => expectNothingChanged(context, [...otherTypes, ...wrongTypes.slice(0, 1)]),
  },
  {
    id: 'raw-logout-other-type',
    title:
      "If a POST to the sign-out path arrives with a content type that the client's forms do not have, the client does not sign anyone out",
    ...other,
    needs: ['page', 'logout'],
    async run(context) {
      const path = signOutPathByPost(context)
      const { browser } = await context.signedIn()
      for (const coding of [...wrongTypes, ...otherTypes]) {
        const answer = await sendAs(context, browser, { action: context.url(path), fields: [['a', 'b']] }, coding)
        const [type] = coding
        expect(!deletesCookies(answer), `The answer to a POST ${withType(type)} deletes the cookies.`, answer)
        expect(await context.isSignedIn(browser), `A POST ${withType(type)} signs the visitor out.`, answer)
      }
      await expectWorkingSignOut(context, browser)
    },
  },
]
