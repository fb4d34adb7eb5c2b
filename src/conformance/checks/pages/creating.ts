// Creating an application: from the client's own form alone, once, and in the visitor's name.
import { guidanceOf } from '../../../sandbox/lab/explain/guidance.ts'
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Page } from '../../browser/browser.ts'
import type { Form } from '../../browser/form.ts'
import { type Check, type Row, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { bodyOf, describePage, expect, expectOr, expectServed } from '../../findings.ts'
import { cookieHeader } from '../../steps/callback.ts'
import { created, forge, openCreateForm, submitCreate } from '../../steps/create-form.ts'
import { asksToSignIn } from '../../steps/sessions.ts'

const needs: Check['needs'] = ['create', 'page']

export const creating: Row[] = [
  {
    id: 'create-works',
    title: "The form creates an application, sent from the client's own page",
    rule: 'create-application',
    why: 'A page that sends no Origin, or one that refuses its own form, cannot be used.',
    fix: 'Send the fields of the form to POST /apps/v1 with the access token of the visitor.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      const before = new Set(context.arrived('api'))
      const page = await open.browser.submit(open.page, open.form, open.values)
      const { length } = await created(context, open.person)
      const calls = context.arrived('api').filter(step => !before.has(step))
      expectOr(
        adviceForForm(context, page, calls),
        length === 1,
        `${length === 0 ? 'Nothing was' : `${length} applications were`} created; the form was answered with ${describePage(page)}.`,
        page,
        ...calls.slice(-2),
      )
    },
  },
  {
    id: 'create-envelope',
    title: 'The call that creates an application has context, type and data',
    rule: 'create-envelope',
    why: 'The request is an envelope with two top-level fields and a nested data object.',
    fix: 'Send {context, type, data: {…}} as JSON.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      await submitCreate(context, open)
      const [step] = await created(context, open.person)
      const body = step!.request.body as Record<string, unknown>
      expect(
        ['context', 'type', 'data'].every(name => name in body),
        `It has ${Object.keys(body).join(', ')}.`,
        step!,
      )
    },
  },
  {
    id: 'create-once',
    title: 'The same form, sent twice, creates one application',
    rule: 'PG-15',
    why: 'A browser sends a POST again whose connection dropped, and people press twice.',
    fix: 'Give each form a one-time id, and answer a second delivery with the first result.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      await submitCreate(context, open)
      const again = await open.browser.newTab().submit(open.page, open.form, open.values)
      const steps = await created(context, open.person)
      expect(steps.length === 1, `${steps.length} were created.`, ...steps)
      expectServed(again, `The second delivery was answered with ${describePage(again)}.`)
    },
  },
  {
    id: 'create-once-at-once',
    title: 'The same form, sent three times at once, creates one application',
    rule: 'PG-15',
    why: 'A double click is two requests before the first answer.',
    fix: 'Let simultaneous deliveries of one form share one call.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      await Promise.all([1, 2, 3].map(() => open.browser.newTab().submit(open.page, open.form, open.values)))
      const steps = await created(context, open.person)
      expect(steps.length === 1, `${steps.length} were created.`, ...steps)
    },
  },
  {
    id: 'create-reload',
    title: 'Reloading the page after a creation creates nothing more',
    rule: 'PG-16',
    why: 'A page that answers a POST is sent again by Reload.',
    fix: 'Answer the POST with 303 to a page of its own.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      await submitCreate(context, open)
      await open.browser.reload()
      const steps = await created(context, open.person)
      expect(steps.length === 1, `${steps.length} were created.`, ...steps)
    },
  },
  {
    id: 'create-shows-secret',
    title: 'The secret of the new application is shown once',
    rule: 'secret-shown',
    why: 'The API tells it in this one answer.',
    fix: 'Show it on the page after the creation, and say that it will not be shown again.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      const page = await submitCreate(context, open)
      const secret = secretOf(await created(context, open.person))
      expect(
        page.trail.some(one => bodyOf(one).includes(secret)),
        'No page after the creation shows it.',
        page,
      )
      const later = await open.browser.newTab().visit(page.url)
      expect(!later.body.includes(secret), 'A later visit shows it again.')
    },
  },
  {
    id: 'create-secret-not-in-address',
    title: 'The secret of a new application stands in no address',
    rule: 'SE-04',
    why: 'Addresses are kept in histories and logs.',
    fix: 'Hand it over in the body, or in a sealed cookie.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      const page = await submitCreate(context, open)
      const secret = secretOf(await created(context, open.person))
      expect(!page.trail.some(({ request }) => request.url.includes(secret)), 'An address holds it.')
    },
  },
  {
    id: 'create-no-session',
    title: 'A form that comes after the session ended creates nothing and leads to a login',
    rule: 'PG-14',
    why: 'Nothing may half-happen, and the visitor must see why.',
    fix: 'Check the session before the form, and offer to sign in.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      open.browser.cookies.delete()
      const page = await open.browser.submit(open.page, open.form, open.values)
      expectServed(page, `It was answered with ${describePage(page)}.`)
      expect((await created(context, open.person)).length === 0, 'It was created.')
      expect(asksToSignIn(context, page), `The answer, ${describePage(page)}, has no way to sign in.`, page)
    },
  },
  {
    id: 'create-by-get',
    title: 'GET creates nothing, whatever its query says',
    rule: 'PG-04',
    why: 'A link or an image of another site would do.',
    fix: 'Change things by POST alone.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      const query = `${new URLSearchParams([...open.form.fields.filter(([name]) => !(name in open.values)), ...(Object.entries(open.values) as [string, string][])])}`
      for (const address of [open.form.action, context.url(context.settings.create)])
        await open.browser.visit(`${address.split('?')[0]}?${query}`)
      expect((await created(context, open.person)).length === 0, 'GET created an application.')
      await submitCreate(context, open)
    },
  },
  ...(['cross-site', 'same-site'] as const).map(
    (site): Row => ({
      id: `create-${site}`,
      title: `A form ${site === 'cross-site' ? 'of another site' : 'of a neighbour on the same host'} creates nothing in the visitor's name`,
      rule: 'PG-01',
      why: `${site === 'cross-site' ? 'Any page can send a form' : 'SameSite does not keep neighbours out'}.`,
      fix: "Refuse a POST whose Sec-Fetch-Site is not same-origin, or whose Origin is not the client's; or demand a token of the visitor's own page.",
      needs,
      async run(context) {
        const open = await openCreateForm(context)
        const attacker = await attackersForm(context, open.form)
        const { otherSite } = context.platform
        const page = open.browser.show(otherSite.url('/', site), '')
        await open.browser.submit(page, attacker, open.values)
        const steps = await created(context, open.person)
        expect(steps.length === 0, 'It was created.', ...steps)
        await submitCreate(context, open)
      },
    }),
  ),
  ...(
    [
      ['origin', 'whose Origin is another one', { origin: 'https://evil.example' }],
      ['origin-null', 'whose Origin is null', { origin: 'null' }],
      ['origin-port', 'whose Origin is another port of the host', { origin: 'http://localhost:1' }],
      ['host', 'whose Origin fits a foreign Host', { origin: 'http://evil.example', host: 'evil.example' }],
      ['fetch-site', 'that says that it is cross-site', { 'sec-fetch-site': 'cross-site', origin: 'null' }],
    ] as const
  ).map(
    ([id, what, headers]): Row => ({
      id: `create-forged-${id}`,
      title: `A forged POST ${what} creates nothing`,
      rule: id === 'host' ? 'PG-02' : 'PG-01',
      why: 'Older browsers send no Sec-Fetch headers, and Origin is what is left.',
      fix: 'Compare Origin with the configured address where Sec-Fetch-Site is missing; never with Host.',
      needs,
      async run(context) {
        const open = await openCreateForm(context)
        const { fields, action } = await attackersForm(context, open.form)
        const send = (form: Form['fields'], headers: Record<string, string>) =>
          context.request(action, {
            method: 'POST',
            headers: {
              'content-type': 'application/x-www-form-urlencoded',
              cookie: cookieHeader(context, open.browser, action),
              ...headers,
            },
            body: `${new URLSearchParams([
              ...form.filter(([name]) => !(name in open.values)),
              ...(Object.entries(open.values) as [string, string][]),
            ])}`,
          })
        const answer = await send(fields, headers)
        expect((await created(context, open.person)).length === 0, 'It was created.', answer)
        // The same from the client's own page works, so that it is the forgery that was refused.
        await send(open.form.fields, {
          origin: context.settings.client,
          'sec-fetch-site': 'same-origin',
          'sec-fetch-mode': 'navigate',
          'sec-fetch-dest': 'document',
        })
        if ((await created(context, open.person)).length === 0)
          await submitCreate(context, await openCreateForm(context))
      },
    }),
  ),
  {
    id: 'create-refused',
    title: 'What the API refuses comes back to the visitor with what they typed',
    rule: 'form-kept',
    why: 'A form that is empty again is filled a second time by nobody.',
    fix: 'Show the form again with status 422 or 400, the values in it, and what the API said beside them.',
    needs,
    async run(context) {
      // Quotes and the like: a form that writes them into an attribute unescaped loses what follows.
      const typed = `Typed by "conformance" & 'others' <b>`
      const open = await openCreateForm(context, typed)
      const uri = Object.keys(open.values).find(name => /redirect/i.test(name))!
      const page = await open.browser.submit(open.page, open.form, {
        ...open.values,
        [uri]: 'ftp://not-allowed.example/',
      })
      expectServed(page, `It was answered with ${describePage(page)}.`)
      expect((await created(context, open.person)).length === 0, 'It was created.')
      const kept = page.forms.flatMap(({ fields }) => fields.map(([, value]) => value))
      expect(kept.includes(typed), 'No field of the page holds what was typed.', page)
    },
  },
  {
    id: 'create-other-visitor',
    title: 'A form that was opened as one visitor creates nothing in the name of another',
    rule: 'form-of-its-visitor',
    why: 'Somebody else may have signed in in another tab meanwhile.',
    fix: 'Tie the form to the visitor whom it was shown to.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      const other = await context.otherPerson()
      const start = await context.startLogin(open.browser)
      const callback = await context.authorize(start, other)
      const tab = open.browser.newTab()
      await tab.visit(callback.href, { from: open.browser.show(`${context.platform.portalUrl}/`, '') })
      if (!(await context.isSignedIn(open.browser, { person: other })))
        throw new Undecided('The second visitor could not sign in.')
      // The group is left open, so that only the client can refuse.
      const group = Object.keys(open.values).find(name => /group/i.test(name))
      const values = {
        ...open.values,
        ...(group &&
          open.form.controls.some(({ name, choices }) => name === group && !choices) && { [group]: other.groupId }),
      }
      await open.browser.submit(open.page, open.form, values)
      expect(
        (await context.arrived('api')).every(
          ({ request, about }) => !(request.method === 'POST' && about.userId === other.id),
        ),
        'The client called the API in the name of the second visitor.',
      )
    },
  },
]

/** The create form as somebody else sees it, who is signed in on their own. */
async function attackersForm(context: CheckContext, visitors: Form) {
  const attacker = await context.otherPerson()
  const { browser } = await context.signedIn({ person: attacker })
  const page = await browser.visit(context.url(context.settings.create))
  const own = page.forms.find(({ action }) => action === visitors.action) ?? visitors
  return forge(own, visitors)
}

function secretOf(steps: { response: { body: unknown } }[]): string {
  const body = JSON.parse(String(steps[0]?.response.body)) as { client?: { clientSecrets?: string[] } }
  const [secret] = body.client?.clientSecrets ?? []
  if (secret === undefined) throw new Undecided('The API told no secret.')
  return secret
}

/** What to do about a form that creates nothing, from the answer that came. */
function adviceForForm(context: CheckContext, page: Page, calls: LabStep[]): string {
  const post = calls.findLast(({ request }) => request.method === 'POST')
  if (post && post.response.status >= 400) {
    const fix = post.reason ? ` ${guidanceOf(post.reason).fix}` : ''
    return `The API refused the call with ${post.response.status}; the evidence has what it said.${fix}`
  }
  if (post) return 'Send the form once, and in the name of the visitor who is signed in.'
  const sent = page.trail[0]
  if (sent?.request.headers.origin === 'null' && page.status === 403)
    return 'Browsers send Origin: null from a page with Referrer-Policy: no-referrer. Use same-origin on pages with forms.'
  if (page.stoppedAt !== undefined || page.url.startsWith(context.platform.portalUrl))
    return 'The form led to the login: take the visitor for signed in, by the cookies that came with the form (see the evidence).'
  if (page.status >= 500) return 'The client itself failed: see what it printed.'
  if (page.status >= 400)
    return `The client refused its own form with ${page.status}: compare what it checks (Origin, Sec-Fetch-Site, a hidden token, the fields) with what was sent.`
  return 'The form was taken, and no POST /apps/v1 followed: call the API before the answer.'
}
