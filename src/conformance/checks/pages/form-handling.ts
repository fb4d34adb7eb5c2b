// Checks how the client handles the forms about applications. In some checks, a visitor sends an old form again, or
// chooses one of several groups. Other checks are about the limits of fields, or the number of platform calls for each
// form.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type Browser, noRedirects, type Page } from '../../browser/browser.ts'
import type { Form } from '../../browser/form.ts'
import { attribute, type Element } from '../../browser/html.ts'
import { parseAnswer } from '../../browser/page.ts'
import {
  type Check,
  type CheckDefinition,
  NotApplicable,
  passNotApplicable,
  ReportedElsewhere,
  Undecided,
} from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectWithFix, fail } from '../../findings.ts'
import type { Person } from '../../platform.ts'
import { isAwaitedCall, isRenewal } from '../../platform-calls.ts'
import {
  changeName,
  nameField,
  openEditForm,
  openPagesAbout,
  openWithApplication,
  readName,
  requireWorkingEditForm,
  saveForm,
  typedInto,
} from '../../steps/application-pages.ts'
import { applicationName, makeGroup, redirectUri } from '../../steps/applications.ts'
import { followCallback } from '../../steps/callback.ts'
import {
  created,
  dataOf,
  findCreateForm,
  isCreation,
  noCreation,
  type OpenForm,
  openCreateForm,
  openFormIn,
  secretOf,
} from '../../steps/create-form.ts'
import { openForms, reopen } from '../../steps/every-form.ts'
import { shownIn } from '../../steps/list-page.ts'
import { jsonOf } from '../../tokens.ts'

const needs: Check['needs'] = ['create', 'page']

const fieldOf = ({ values }: OpenForm, pattern: RegExp) => Object.keys(values).find(name => pattern.test(name))

/** The calls with which the client tried to create an application, whatever the API answered. */
const attempts = (context: CheckContext) => context.arrived('api').filter(isCreation)

/** Redirect URIs that the API accepts. */
const allowedAddresses = [
  'http://localhost:8080/callback',
  'http://127.0.0.1:9000/callback',
  'http://[::1]:9000/callback',
  'http://127.8.9.10/callback',
  'https://a-b.sub.example:8443/a/b%20c?d=e&f=g%2Bh',
  'https://no-path.example',
  'https://127.0.0.1/callback',
  `https://long.example/${'a'.repeat(1000)}`,
]

/**
 * The longest values that the API accepts, keyed by the name of the field. For redirect URIs, the API limits the length
 * of each address, not of the whole list.
 */
const limits: Record<string, number> = {
  name: 200,
  description: 2000,
  webPageUrl: 2048,
  iconUrl: 2048,
  privacyPolicyUrl: 2048,
  redirectUris: 2048,
  defaultRedirectUri: 2048,
  scopes: 2000,
  defaultScopes: 2000,
}

/** Fields that can have very short values. An address always needs several characters. */
const shortFields = ['name', 'description', 'scopes', 'defaultScopes']

/**
 * Looks for a field whose limit is stricter than the limit of the API, and returns a sentence about it. Looks only at
 * forms with a field for redirect URIs, because a search form can have a field with the same name as a field of the
 * API.
 */
function stricterLimit(page: Page): string | undefined {
  const { elements, owners } = parseAnswer(page.headers, page.body)
  const nameOf = (element: Element) => attribute(element, 'name') ?? ''
  const fields = elements.filter(({ tagName }) => ['input', 'textarea'].includes(tagName))
  const formsAbout = new Set(fields.filter(field => /redirect/i.test(nameOf(field))).map(field => owners.get(field)))
  for (const field of fields) {
    const [name, form] = [nameOf(field), owners.get(field)]
    const most = limits[name]
    if (most === undefined || !form || !formsAbout.has(form)) continue
    // Browsers ignore an attribute without a number.
    const limitOf = (one: string) => Number.parseInt(attribute(field, one) ?? '', 10)
    const [longest, shortest] = [limitOf('maxlength'), limitOf('minlength')]
    if (longest >= 0 && longest < most)
      return `The field ${name} has maxlength ${longest}, but the API accepts ${most} characters.`
    if (shortest > 1 && shortFields.includes(name))
      return `The field ${name} has minlength ${shortest}, but the API accepts shorter values.`
  }
  return undefined
}

const onceRule = {
  rule: 'PG-15',
  fix: 'Remember the ids of all forms that were processed, and not only the id of the latest form. Keep these ids outside the session. If a form arrives again, answer with the result of the first request.',
} as const

export const formHandling: CheckDefinition[] = [
  {
    id: 'create-once-between-others',
    title: 'If a visitor sends two forms and then the first form again, the client does not create a third application',
    ...onceRule,
    why: 'If a client remembers only the latest form, it treats an older form as new. A visitor who goes back in the browser history can send an older form again.',
    needs,
    async run(context) {
      const first = await openCreateForm(context, 'First of two forms')
      const second = await openFormIn(context, first.browser.newTab(), first.person, 'Second of two forms')
      for (const open of [first, second]) await open.browser.newTab().submit(open.page, open.form, open.values)
      const made = (await created(context, first.person)).length
      if (made === 0) throw noCreation()
      if (made !== 2) throw new NotApplicable('the client keeps only one open form for each visitor')
      await first.browser.newTab().submit(first.page, first.form, first.values)
      const steps = await created(context, first.person)
      expect(steps.length === 2, `The two forms created ${steps.length} applications.`, ...steps)
    },
  },
  {
    id: 'create-once-after-login',
    title: 'If a visitor signs in again and sends an old form again, the client does not create another application',
    ...onceRule,
    why: 'If a client remembers the forms in the session, it forgets them when a new session begins. The browser still has the page with the form.',
    needs,
    async run(context) {
      const open = await openCreateForm(context, 'Sent before another login')
      await open.browser.newTab().submit(open.page, open.form, open.values)
      if ((await created(context, open.person)).length !== 1) throw noCreation()
      const tab = open.browser.newTab()
      await followCallback(context, tab, await context.authorize(await context.startLogin(tab), open.person))
      if (!(await context.isSignedIn(open.browser))) throw new Undecided('The visitor could not sign in again.')
      await open.browser.newTab().submit(open.page, open.form, open.values)
      const steps = await created(context, open.person)
      expect(steps.length === 1, `The form created ${steps.length} applications.`, ...steps)
    },
  },
  {
    id: 'create-after-refusal',
    title: 'If the client shows a refused form again and the visitor corrects it, the form creates the application',
    rule: 'create-application',
    why: 'If the client shows the form again with the one-time id of the refused form, or without one of the fields, the visitor can never create the application.',
    fix: 'When you show the form again, give it a new one-time id. Or mark the old id as used only after the API has created the application.',
    needs,
    async run(context) {
      let judged = 0
      for (const fault of ['', 'create-422-fields']) {
        const open = await openCreateForm(
          context,
          `Corrected after a refusal ${fault ? 'of the API' : 'of an address'}`,
        )
        const redirect = fieldOf(open, /redirect/i)!
        const known = (await created(context, open.person)).length
        if (fault) await context.order(fault, { times: 1 })
        const values = fault ? open.values : { ...open.values, [redirect]: 'ftp://not-allowed.example/' }
        const refused = await open.browser.submit(open.page, open.form, values)
        await context.dropFaults()
        const again = findCreateForm(refused)
        if (!again || (await created(context, open.person)).length > known) continue
        judged++
        const page = await open.browser.submit(refused, again, open.values)
        const made = (await created(context, open.person)).length - known
        expect(made === 1, `The corrected form created ${made} applications, and led to ${describePage(page)}.`, page)
      }
      if (judged === 0) throw new NotApplicable('the client does not show a refused form again')
    },
  },
  {
    id: 'create-chosen-group',
    title: 'The client creates an application in the group that the visitor chose',
    rule: 'create-application',
    why: 'The members of the group get access to the application. In the wrong group, other people can change and remove it.',
    fix: "Send the value of the field for the group as groupId. Do not always use the visitor's first group.",
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      const groups = [await makeGroup(context, person, 'Second group'), await makeGroup(context, person, 'Third group')]
      for (const group of [...groups, person.groupId]) {
        const open = await openFormIn(context, browser.newTab(), person, `In the group ${group.slice(0, 8)}`)
        const controls = open.form.controls.filter(({ name, type }) => /group/i.test(name) && type !== 'hidden')
        // Each radio button is a control with one choice.
        const field = controls.some(({ choices }) => choices)
          ? controls.find(({ choices }) => choices?.includes(group))
          : controls[0]
        if (!field) throw new NotApplicable('the form does not let the visitor choose a group')
        const known = (await created(context, person)).length
        const page = await open.browser.submit(open.page, open.form, { ...open.values, [field.name]: group })
        const step = (await created(context, person))[known]
        if (!step) throw noCreation()
        expect(
          dataOf(step).groupId === group,
          'The application does not belong to the group that the visitor chose.',
          page,
          step,
        )
      }
    },
  },
  {
    id: 'create-several-addresses',
    title: 'The API gets all redirect URIs that the visitor typed',
    rule: 'create-application',
    why: 'An application can have several redirect URIs. If the client loses one of them, logins of this application fail.',
    fix: 'Send all addresses in redirectUris, separated by commas.',
    needs,
    async run(context) {
      const addresses = ['https://one.example/callback', 'https://two.example/back?x=1', 'http://localhost:3000/third']
      const { browser, person } = await context.signedIn()
      const losses: { lost: string; page: Page; step: LabStep }[] = []
      for (const separator of [',', '\r\n', ' ']) {
        const open = await openFormIn(context, browser.newTab(), person, `Several addresses ${separator.charCodeAt(0)}`)
        const known = (await created(context, person)).length
        const values = { ...open.values, [fieldOf(open, /redirect/i)!]: addresses.join(separator) }
        const page = await open.browser.submit(open.page, open.form, values)
        const step = (await created(context, person))[known]
        if (!step) continue
        const sent = `${dataOf(step).redirectUris}`.split(',').map(text => text.trim())
        const lost = addresses.find(address => !sent.includes(address))
        if (lost === undefined) return expectLongAddresses(context, browser, person, separator)
        // A form that expects one address on each line can treat several addresses with commas between them as one
        // address.
        losses.push({ lost, page, step })
      }
      const [loss] = losses
      if (!loss)
        throw new NotApplicable(
          'the form does not accept several redirect URIs that are separated by a comma, a line break or a space',
        )
      fail(
        `The visitor typed ${addresses.length} redirect URIs, and the API did not get ${loss.lost}. This check tries three separators: commas, line breaks and spaces.`,
        loss.page,
        loss.step,
      )
    },
  },
  {
    id: 'create-addresses-accepted',
    title:
      'The form for a new application accepts every redirect URI that the API accepts, and a name of one character',
    rule: 'PG-17',
    why: 'A client that accepts only some addresses, such as https addresses without a port, refuses values that the platform allows.',
    fix: 'Check addresses with a URL parser. Accept https with any host, port, path and query, and http on a loopback address.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      for (const [at, address] of allowedAddresses.entries()) {
        const open = await openFormIn(context, browser.newTab(), person, 'n'.repeat(at + 1))
        await context.platform.settle()
        const known = attempts(context).length
        const values = { ...open.values, [fieldOf(open, /redirect/i)!]: address }
        const page = await open.browser.submit(open.page, open.form, values)
        await context.platform.settle()
        const step = attempts(context)[known]
        // If the client makes the call and the API refuses it, the client is not stricter than the API.
        const isSent =
          step !== undefined && (step.response.status >= 400 || `${dataOf(step).redirectUris}`.trim() === address)
        if (isSent) continue
        if ((await created(context, person)).length === 0 && at === 0) {
          const plain = await openFormIn(context, browser.newTab(), person)
          await plain.browser.submit(plain.page, plain.form, plain.values)
          if ((await created(context, person)).length === 0) throw noCreation()
        }
        expectWithFix(
          'Use the URL parser only to check the address. Send the address exactly as it was typed, because the portal compares redirect URIs byte by byte.',
          step === undefined,
          `The visitor typed the redirect URI ${address.slice(0, 80)}, and the API got ${`${step && dataOf(step).redirectUris}`.slice(0, 80)}.`,
          page,
        )
        const name = open.values[fieldOf(open, /name/i)!]
        fail(
          `With the name ${name} and the redirect URI ${address.slice(0, 80)}, the client did not call the API: the visitor got ${describePage(page)}.`,
          page,
        )
      }
    },
  },
  {
    id: 'edit-addresses-accepted',
    title: 'The edit form accepts every redirect URI that the API accepts',
    rule: 'PG-17',
    why: 'A client that accepts only some addresses, such as https addresses without a port, refuses values that the platform allows. Often the edit form has its own code for this check.',
    fix: 'Use the same function as for new applications. Accept https with any host, port, path and query, and http on a loopback address.',
    needs: ['page'],
    async run(context) {
      const application = await openWithApplication(context)
      const save = async (address: string) => {
        await changeName(context, application, applicationName)
        const { page, form } = await openEditForm(context, application)
        const fields = form.controls.filter(({ name, type }) => /redirect/i.test(name) && type !== 'hidden')
        if (fields.length === 0 || fields.some(({ choices }) => choices))
          throw new NotApplicable('the edit form has no text field for redirect URIs')
        const values = Object.fromEntries(fields.map(({ name }) => [name, address]))
        await context.platform.settle()
        const { result: answer, steps } = await context.during(() =>
          application.browser.newTab().submit(page, form, values),
        )
        const change = steps.find(step => step.kind === 'api' && step.request.method === 'PUT')
        return { answer, change }
      }
      const plain = await save('https://plain.example/callback')
      if (!plain.change || plain.change.response.status >= 400)
        throw new NotApplicable('the edit form does not save another redirect URI')
      for (const address of allowedAddresses) {
        const { answer, change } = await save(address)
        expect(
          change,
          `With the redirect URI ${address.slice(0, 80)}, the client did not call the API: the visitor got ${describePage(answer)}.`,
          answer,
        )
        // If the client makes the call and the API refuses it, the client is not stricter than the API.
        const sent = `${dataOf(change).redirectUris}`.trim()
        expectWithFix(
          'Use the URL parser only to check the address. Send the address exactly as it was typed, because the portal compares redirect URIs byte by byte.',
          change.response.status >= 400 || sent === address,
          `The visitor typed the redirect URI ${address.slice(0, 80)}, and the API got ${sent.slice(0, 80)}.`,
          answer,
          change,
        )
      }
    },
  },
  {
    id: 'form-limits-in-html',
    title: 'No field of a form about an application allows fewer characters than the API',
    rule: 'PG-17',
    why: 'If a value is longer than the field allows, the browser cuts it off or does not send the form, although the platform allows the value.',
    fix: 'Use the limits of the API for maxlength: 200 for the name, 2,000 for the description and the scopes, 2,048 for an address. Leave out minlength.',
    needs: ['page'],
    async run(context) {
      const pages: Page[] = []
      const application = await openWithApplication(context)
      if (context.settings.create) pages.push(await application.browser.visit(context.url(context.settings.create)))
      pages.push(...(await openPagesAbout(context, application)))
      for (const page of pages) {
        const found = stricterLimit(page)
        expect(found === undefined, `${found}`, page)
      }
    },
  },
  {
    id: 'create-secret-on-one-page',
    title: 'After a page has shown the secret of a new application, no other page shows this secret',
    rule: 'secret-shown',
    why: 'If the list, the page of the application or a later form shows the secret again, anyone who uses the browser later can read it.',
    fix: 'Wherever you keep the secret, delete it when you send the page that shows it.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      const page = await open.browser.submit(open.page, open.form, open.values)
      const steps = await created(context, open.person)
      if (steps.length === 0) throw noCreation()
      const secret = secretOf(steps)
      if (!page.body.includes(secret))
        throw new ReportedElsewhere('the page that follows the form does not show the secret')
      const id = String(jsonOf(steps[0]!)['@id'])
      const later = [
        await open.browser.newTab().visit(context.url(context.settings.create)),
        await open.browser.newTab().visit(context.url('/')),
        ...(await openPagesAbout(context, { browser: open.browser, person: open.person, id })),
      ]
      for (const one of later) expect(!one.body.includes(secret), 'A later page shows the secret again.', one)
    },
  },
  {
    id: 'edit-overtaken-reopened',
    title:
      "If a visitor opened the edit form both before and after somebody else's change, the older form does not overwrite this change",
    rule: 'edit-overtaken',
    why: 'If a client keeps the ETag in the session or in its memory, and not in the form, it replaces the ETag when another tab opens the form. The first tab then overwrites what somebody else has changed.',
    fix: 'In a hidden field of the form, keep the ETag that came with the values. Send this ETag as If-Match.',
    needs: ['page'],
    async run(context) {
      const application = await openWithApplication(context)
      const { browser } = application
      const old = await openEditForm(context, application)
      await changeName(context, application, 'Changed by somebody else')
      const reopened = await browser.newTab().visit(old.page.url)
      if (!reopened.forms.some(({ action }) => action === old.form.action))
        throw new NotApplicable('the edit form cannot be opened twice')
      const typed = { [nameField(old.form)]: 'Late change of an old form' }
      const { answer: late, stored } = await saveForm(context, application, old, typed)
      expect(stored.name === 'Changed by somebody else', `The old form replaced the name with “${stored.name}”.`, late)
      await requireWorkingEditForm(context, application)
    },
  },
  {
    id: 'edit-overtaken-after-refusal',
    title:
      'If the client shows a refused edit form again, the corrected form does not overwrite a change that somebody else made after the visitor had opened the form',
    rule: 'edit-overtaken',
    why: "Some clients show a refused form again with the ETag of a newer version, or with no ETag. The visitor's next attempt then overwrites the other person's change, and nobody notices.",
    fix: 'When you show a refused form again, keep the ETag from the form that the visitor sent.',
    needs: ['page'],
    async run(context) {
      const application = await openWithApplication(context)
      const { browser } = application
      const others = 'Changed by somebody else'
      let known: Page | undefined
      for (const when of ['after', 'before'] as const) {
        await changeName(context, application, applicationName)
        const { page, form } = await openEditForm(context, application)
        const redirect = form.controls.find(({ name }) => /redirect_?uris?/i.test(name))!.name
        const send = (from: Page, one: Form, address: string) =>
          browser.newTab().submit(from, one, { [nameField(one)]: 'Change of a refused form', [redirect]: address })
        if (when === 'before') await changeName(context, application, others)
        const refused = await send(page, form, 'ftp://not-allowed.example/')
        const again = refused.forms.find(
          one => one.action === form.action && one.fields.some(([name]) => name === redirect),
        )
        if (!again || refused.trail.at(-1)?.request.method !== 'POST')
          throw new NotApplicable('the client does not show a refused edit form again')
        // Perhaps the refused form already says that somebody else has changed the application. The visitor then
        // decides.
        if (known && (refused.status !== known.status || shownIn(refused) !== shownIn(known))) return
        known = refused
        if (when === 'after') await changeName(context, application, others)
        const late = await send(refused, again, redirectUri)
        await context.platform.settle()
        const stored = await readName(context, application)
        expect(
          stored === others,
          `Somebody else changed the name ${when} the client refused the form. The refused form did not mention this change. The corrected form replaced this name with “${stored}”.`,
          refused,
          late,
        )
      }
    },
  },
  {
    id: 'edit-refused-kept',
    title: 'When the API refuses a change, the client shows the form again with the typed values',
    rule: 'form-kept',
    why: 'A visitor who has to type everything again makes mistakes, or gives up.',
    fix: 'Show the form again with status 422 or 400, and with the values that the visitor sent. Use the same code as for new applications.',
    needs: ['page'],
    async run(context) {
      const application = await openWithApplication(context)
      let met = 0
      for (const reason of ['the API refuses a field', 'an address is wrong'] as const) {
        const { page, form } = await openEditForm(context, application)
        const typed = { ...textsFor(form), [nameField(form)]: `Typed by "conformance" & 'others' <b>` }
        const redirect = form.controls.find(({ name }) => /redirect_?uris?/i.test(name))!.name
        if (reason === 'the API refuses a field') await context.order('update-422-fields', { times: 5 })
        else typed[redirect] = 'ftp://not-allowed.example/'
        await context.platform.settle()
        const { result: answer, steps } = await context.during(() => application.browser.submit(page, form, typed))
        await context.dropFaults()
        const change = steps.find(({ kind, request }) => kind === 'api' && request.method === 'PUT')
        if (change ? change.response.status !== 422 : reason === 'the API refuses a field') continue
        met++
        const lost = Object.entries(typed).filter(
          ([name, text]) =>
            !answer.forms.some(({ fields }) => fields.some(one => one[0] === name && one[1].trim() === text)),
        )
        expect(
          lost.length === 0,
          `When ${reason}, the visitor got ${describePage(answer)}, without the typed values of these fields: ${lost.map(([name]) => name).join(', ')}.`,
          answer,
        )
      }
      if (met === 0) throw new NotApplicable('the edit form makes no call that changes the application')
    },
  },
  {
    id: 'calls-of-a-form',
    title:
      'For each form that a visitor sends, the client makes at most two platform calls, and at most three if the API refuses the form',
    rule: 'DO-14',
    why: 'If the client reads the list, the groups and the application again for each form, a few visitors can overload the platform.',
    fix: 'For a form, make only the call that the form asks for, and at most one other call before this call. Answer with a redirect. To show a refused form again, read only the groups, and keep the id of the visitor in the session.',
    needs: ['page'],
    async run(context) {
      let judged = 0
      const judge = async (what: string, usual: number, send: () => Promise<Page>) => {
        await context.platform.settle()
        const { result: page, steps } = await context.during(send)
        const calls = steps.filter(isAwaitedCall)
        // After a 401, the client may renew the session and send the refused call once more.
        const most = usual + (calls.some(isRenewal) ? 1 : 0)
        judged++
        expect(calls.length <= most, `For ${what}, the client made ${calls.length} calls.`, page, ...calls.slice(0, 6))
      }
      if (context.settings.create) {
        const open = await openCreateForm(context)
        const send = ({ browser, page, form, values }: OpenForm) => browser.submit(page, form, values, noRedirects)
        await judge('the form for a new application', 2, () => send(open))
        const again = await openFormIn(context, open.browser.newTab(), open.person)
        await context.order('create-422-fields', { times: 5 })
        // The client may read the groups again to show the refused form.
        await judge('a refused form for a new application', 3, () => send(again))
        await context.dropFaults()
      }
      const all = await openForms(context).catch(passNotApplicable)
      for (const found of all?.forms ?? []) {
        const open = await reopen(all!.browser, found)
        if (!open) continue
        await judge(`the form ${new URL(open.form.action).pathname.replaceAll(all!.id, '…')}`, 2, () =>
          all!.browser.newTab().submit(open.page, open.form, typedInto(open), noRedirects),
        )
      }
      if (judged === 0) throw new NotApplicable('the client has no form about applications')
    },
  },
]

/** Returns a new value for each text field of the form, except the redirect URIs. */
function textsFor({ controls }: Form): Record<string, string> {
  const typed = controls.filter(
    ({ name, type, choices }) => ['text', 'url', 'textarea'].includes(type) && !choices && !/redirect/i.test(name),
  )
  return Object.fromEntries(
    typed.map(({ name }) => [name, /ur[il]/i.test(name) ? `https://typed.example/${name}` : `Typed into ${name}`]),
  )
}

/** Sends the form with three long redirect URIs. Fails if the client does not call the API. */
async function expectLongAddresses(context: CheckContext, browser: Browser, person: Person, separator: string) {
  const open = await openFormIn(context, browser.newTab(), person, 'Several long addresses')
  const addresses = ['one', 'two', 'three'].map(name => `https://${name}.example/${'a'.repeat(1500)}`)
  await context.platform.settle()
  const known = attempts(context).length
  const values = { ...open.values, [fieldOf(open, /redirect/i)!]: addresses.join(separator) }
  const page = await open.browser.submit(open.page, open.form, values)
  await context.platform.settle()
  expect(
    attempts(context).length > known,
    `The visitor typed three redirect URIs with 1,500 characters each, and got ${describePage(page)}. The client did not call the API. The API accepts 2,048 characters for each address.`,
    page,
  )
}
