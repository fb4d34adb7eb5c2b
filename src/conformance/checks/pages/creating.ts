// Checks on the form for a new application. Only the client's own form may create an application. One form may create
// only one application, and only for the visitor who opened the form.
import { guidanceOf } from '../../../sandbox/lab/explain/guidance.ts'
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type Browser, noRedirects, type Page } from '../../browser/browser.ts'
import type { Form } from '../../browser/form.ts'
import { type Check, type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { bodyOf, describePage, expect, expectServed, expectWithFix, fail, setCookiesOf } from '../../findings.ts'
import { isAtOrigin, leadsTo } from '../../steps/addresses.ts'
import { filledFields, ownForm, sendForm } from '../../steps/application-pages.ts'
import { cookieHeader, followCallback, typedAddress } from '../../steps/callback.ts'
import {
  attackersForm,
  created,
  isCreation,
  noCreation,
  openCreateForm,
  openFormIn,
  secretOf,
  submitCreate,
  withoutHidden,
} from '../../steps/create-form.ts'
import { expectTold, sendAfterEndedSession, sendWithoutSession } from '../../steps/ended-sessions.ts'
import { credentialSecrets } from '../../steps/leaks.ts'
import { asksToSignIn } from '../../steps/sessions.ts'
import { readableTextsIn, readSetCookie } from '../../steps/set-cookies.ts'
import { fieldsOf } from '../../tokens.ts'

const needs: Check['needs'] = ['create', 'page']

export const creating: CheckDefinition[] = [
  {
    id: 'create-works',
    title: "The client's own form creates an application",
    rule: 'create-application',
    why: 'If the client refuses its own form, visitors cannot create applications. One cause is a Referrer-Policy that removes the Origin header.',
    fix: 'Send the fields of the form with POST /apps/v1 and the access token of the visitor.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      const { result: page, steps } = await context.during(() => open.browser.submit(open.page, open.form, open.values))
      const calls = steps.filter(({ kind }) => kind === 'api')
      const { length } = await created(context, open.person)
      expectWithFix(
        adviceForForm(context, page, calls),
        length === 1,
        `${length === 0 ? 'Nothing was' : `${length} applications were`} created, and the client answered the form with ${describePage(page)}.`,
        page,
        ...calls.slice(-2),
      )
    },
  },
  {
    id: 'create-old-browser',
    title: 'The form creates an application in a browser that sends no Sec-Fetch headers',
    rule: 'own-forms',
    why: 'Over http, and in older browsers also over https, a form arrives with Origin but without Sec-Fetch headers. If the page has Referrer-Policy: no-referrer, the browser sends Origin: null.',
    fix: 'If Sec-Fetch-Site is missing, compare Origin with the configured address. Send Referrer-Policy: same-origin with every page that has a form.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      const { action } = open.form
      const policies = (open.page.headers.get('referrer-policy') ?? '')
        .split(',')
        .map(text => text.trim().toLowerCase())
      const body = new URLSearchParams(filledFields(open.form, open.values))
      const headers = {
        cookie: cookieHeader(context, open.browser, action),
        'content-type': 'application/x-www-form-urlencoded',
        origin: policies.at(-1) === 'no-referrer' ? 'null' : context.settings.client,
      }
      const answer = await context.request(action, { method: 'POST', headers, body: `${body}` })
      if ((await created(context, open.person)).length === 1) return
      await submitCreate(context, await openCreateForm(context))
      fail(
        `When the form was sent with Origin: ${headers.origin} and without Sec-Fetch-Site, it created nothing.`,
        answer,
      )
    },
  },
  {
    id: 'create-envelope',
    title: 'The API call that creates an application has the fields "context", "type" and "data"',
    rule: 'create-envelope',
    why: 'The documentation of the API describes the body of this call: it has the fields "context" and "type", and an object "data" with the fields of the application. An API may refuse any other body.',
    fix: 'Send {context, type, data: {…}} as JSON.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      await submitCreate(context, open)
      const [step] = await created(context, open.person)
      const body = fieldsOf(step!)
      expect(
        ['context', 'type', 'data'].every(name => name in body),
        `The call has the fields ${Object.keys(body).join(', ')}.`,
        step!,
      )
    },
  },
  {
    id: 'create-once',
    title: 'If a visitor sends the same form twice, the client creates only one application',
    rule: 'PG-15',
    why: 'Browsers repeat a POST when the connection breaks, and people click twice.',
    fix: 'Give each form a one-time id. If a second request has the same id, answer with the result of the first request.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      await submitCreate(context, open)
      const again = await open.browser.newTab().submit(open.page, open.form, open.values)
      const steps = await created(context, open.person)
      expect(steps.length === 1, `The client created ${steps.length} applications.`, ...steps)
      expectServed(again, `The client answered the second request with ${describePage(again)}.`)
    },
  },
  {
    id: 'create-once-at-once',
    title:
      'If the same form arrives three times at once, the client creates only one application, even if the API is slow',
    rule: 'PG-15',
    why: 'A double click sends two requests before the first answer arrives. If the API is slow, the application of the first request is not yet in the list when the second request arrives.',
    fix: 'If requests with the same form id arrive at the same time, make one API call for all of them.',
    needs,
    async run(context) {
      for (const seconds of [0, 1]) {
        const known = new Set(context.arrived('api'))
        const open = await openCreateForm(context)
        await context.order('create-late', { times: 3, options: { seconds } })
        await Promise.all([1, 2, 3].map(() => open.browser.newTab().submit(open.page, open.form, open.values)))
        await context.dropFaults()
        const steps = (await created(context, open.person)).filter(step => !known.has(step))
        const isSlow = seconds > 0 ? ' The API needed a second for each creation.' : ''
        expect(steps.length === 1, `The client created ${steps.length} applications.${isSlow}`, ...steps)
      }
    },
  },
  {
    id: 'create-once-after-failure',
    title:
      "If the API's answer to a creation is lost and the visitor sends the same form again, the client does not call the API again",
    rule: 'PG-15',
    why: "If the API's answer is lost, the API may still have created the application. A visitor who goes back and sends the same form again would then get a second application.",
    fix: 'If the call fails without a clear refusal, remember the id of the form. If a second request has the same id, answer with a page that tells the visitor to look at the list first.',
    needs,
    async run(context) {
      // With this fault, the API's answer is lost. The check does not use a 503 answer, because a client may rightly
      // treat such an answer as a refusal.
      const fault = 'create-reset-after'
      const open = await openCreateForm(context)
      const known = new Set(context.arrived('api'))
      await context.order(fault, { times: 1 })
      await open.browser.submit(open.page, open.form, open.values)
      await context.platform.settle()
      await context.dropFaults()
      const creations = () => context.arrived('api').filter(step => !known.has(step) && isCreation(step))
      // If the API has refused the call, the fault had no effect, and a second call for the same form is allowed.
      if (!creations().some(step => step.fault)) throw noCreation()
      const again = await open.browser.newTab().submit(open.page, open.form, open.values)
      await context.platform.settle()
      expect(
        creations().length === 1,
        `With the fault ${fault}, the API created the application, but its answer was lost. When the same form was sent again, the client called the API again.`,
        again,
        ...creations(),
      )
    },
  },
  {
    id: 'create-reload',
    title:
      'If a visitor reloads the page after creating an application, the client does not create another application',
    rule: 'PG-16',
    why: 'If the client answers the POST with a page, the browser sends the POST again on reload.',
    fix: 'Answer the POST with 303 to another page.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      await submitCreate(context, open)
      await open.browser.reload()
      const steps = await created(context, open.person)
      expect(steps.length === 1, `The client created ${steps.length} applications.`, ...steps)
    },
  },
  {
    id: 'create-shows-secret',
    title: 'The client shows the secret of a new application',
    rule: 'secret-shown',
    why: 'The API returns the secret only once, when the application is created.',
    fix: 'Show the secret on the page that follows the form, and say that the client will not show it again. If the client keeps the secret for this page, all its processes must be able to read it.',
    needs,
    async run(context) {
      // The form and the next page use different connections. If the client has several processes, the next page may or
      // may not come from the process that created the application.
      for (let round = 0; round < 4; round++) {
        // `created` returns all creations of a visitor, so each round needs a new visitor.
        await context.replaceVisitor()
        const open = await openCreateForm(context)
        const page = await submitCreate(context, open)
        const secret = secretOf(await created(context, open.person))
        expect(
          page.trail.some(one => bodyOf(one).includes(secret)),
          'The client created an application, but did not show its secret on any page.',
          page,
        )
      }
    },
  },
  {
    id: 'create-secret-once',
    title: 'A page shows the secret of a new application only once',
    rule: 'secret-shown',
    why: 'If the page shows the secret on every visit, anyone who uses the browser later can read the secret.',
    fix: 'If the client keeps the secret for the page that shows it, delete the secret when you send this page.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      const page = await submitCreate(context, open)
      const secret = secretOf(await created(context, open.person))
      if (!page.body.includes(secret))
        throw new ReportedElsewhere('the page that follows the form does not show the secret')
      for (let visit = 0; visit < 2; visit++) {
        const later = await open.browser.newTab().visit(page.url)
        expect(!later.body.includes(secret), 'A later visit shows the secret again.', later)
      }
    },
  },
  {
    id: 'create-secrets-of-two-tabs',
    title:
      'If a visitor creates applications in two tabs at the same time, the next pages show the secrets of both applications',
    rule: 'secret-shown',
    why: 'The second form can arrive before the first tab opens the next page. If the client keeps only one secret for the next page, the first secret is lost, and the API never shows it again.',
    fix: 'When you keep a secret for the next page, do not replace a secret that no page has shown yet. Show the new secret in the answer to the form instead.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      const open = [await openFormIn(context, browser, person), await openFormIn(context, browser.newTab(), person)]
      const answers: { tab: Browser; answer: Page }[] = []
      for (const { browser: tab, page, form, values } of open)
        answers.push({ tab, answer: await tab.submit(page, form, values, noRedirects) })
      const creations = await created(context, person)
      if (creations.length === 0) throw noCreation()
      if (creations.length !== 2) throw new NotApplicable('the client keeps only one open form for each visitor')
      const pages: Page[] = []
      for (const { tab, answer } of answers)
        pages.push(answer.stoppedAt === undefined ? answer : await tab.goOn(answer))
      const shown = pages.flatMap(({ trail }) => trail.map(bodyOf)).join('\n')
      const lost = creations.filter(creation => !shown.includes(secretOf([creation])))
      if (lost.length === creations.length)
        throw new ReportedElsewhere('the page that follows the form does not show the secret')
      expect(
        lost.length === 0,
        `The client shows only the secret of the ${lost[0] === creations[0] ? 'second' : 'first'} application.`,
        ...pages,
      )
    },
  },
  {
    id: 'create-secret-cookie-sealed',
    title: 'No cookie contains the secret of a new application in readable form',
    rule: 'CK-05',
    why: 'Clients often keep the secret in a cookie until the next page shows it. A signature does not hide the content of a cookie, so anyone who gets the cookie can read the secret.',
    fix: 'Encrypt the cookie. Or store the secret on the server until the next page shows it, or show it in the answer to the form.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      const page = await submitCreate(context, open)
      const steps = await created(context, open.person)
      const secrets = steps.flatMap(credentialSecrets)
      for (const exchange of page.trail)
        for (const { name, value } of setCookiesOf(exchange).map(readSetCookie)) {
          const texts = readableTextsIn(value)
          const found = secrets.find(({ value }) => texts.some(text => text.includes(value)))
          expect(!found, `The cookie ${name} contains ${found?.what}, and is not encrypted.`, exchange)
        }
    },
  },
  {
    id: 'create-secret-head',
    title: 'The page with the secret of a new application shows the secret even after a HEAD request for this page',
    rule: 'head-as-get',
    why: 'Link checkers and browser extensions send HEAD requests. If such a request deletes the secret that the client keeps for the page, the visitor never sees it.',
    fix: 'For pages of visitors, answer HEAD requests with 405. Or make sure that a HEAD request changes nothing, and does not delete the secret that the client keeps for the page.',
    needs,
    async run(context) {
      const createAndOpen = async (hasHead: boolean) => {
        // The two forms have different names, because the client may treat a second form with the same values as a
        // repetition of the first form.
        const name = `Created ${hasHead ? 'before HEAD' : 'without HEAD'}`
        const { browser, person, form, values } = await openCreateForm(context, name)
        const fields = filledFields(form, values)
        const { answer, location } = await sendForm(context, browser, { ...form, fields }, ownForm(context))
        const [step] = (await created(context, person)).slice(-1)
        if (!step || location === undefined)
          throw new NotApplicable('the client does not answer the form with a redirect')
        const there = new URL(location, form.action).href
        for (const line of setCookiesOf(answer)) browser.cookies.set(context.settings.client, line)
        if (hasHead) {
          const headers = { ...typedAddress, cookie: cookieHeader(context, browser, there) }
          const head = await context.request(there, { method: 'HEAD', headers })
          for (const line of setCookiesOf(head)) browser.cookies.set(context.settings.client, line)
        }
        const page = await browser.visit(there)
        return { page, isShown: page.body.includes(secretOf([step])) }
      }
      if (!(await createAndOpen(false)).isShown) throw new NotApplicable('the next page does not show the secret')
      const { page, isShown } = await createAndOpen(true)
      expect(isShown, 'After a HEAD request, the page no longer shows the secret.', page)
    },
  },
  {
    id: 'create-secret-not-in-address',
    title: 'No address contains the secret of a new application',
    rule: 'SE-04',
    why: 'Browser histories and logs keep addresses.',
    fix: 'Write the secret into the body of the answer, or into a sealed cookie for the next page.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      const page = await submitCreate(context, open)
      const secret = secretOf(await created(context, open.person))
      expect(!page.trail.some(({ request }) => request.url.includes(secret)), 'An address contains the secret.')
    },
  },
  {
    id: 'create-no-session',
    title: 'If a form arrives after the session has ended, the client creates nothing and offers to sign in',
    rule: 'PG-14',
    why: 'Without a session the client cannot create the application, and the visitor must see why.',
    fix: 'Check the session before you read the form. Without a session, offer to sign in.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      open.browser.cookies.delete()
      const page = await open.browser.submit(open.page, open.form, open.values)
      expectServed(page, `The form was answered with ${describePage(page)}.`)
      expect((await created(context, open.person)).length === 0, 'The application was created.')
      expect(
        asksToSignIn(context, page),
        `The client answered with ${describePage(page)}, which does not offer to sign in.`,
        page,
      )
      // Signs in with the link of this page, which may contain a return address.
      const link = page.links.find(({ url }) => leadsTo(url, context.url(context.settings.login)))
      const start = await context.startLogin(open.browser, link?.url ?? context.settings.login)
      await followCallback(context, open.browser, await context.authorize(start, open.person))
      const later = await open.browser.newTab().visit(context.url(context.settings.create))
      expectWithFix(
        'After the login, show the filled-in form again. Create the application only when the visitor sends this form.',
        (await created(context, open.person)).length === 0,
        'After the login, the client created the application, although the visitor did not send the form again.',
        later,
      )
      await submitCreate(context, await openCreateForm(context))
    },
  },
  {
    id: 'create-no-session-says-so',
    title:
      'If a form arrives without a session, the visitor sees the typed text again, or a message that the form was not processed',
    rule: 'PG-14',
    why: 'If the client only redirects to the login path, the visitor believes that the application was created. The typed text is also lost.',
    fix: 'Show the filled-in form with a message and a link to the login path. Or keep the form until the visitor has signed in, and then show it again.',
    needs,
    async run(context) {
      const typed = `Typed before the session ended ${Date.now()}`
      const open = await openCreateForm(context, typed)
      await expectTold(context, open.browser, await sendWithoutSession(context, open), typed, open.page.url)
    },
  },
  {
    id: 'create-ended-session-says-so',
    title:
      'If the platform has ended the session before a form arrives, the visitor sees the typed text again, or a message that the form was not processed',
    rule: 'PG-14',
    why: 'The cookies are still there, but the API and the portal refuse the tokens. If the client then only redirects to the login path, the visitor believes that the application was created.',
    fix: 'If the API refuses the token and the renewal fails, answer the form in the same way as a form without a session. Show the filled-in form again with a message. Or keep the form until the visitor has signed in, and then show it again.',
    needs,
    async run(context) {
      const typed = `Typed before the platform ended the session ${Date.now()}`
      const open = await openCreateForm(context, typed)
      await expectTold(context, open.browser, await sendAfterEndedSession(context, open), typed, open.page.url)
    },
  },
  {
    id: 'create-by-get',
    title: 'A GET request does not create an application, whatever its query contains',
    rule: 'PG-04',
    why: "A link or an image on another site can send a GET request with the visitor's cookies. This request could create an application.",
    fix: 'Create, change and delete applications only in response to a POST.',
    needs,
    async run(context) {
      const open = await openCreateForm(context)
      const query = `${new URLSearchParams(filledFields(open.form, open.values))}`
      for (const address of [open.form.action, context.url(context.settings.create)])
        for (const override of ['', '&_method=POST'])
          await open.browser.visit(`${address.split('?')[0]}?${query}${override}`)
      expect((await created(context, open.person)).length === 0, 'GET created an application.')
      await submitCreate(context, open)
    },
  },
  ...(['cross-site', 'same-site'] as const).map(
    (site): CheckDefinition => ({
      id: `create-${site}`,
      title: `If ${site === 'cross-site' ? 'another site' : 'a page on another port of the same host'} sends the form, the client creates nothing on the visitor's behalf`,
      rule: 'PG-01',
      why: `${site === 'cross-site' ? "Any website can send a form with the visitor's cookies" : 'SameSite cookies are also sent with forms from other ports and subdomains'}.`,
      fix: "Refuse a POST whose Sec-Fetch-Site is not same-origin, or whose Origin is not the client's own. Or require a token that only the client's own page contains.",
      needs,
      async run(context) {
        const open = await openCreateForm(context)
        const attacker = await attackersForm(context, open)
        const { otherSite } = context.platform
        const page = open.browser.show(otherSite.url('/', site), '')
        await open.browser.submit(page, attacker, open.values)
        const steps = await created(context, open.person)
        expect(steps.length === 0, 'The application was created.', ...steps)
        // Some clients check a token only if the form contains one.
        await open.browser.submit(page, withoutHidden(attacker), open.values)
        const more = await created(context, open.person)
        expect(more.length === 0, 'The application was created, although the form had no hidden field.', ...more)
        await submitCreate(context, open)
      },
    }),
  ),
  ...(
    [
      ['origin', 'whose Origin is another site', { origin: 'https://evil.example' }],
      ['origin-null', 'whose Origin is null', { origin: 'null' }],
      ['origin-port', 'whose Origin is another port of the host', { origin: 'http://localhost:1' }],
      [
        'host',
        'with the same foreign host in Origin and Host',
        { origin: 'http://evil.example', host: 'evil.example' },
      ],
      [
        'forwarded-host',
        'with the same foreign host in Origin and X-Forwarded-Host',
        {
          origin: 'http://evil.example',
          'x-forwarded-host': 'evil.example',
          forwarded: 'host=evil.example;proto=http',
        },
      ],
      ['fetch-site', 'whose Sec-Fetch-Site is cross-site', { 'sec-fetch-site': 'cross-site', origin: 'null' }],
      [
        'script',
        'from a script on another port of the host',
        {
          origin: 'http://localhost:1',
          'sec-fetch-site': 'same-site',
          'sec-fetch-mode': 'no-cors',
          'sec-fetch-dest': 'empty',
        },
      ],
    ] as const
  ).map(
    ([id, what, headers]): CheckDefinition => ({
      id: `create-forged-${id}`,
      title: `A forged POST ${what} creates nothing`,
      rule: id.endsWith('host') ? 'PG-02' : 'PG-01',
      why: 'Older browsers send no Sec-Fetch headers, so the client must compare Origin with its own address.',
      fix: 'If Sec-Fetch-Site is missing, compare Origin with the configured address, never with Host.',
      needs,
      async run(context) {
        const open = await openCreateForm(context)
        const forged = await attackersForm(context, open)
        const send = ({ action, fields }: Form, headers: Record<string, string>) =>
          context.request(action, {
            method: 'POST',
            headers: {
              'content-type': 'application/x-www-form-urlencoded',
              cookie: cookieHeader(context, open.browser, action),
              ...headers,
            },
            body: `${new URLSearchParams(filledFields({ fields }, open.values))}`,
          })
        const answer = await send(forged, headers)
        expect((await created(context, open.person)).length === 0, 'The application was created.', answer)
        // Sends the same request from the client's own page. If this request also creates nothing, the client may have
        // refused the forged form for another reason. `submitCreate` then ends the check if even a browser cannot
        // create an application.
        await send(open.form, {
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
    title: 'When the API refuses a form, the client shows the form again with the typed values',
    rule: 'form-kept',
    why: 'A visitor who has to type everything again makes mistakes, or gives up. This check only warns, because a simple client that shows the error without the form is still correct.',
    fix: "Show the form again with status 422 or 400. Keep its values, and show the API's message next to the wrong field.",
    needs,
    async run(context) {
      // The text contains quotes. If a form writes it into an attribute without escaping, the part after a quote is
      // lost.
      const typed = `Typed by "conformance" & 'others' <b>`
      const open = await openCreateForm(context, typed)
      const uri = Object.keys(open.values).find(name => /redirect/i.test(name))!
      const page = await open.browser.submit(open.page, open.form, {
        ...open.values,
        [uri]: 'ftp://not-allowed.example/',
      })
      expectServed(page, `The form was answered with ${describePage(page)}.`)
      expect((await created(context, open.person)).length === 0, 'The application was created.')
      const kept = page.forms.flatMap(({ fields }) => fields.map(([, value]) => value))
      expect(kept.includes(typed), 'No field of the page contains the text that the visitor typed.', page)
    },
  },
  {
    id: 'create-other-visitor',
    title:
      'If one visitor opens a form, and another visitor then signs in with the same browser, the form does not create an application',
    rule: 'form-of-its-visitor',
    why: 'Before the visitor sends the form, another person can sign in from another tab of the same browser.',
    fix: 'Bind the form to the visitor who opened it.',
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
      // Chooses a group of the second visitor, because the API would refuse a group of the first visitor.
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
        'The client called the API on behalf of the second visitor.',
      )
      await submitCreate(context, await openCreateForm(context))
    },
  },
]

/**
 * Returns how to fix a form that does not create an application. This depends on the client's answer and its API calls.
 */
function adviceForForm(context: CheckContext, page: Page, calls: LabStep[]): string {
  const post = calls.findLast(({ request }) => request.method === 'POST')
  if (post && post.response.status >= 400) {
    const fix = post.reason ? ` ${guidanceOf(post.reason).fix}` : ''
    return `The API refused the call with status ${post.response.status}. The evidence shows its answer.${fix}`
  }
  if (post) return 'Make one call for each form, with the access token of the visitor who is signed in.'
  const sent = page.trail[0]
  if (sent?.request.headers.origin === 'null' && page.status === 403)
    return 'Browsers send Origin: null from a page with Referrer-Policy: no-referrer. Use same-origin on pages with forms.'
  if (page.stoppedAt !== undefined || isAtOrigin(page.url, context.platform.portalUrl))
    return 'The client answered the form with a redirect to the login path. Read the session from the cookies of this request (see the evidence).'
  if (page.status >= 500) return 'The client itself failed. Its output shows the error.'
  if (page.status >= 400)
    return `The client refused its own form with status ${page.status}. See the request in the evidence, and find out which of the client's checks refused it: Origin, Sec-Fetch-Site, a hidden token, or the fields.`
  return 'The client accepted the form, but did not call POST /apps/v1. Make this call before you answer the form.'
}
