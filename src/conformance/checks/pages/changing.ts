// Checks on the pages about one application: the form that changes it, and every other form and link that could change
// or remove it.
import type { Page } from '../../browser/browser.ts'
import type { Form } from '../../browser/form.ts'
import { type Check, type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed } from '../../findings.ts'
import type { Person } from '../../platform.ts'
import { isCallWithToken } from '../../platform-calls.ts'
import {
  changesSince,
  filledFields,
  formsAbout,
  isOfClient,
  nameField,
  type OwnApplication,
  openEditForm,
  openPagesAbout,
  openWithApplication,
  ownForm,
  sendForm,
  typedInto,
  worksFromItsPage,
} from '../../steps/application-pages.ts'
import { redirectUri } from '../../steps/applications.ts'
import { findCreateForm, forge, replaceId, textFieldsOf, withoutHidden } from '../../steps/create-form.ts'
import { runsScript } from '../../steps/page-content.ts'

const needs: Check['needs'] = ['page']

/**
 * If a page does not escape this text, the text ends an attribute value, a textarea or an option, and adds an element.
 */
const markup = `Marker" onmouseover="conformance()" ' onmouseover='conformance()' ></textarea></option><img src=x onerror=conformance()>`

/** The check `links-change-nothing` opens at most this many addresses. */
const mostAddresses = 30

/** Ids that lead to another path of the API if the client does not encode them. */
const hostileIds = (id: string) => [
  `${id}%2FrefreshSecret%3F`,
  `${id}%3Fx=1`,
  '..%2f..%2fidentities%2fv1',
  '%2e%2e%2f%2e%2e%2fapi',
  '%2e%2e',
]

const allowedPaths = /^\/apps\/v1(\/(?!\.\.?($|\/))[^/?#]+(\/\w+)?)?$/

const secondDescription = 'Second description of conformance'

/**
 * Opens the edit form in two tabs, and then sends both forms, each with a different name. Returns both names, both
 * answers, and the name that the API has at the end.
 */
async function saveTwice(context: CheckContext) {
  const application = await openWithApplication(context)
  const { browser, person, id } = application
  const tabs = [await openEditForm(context, application), await openEditForm(context, application)] as const
  const [first, second] = ['First change of conformance', 'Second change of conformance']
  const save = (at: 0 | 1, text: string) => {
    const { page, form } = tabs[at]
    const hasDescription = at === 1 && form.controls.some(({ name }) => name === 'description')
    const values = { [nameField(form)]: text, ...(hasDescription && { description: secondDescription }) }
    return browser.newTab().submit(page, form, values)
  }
  const earlier = await save(0, first)
  const token = await context.platform.tokenOf(person)
  const stored = async () => {
    const { data } = (await context.platform.callApi(token, 'GET', `/apps/v1/${id}`)).json<{ data: { name: string } }>()
    return data.name
  }
  if ((await stored()) !== first) throw new NotApplicable('the edit form saves nothing')
  const answer = await save(1, second)
  await context.platform.settle()
  const typed = tabs[1].form.controls.some(({ name }) => name === 'description')
    ? [second, secondDescription]
    : [second]
  return { earlier, answer, second, typed, stored: await stored(), first }
}

export const changing: CheckDefinition[] = [
  {
    id: 'edit-escapes',
    title: 'The form that changes an application escapes quotes and markup in its values',
    rule: 'PG-07',
    why: "Other members of the visitor's group can write these values. Without escaping, a quote in a value ends an HTML attribute.",
    fix: 'Escape <, >, & and both quotes in every value, or let the template escape them.',
    needs,
    async run(context) {
      const application = await openWithApplication(context, { name: markup, description: markup })
      const { page } = await openEditForm(context, application)
      expect(page.body.includes('Marker'), 'The edit form does not show the name of the application.', page)
      expect(!runsScript(page, 'conformance()'), `${page.url} contains a value without escaping.`, page)
      // Changes the stored values while the form is open, as another member could do. The answer to the form may then
      // also contain the stored values.
      const late = await openEditForm(context, application)
      const token = await context.platform.tokenOf(application.person)
      const data = { name: `${markup} again`, description: `${markup} again`, redirectUris: redirectUri }
      await context.platform.callApi(token, 'PUT', `/apps/v1/${application.id}`, data)
      const answer = await application.browser
        .newTab()
        .submit(late.page, late.form, { [nameField(late.form)]: 'Typed' })
      expect(
        !runsScript(answer, 'conformance()'),
        'Another member saved new values before the visitor sent the form. The answer to the form contains one of these values without escaping.',
        answer,
      )
    },
  },
  {
    id: 'edit-works',
    title: "If a visitor types another name into the edit form, the API accepts the client's call",
    rule: 'change-application',
    why: 'If the API refuses every change, nobody can use the form.',
    fix: 'Send PUT with the envelope, and with at least name and redirectUris. If you send If-Match, send the ETag exactly as the API sent it, including the quotes.',
    needs,
    async run(context) {
      const { browser, person, id } = await openWithApplication(context)
      const { page, form } = await openEditForm(context, { browser, person, id })
      const before = context.arrived('api')
      const answer = await browser.newTab().submit(page, form, typedInto({ page, form }))
      const changes = (await changesSince(context, person, before)).filter(({ request }) => request.url.includes(id))
      if (changes.length === 0) throw new NotApplicable('the edit form makes no call that changes the application')
      const { status } = changes.at(-1)!.response
      expect(status < 400, `The API refused the change of the name with status ${status}.`, answer, ...changes)
    },
  },
  {
    id: 'edit-overtaken',
    title:
      "If somebody changes an application while a visitor has the edit form open, the visitor's form does not overwrite this change",
    rule: 'edit-overtaken',
    why: 'If two people or two tabs edit the same application, the later form can overwrite the changes of the earlier form, and nobody notices.',
    fix: 'In the form, keep the ETag that came with the values. Send this ETag as If-Match, and show the form again after a 412 answer.',
    needs,
    async run(context) {
      const { earlier, answer, stored, first } = await saveTwice(context)
      expect(stored === first, `The later form replaced the name “${first}” with “${stored}”.`, earlier, answer)
      expectServed(answer, `The later form was answered with ${describePage(answer)}.`)
    },
  },
  {
    id: 'edit-overtaken-kept',
    title:
      'If the client refuses a form because the application has changed, the client shows the text that the visitor typed',
    rule: 'form-kept',
    why: 'The visitor has to choose between the two versions, and cannot do so if the typed text is lost.',
    fix: 'Show the form again, with the typed values and the values that the API has now.',
    needs,
    async run(context) {
      const { earlier, answer, stored, first, second, typed } = await saveTwice(context)
      if (stored !== first) throw new ReportedElsewhere('the later form overwrites the earlier change')
      const isRedirected = answer.trail.length > 1
      const kept = [answer.body, ...answer.forms.flatMap(({ fields }) => fields.map(([, value]) => value))]
      const lost = typed.find(one => !kept.some(text => text.includes(one)))
      expect(
        lost === undefined,
        `Two tabs opened the edit form, and the first tab saved the name “${first}”. The second tab then sent the name “${second}”, and the client answered with ${isRedirected ? 'a redirect, and then ' : ''}${describePage(answer)}. The client did not save the second form, and the page does not contain the typed text “${lost}”.`,
        earlier,
        answer,
      )
    },
  },
  {
    id: 'forms-forged',
    title: 'If another site sends a form about an application, the client does not do what the form asks for',
    rule: 'PG-01',
    why: "With such a form and the visitor's cookies, any website could change or remove applications, or create new secrets.",
    fix: 'Check the origin of every POST in one function before all routes, and not only for the form that creates an application.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const application = await openWithApplication(context)
      const { browser, person, id } = application
      const forms = formsAbout(context, await openPagesAbout(context, application), id)
      if (forms.length === 0) throw new NotApplicable('no page about an application has a form')
      const other = await openWithApplication(context, {}, await context.otherPerson())
      const theirs = formsAbout(context, await openPagesAbout(context, other), other.id).map(({ form }) =>
        replaceId(replaceId(form, other.id, id), other.person.groupId, application.person.groupId),
      )
      let works = 0
      for (const found of forms) {
        const { form } = found
        for (const forged of forgeriesOf(form, theirs))
          for (const headers of foreignHeaders(context)) {
            const before = context.arrived('api')
            const { answer } = await sendForm(context, browser, forged, headers)
            const changes = await changesSince(context, person, before)
            expect(
              changes.length === 0,
              `The forged POST to ${new URL(form.action).pathname} was carried out.`,
              answer,
              ...changes,
            )
          }
        if (await worksFromItsPage(context, application, found)) works++
      }
      // If a form changes nothing even when the client's own page sends it, the refusal of the forged form proves
      // nothing.
      if (works === 0)
        throw new Undecided("The forms about an application change nothing, even if the client's own pages send them.")
    },
  },
  {
    id: 'other-forms-forged',
    title:
      'If another site sends a form that is not about an application, such as the form for a new group, the client does not do what the form asks for',
    rule: 'PG-01',
    why: 'If a client checks the origin separately in each route, this check is easily forgotten for small forms.',
    fix: 'Check the origin of every POST in one function before all routes.',
    needs: ['page'],
    longestMs: 90_000,
    async run(context) {
      const other = await openOtherForms(context, await context.otherPerson())
      const own = await openOtherForms(context, await context.otherPerson())
      const theirs = other.forms.map(({ form }) => replaceId(form, other.person.groupId, own.person.groupId))
      let works = 0
      for (const { page, form } of own.forms) {
        const values = Object.fromEntries(textFieldsOf(form).map(({ name }) => [name, 'Typed by conformance']))
        const filled = { ...form, fields: filledFields(form, values) }
        for (const forged of forgeriesOf(filled, theirs))
          for (const headers of foreignHeaders(context)) {
            const before = context.arrived('api')
            const { answer } = await sendForm(context, own.browser, forged, headers)
            const changes = await changesSince(context, own.person, before)
            expect(
              changes.length === 0,
              `The forged POST to ${new URL(form.action).pathname} was carried out.`,
              answer,
              ...changes,
            )
          }
        const before = context.arrived('api')
        await own.browser.newTab().submit(page, form, values)
        if ((await changesSince(context, own.person, before)).length > 0) works++
      }
      if (works === 0) throw new NotApplicable('no other form on the pages for signed-in visitors changes anything')
    },
  },
  {
    id: 'links-change-nothing',
    title: 'A GET request to the address of a link or form changes nothing',
    rule: 'PG-04',
    why: 'Browsers, extensions and link checkers open links without a click. Another site can open a link by loading its address as an image.',
    fix: 'Answer GET with a page that asks the visitor for confirmation. Change or remove an application only in response to a POST.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const application = await openWithApplication(context)
      const { browser, person, id } = application
      // Counts changes from here, because openPagesAbout already sends GET requests to the addresses of links.
      const before = context.arrived('api')
      const expectNoChange = async (address: string) => {
        const changes = await changesSince(context, person, before)
        const path = new URL(address).pathname.replaceAll(id, '…')
        expect(
          changes.length === 0,
          `GET ${path} made the client send ${changes[0]?.request.method} to the API.`,
          ...changes,
        )
      }
      const pages = await openPagesAbout(context, application)
      await expectNoChange(pages.at(-1)!.trail[0]!.request.url)
      if (!pages.slice(1).some(({ status }) => status === 200))
        throw new NotApplicable('no link of the page behind the login leads to a page about an application')
      const addresses = new Set(
        pages.flatMap(page => [
          ...page.links.map(({ url }) => url),
          ...page.forms
            .filter(({ method }) => method === 'POST')
            .flatMap(({ action, fields }) => [action, `${action.split('?')[0]}?${new URLSearchParams(fields)}`]),
        ]),
      )
      for (const address of [...addresses].filter(one => isOfClient(context, one)).slice(0, mostAddresses)) {
        await browser.visit(address, { from: pages[0]!, ...context.beforePortal })
        await expectNoChange(address)
      }
    },
  },
  {
    id: 'form-id',
    title:
      'With an id such as ..%2f..%2fidentities in the address of a form, the client calls only the application API',
    rule: 'PG-23',
    why: "If the client does not encode the id, it sends the visitor's token to another path, with a method that changes something.",
    fix: 'For every method, check that the value has the format of an id, and encode it as one segment of the path.',
    needs,
    // The check counts the calls for all visitors, because the sandbox cannot always tell to which visitor such a call
    // belongs. The check therefore runs alone.
    isAlone: true,
    longestMs: 90_000,
    async run(context) {
      const application = await openWithApplication(context)
      const { browser, id } = application
      const pages = await openPagesAbout(context, application)
      const forms = formsAbout(context, pages, id).filter(({ form }) => form.action.includes(id))
      if (forms.length === 0) throw new NotApplicable('no form has the id of an application in its address')
      let works = 0
      for (const found of forms) {
        for (const hostile of hostileIds(id)) await expectOwnPaths(context, application, found.form, hostile)
        if (await worksFromItsPage(context, { ...application, browser }, found)) works++
      }
      if (works === 0) throw new Undecided('The forms about an application change nothing, even with the right id.')
    },
  },
]

/**
 * Replaces the id in the form's address with `hostile`, and sends the form to this address. Fails if the client calls a
 * path that `isAllowed` does not allow.
 */
async function expectOwnPaths(
  context: CheckContext,
  { browser, person, id }: OwnApplication,
  { action, fields }: Form,
  hostile: string,
): Promise<void> {
  const {
    result: { answer },
    steps,
  } = await context.during(() =>
    sendForm(context, browser, { action: action.replace(id, hostile), fields }, ownForm(context)),
  )
  const wrong = steps.filter(
    step => (isCallWithToken(step) || step.kind === 'exchange') && !isAllowed(step.request.url, person.id),
  )
  expect(
    wrong.length === 0,
    `The client called ${wrong[0]?.request.method} ${wrong[0]?.request.url}.`,
    answer,
    ...wrong,
  )
}

function isAllowed(url: string, userId: string): boolean {
  return allowedPaths.test(url) || url === '/api/me' || url.startsWith(`/identities/v1/${userId}/links`)
}

/**
 * Returns the forms that an attacker can send in place of the visitor's form. `theirs` contains the forms that the
 * client gives to the attacker, with the visitor's ids in them. The first forged form has no hidden fields. If one of
 * the attacker's forms has the same path as the visitor's form, there is a second forged form, with the hidden fields of
 * the attacker's form. Both forged forms are then sent to the address of the attacker's form, because the query of the
 * visitor's address can contain a token.
 */
function forgeriesOf(form: Form, theirs: Form[]): Form[] {
  const [path] = form.action.split('?')
  const own =
    theirs.find(({ action }) => action === form.action) ?? theirs.find(({ action }) => action.split('?')[0] === path)
  const bare = { ...withoutHidden(form), action: own?.action ?? path! }
  return own ? [bare, forge(own, form)] : [bare]
}

/** The largest number of pages on which openOtherForms looks for forms. */
const mostPages = 6

/**
 * Signs this person in, opens the page behind the login and the pages that it links to, and returns the forms of all
 * these pages. Leaves out the form that creates an application and the sign-out form.
 */
async function openOtherForms(context: CheckContext, person: Person) {
  const { browser } = await context.signedIn({ person })
  const first = await browser.visit(context.url(context.settings.page))
  const links = new Set(first.links.map(({ url }) => url.split('#')[0]!).filter(url => isOfClient(context, url)))
  links.delete(first.url)
  const pages = [first]
  for (const link of [...links].slice(0, mostPages))
    pages.push(await browser.newTab().visit(link, { from: first, ...context.beforePortal }))
  const forms = new Map<string, { page: Page; form: Form }>()
  for (const page of pages)
    for (const form of page.forms) {
      const isOther = form.method === 'POST' && isOfClient(context, form.action) && !findCreateForm({ forms: [form] })
      if (isOther) forms.set(form.action, { page, form })
    }
  return { browser, person, forms: [...forms.values()] }
}

/**
 * The headers that browsers send if the form is on another site, or on another port of the same host. Old browsers send
 * Origin but no Sec-Fetch headers, and the oldest browsers send none of these headers.
 */
function foreignHeaders({ settings }: CheckContext): Record<string, string>[] {
  const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  return [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', ...navigation },
    {
      origin: `${new URL(settings.client).protocol}//${new URL(settings.client).hostname}:1`,
      'sec-fetch-site': 'same-site',
      ...navigation,
    },
    { origin: 'https://evil.example' },
    { origin: `${settings.client}.evil.example` },
    { origin: 'null' },
    {},
  ]
}
