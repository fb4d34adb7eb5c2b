// Reads the HTML of a page as a browser does: its scripts, the addresses that it loads and links to, and its text.
import type { HttpExchange, Page } from '../browser/browser.ts'
import { attribute, type Element, rawTextOf, textsIn } from '../browser/html.ts'
import { isHtml, parseAnswer } from '../browser/page.ts'
import { Undecided } from '../check.ts'
import { describePage } from '../findings.ts'
import { namesAddress } from './addresses.ts'

type Answer = HttpExchange | Page

const addressAttributes = ['href', 'src', 'action', 'formaction', 'data', 'poster', 'background']
const loadingElements = ['img', 'script', 'iframe', 'embed', 'source', 'video', 'audio', 'input', 'track', 'object']
const loadingLinks = ['stylesheet', 'icon', 'preload', 'modulepreload', 'prefetch', 'manifest']

/** Whether the page, or a page that led to it, runs this script, because text on the page became markup. */
export function runsScript(answer: Answer, script: string): boolean {
  return withTrail(answer)
    .flatMap(elementsIn)
    .some(
      element =>
        (isScript(element) && rawTextOf(element).trim().startsWith(script)) ||
        element.attrs.some(({ name, value }) => name.startsWith('on') && value.includes(script)),
    )
}

/**
 * Whether a link, a form or a refresh of the page, or of a page that led to it, has an address that runs this script.
 */
export function leadsToScript(answer: Answer, script: string): boolean {
  const runsCode = (address: string) =>
    URL.canParse(address) && ['javascript:', 'vbscript:', 'data:'].includes(new URL(address).protocol)
  return withTrail(answer)
    .flatMap(addressesIn)
    .some(address => runsCode(address) && address.includes(script))
}

/**
 * Returns the address of the first link or refresh of the page that leads to this host. The browser does not follow a
 * refresh with a long delay by itself.
 */
export function addressOn({ links, refresh }: Page, host: string): string | undefined {
  return [...links, ...(refresh ? [refresh] : [])].find(({ url }) => URL.parse(url)?.hostname === host)?.url
}

/** A page and the answers that led to it. The page at the callback, for example, leads to the next page at once. */
const withTrail = (answer: Answer): Answer[] => ('trail' in answer ? [answer, ...answer.trail] : [answer])

/** Returns the addresses of other origins that a browser loads with this style sheet: imports, fonts and images. */
export function foreignLoadsOfStyle(answer: HttpExchange, client: string): string[] {
  return addressesOfStyle(read(answer).body).filter(
    address => URL.canParse(address, answer.request.url) && isForeign(new URL(address, answer.request.url), client),
  )
}

const isForeign = ({ protocol, origin }: URL, client: string) => /^https?:$/.test(protocol) && origin !== client

/** Returns the addresses of resources, links, forms and refreshes, as the page writes them. */
export function addressesIn(answer: Answer): string[] {
  return elementsIn(answer).flatMap(element => {
    const addresses = addressAttributes.flatMap(name => attribute(element, name) ?? [])
    if (element.tagName !== 'meta') return addresses
    const content = attribute(element, 'content') ?? ''
    // A refresh is `0; url=/next`. Other values are plain addresses, such as the address of a preview.
    return [...addresses, content.replace(/^[^=]*;\s*url\s*=\s*["']?/i, '')]
  })
}

/**
 * Whether inserted text ends the script string that contains it, so that the rest of the text becomes code. `quotes` is
 * the part of the inserted text with the three kinds of quotation marks that scripts use. If a script contains this
 * part unchanged, one of the marks ends the string.
 */
export function breaksScript(answer: Answer, quotes: string): boolean {
  return elementsIn(answer).some(
    element =>
      (isScript(element) && rawTextOf(element).includes(quotes)) ||
      element.attrs.some(({ name, value }) => name.startsWith('on') && value.includes(quotes)),
  )
}

/** Returns the addresses to which links and forms lead, as the page writes them. */
export function linkAddressesIn(answer: Answer): string[] {
  return elementsIn(answer)
    .filter(({ tagName }) => tagName !== 'meta')
    .flatMap(element => [...addressAttributes, 'xlink:href'].flatMap(name => attribute(element, name) ?? []))
}

/** Returns the addresses of other origins that a browser loads with the page. */
export function foreignLoads(answer: Answer, client: string): string[] {
  const elements = elementsIn(answer)
  const href = elements.filter(({ tagName }) => tagName === 'base').flatMap(base => attribute(base, 'href') ?? [])[0]
  const base = href !== undefined && URL.canParse(href, client) ? new URL(href, client).href : client
  return elements
    .flatMap(loadsOf)
    .filter(address => URL.canParse(address, base) && isForeign(new URL(address, base), client))
}

/** Returns the absolute addresses that a browser loads with the page. */
export function loadsIn(page: Page): string[] {
  return elementsIn(page)
    .flatMap(loadsOf)
    .flatMap(address => (URL.canParse(address, page.url) ? new URL(address, page.url).href : []))
}

/** Returns the addresses in a style, for example the address of a background image. */
function addressesOfStyle(style: string): string[] {
  const found = style.matchAll(/(?:url\(\s*["']?|@import\s+["'])([^"')\s]+)/gi)
  return [...found].map(([, address = '']) => address)
}

function loadsOf(element: Element): string[] {
  const ofStyle = addressesOfStyle(
    element.tagName === 'style' ? rawTextOf(element) : (attribute(element, 'style') ?? ''),
  )
  return [...ofStyle, ...loadsOfElement(element)]
}

function loadsOfElement(element: Element): string[] {
  if (element.tagName === 'link') {
    const rel = (attribute(element, 'rel') ?? '').toLowerCase().split(/\s+/)
    return rel.some(one => loadingLinks.includes(one)) ? [attribute(element, 'href') ?? ''] : []
  }
  if (!loadingElements.includes(element.tagName)) return []
  const images = (attribute(element, 'srcset') ?? '').split(',').map(text => text.trim().split(/\s/)[0]!)
  return [attribute(element, 'src'), attribute(element, 'data'), attribute(element, 'poster'), ...images].flatMap(
    address => address || [],
  )
}

/** Returns the visible text of an answer. */
export function shownText(answer: Answer): string {
  return shownTexts(answer).join(' ')
}

/** Returns the visible text of an answer, one piece for each text node. */
export function shownTexts(answer: Answer): string[] {
  const { headers, body } = read(answer)
  if (!isHtml(headers, body)) return [body]
  return textsIn(parseAnswer(headers, body).root, ({ tagName }) => unseen.includes(tagName))
}

const unseen = ['script', 'style', 'title', 'template']

/**
 * Whether a page has a script that could redirect the browser or send requests. The suite's own browser runs no
 * scripts.
 */
export function mayGoOnByScript(page: Page): boolean {
  // Scripts on an error page do not count.
  if (page.status < 200 || page.status > 299) return false
  const leads = /\blocation\b|\bnavigat|\bhistory\b|\bsubmit\s*\(|\bfetch\s*\(|XMLHttpRequest/
  return elementsIn(page)
    .filter(isScript)
    .some(script => attribute(script, 'src') !== undefined || leads.test(rawTextOf(script)))
}

/**
 * Ends the check if a script of the page could lead to another page, because the suite's own browser runs no scripts.
 * `browser`: the real browser from --browser, if the option is set.
 */
export function endIfScripted(page: Page, { browser }: { browser: string | undefined }): void {
  if (!mayGoOnByScript(page)) return
  const instead = browser
    ? 'The checks of the group real-browser test such a client in Chromium.'
    : 'Run the suite with --browser chromium: the checks of the group real-browser test such a client.'
  throw new Undecided(
    `The page with ${describePage(page)} has a script that may redirect the browser, but the suite's own browser runs no scripts. ${instead}`,
  )
}

/** The default error pages of servers and frameworks. */
const bareFailures = /^$|internal server error|^server error|^error 500\b|whitelabel error page/i

/** Whether the client answered with a web page and an error status. */
export function isErrorPage({ status, headers }: Page): boolean {
  return status >= 400 && /html/i.test(headers.get('content-type') ?? '')
}

/** Whether the page is a framework's answer to an uncaught error. Such a page has no link and no explanation. */
export function isBareFailure(page: Page): boolean {
  if (page.status !== 500 || page.links.length > 0 || page.forms.length > 0) return false
  return bareFailures.test(shownText(page).replace(/\s+/g, ' ').trim())
}

const inside = [
  // Lines of a stack trace.
  /\n\s*at .*:\d+:\d+\)?/,
  /\bat \S+ \(?(file:|node:|\/)/,
  /Traceback \(most recent call last\)|File "[^"]+", line \d+|goroutine \d+ \[/,
  // Names of source files with a line number.
  /\.(ts|js|mjs|cjs|py|rb|java|kt|go|rs|php|ex|exs):\d+|\.cs:line \d+|\.php(\(\d+\)| on line \d+)/,
  // Messages of HTTP libraries about a failed call.
  /\b(Get|Post) "https?:|\b(dial|read|write) tcp\b|HTTPS?ConnectionPool\(|\bjava\.(net|io)\.|\bNet::\w+|cURL error \d/,
  /\bTypeError: fetch failed/,
  /\[Errno -?\d+\]|Max retries exceeded with url|\bhost='[^']*', port=\d+/,
  // Exceptions with their values, and objects with their memory address, as Python and Ruby print them.
  /\b[A-Z]\w*(Error|Exception|Disconnected)\(['"<\d]|<[\w.]+ object at 0x[0-9a-f]+>|#<\w+:0x[0-9a-f]+/,
  /node_modules|\bE(CONNREFUSED|CONNRESET|NOTFOUND|TIMEDOUT)\b/,
]

/** The name of a server or framework, followed by a version. */
export const versions =
  /\b(nginx|apache|php|werkzeug|python|gunicorn|uvicorn|express|fastify|koa|rack|sinatra|rails|puma|webrick|ruby|jetty|tomcat|node\.js|openssl|django|flask|symfony|laravel|slim|gin|echo|fiber|caddy|kestrel|asp\.net)[ /-]v?\d+\.\d+/i

const headersOfServers = ['server', 'x-powered-by', 'x-generator', 'x-aspnet-version', 'x-aspnetmvc-version']

/** Whether the header names the version of a server or of a framework. */
export function namesVersion(name: string, value: string): boolean {
  // Every Via header contains the version of HTTP. Only the comment in parentheses names a program with its version.
  if (name === 'via' && /\(.*\d.*\)/.test(value)) return true
  return versions.test(`${name}: ${value}`) || (headersOfServers.includes(name) && /\d\.\d|\/\s*v?\d/i.test(value))
}

/** Whether a header contains the address of the API, a stack trace, the name of a source file or a network error. */
export function saysInside(value: string, apiUrl: string): boolean {
  return namesAddress(value, apiUrl) || inside.some(pattern => pattern.test(value))
}

/** Whether the answer shows a stack trace, the name of a source file or a network error. */
export function showsInside(answer: Answer): boolean {
  const { headers, body } = read(answer)
  const text = isHtml(headers, body)
    ? textsIn(parseAnswer(headers, body).root, isCode, { withComments: true }).join('')
    : body
  return inside.some(pattern => pattern.test(text))
}

/** Whether the element is a script or a style. Scripts and styles may contain names of the client's files. */
function isCode(element: Element): boolean {
  return element.tagName === 'style' || isScript(element)
}

/**
 * Whether the element is a script that runs. A script element that contains JSON does not run, because it contains
 * data.
 */
function isScript(element: Element): boolean {
  return element.tagName === 'script' && !/json/i.test(attribute(element, 'type') ?? '')
}

/** Returns no elements for an answer that is not HTML. */
function elementsIn(answer: Answer): Element[] {
  const { headers, body } = read(answer)
  return isHtml(headers, body) ? parseAnswer(headers, body).elements : []
}

function read(answer: Answer): { headers: Headers; body: string } {
  if ('trail' in answer) return answer
  return 'body' in answer.response ? answer.response : { headers: new Headers(), body: '' }
}
