// Checks on pages and requests that clients often forget: pages about an application, the start page, and requests from
// another origin. Many clients follow the rules only on the page behind the login.
import type { Page } from '../../browser/browser.ts'
import { type Check, type CheckDefinition, NotApplicable, passNotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, headerOf, statusOf } from '../../findings.ts'
import { isCallWithToken } from '../../platform-calls.ts'
import { withQuery } from '../../steps/addresses.ts'
import {
  changesSince,
  filledFields,
  nameField,
  openEditForm,
  openPagesAbout,
  openWithApplication,
  ownForm,
  sendForm,
} from '../../steps/application-pages.ts'
import { cookieHeader, typedAddress } from '../../steps/callback.ts'
import { findCreateForm, openCreateForm, openFormIn } from '../../steps/create-form.ts'
import { requestText } from '../../steps/raw.ts'

const needs: Check['needs'] = ['page']

/**
 * Strings that a request contains in place of an id. A client may decode the id without encoding it again, or encode it
 * twice. For at least one of these ids, such a client calls a wrong path.
 */
const hostileIds = (id: string) => [
  // In some languages, $ in a pattern also matches before a line break.
  `${id}%0a%2f..%2f..%2fidentities%2fv1`,
  '%2e%2e',
  '..%2f..%2fidentities%2fv1',
  '%252e%252e%252fidentities',
  `${id}%2FrefreshSecret`,
  `${id}%3Fx=1`,
  `${id}%23b`,
  '%5c..%5c..%5cidentities',
]

/**
 * The API paths that the client may call for a page about an application. Excludes `..`, which leads to another path.
 */
const allowedPaths = /^\/apps\/v1(\/(?!\.\.?($|[/?#]))[^/?#]+)?$|^\/apps\/v1\?|^\/api\/me$/

/** Opens every page that a visitor can open. */
async function openEverything(
  context: CheckContext,
): Promise<{ pages: Page[]; application: Awaited<ReturnType<typeof openWithApplication>> }> {
  const application = await openWithApplication(context)
  const { browser } = application
  const pages = [await browser.visit(context.url('/')), ...(await openPagesAbout(context, application))]
  if (context.settings.create) pages.push(await browser.visit(context.url(context.settings.create)))
  return { pages, application }
}

export const otherPlaces: CheckDefinition[] = [
  {
    id: 'forms-referrer-policy',
    title: 'No page with a form has Referrer-Policy: no-referrer',
    rule: 'PG-03',
    why: 'With this policy, browsers send Origin: null with the form. A client or a proxy that compares Origin then refuses the form.',
    fix: 'Send Referrer-Policy: same-origin or strict-origin-when-cross-origin with pages that have a form. Send no-referrer only with the page after the callback.',
    needs,
    async run(context) {
      const { pages, application } = await openEverything(context)
      const create = pages.at(-1)!
      if (findCreateForm(create)) {
        const open = await openFormIn(context, application.browser, application.person)
        const redirect = Object.keys(open.values).find(name => /redirect/i.test(name))!
        const wrong = { ...open.values, [redirect]: 'ftp://not-allowed.example/' }
        pages.push(await open.browser.submit(open.page, open.form, wrong))
      }
      const withForms = pages.filter(({ forms }) => forms.some(({ method }) => method === 'POST'))
      if (withForms.length === 0) throw new NotApplicable('no page of the client has a form')
      for (const page of withForms)
        expect(
          page.referrerPolicy !== 'no-referrer',
          `${describePage(page)} has a form and the policy no-referrer.`,
          page,
        )
    },
  },
  {
    id: 'page-id-on-every-page',
    title:
      'If the address of a page about an application contains a hostile id, the client calls only the application API',
    rule: 'PG-23',
    why: "If one page does not check the id, the client sends the visitor's token to another path. An encoded id can still be two dots, which many HTTP libraries resolve to the parent path.",
    fix: 'In the one function that makes the path of a call, check that the value has the format of an id, and encode it as one segment.',
    needs,
    // The check counts the calls for all visitors, because the sandbox cannot always tell to which visitor such a call
    // belongs. The check therefore runs alone.
    isAlone: true,
    async run(context) {
      const application = await openWithApplication(context)
      const { browser, person, id } = application
      const pages = (await openPagesAbout(context, application)).slice(1).filter(({ url }) => url.includes(id))
      if (pages.length === 0) throw new NotApplicable('no page has the id of an application in its address')
      for (const { url } of pages)
        for (const hostile of hostileIds(id)) {
          await context.platform.settle()
          const address = url.replace(id, hostile)
          const headers = { ...typedAddress, cookie: cookieHeader(context, browser, url) }
          const { result: answer, steps } = await context.during(() => context.request(address, { headers }))
          expect(statusOf(answer) > 0, 'There was no answer.', answer)
          const wrong = steps
            .filter(step => isCallWithToken(step) || step.kind === 'exchange')
            .filter(
              ({ request }) =>
                !allowedPaths.test(request.url) && !request.url.startsWith(`/identities/v1/${person.id}/links`),
            )
          expect(wrong.length === 0, `The client called ${wrong[0]?.request.url}.`, answer, ...wrong)
        }
    },
  },
  {
    id: 'visitor-pages-no-cors',
    title: 'No page for a signed-in visitor has an Access-Control-Allow-Origin that names a foreign origin',
    rule: 'PG-19',
    why: "With this header, a script on the named origin can read the page and the visitor's data. This is also true for a fixed origin, such as the address of a development server.",
    fix: 'Do not send Access-Control-Allow-Origin with any answer, for any origin.',
    needs,
    async run(context) {
      const { pages, application } = await openEverything(context)
      const { client } = context.settings
      const { protocol, hostname } = new URL(client)
      const origins = [
        'https://evil.example',
        'null',
        `${protocol}//${hostname}:1`,
        `${protocol}//sub.${hostname}`,
        `${client}.evil.example`,
        `https://evil.example/?${client}`,
        'http://localhost:5173',
        context.platform.portalUrl,
      ]
      const urls = [
        ...pages.filter(({ status }) => status === 200).map(({ url }) => url),
        context.url('/there-is-nothing-here-conformance'),
      ]
      for (const url of urls)
        for (const origin of origins) {
          const headers = {
            origin,
            cookie: cookieHeader(context, application.browser, url),
            'sec-fetch-mode': 'cors',
            'sec-fetch-site': 'cross-site',
            'sec-fetch-dest': 'empty',
          }
          const answer = await context.request(url, { headers })
          const allowed = headerOf(answer, 'access-control-allow-origin')
          const path = new URL(url).pathname.replaceAll(application.id, '…')
          expect(
            allowed === undefined || allowed === client,
            `GET ${path} with Origin: ${origin} is answered with Access-Control-Allow-Origin: ${allowed}.`,
            answer,
          )
        }
    },
  },
  {
    id: 'visitor-name-no-store',
    title: 'Every page that shows who the visitor is has Cache-Control: no-store',
    rule: 'PG-11',
    why: 'The start page and the page after the login often greet the visitor. Without no-store, the Back button shows the name to the next person, and a proxy may send the page to other people.',
    fix: 'Send Cache-Control: no-store with every answer to a signed-in visitor, including the start page.',
    needs,
    async run(context) {
      const { browser, person, page: landed } = await context.signedIn()
      const { page, create } = context.settings
      const pages = [landed]
      for (const path of ['/', page, create].filter(one => one !== ''))
        pages.push(await browser.visit(context.url(path)))
      const marks = [person.email, person.id, person.firstName]
      for (const one of pages) {
        const words = new Set(one.body.split(/[^\w@.-]+|\.(?=\W|$)/))
        if (!marks.some(mark => words.has(mark))) continue
        const control = one.headers.get('cache-control')
        expect(
          /no-store/i.test(control ?? ''),
          `${describePage(one)} shows who the visitor is, and ${control === null ? 'there is no Cache-Control' : `Cache-Control is ${control}`}.`,
          one,
        )
      }
    },
  },
  {
    id: 'many-requests-at-once',
    title:
      'If many visitors begin logins and open pages at the same time, the client keeps running and answers each request',
    rule: 'stays-up',
    why: 'In some languages, the process ends if two requests change the same map or list at the same time.',
    fix: 'Use a lock, for example, to protect data that several requests share. Share as little data as possible.',
    needs,
    async run(context) {
      const { login, page, callback } = context.settings
      const sessions = [await context.signedIn(), await context.signedIn({ person: await context.otherPerson() })]
      const cookies = sessions.map(({ browser }) => cookieHeader(context, browser, page))
      for (let round = 0; round < 8; round++) {
        const all = Array.from({ length: 24 }, (_, at) => {
          const path = [login, page, login, withQuery(callback, 'code=a&state=b')][at % 4]!
          const headers = { ...typedAddress, ...(path === page && { cookie: cookies[(at >> 2) % cookies.length]! }) }
          return context.request(path, { headers })
        })
        for (const answer of await Promise.all(all))
          expect(statusOf(answer) > 0, `One of ${all.length} simultaneous requests got no answer.`, answer)
      }
    },
  },
  {
    id: 'forms-long-body',
    title:
      'The client refuses a form of 500 KB without Content-Length, and a form of 500 KB that changes an existing application',
    rule: 'bounded-bodies',
    why: 'A limit does not protect the client if it looks only at Content-Length, or if it applies to only one form.',
    fix: 'Count the bytes while you read the body of any request, and stop at 64 KB.',
    needs,
    async run(context) {
      const long: [string, string] = ['unknown', 'a'.repeat(500_000)]
      let judged = 0
      if (context.settings.create) {
        const open = await openCreateForm(context)
        const fields = [...filledFields(open.form, open.values), long]
        const body = `${new URLSearchParams(fields)}`
        const headers = {
          ...ownForm(context),
          cookie: cookieHeader(context, open.browser, open.form.action),
          'content-type': 'application/x-www-form-urlencoded',
          'transfer-encoding': 'chunked',
        }
        const { pathname, search } = new URL(open.form.action)
        const { exchange } = await context.sendBytes({
          head: requestText(context, 'POST', pathname + search, { headers }),
          async *more() {
            yield `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
          },
        })
        await context.platform.settle()
        const calls = context.arrived('api').filter(({ request }) => request.method === 'POST')
        expect(calls.length === 0, 'The client sent the long form, which had no Content-Length, to the API.', exchange)
        judged++
      }
      const application = await openWithApplication(context)
      const edit = await openEditForm(context, application).catch(passNotApplicable)
      if (edit) {
        const before = context.arrived('api')
        const fields = [...filledFields(edit.form, { [nameField(edit.form)]: 'Sent with a long field' }), long]
        const { answer } = await sendForm(context, application.browser, { ...edit.form, fields }, ownForm(context))
        const changes = await changesSince(context, application.person, before)
        expect(changes.length === 0, 'The client processed the long edit form.', answer, ...changes)
        judged++
      }
      if (judged === 0) throw new NotApplicable('the client has no form for an application')
    },
  },
]
