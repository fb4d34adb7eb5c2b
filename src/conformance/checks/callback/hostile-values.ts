// Tests values that anybody can put into the address of a login, of a callback or of another page: unknown parameters,
// markup, line breaks, and addresses of other sites.
import type { HttpExchange, Page } from '../../browser/browser.ts'
import { type CheckDefinition, Undecided } from '../../check.ts'
import { readStart } from '../../context.ts'
import { expect, fail, headerOf, setCookiesOf } from '../../findings.ts'
import { withQuery } from '../../steps/addresses.ts'
import { beginLogin, cookieHeader, errorCallback, followCallback, navigationHeaders } from '../../steps/callback.ts'
import { findCancelUrl } from '../../steps/declined-login.ts'
import { addressOn, leadsToScript, runsScript } from '../../steps/page-content.ts'
import { returnNames } from '../../steps/return-names.ts'
import { readSetCookie } from '../../steps/set-cookies.ts'

const evil = 'https://evil.example/'
const markup = '"\'><img src=x onerror=conformance()>'
const scriptAddress = 'javascript:conformance()'

/** Unknown parameters, which the client must ignore (RFC 6749, 4.1.2). */
const unknown: [name: string, value: string][] = [
  ['session_state', 'something'],
  ['scope', 'openid profile'],
  ['utm_source', 'a mail'],
  ['a.b', '1'],
  ['a-b', '1'],
  ['list[]', '1'],
  ['map[key]', '1'],
  ['$where', '1'],
  ['a b', '1'],
  ['0', '1'],
  ['ü', 'ü'],
  ['', 'no name'],
  ['__proto__', '1'],
  ['constructor', '1'],
  ['toString', '1'],
  ['hasOwnProperty', '1'],
  ['self', '1'],
  ['class', '1'],
  ['x'.repeat(200), '1'],
  ['empty', ''],
  ['long', 'y'.repeat(1000)],
  ['quotes', '"\'`'],
  ['percent', '100 %'],
  ['address', evil],
]

/** Parameters of a callback that some clients show on a page. */
const shown = [
  'code',
  'client_id',
  'iss',
  'error_uri',
  'error_description',
  'error',
  'redirect_uri',
  'subject',
  'scope',
  'unknown',
]

/**
 * Line breaks, unencoded and percent-encoded. The last value has two letters whose low bytes are 0D and 0A, which
 * together are a line break.
 */
const breaks = ['\r\n', '\n', '\r', '%0d%0a', '\u560d\u560a']
const added = 'x-conformance-added'

export const hostileValues: CheckDefinition[] = [
  {
    id: 'callback-unknown-parameters',
    title: 'A login works even if its callback has unknown parameters with unusual names',
    rule: 'unknown-parameters',
    why: 'The portal, or a program between the portal and the client, may add parameters. Some parsers fail on names with dots, brackets or letters outside ASCII. In some languages, names such as __proto__ change objects.',
    fix: 'Read only the parameters that you know, and ignore all other parameters.',
    needs: ['page'],
    async run(context) {
      const signsIn = async (some: typeof unknown): Promise<Page | undefined> => {
        const { browser, callback } = await beginLogin(context)
        for (const [name, value] of some) callback.searchParams.append(name, value)
        const page = await followCallback(context, browser, callback)
        return (await context.isSignedIn(browser)) ? undefined : page
      }
      // First sends all parameters in one callback, because most clients accept them. If this login fails, the check
      // tests each parameter separately.
      const page = await signsIn(unknown)
      if (page === undefined) return
      for (const [name, value] of unknown) {
        const page = await signsIn([[name, value]])
        if (page === undefined) continue
        await context.signedIn()
        fail(`Nobody is signed in after a callback with the parameter ${JSON.stringify(name.slice(0, 40))}.`, page)
      }
      if ((await signsIn(unknown)) === undefined) return
      fail(`Nobody is signed in after a callback with ${unknown.length} unknown parameters.`, page)
    },
  },
  {
    id: 'callback-no-redirect-away',
    title: 'No parameter of a callback decides where the browser goes after the login',
    rule: 'CL-25',
    why: 'Anybody can add a parameter to a callback. A client that reads the next page from the callback is an open redirect.',
    fix: 'Store the next page together with the state when the login begins. Do not read an address from the callback.',
    async run(context) {
      let hasExchanged = false
      const names = [...new Set([...returnNames, ...(context.settings.returnTo ? [context.settings.returnTo] : [])])]
      for (const value of [evil, '//evil.example/']) {
        const { browser, start, callback } = await beginLogin(context)
        const known = context.arrived('exchange').length
        for (const name of names) callback.searchParams.set(name, value)
        expectHere(await followCallback(context, browser, callback, { stopAt: isEvil }), 'a callback')
        hasExchanged ||= (await context.codeExchanges()).length > known
        const other = await beginLogin(context)
        const failed = errorCallback(other.callback, { error: 'access_denied', state: other.start.state ?? '' })
        for (const name of [...names, 'redirect_uri']) failed.searchParams.set(name, value)
        expectHere(await followCallback(context, other.browser, failed, { stopAt: isEvil }), 'a callback with an error')
        const cancelled = findCancelUrl(context, start)
        if (!cancelled) continue
        for (const name of [...names, 'redirect_uri']) cancelled.searchParams.set(name, value)
        const page = await followCallback(context, browser, cancelled, { stopAt: isEvil })
        expectHere(page, 'the page at cancel_url')
      }
      if (!hasExchanged) throw new Undecided('The client made no exchange for a callback with additional parameters.')
    },
  },
  {
    id: 'callback-escapes-anything',
    title: 'The page for a refused callback escapes the name and the value of every parameter',
    rule: 'oauth-sanitize',
    why: 'Anybody can make a visitor open a callback address with markup. Clients often escape only the parameters that they expect.',
    fix: 'Escape every part of the query that a page shows, or show no part of it. Never use a value from the query as the address of a link.',
    async run(context) {
      for (const name of shown)
        for (const value of name === 'error_uri' ? [markup, scriptAddress] : [markup])
          for (const isBegun of [true, false]) {
            const { browser, callback } = await beginLogin(context)
            if (name.startsWith('error')) {
              callback.searchParams.delete('code')
              callback.searchParams.set('error', 'server_error')
            }
            callback.searchParams.set(name, value)
            expectEscaped(await followCallback(context, isBegun ? browser : context.browser(), callback), name)
          }
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.delete('code')
      callback.searchParams.set(markup, '1')
      expectEscaped(await followCallback(context, browser, callback), 'a name')
    },
  },
  {
    id: 'header-injection',
    title: 'A line break in a parameter of any address does not add a header to the answer',
    rule: 'header-injection',
    why: 'A line break in a header begins another header. An attacker could use this to set a cookie or a Content-Security-Policy.',
    fix: 'Before you write a value from a request into a header, check the value. Refuse control characters.',
    async run(context) {
      const { login, returnTo, page, callback: callbackPath } = context.settings
      for (const line of breaks) {
        const value = `/a${line}${added}: yes${line}Set-Cookie: ${added}=1`
        const names = ['lang', 'unknown', 'state', ...(returnTo ? [returnTo] : [])]
        const starts = names.map(name => withQuery(login, { [name]: value }))
        const others = [
          ...(page ? [withQuery(page, { q: value })] : []),
          `/not-there?${new URLSearchParams({ q: value })}`,
          `/not-there${encodeURIComponent(value)}`,
          withQuery(callbackPath, { state: value, code: value }),
        ]
        for (const path of [...starts, ...others])
          expectNoHeader(await context.request(path, { headers: { ...navigationHeaders, 'sec-fetch-site': 'none' } }))
        for (const names of [
          ['subject', 'redirect_uri', 'unknown'],
          ['error', 'error_description', 'error_uri'],
          ['client_id'],
        ]) {
          const { browser, callback } = await beginLogin(context)
          for (const name of names) callback.searchParams.set(name, value)
          const cookie = cookieHeader(context, browser, callback.href)
          const headers = { ...navigationHeaders, ...(cookie && { cookie }) }
          expectNoHeader(await context.request(callback.href, { headers }))
        }
      }
      if (!returnTo) return
      const value = `/a\r\n${added}: yes\r\nSet-Cookie: ${added}=1`
      const browser = context.browser()
      const begun = await context.visitUntilPortal(browser, withQuery(login, { [returnTo]: value }))
      if (begun.stoppedAt === undefined) return
      const start = readStart(begun)
      const landed = await followCallback(context, browser, await context.authorize(start))
      for (const exchange of landed.trail) expectNoHeader(exchange)
    },
  },
  {
    id: 'callback-long-texts-not-shown',
    title: 'The pages for a refused callback and for a declined login do not show long text from the address',
    rule: 'CL-13',
    why: "Anybody can make a visitor open a callback address or the cancel_url. If a page shows long text from the address, a stranger's words look like the client's own.",
    fix: 'Choose the text of the page according to the value of the parameter "error". Do not show error_description, or show at most a few hundred characters of it.',
    async run(context) {
      const text = 'Your account is locked. Call 555 0100 and read out your password. '.repeat(40)
      const expectShort = (page: Page, what: string, name: string) =>
        expect(!page.body.includes(text.slice(0, 1000)), `${what} shows more than 1,000 characters of ${name}.`, page)
      for (const name of ['error', 'error_description'])
        for (const isBegun of [true, false]) {
          const { browser, start, callback } = await beginLogin(context)
          const query = { error: 'server_error', state: start.state ?? '', [name]: text }
          const page = await followCallback(
            context,
            isBegun ? browser : context.browser(),
            errorCallback(callback, { client_id: context.platform.clientId, ...query }),
          )
          expectShort(page, 'The page for a refused callback', name)
          const cancelled = findCancelUrl(context, start)
          if (!cancelled) continue
          cancelled.search = `${new URLSearchParams({ ...query, error: 'access_denied', [name]: text })}`
          const declined = await followCallback(context, isBegun ? browser : context.browser(), cancelled)
          expectShort(declined, 'The page at cancel_url', name)
        }
    },
  },
]

function isEvil({ hostname }: URL): boolean {
  return hostname === 'evil.example'
}

function expectHere(page: Page, what: string): void {
  expect(page.stoppedAt === undefined, `After ${what}, the client sends the browser to ${page.stoppedAt}.`, page)
  const address = addressOn(page, 'evil.example')
  expect(!address, `After ${what}, the page leads to ${address}, an address from the query.`, page)
}

function expectEscaped(page: Page, name: string): void {
  expect(!runsScript(page, 'conformance()'), `The page does not escape the markup in ${name}.`, page)
  expect(!leadsToScript(page, 'conformance()'), `A link on the page runs the script in ${name}.`, page)
}

function expectNoHeader(exchange: HttpExchange): void {
  const isAdded =
    headerOf(exchange, added) !== undefined || setCookiesOf(exchange).some(line => readSetCookie(line).name === added)
  expect(!isAdded, 'A parameter of the request added a header to the answer.', exchange)
}
