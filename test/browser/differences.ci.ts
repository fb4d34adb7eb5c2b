// Measures the differences between Chromium, Firefox and WebKit that matter to a client. The table in docs/browsers.md
// shows the results.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { engines, launchBrowser, skipEngine, type Tab } from '../support/launch-browser.ts'

t.setTimeout(600_000)

type Seen = { path: string; cookie: string; headers: IncomingMessage['headers'] }
type Answer = (request: IncomingMessage, response: ServerResponse) => void
type Sites = { client: Site; portal: Site; local: Site }
type Site = {
  url: string
  seen: Seen[]
  /** The pages of the site, keyed by path. */
  pages: Record<string, Answer>
  /** Returns the last request to this path. */
  last(path: string): Seen | undefined
}

/** Starts a site on plain http, like a client during development. */
async function startSite(t: Test, host: string): Promise<Site> {
  const site: Site = { url: '', seen: [], pages: {}, last: path => site.seen.findLast(one => one.path === path) }
  const server = createServer((request, response) => {
    const { pathname: path } = new URL(request.url ?? '/', site.url)
    site.seen.push({ path, cookie: request.headers.cookie ?? '', headers: request.headers })
    response.setHeader('content-type', 'text/html; charset=utf-8').setHeader('cache-control', 'no-store')
    const answer = site.pages[path]
    if (answer) answer(request, response)
    else response.writeHead(404).end()
  })
  await once(server.listen(0, host), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  site.url = `http://${host}:${(server.address() as AddressInfo).port}`
  return site
}

const page =
  (text: string, headers: Record<string, string | string[]> = {}): Answer =>
  (_request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    response.end(`<!doctype html><title>${text.replace(/<.*/s, '')}</title><h1>${text}</h1>`)
  }
const redirect =
  (location: string, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    response.writeHead(303, { ...headers, location }).end()

/**
 * Sets up pages for a login: the client links to the portal, and the portal's form redirects to the client's callback.
 */
function makeLogin({ client, portal }: Sites): void {
  client.pages['/'] = page(`Home <a href="${portal.url}/start">Go</a>`)
  portal.pages['/start'] = page('Portal <form method="post" action="/allow"><button>Allow</button></form>')
  portal.pages['/allow'] = redirect(`${client.url}/callback`)
  client.pages['/list'] = page('The list')
}

async function logIn(tab: Tab, { client }: Sites): Promise<void> {
  await tab.goto(client.url)
  await tab.click('link', 'Go')
  await tab.click('button', 'Allow')
  await tab.see('The list')
}

const yesOrNo = (is: boolean) => (is ? 'yes' : 'no')
const strict = { 'set-cookie': 'session=1; Path=/; SameSite=Strict' }
const goOn = '<meta http-equiv="refresh" content="0; url=/list">'

const questions: Record<string, (tab: Tab, sites: Sites) => Promise<string>> = {
  async 'The browser sends a Lax cookie with the callback'(tab, sites) {
    makeLogin(sites)
    sites.client.pages['/'] = page(`Home <a href="${sites.portal.url}/start">Go</a>`, {
      'set-cookie': 'login=1; SameSite=Lax',
    })
    sites.client.pages['/callback'] = redirect('/list')
    await logIn(tab, sites)
    return yesOrNo(sites.client.last('/callback')!.cookie.includes('login='))
  },

  async 'After a redirect from the callback, the browser sends a Strict cookie that the callback set'(tab, sites) {
    makeLogin(sites)
    sites.client.pages['/callback'] = redirect('/list', strict)
    await logIn(tab, sites)
    return yesOrNo(sites.client.last('/list')!.cookie.includes('session='))
  },

  async 'After a redirect from the callback and a reload, the browser sends a Strict cookie that the callback set'(
    tab,
    sites,
  ) {
    makeLogin(sites)
    sites.client.pages['/callback'] = redirect('/list', strict)
    await logIn(tab, sites)
    sites.client.seen.length = 0
    await tab.reload()
    await tab.see('The list')
    return yesOrNo(sites.client.last('/list')!.cookie.includes('session='))
  },

  async 'After a callback page with a meta refresh, the browser sends a Strict cookie that the callback set'(
    tab,
    sites,
  ) {
    makeLogin(sites)
    sites.client.pages['/callback'] = page(goOn, strict)
    await logIn(tab, sites)
    return yesOrNo(sites.client.last('/list')!.cookie.includes('session='))
  },

  async '`Sec-Fetch-Site` of the request for the callback, and of the request after the meta refresh'(tab, sites) {
    makeLogin(sites)
    sites.client.pages['/callback'] = page(goOn)
    await logIn(tab, sites)
    const siteOf = (path: string) => sites.client.last(path)!.headers['sec-fetch-site'] ?? 'missing'
    return `${siteOf('/callback')}, ${siteOf('/list')}`
  },

  async 'The page that the Back button shows after the meta refresh'(tab, sites) {
    makeLogin(sites)
    sites.client.pages['/callback'] = page(goOn)
    await logIn(tab, sites)
    await tab.back()
    await tab.leave(`${sites.client.url}/list`)
    return (await tab.url()).startsWith(sites.portal.url) ? 'the portal’s page' : 'the callback'
  },

  async 'Over http, the Back button loads a page with `no-store` from the server again'(tab, { client }) {
    client.pages['/one'] = page('One <a href="/two">Go</a>')
    client.pages['/two'] = page('Two')
    await tab.goto(`${client.url}/one`)
    await tab.click('link', 'Go')
    await tab.see('Two')
    client.seen.length = 0
    await tab.back()
    await tab.see('One')
    return yesOrNo(client.last('/one') !== undefined)
  },

  async 'A Secure cookie is kept on `http://localhost`'(tab, { local }) {
    return keepsSecure(tab, local)
  },

  async 'A Secure cookie is kept on a loopback address other than `localhost`, over plain http'(tab, { client }) {
    return keepsSecure(tab, client)
  },

  async "`form-action 'self'` stops a form whose answer redirects to another site"(tab, { client, portal }) {
    client.pages['/form'] = page('Form <form method="post" action="/send"><button>Send</button></form>', {
      'content-security-policy': "default-src 'none'; form-action 'self'",
    })
    client.pages['/send'] = redirect(`${portal.url}/arrived`)
    portal.pages['/arrived'] = page('Arrived')
    await tab.goto(`${client.url}/form`)
    await tab.click('button', 'Send')
    // A browser that blocks the redirect shows no error. So the test opens another page: when this page has loaded, the
    // browser has followed or blocked the redirect.
    await waitFor(() => client.last('/send') !== undefined)
    client.pages['/later'] = page('Later')
    const other = await tab.newTab()
    await other.goto(`${client.url}/later`)
    await other.see('Later')
    await other.close()
    return yesOrNo(portal.last('/arrived') === undefined && !(await tab.url()).startsWith(portal.url))
  },

  async 'The longest cookie that is kept: bytes of name and value'(tab, { client }) {
    const sizes = [4095, 4096, 4097, 8192]
    let kept = 0
    for (const size of sizes) {
      client.pages['/set'] = page('Set', { 'set-cookie': `a=${'x'.repeat(size - 1)}; Path=/` })
      client.pages['/get'] = page('Got')
      await tab.goto(`${client.url}/set`)
      await tab.goto(`${client.url}/get`)
      if (client.last('/get')!.cookie.length === size + 1) kept = size
    }
    return kept === sizes.at(-1) ? `${kept} or more` : `${kept}`
  },

  async 'Of 400 cookies for one host, the number that the browser keeps'(tab, { client }) {
    const most = 400
    client.pages['/set'] = page('Set', {
      'set-cookie': Array.from({ length: most }, (_, index) => `c${index}=1; Path=/`),
    })
    client.pages['/get'] = page('Got')
    await tab.goto(`${client.url}/set`)
    await tab.goto(`${client.url}/get`)
    const kept = client.last('/get')!.cookie.split('; ').length
    return kept === most ? `${most} or more` : `${kept}`
  },
}

async function keepsSecure(tab: Tab, site: Site): Promise<string> {
  site.pages['/set'] = page('Set', { 'set-cookie': '__Host-a=1; Path=/; Secure' })
  site.pages['/get'] = page('Got')
  await tab.goto(`${site.url}/set`)
  await tab.goto(`${site.url}/get`)
  return yesOrNo(site.last('/get')!.cookie.includes('__Host-a='))
}

async function waitFor(isDone: () => boolean): Promise<void> {
  for (let tries = 0; tries < 600 && !isDone(); tries++) await new Promise(resolve => setTimeout(resolve, 50))
}

const table: Record<string, string[]> = Object.fromEntries(Object.keys(questions).map(question => [question, []]))

for (const engine of engines)
  t.test(`${engine} gives an answer to every question about browsers`, { skip: skipEngine(engine) }, async t => {
    const tab = await launchBrowser(t, engine)
    for (const [index, [question, measure]] of Object.entries(questions).entries()) {
      // Each question has its own hosts, because browsers store cookies by host.
      const sites = {
        client: await startSite(t, `127.0.0.${index + 10}`),
        portal: await startSite(t, `127.0.1.${index + 10}`),
        local: await startSite(t, 'localhost'),
      }
      const answer = await measure(tab, sites)
      t.ok(answer, `${question}: ${answer}`)
      table[question]!.push(answer)
    }
  })

t.test(
  'the table in docs/browsers.md contains the measured values',
  { skip: engines.map(skipEngine).find(Boolean) ?? false },
  async t => {
    const lines = [`| | ${engines.join(' | ')} |`, '|---|---|---|---|']
    for (const [question, answers] of Object.entries(table)) lines.push(`| ${question} | ${answers.join(' | ')} |`)
    for (const line of lines) t.comment(line)
    t.ok(
      readFileSync('docs/browsers.md', 'utf8').includes(lines.join('\n')),
      'the table in docs/browsers.md must be equal to the table above',
    )
  },
)
