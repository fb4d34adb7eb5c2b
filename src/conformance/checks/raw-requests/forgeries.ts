// Requests that contain the cookies of a visitor, but do not come from a page of the client.
import { NotApplicable, type Row } from '../../check.ts'
import { expect, setCookiesOf, statusOf } from '../../findings.ts'
import { cookieHeader } from '../../steps/callback.ts'
import { created, forge, openCreateForm } from '../../steps/create-form.ts'
import { readSetCookie } from '../../steps/set-cookies.ts'

const formType = 'application/x-www-form-urlencoded'

export const forgeries: Row[] = [
  {
    id: 'raw-logout-without-origin',
    title: 'A POST without Origin and Sec-Fetch-Site signs nobody out',
    rule: 'post-from-nowhere',
    why: 'A browser that is too old for both headers sends a form of another site without them.',
    fix: "Refuse a POST that has neither Sec-Fetch-Site nor Origin, unless it contains a token that only the client's own page contains.",
    needs: ['page', 'logout'],
    async run(context) {
      const { method, path } = context.settings.logout!
      if (method !== 'POST') throw new NotApplicable('signing out is not a POST')
      const { browser } = await context.signedIn()
      const cookie = cookieHeader(context, browser, path)
      const answer = await context.request(path, { method, headers: { cookie, 'content-type': formType } })
      const isTakenBack = setCookiesOf(answer).some(line => readSetCookie(line).isDeletion)
      expect(!(statusOf(answer) < 400 && isTakenBack), 'The answer deletes the cookies.', answer)
      expect(await context.isSignedIn(browser), 'The visitor is no longer signed in.', answer)
    },
  },
  {
    id: 'raw-create-without-origin',
    title: 'A POST without Origin and Sec-Fetch-Site creates no application',
    rule: 'post-from-nowhere',
    why: 'A browser that is too old for both headers sends a form of another site without them.',
    fix: "Refuse a POST that has neither Sec-Fetch-Site nor Origin, unless it contains a token that only the client's own page contains.",
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const { browser } = await context.signedIn({ person: await context.otherPerson() })
      const theirs = (await browser.visit(context.url(context.settings.create))).forms
      const { fields, action } = forge(theirs.find(({ action }) => action === open.form.action) ?? open.form, open.form)
      const body = `${new URLSearchParams([
        ...fields.filter(([name]) => !(name in open.values)),
        ...(Object.entries(open.values) as [string, string][]),
      ])}`
      const headers = { cookie: cookieHeader(context, open.browser, action), 'content-type': formType }
      const answer = await context.request(action, { method: 'POST', headers, body })
      expect((await created(context, open.person)).length === 0, 'The application was created.', answer)
    },
  },
]
