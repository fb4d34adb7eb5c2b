// Checks with requests that contain a visitor's cookies, but do not come from a page of the client.

import type { Form } from '../../browser/form.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect } from '../../findings.ts'
import { filledFields, scriptOfOtherPort, sendForm } from '../../steps/application-pages.ts'
import { cookieHeader } from '../../steps/callback.ts'
import {
  attackersForm,
  created,
  forge,
  openCreateForm,
  openFormIn,
  replaceId,
  submitCreate,
} from '../../steps/create-form.ts'
import { decodeSafely } from '../../steps/set-cookies.ts'
import { deletesCookies, expectWorkingSignOut, signOutFormOf, signOutPathByPost } from '../../steps/sign-out.ts'

const formType = 'application/x-www-form-urlencoded'

/**
 * Origins of other sites that begin or end like the origin of the client. A client that does not compare the whole
 * origin accepts such an origin.
 */
function similarOrigins({ settings }: CheckContext): string[] {
  const { protocol, host } = new URL(settings.client)
  const own = `${protocol}//${host}`
  return [`${own}.evil.example`, `${own}0`, `${own}@evil.example`, `${protocol}//evil${host}`]
}

const similar: Pick<CheckDefinition, 'rule' | 'why' | 'fix'> = {
  rule: 'PG-01',
  why: "An attacker can register a host name that begins or ends with the client's host name.",
  fix: 'Compare the whole Origin, not only its beginning or its end, with the configured origin.',
}

export const forgeries: CheckDefinition[] = [
  {
    id: 'raw-create-similar-origin',
    title:
      "If the Origin of a POST is another origin that begins or ends like the client's own origin, the client does not create an application",
    ...similar,
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const forged = await attackersForm(context, open)
      const send = (form: Form, origin: string) =>
        sendForm(context, open.browser, { ...form, fields: filledFields(form, open.values) }, { origin })
      for (const origin of similarOrigins(context)) {
        const { answer } = await send(forged, origin)
        expect(
          (await created(context, open.person)).length === 0,
          `The application was created with Origin: ${origin}.`,
          answer,
        )
      }
      await send(open.form, context.settings.client)
      if ((await created(context, open.person)).length === 0) await submitCreate(context, await openCreateForm(context))
    },
  },
  {
    id: 'raw-logout-similar-origin',
    title:
      "If the Origin of a POST is another origin that begins or ends like the client's own origin, the client does not sign anyone out",
    ...similar,
    needs: ['page', 'logout'],
    async run(context) {
      const path = signOutPathByPost(context)
      const { browser } = await context.signedIn()
      for (const origin of similarOrigins(context)) {
        const { answer } = await sendForm(context, browser, { action: context.url(path), fields: [] }, { origin })
        expect(!deletesCookies(answer), `The answer to a POST with Origin: ${origin} deletes the cookies.`, answer)
        expect(await context.isSignedIn(browser), `A POST with Origin: ${origin} signs the visitor out.`, answer)
      }
      await expectWorkingSignOut(context, browser)
    },
  },
  {
    id: 'raw-logout-foreign-host',
    title:
      'If the Origin of a POST is a foreign host, and Host or a forwarded header names the same host, the client does not sign anyone out',
    rule: 'PG-02',
    why: "The sender of a request chooses the Host and the forwarded headers. So these headers do not prove what the client's own address is.",
    fix: 'If Sec-Fetch-Site is missing, compare Origin with the configured address, never with Host or a forwarded header.',
    needs: ['page', 'logout'],
    async run(context) {
      const path = signOutPathByPost(context)
      const { browser } = await context.signedIn()
      const page = await browser.visit(context.url(context.settings.page))
      const hidden = new Set(signOutFormOf(context, page)?.fields.map(([name]) => name))
      const attacker = await context.signedIn({ person: await context.otherPerson() })
      const theirs = await attacker.browser.visit(context.url(context.settings.page))
      const own = signOutFormOf(context, theirs)?.fields ?? []
      const forged = own.filter(([name]) => hidden.has(name))
      for (const [name, value] of [
        ['host', 'evil.example'],
        ['x-forwarded-host', 'evil.example'],
        ['forwarded', 'host=evil.example;proto=http'],
      ] as const) {
        const headers = { [name]: value, origin: 'http://evil.example' }
        const { answer } = await sendForm(context, browser, { action: context.url(path), fields: forged }, headers)
        expect(
          !deletesCookies(answer),
          `With Origin: http://evil.example and the same host in ${name}, the answer deletes the cookies.`,
          answer,
        )
        expect(await context.isSignedIn(browser), `With a foreign host in ${name}, the visitor is signed out.`, answer)
      }
      await expectWorkingSignOut(context, browser)
    },
  },
  {
    id: 'raw-logout-without-origin',
    title: 'If a POST has neither Origin nor Sec-Fetch-Site, the client does not sign anyone out',
    rule: 'post-from-nowhere',
    why: "When another site sends a form, very old browsers add neither of these headers. If the client accepts a form without them, any website can send forms on the visitor's behalf.",
    fix: "Refuse a POST that has neither Sec-Fetch-Site nor Origin, unless it contains a token that only the client's own page contains.",
    needs: ['page', 'logout'],
    async run(context) {
      const path = signOutPathByPost(context)
      const { browser } = await context.signedIn()
      const cookie = cookieHeader(context, browser, path)
      const answer = await context.request(path, { method: 'POST', headers: { cookie, 'content-type': formType } })
      expect(!deletesCookies(answer), 'The answer deletes the cookies.', answer)
      expect(await context.isSignedIn(browser), 'The visitor is no longer signed in.', answer)
      await expectWorkingSignOut(context, browser)
    },
  },
  {
    id: 'raw-create-without-origin',
    title: 'If a POST has neither Origin nor Sec-Fetch-Site, the client does not create an application',
    rule: 'post-from-nowhere',
    why: "When another site sends a form, very old browsers add neither of these headers. If the client accepts a form without them, any website can send forms on the visitor's behalf.",
    fix: "Refuse a POST that has neither Sec-Fetch-Site nor Origin, unless it contains a token that only the client's own page contains.",
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const forged = await attackersForm(context, open)
      const body = `${new URLSearchParams(filledFields(forged, open.values))}`
      const headers = { cookie: cookieHeader(context, open.browser, forged.action), 'content-type': formType }
      const answer = await context.request(forged.action, { method: 'POST', headers, body })
      expect((await created(context, open.person)).length === 0, 'The application was created.', answer)
      await submitCreate(context, await openCreateForm(context))
    },
  },
  {
    id: 'raw-create-planted-token',
    title:
      'If another site sets the cookie for the form token, and then sends the form with the same token, the client creates no application',
    rule: 'PG-01',
    why: "A subdomain or another program on the host can set a cookie whose name does not begin with __Host-. An attacker can use such a cookie to replace the visitor's token with the attacker's own token.",
    fix: 'In addition to the token, check Origin or Sec-Fetch-Site. Or compute the token from the session. Or give the cookie a name that begins with __Host-.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const person = await context.otherPerson()
      const attacker = await context.signedIn({ person })
      const theirs = await openFormIn(context, attacker.browser, person)
      const tokens = theirs.form.controls.filter(({ type }) => type === 'hidden').flatMap(({ values }) => values)
      const planted = attacker.browser.cookies
        .list(theirs.form.action)
        .filter(({ name }) => !/^__(Host|Secure)-/i.test(name))
        .filter(({ value }) => tokens.some(token => token.length >= 8 && decodeSafely(value).includes(token)))
      if (planted.length === 0)
        throw new NotApplicable('no cookie that other sites can set contains the token of the form')
      const cookies = open.browser.cookies.list(open.form.action).map(({ name, value }) => {
        const other = planted.find(cookie => cookie.name === name)
        return `${name}=${other?.value ?? value}`
      })
      const forged = forge(replaceId(theirs.form, person.groupId, open.person.groupId), open.form)
      const answer = await context.request(forged.action, {
        method: 'POST',
        headers: { ...scriptOfOtherPort(context, 'navigate'), cookie: cookies.join('; '), 'content-type': formType },
        body: `${new URLSearchParams(filledFields(forged, open.values))}`,
      })
      const steps = await created(context, open.person)
      expect(
        steps.length === 0,
        `The application was created with a token that another site had set in the cookie ${planted[0]?.name}.`,
        answer,
        ...steps,
      )
      await submitCreate(context, await openCreateForm(context))
    },
  },
]
