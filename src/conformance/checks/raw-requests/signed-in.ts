// Checks with invalid requests that contain a visitor's cookies. Without a session, many clients answer before
// they read the request.
import { type CheckDefinition, Failed } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { openPagesAbout, openWithApplication } from '../../steps/application-pages.ts'
import { cookieHeader } from '../../steps/callback.ts'
import { type Odd, requestText, sendOdd } from '../../steps/raw.ts'

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
          what: `POST ${shown(path)} with a session, with form ${at + 1}: ${JSON.stringify(body.slice(0, 50))} as ${type ?? 'no type'}`,
          head: requestText(context, 'POST', path, { headers, body }),
        }
      }),
    ),
  ]
}

export const signedIn: CheckDefinition[] = [
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
      if (!(await context.isSignedIn(browser))) throw new Failed('After the invalid requests, nobody can sign in.')
    },
  },
]
