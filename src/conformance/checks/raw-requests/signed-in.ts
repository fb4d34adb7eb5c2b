// Checks with invalid requests that contain a visitor's cookies. Without a session, many clients answer before
// they read the request.
import type { Browser } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { fail } from '../../findings.ts'
import { sendAndReset } from '../../raw-connection.ts'
import { openPagesAbout, openWithApplication } from '../../steps/application-pages.ts'
import { beginLogin, cookieHeader, navigationHeaders } from '../../steps/callback.ts'
import { expectStillThere, type Odd, requestText, sendOdd } from '../../steps/raw.ts'

const formType = 'application/x-www-form-urlencoded'
const names = ['q', 'search', 'page', 'sort', 'id']

/** One field of a multipart form, as a browser sends it. */
const part = (name: string, more = '', value = 'x') =>
  `--a\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`

const multipart = 'multipart/form-data; boundary=a'

const bodies: [type: string | undefined, body: string][] = [
  [multipart, `${part('name')}${part('redirectUris', '', 'https://a.example/')}--a--\r\n`],
  [multipart, `${part('name', '; filename="a.txt"\r\ncontent-type: text/plain')}--a--\r\n`],
  [multipart, `${part('name')}${part('name')}${part('name[]')}--a--\r\n`],
  [multipart, part('name')],
  [multipart, `${Array.from({ length: 300 }, (_, at) => part(`a${at}`)).join('')}--a--\r\n`],
  ['multipart/form-data', 'x'],
  ['application/json', '{"name":{"a":1},"redirectUris":[1]}'],
  ['application/json', 'null'],
  ['application/json', '{"a":'],
  ['text/plain', 'name=a'],
  ['x', 'x'],
  [undefined, 'name=a'],
  [formType, ''],
  [formType, '%'],
  [formType, 'name=%E0%A4%A&%=%zz'],
  [formType, 'name=%ff%fe&description=%00&redirectUris=%0d%0a'],
  [formType, 'name=a&name=b&redirectUris=c&redirectUris=d&groupId=e&groupId=f'],
  [formType, 'name[]=a&name[b]=c&redirectUris[0]=d&__proto__[a]=1&constructor[prototype][b]=2'],
  [formType, 'name=a'],
  [formType, `name=a&redirectUris=${'https://a.example/,'.repeat(300)}`],
  [`${formType}; charset=utf-16`, 'name=a'],
]

/**
 * Invalid requests with a visitor's cookies, and with the headers that browsers send from the client's own pages.
 */
async function signedInRequests(context: CheckContext): Promise<Odd[]> {
  const application = await openWithApplication(context)
  const { browser } = application
  const pages = await openPagesAbout(context, application)
  const { settings } = context
  const paths = new Set([settings.page, settings.create, '/'].filter(path => path !== ''))
  for (const page of pages.slice(1, 3)) paths.add(new URL(page.url).pathname)
  const posts = new Set([settings.page, settings.create].filter(path => path !== ''))
  for (const { forms } of pages)
    for (const { method, action } of forms)
      if (method === 'POST' && action.includes(application.id)) posts.add(new URL(action).pathname)
  const shown = (path: string) => path.replaceAll(application.id, '…')
  const get = (path: string, target: string): Odd => ({
    what: `GET ${shown(target)} with a session`,
    head: requestText(context, 'GET', target, { headers: { cookie: cookieHeader(context, browser, path) } }),
  })
  const queries = [
    ...names.flatMap(name => [`?${name}=a&${name}=b`, `?${name}[]=a&${name}[b]=c`, `?${name}=%E0%A4%A&${name}=%00`]),
    ...['?page=-1', '?page=99999999999999999999', '?page=a', '?page=1e9', '?sort=__proto__', '?%', '?x=%ff&%zz=1'],
  ]
  return [
    ...[...paths].flatMap(path => queries.map(query => get(path, path + query))),
    ...[...paths].flatMap(path =>
      ['/%', '/%E0%A4%A', '/%00', '/%ff'].map(end => get(path, path.replace(/\/$/, '') + end)),
    ),
    ...[...posts].slice(0, 4).flatMap(path =>
      bodies.map(([type, body], at): Odd => {
        const own = { origin: settings.client, 'sec-fetch-site': 'same-origin', 'content-type': type }
        const headers = { ...own, cookie: cookieHeader(context, browser, path) }
        return {
          what: `POST ${shown(path)} with a session, with form ${at + 1}: ${JSON.stringify(body.slice(0, 50))} ${type ? `as ${type}` : 'without a content type'}`,
          head: requestText(context, 'POST', path, { headers, body }),
        }
      }),
    ),
  ]
}

/** Milliseconds after which a visitor leaves, while the client waits for the platform. */
const leavesMs = 300

export const signedIn: CheckDefinition[] = [
  {
    id: 'raw-visitor-leaves',
    title: 'If visitors leave while the client waits for the platform, the client still answers other requests',
    rule: 'stays-up',
    why: 'Visitors close windows that load slowly. Some clients then cancel the call to the platform, or write to the closed connection. An error that the client does not catch ends the client for all visitors.',
    fix: 'Catch the errors of a cancelled call and of a closed connection, even in functions that run after the visitor has left.',
    needs: ['page'],
    async run(context) {
      const { client, page } = context.settings
      const leave = (from: Browser, target: string, headers: Record<string, string> = {}) => {
        const cookie = cookieHeader(context, from, target)
        return sendAndReset(client, requestText(context, 'GET', target, { headers: { ...headers, cookie } }), leavesMs)
      }
      const { browser } = await context.signedIn()
      await context.order('list-late', { times: 2, options: { seconds: 1 } })
      await Promise.all([leave(browser, page), leave(browser, page)])
      await expectStillThere(context, 'visitors have left the page behind the login')
      const login = await beginLogin(context)
      await context.order('exchange-late', { times: 1, options: { seconds: 1 } })
      const { pathname, search } = login.callback
      await leave(login.browser, pathname + search, navigationHeaders)
      if (context.timesMet('list-late') + context.timesMet('exchange-late') === 0)
        throw new NotApplicable('neither the page behind the login nor the callback makes a call to the platform')
      await context.pause(1200)
      await expectStillThere(context, 'a visitor has left the callback')
    },
  },
  {
    id: 'raw-signed-in',
    title: 'The client answers invalid parameters, addresses and forms from a signed-in visitor, and keeps running',
    rule: 'stays-up',
    why: 'Anyone with an account can send such requests. An exception that the client does not catch can crash the client for all visitors.',
    fix: 'Check the type of every value before you use it. Answer a body that you cannot read with status 400 or 415.',
    needs: ['page'],
    run: async context => {
      await sendOdd(context, await signedInRequests(context))
      const { browser } = await context.signedIn()
      if (!(await context.isSignedIn(browser))) fail('After the invalid requests, nobody can sign in.')
    },
  },
]
