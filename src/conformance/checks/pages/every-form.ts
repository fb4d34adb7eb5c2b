// Checks that send every form of the client: without a session, twice, from an old browser, as another visitor, and
// with values at the limits of the API.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../../browser/browser.ts'
import type { Control, Form } from '../../browser/form.ts'
import { type Check, type CheckDefinition, NotApplicable, passNotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { bodyOf, describePage, expect, expectServed, fail, headerOf } from '../../findings.ts'
import type { Person } from '../../platform.ts'
import { isAtOrigin } from '../../steps/addresses.ts'
import {
  type ApplicationForm,
  changeAtApi,
  changesSince,
  filledFields,
  formsAbout,
  isWrite,
  nameField,
  type OwnApplication,
  openEditForm,
  openPagesAbout,
  openWithApplication,
  ownForm,
  readAtApi,
  type StoredValues,
  sendForm,
  typedInto,
} from '../../steps/application-pages.ts'
import { applicationName, credentialsOf, redirectUri, shareGroup } from '../../steps/applications.ts'
import { followCallback } from '../../steps/callback.ts'
import { attackersForm, created, openCreateForm, submitCreate } from '../../steps/create-form.ts'
import { sessionCookieNames } from '../../steps/ended-sessions.ts'
import { expectNoPost, isOrdinary, openForms, reopen, requireWorkingForm, sendAgain } from '../../steps/every-form.ts'
import { credentialSecrets } from '../../steps/leaks.ts'
import { asksToSignIn } from '../../steps/sessions.ts'
import { deletesCookies, expectWorkingSignOut, signOutFormOf, signOutPathByPost } from '../../steps/sign-out.ts'
import { fieldsOf } from '../../tokens.ts'

const needs: Check['needs'] = ['page']
const createNeeds: Check['needs'] = ['create', 'page']
const isDone = (step: LabStep) => isWrite(step) && step.response.status < 400

/**
 * The values that somebody else gives to the fields of an application while a visitor has the edit form open.
 */
const otherValues: Record<string, string> = {
  description: 'Changed by somebody else',
  webPageUrl: 'https://somebody-else.example/',
  privacyPolicyUrl: 'https://somebody-else.example/privacy',
  redirectUris: 'https://somebody-else.example/callback',
  scopes: 'somebody-else',
}

/** Returns the path and the query of an address. Replaces each id with dots. */
function shortPath(address: string): string {
  const { pathname, search } = new URL(address)
  return `${pathname}${search}`.replaceAll(/[\w-]{30,}/g, '…')
}

/** Returns the value that the API has stored for a field of the application. */
async function readField(
  context: CheckContext,
  application: OwnApplication,
  field: string,
): Promise<string | undefined> {
  return (await readAtApi(context, application))[field as keyof StoredValues]
}

/** The values that somebody else gives to the fields of an application while a visitor changes its redirect URIs. */
const overtakingValues: Record<string, string> = {
  name: 'Named by somebody else',
  description: 'Changed by somebody else',
  redirectUris: 'https://somebody-else.example/callback',
}

/** The redirect URI that the visitor types. */
const typedRedirectUri = 'https://typed.example/callback'

/**
 * Returns what a visitor types into the form to replace the redirect URI of the application. Returns undefined if the
 * form has no text field with this redirect URI.
 */
function newAddressIn(form: Form): Record<string, string[]> | undefined {
  const isTyped = ({ type, values }: Control) =>
    ['text', 'url', 'textarea'].includes(type) && values.some(value => value.includes(redirectUri))
  const typed = form.controls.filter(isTyped).map(({ name }): [string, string[]] => {
    const values = form.controls.filter(control => control.name === name).flatMap(control => control.values)
    return [name, values.map(value => value.replaceAll(redirectUri, typedRedirectUri))]
  })
  return typed.length > 0 ? Object.fromEntries(typed) : undefined
}

/** Whether the form changes the redirect URIs if nobody else has changed the application. */
async function changesAddress(
  context: CheckContext,
  application: OwnApplication,
  found: ApplicationForm,
): Promise<boolean> {
  await changeAtApi(context, application, { description: '' })
  const open = await reopen(application.browser, found)
  if (!open) return false
  await application.browser.newTab().submit(open.page, open.form, newAddressIn(open.form))
  await context.platform.settle()
  return `${await readField(context, application, 'redirectUris')}`.includes(typedRedirectUri)
}

/** The longest values that the API accepts, keyed by the name of the field. */
const atLimits: Record<string, string> = {
  name: `${'n'.repeat(199)}z`,
  description: `${'d'.repeat(1999)}z`,
  webPageUrl: `https://limit.example/${'w'.repeat(2048 - 22)}`,
  iconUrl: `https://limit.example/${'i'.repeat(2048 - 22)}`,
  privacyPolicyUrl: `https://limit.example/${'p'.repeat(2048 - 22)}`,
}

/**
 * Values with the largest number of characters that the API accepts. They have more bytes than characters. They contain
 * no character of two UTF-16 units, such as an emoji. Browsers count such a character twice for `maxlength`, and the
 * platform does not say how a client has to count it.
 */
const wideAtLimits: Record<string, string> = {
  name: `${'日'.repeat(199)}z`,
  description: `${'日'.repeat(1000)}${'d'.repeat(999)}z`,
}

/** Addresses with http. The API accepts them for everything except redirect URIs. */
const plainAddresses: Record<string, string> = {
  webPageUrl: 'http://plain.example:8080/web',
  iconUrl: 'http://plain.example/icon',
  privacyPolicyUrl: 'http://192.0.2.7/privacy?x=1',
}

/** Values that are one character too long. */
const tooLong: Record<string, string> = Object.fromEntries(
  Object.entries(atLimits).map(([name, value]) => [name, `${value.slice(0, -1)}yz`]),
)

/** Strings that change if the client wrongly encodes, decodes or shortens a value before it calls the API. */
const ordinary: Record<string, string> = {
  name: `Überblick & "Karte" <1> 'a' 100% + 日本 👍 \\`,
  description: `One & two; "three" <four> 'five' 100%25 + %20 日本 👍 &amp; \\n`,
  webPageUrl: 'https://typed.example/web?a=1&b=%20%C3%BC+c',
  iconUrl: 'https://typed.example/icon.png?a=1&b=2',
  privacyPolicyUrl: 'https://typed.example/privacy?x=a%26b',
  scopes: 'typed-scope',
  defaultScopes: 'typed-scope',
}

/**
 * Returns the values in `wanted` whose names are also names of fields in the form. Leaves out the values for lists and
 * hidden fields.
 */
function valuesFor({ controls }: Form, wanted: Record<string, string>): Record<string, string> {
  const names = controls.filter(({ type, choices }) => !choices && type !== 'hidden').map(({ name }) => name)
  return Object.fromEntries(Object.entries(wanted).filter(([name]) => names.includes(name)))
}

/**
 * Sends the form for a new application with these values. Fails if the API gets a different value in one of the fields.
 */
async function expectValues(context: CheckContext, wanted: Record<string, string>, refused: string): Promise<void> {
  const open = await openCreateForm(context)
  const values = valuesFor(open.form, wanted)
  if (Object.keys(values).length === 0) throw new NotApplicable('no field of the form has the same name as in the API')
  const before = (await created(context, open.person)).length
  const page = await open.browser.submit(open.page, open.form, { ...open.values, ...values })
  const step = (await created(context, open.person))[before]
  if (!step) {
    await submitCreate(context, await openCreateForm(context))
    fail(`${refused}: the visitor got ${describePage(page)}.`, page)
  }
  const body = fieldsOf(step!)
  const data = (typeof body.data === 'object' && body.data !== null ? body.data : body) as Record<string, unknown>
  for (const [name, value] of Object.entries(values))
    expect(
      `${data[name]}`.trim() === value,
      `${name} was typed as ${short(value)}, and the API got ${short(`${data[name]}`)}.`,
      page,
      step!,
    )
}

const short = (text: string) =>
  JSON.stringify(text.length > 90 ? `${text.slice(0, 80)}… (${text.length} characters)` : text)

/** The path to which the form is sent, with `…` in place of the id of an application. */
const pathOf = ({ action }: Form) => new URL(action).pathname.replaceAll(/[\w-]{30,}/g, '…')

/** Signs another person in with the same browser, in another tab. */
async function signInOther(context: CheckContext, browser: Browser, other: Person): Promise<void> {
  const tab = browser.newTab()
  await followCallback(context, tab, await context.authorize(await context.startLogin(tab), other))
  if (!(await context.isSignedIn(browser, { person: other })))
    throw new Undecided('The second visitor could not sign in.')
}

/** Methods other than POST with which another site could send a request to the address of a form. */
const otherMethods = ['PUT', 'DELETE', 'PATCH', 'HEAD', 'GET']
const overrides = ['post', 'delete', 'put', 'patch']

export const everyForm: CheckDefinition[] = [
  {
    id: 'forms-no-session',
    title:
      'If a form about an application arrives after the session has ended, the client changes nothing and offers to sign in',
    rule: 'PG-14',
    why: 'Without a session the client cannot change the application, and the visitor must see why.',
    fix: 'Check the session before you read a form. If there is no session, offer a link to the login.',
    needs,
    async run(context) {
      const { browser, person, forms } = await openForms(context)
      const names = await sessionCookieNames(context, browser)
      for (const found of forms) {
        const open = await reopen(browser, found)
        if (!open) continue
        const left = browser.copy()
        for (const name of names) left.cookies.delete(name)
        const before = context.arrived('api')
        const page = await left.submit(open.page, open.form, typedInto(open), context.beforePortal)
        const changes = await changesSince(context, person, before)
        expect(changes.length === 0, 'The client processed the form.', page, ...changes)
        expectServed(page, `The form was answered with ${describePage(page)}.`)
        expect(
          asksToSignIn(context, page),
          `The form to ${pathOf(open.form)} was answered with ${describePage(page)}, which does not offer to sign in.`,
          page,
        )
      }
      await requireWorkingForm(context)
    },
  },
  {
    id: 'forms-no-session-says-so',
    title: 'If a form about an application arrives without a session, the visitor sees that nothing was changed',
    rule: 'PG-14',
    why: 'If the client only redirects to the login path or to another page, the visitor believes that the application was changed.',
    fix: 'Answer with a page that says that nothing was changed and has a link to the login path. Or show this message after the login.',
    needs,
    async run(context) {
      const { browser, forms } = await openForms(context)
      const names = await sessionCookieNames(context, browser)
      for (const found of forms) {
        const open = await reopen(browser, found)
        if (!open) continue
        const typed = 'Typed before the session ended'
        const left = browser.copy()
        for (const name of names) left.cookies.delete(name)
        const page = await left.submit(open.page, open.form, typedInto(open, typed))
        // If the portal asks for the password, the suite cannot see the page after the login.
        if (isAtOrigin(page.url, context.platform.portalUrl) || page.status >= 400) continue
        const isKept = page.forms.some(({ fields }) => fields.some(([, text]) => text === typed))
        expect(
          isKept || !(await isOrdinary(context, page, left)),
          `The form to ${pathOf(open.form)} led to ${describePage(page)}, which says nothing about the form.`,
          page,
        )
      }
    },
  },
  {
    id: 'forms-reload',
    title:
      'If a visitor sends a form about an application and reloads the next page, the browser does not send the form again',
    rule: 'PG-16',
    why: 'If the client answers the POST with a page, the browser sends the POST again on reload. The client may then, for example, create another secret.',
    fix: 'Answer every successful POST with 303 to another page.',
    needs,
    async run(context) {
      const { browser, person, forms } = await openForms(context)
      for (const found of forms) {
        const open = await reopen(browser, found)
        if (!open) continue
        await context.platform.settle()
        const before = context.arrived('api')
        const tab = browser.newTab()
        const page = await tab.submit(open.page, open.form, typedInto(open))
        const first = await changesSince(context, person, before)
        if (!first.some(isDone) || page.status >= 400) continue
        await tab.reload()
        const all = await changesSince(context, person, before)
        expect(
          all.length === first.length,
          `After a reload, the client sent ${all.at(-1)!.request.method} to the API again.`,
          page,
          ...all,
        )
      }
    },
  },
  {
    id: 'forms-work',
    title: 'While the platform works, each form about an application works',
    rule: 'forms-work',
    why: 'If a POST has no body, many HTTP libraries still send a content type, and the API refuses this type. The form for a new secret then never works, and visitors see an error of the platform.',
    fix: "Look at the call and at the API's answer in the evidence. Send the call as the API expects it.",
    needs,
    longestMs: 90_000,
    async run(context) {
      const { browser, forms } = await openForms(context)
      for (const found of forms) {
        const sent = await sendAgain(context, browser, found)
        if (!sent) continue
        const form = `The form to ${shortPath(found.form.action)}`
        const refused = sent.calls.findLast(({ request }) => request.method !== 'GET')
        // The visitor may have left a field empty, or somebody else may have changed the application.
        const isRefused =
          refused && refused.response.status >= 400 && ![401, 409, 412, 422, 429].includes(refused.response.status)
        expect(
          !isRefused,
          `${form} leads to a call that the API refuses with status ${refused?.response.status}.`,
          ...(refused ? [refused] : []),
          sent.page,
        )
        expect(
          sent.page.status > 0 && sent.page.status < 500,
          `${form} was answered with ${describePage(sent.page)}.`,
          sent.page,
        )
      }
    },
  },
  {
    id: 'forms-redirect',
    title: 'The client answers every successful form with a redirect, and not with a page',
    rule: 'redirect-after-form',
    why: 'If the client answers the POST with a page, the browser sends the POST again on reload. The visitor then sees a question from the browser, or an error.',
    fix: 'Answer every successful POST with 303 to another page.',
    needs,
    async run(context) {
      const open = await openForms(context).catch(passNotApplicable)
      for (const found of open?.forms ?? []) {
        const sent = await sendAgain(context, open!.browser, found)
        if (sent?.calls.some(isDone)) expectNoPost(sent.page, `The form to ${pathOf(sent.found.form)}`)
      }
      if (!context.settings.create) return
      expectNoPost(await submitCreate(context, await openCreateForm(context)), 'The form for a new application')
    },
  },
  {
    id: 'forms-old-browser',
    title: 'The forms about an application work in a browser that sends no Sec-Fetch headers',
    rule: 'own-forms',
    why: 'Over http, and in older browsers also over https, a form arrives with Origin but without Sec-Fetch headers. If the page has Referrer-Policy: no-referrer, the browser sends Origin: null.',
    fix: 'If Sec-Fetch-Site is missing, compare Origin with the configured address. Send Referrer-Policy: same-origin with every page that has a form.',
    needs,
    async run(context) {
      const { browser, person, forms } = await openForms(context)
      let works = 0
      for (const found of forms) {
        const open = await reopen(browser, found)
        if (!open) continue
        const origin = open.page.referrerPolicy === 'no-referrer' ? 'null' : context.settings.client
        const before = context.arrived('api')
        const fields = filledFields(open.form, typedInto(open, 'Changed in an old browser'))
        const { answer } = await sendForm(context, browser, { ...open.form, fields }, { origin })
        if ((await changesSince(context, person, before)).length > 0) works++
        else if ((await sendAgain(context, browser, found))?.calls.some(isDone))
          fail(`With Origin: ${origin} and without Sec-Fetch-Site, the client did not do what a form asks for.`, answer)
      }
      if (works === 0) await requireWorkingForm(context)
    },
  },
  {
    id: 'logout-old-browser',
    title: 'The sign-out form works in a browser that sends no Sec-Fetch headers',
    rule: 'own-forms',
    why: 'Over http, and in older browsers also over https, a form arrives with Origin but without Sec-Fetch headers. A visitor who cannot sign out leaves the session to the next person.',
    fix: 'If Sec-Fetch-Site is missing, compare Origin with the configured address, in one function for every form.',
    needs: ['page', 'logout'],
    async run(context) {
      signOutPathByPost(context)
      const { browser } = await context.signedIn()
      const page = await browser.visit(context.url(context.settings.page))
      const form = signOutFormOf(context, page)
      if (!form) throw new NotApplicable('the page behind the login has no sign-out form')
      const origin = page.referrerPolicy === 'no-referrer' ? 'null' : context.settings.client
      const { answer } = await sendForm(context, browser, form, { origin })
      if (deletesCookies(answer)) return
      await expectWorkingSignOut(context, browser)
      fail(`With Origin: ${origin} and without Sec-Fetch-Site, the form deletes no cookie.`, answer)
    },
  },
  {
    id: 'forms-other-visitor',
    title:
      "If one visitor opens a form about an application, and another visitor then signs in with the same browser, the form changes nothing on the second visitor's behalf",
    rule: 'form-of-its-visitor',
    why: 'Before the visitor sends the form, another person can sign in from another tab of the same browser.',
    fix: 'Bind every form to the visitor who opened it.',
    needs,
    async run(context) {
      const [person, other] = [await context.person(), await context.otherPerson()]
      // Both visitors are allowed to change the application. If the second visitor could not read it, a client that
      // reads the application before changing it would send no change, and the check would wrongly pass.
      const { browser, forms } = await openForms(context, { groupId: await shareGroup(context, [person, other]) })
      const open = []
      for (const found of forms) open.push((await reopen(browser, found)) ?? found)
      await signInOther(context, browser, other)
      for (const { page, form } of open) {
        const before = context.arrived('api')
        const answer = await browser.newTab().submit(page, form, typedInto({ page, form }))
        const changes = await changesSince(context, other, before)
        expect(changes.length === 0, 'The client called the API on behalf of the second visitor.', answer, ...changes)
      }
      await requireWorkingForm(context)
    },
  },
  {
    id: 'edit-overtaken-other-fields',
    title:
      "If somebody else changes one field while a visitor edits a different field, the visitor's form does not overwrite the other person's change",
    rule: 'edit-overtaken',
    why: 'If a client looks for changes in only some fields, it overwrites changes to the remaining fields, and nobody notices.',
    fix: 'In the form, keep the ETag that came with the values. Send this ETag as If-Match, and show the form again after a 412 answer.',
    needs,
    async run(context) {
      const application = await openWithApplication(context)
      for (const [field, value] of Object.entries(otherValues)) {
        await changeAtApi(context, application, { [field]: field === 'redirectUris' ? redirectUri : '' })
        const { page, form } = await openEditForm(context, application)
        if (!form.controls.some(({ name }) => name === field)) continue
        await changeAtApi(context, application, { [field]: value })
        const answer = await application.browser
          .newTab()
          .submit(page, form, { [nameField(form)]: `Late change beside ${field}` })
        await context.platform.settle()
        const stored = await readField(context, application, field)
        expect(stored === value, `The late form replaced ${field} “${value}” with “${stored}”.`, answer)
        expectServed(answer, `The late form was answered with ${describePage(answer)}.`)
        await changeAtApi(context, application, { redirectUris: redirectUri })
      }
      await requireWorkingForm(context)
    },
  },
  {
    id: 'edit-overtaken-redirect-uris',
    title:
      "If somebody else changes an application while a visitor changes its redirect URIs, the visitor's form does not overwrite the other person's change",
    rule: 'edit-overtaken',
    why: "Some clients change the redirect URIs with a separate form or a separate call. If this call contains no If-Match, it overwrites other people's changes, and nobody notices.",
    fix: 'Keep the ETag in every form that changes the application, including a form for only the redirect URIs. Send this ETag as If-Match, and show the form again after a 412 answer.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const application = await openWithApplication(context)
      const { browser, id } = application
      const forms = formsAbout(context, await openPagesAbout(context, application), id)
      let judged = 0
      for (const found of forms.filter(({ form }) => newAddressIn(form) !== undefined)) {
        if (!(await changesAddress(context, application, found))) continue
        for (const [field, value] of Object.entries(overtakingValues)) {
          await changeAtApi(context, application, { description: 'Described by conformance' })
          const open = await reopen(browser, found)
          if (!open) continue
          judged++
          await changeAtApi(context, application, { [field]: value })
          const answer = await browser.newTab().submit(open.page, open.form, newAddressIn(open.form))
          await context.platform.settle()
          const stored = `${await readField(context, application, field)}`
          expect(
            stored.includes(value),
            `The visitor's form changed the redirect URIs, and replaced the other person's ${field} “${value}” with “${stored}”.`,
            answer,
          )
          expectServed(answer, `The late form was answered with ${describePage(answer)}.`)
        }
      }
      if (judged === 0) throw new NotApplicable('no form about an application changes its redirect URIs')
    },
  },
  {
    id: 'forms-other-methods',
    title:
      "If another site sends a form with a different method or with a method override, the client changes nothing on the visitor's behalf",
    rule: 'PG-01',
    why: 'Some frameworks take the method from a parameter or a header. Other frameworks check the origin only for POST, and not for PUT and DELETE.',
    fix: 'Switch off method overrides, and check the origin of every request that is not GET or HEAD.',
    needs,
    async run(context) {
      const { browser, person, forms } = await openForms(context)
      const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
      const before = context.arrived('api')
      for (const { form } of forms) {
        const cookie = browser.cookies
          .list(form.action)
          .map(({ name, value }) => `${name}=${value}`)
          .join('; ')
        const hidden = new Set(form.controls.filter(({ type }) => type === 'hidden').map(({ name }) => name))
        const body = `${new URLSearchParams(form.fields.filter(([name]) => !hidden.has(name)))}`
        const headers = { ...foreign, cookie }
        const tries: [what: string, address: string, request: Parameters<typeof context.request>[1]][] = [
          ...otherMethods.map((method): (typeof tries)[number] => [
            method,
            form.action,
            {
              method,
              headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
              body: method === 'GET' || method === 'HEAD' ? '' : body,
            },
          ]),
          ...overrides.flatMap((method): typeof tries => [
            [`GET with _method=${method}`, `${form.action}?_method=${method}&${body}`, { headers }],
            [
              `GET with X-HTTP-Method-Override: ${method}`,
              `${form.action}?${body}`,
              { headers: { ...headers, 'x-http-method-override': method.toUpperCase() } },
            ],
          ]),
        ]
        for (const [what, address, request] of tries) {
          const answer = await context.request(address, request)
          const changes = await changesSince(context, person, before)
          expect(changes.length === 0, `The client carried out ${what} from another site.`, answer, ...changes)
        }
      }
      await requireWorkingForm(context)
    },
  },
  {
    id: 'forms-secret-not-in-address',
    title: 'If a form creates a new secret, no address contains the secret',
    rule: 'SE-04',
    why: 'Browser histories and logs keep addresses.',
    fix: 'Write the secret into the body of the answer, or into a sealed cookie for the next page.',
    needs,
    async run(context) {
      const { browser, forms } = await openForms(context)
      for (const found of forms) {
        const sent = await sendAgain(context, browser, found)
        const call = sent?.calls.find(step => step.request.url.endsWith('/refreshSecret') && isDone(step))
        if (!sent || !call) continue
        const [clientSecret] = credentialsOf(call).clientSecrets
        if (!clientSecret) continue
        const later: Page[] = [sent.page, await browser.visit(context.url(context.settings.page))]
        const addresses = later.flatMap(({ trail, links }) => [
          ...trail.map(({ request }) => request.url),
          ...links.map(({ url }) => url),
        ])
        expect(!addresses.some(address => address.includes(clientSecret)), 'An address contains the secret.', sent.page)
      }
    },
  },
  {
    id: 'forms-no-store',
    title: 'The client tells browsers not to store the answers to forms about an application',
    rule: 'PG-11',
    why: 'When the next person presses Back, the browser shows a stored page with the typed values or the new secret.',
    fix: 'Send Cache-Control: no-store with every answer for a signed-in visitor, whatever the method and the status are.',
    needs,
    async run(context) {
      const open = await openForms(context)
      for (const fault of ['update-422-fields', undefined])
        for (const found of open.forms) {
          const sent = await sendAgain(context, open.browser, found, async () => {
            if (fault) await context.order(fault, { times: 1 })
          })
          await context.dropFaults()
          const secrets = sent?.calls.flatMap(credentialSecrets).map(({ value }) => value) ?? []
          const texts = ['Changed by conformance', applicationName, ...secrets]
          for (const exchange of sent?.page.trail ?? []) {
            const shown = texts.find(text => bodyOf(exchange).includes(text))
            expect(
              shown === undefined || /no-store/i.test(headerOf(exchange, 'cache-control') ?? ''),
              `The answer to the form sent to ${pathOf(found.form)} shows ${secrets.includes(`${shown}`) ? 'a new secret' : 'the application'}, and has no Cache-Control: no-store.`,
              exchange,
            )
          }
        }
    },
  },
  {
    id: 'create-values-unchanged',
    title: 'The API gets every value of the form for a new application exactly as the visitor typed it',
    rule: 'create-application',
    why: 'If a client drops, encodes or decodes a value, the stored application differs from what the visitor typed.',
    fix: 'Send each field under its own name. Read the form as UTF-8 and send JSON. Escape a value only when a page shows it.',
    needs: createNeeds,
    run: context => expectValues(context, ordinary, 'The form with ordinary values created nothing'),
  },
  {
    id: 'create-limits',
    title: 'The form for a new application accepts http addresses and the longest values that the API accepts',
    rule: 'PG-17',
    why: 'A client with smaller limits refuses or shortens values that the platform allows.',
    fix: 'Use the limits of the API: 200 characters for the name, 2,000 for the description, 2,048 for an address. Count characters, not bytes. The addresses of the web page, the icon and the privacy policy can be http or https.',
    needs: createNeeds,
    async run(context) {
      await expectValues(context, atLimits, 'The form with the longest allowed values created nothing')
      const wide = 'The form with the longest allowed values, in Japanese characters, created nothing'
      await expectValues(context, wideAtLimits, wide)
      const plain = 'The form with http addresses for the web page, the icon and the privacy policy created nothing'
      await expectValues(context, plainAddresses, plain).catch(passNotApplicable)
    },
  },
  {
    id: 'create-too-long',
    title: 'If a value in the form for a new application is too long, the client does not shorten it',
    rule: 'PG-17',
    why: 'If the client shortens a value, the stored text or address differs from what the visitor typed, and nobody notices.',
    fix: 'Refuse a value that is too long, and show the form again. Never shorten a value.',
    needs: createNeeds,
    async run(context) {
      for (const [name, value] of Object.entries(tooLong)) {
        const open = await openCreateForm(context)
        const values = valuesFor(open.form, { [name]: value })
        if (Object.keys(values).length === 0) continue
        const page = await open.browser.submit(open.page, open.form, { ...open.values, ...values })
        const steps = await created(context, open.person)
        expect(
          steps.length === 0,
          `${name} was typed with ${[...value].length} characters, and the client created an application.`,
          page,
          ...steps,
        )
        expectServed(page, `The form was answered with ${describePage(page)}.`)
      }
      await submitCreate(context, await openCreateForm(context))
    },
  },
  {
    id: 'edit-limits',
    title: 'The edit form accepts the longest values that the API accepts, and does not shorten longer values',
    rule: 'PG-17',
    why: 'A client with smaller limits refuses or shortens values that the platform allows.',
    fix: 'Use the same list of fields and limits as for new applications: 200 characters for the name, 2,000 for the description, 2,048 for an address. Count characters, not bytes.',
    needs,
    async run(context) {
      const application = await openWithApplication(context)
      const send = async (wanted: Record<string, string>) => {
        const { page, form } = await openEditForm(context, application)
        const values = valuesFor(form, wanted)
        const answer = await application.browser.newTab().submit(page, form, values)
        await context.platform.settle()
        return { values, answer }
      }
      const plain = await send({ name: 'Changed within the limits' })
      if (!plain.values.name || (await readField(context, application, 'name')) !== plain.values.name)
        throw new NotApplicable('the edit form saves nothing')
      for (const wanted of [atLimits, wideAtLimits]) {
        const { values, answer } = await send(wanted)
        for (const [name, value] of Object.entries(values)) {
          const stored = `${await readField(context, application, name)}`.trim()
          const said = answer.status >= 400 ? ` The visitor got ${describePage(answer)}.` : ''
          expect(
            stored === value,
            `${name} was typed as ${short(value)}, and the API has ${short(stored)}.${said}`,
            answer,
          )
        }
      }
      for (const [name, value] of Object.entries(tooLong)) {
        const { values, answer } = await send({ [name]: value })
        if (Object.keys(values).length === 0) continue
        const stored = `${await readField(context, application, name)}`
        const isCut = stored !== '' && value.startsWith(stored)
        expect(!isCut, `${name} was typed as ${short(value)}, and the API has ${short(stored)}.`, answer)
      }
    },
  },
  {
    id: 'create-forged-referer',
    title:
      "If a POST has no Origin, and its Referer is another site's URL that contains the client's address, the client creates nothing",
    rule: 'post-from-nowhere',
    why: 'An attacker can choose the path and the query of the page that sends the form, so the Referer can contain any text.',
    fix: "Refuse a POST that has neither Sec-Fetch-Site nor Origin, unless it contains a token that only the client's own page contains.",
    needs: createNeeds,
    async run(context) {
      const open = await openCreateForm(context)
      const forged = await attackersForm(context, open)
      const send = (form: Form, headers: Record<string, string>) =>
        sendForm(context, open.browser, { ...form, fields: filledFields(form, open.values) }, headers)
      const { client } = context.settings
      for (const referer of [
        `https://evil.example/?${client}/`,
        `${client}.evil.example/`,
        `https://evil.example/${new URL(client).host}/`,
      ]) {
        const { answer } = await send(forged, { referer })
        expect(
          (await created(context, open.person)).length === 0,
          `The application was created with Referer: ${referer}.`,
          answer,
        )
      }
      await send(open.form, ownForm(context))
      if ((await created(context, open.person)).length === 0) await submitCreate(context, await openCreateForm(context))
    },
  },
  {
    id: 'pages-from-another-site',
    title:
      'If a signed-in visitor follows a link from another site to any page of the client, the client shows this page',
    rule: 'PG-12',
    why: 'Browsers do not send Strict cookies with the first request from another site. If the client does not make the browser send a second request, the visitor has to sign in again or gets another page.',
    fix: 'If a navigation comes from another site and has no session, answer it once with a meta refresh to the same path and query.',
    needs,
    async run(context) {
      const application = await openWithApplication(context)
      const { browser } = application
      const pages = await openPagesAbout(context, application)
      const { create } = context.settings
      const addresses = pages.slice(1, 3).map(({ url }) => url)
      if (create) addresses.push(context.url(create))
      const { otherSite } = context.platform
      const from = await browser.visit(otherSite.url(otherSite.page('<a href="/">Go</a>')))
      for (const address of addresses) {
        const usual = await browser.newTab().visit(address)
        if (usual.status !== 200 || usual.url !== address) continue
        const seen = await browser.newTab().visit(address, { from, ...context.beforePortal })
        const isThere = seen.stoppedAt === undefined && seen.status === 200 && seen.url === address
        const isOther = seen.stoppedAt === undefined && seen.status === 200
        const opened = isOther ? `the page ${shortPath(seen.url)}` : describePage(seen)
        expect(isThere, `A link to ${shortPath(address)} opened ${opened}.`, seen)
      }
    },
  },
]
