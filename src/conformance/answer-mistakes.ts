// Looks for mistakes in every answer that the client gives to a browser during the run. Many clients set the right
// headers for most pages, but not for some, such as the page after a failed renewal.
import type { HttpExchange } from './browser/browser.ts'
import { readReferrerPolicy } from './browser/referrer.ts'
import { bodyOf, headerOf, headersOf, isRedirect, setCookiesOf, statusOf } from './findings.ts'
import { describeHttpExchange } from './report/describe.ts'
import { isAtOrigin, namesAddress } from './steps/addresses.ts'
import { whyKept } from './steps/caching.ts'
import { isNotFramed } from './steps/frames.ts'
import { namesVersion, saysInside, showsInside } from './steps/page-content.ts'
import { decodeSafely, type ReadCookie, readSetCookie } from './steps/set-cookies.ts'

/** A mistake in one answer. `reason` is a sentence. */
interface AnswerMistake {
  reason: string
  evidence: string
}

interface Found {
  exchange: HttpExchange
  /** Completes the sentence "The answer to GET /path with status 200 …". */
  what: string
  /** The name of the cookie, if the mistake is about a cookie. */
  cookie: string | undefined
}

export type MistakeKind =
  | 'framed'
  | 'no type'
  | 'no nosniff'
  | 'kept with a cookie'
  | 'weak cookie'
  | 'kept with data'
  | 'other visitor'
  | 'cors'
  | 'inside'
  | 'version'
  | 'away'
  | 'cookie in address'
  | 'no referrer'
  | 'no allow'

interface Known {
  /** The origins of the instances of the client. */
  clients: string[]
  portalUrl: string
  apiUrl: string
  /** The paths where a login starts and ends. */
  loginPaths: string[]
  /** The path of the page behind the login. */
  page: string
  /** The paths where a login starts and ends, and the paths of the known pages behind the login. */
  privatePaths: string[]
  /** The ids of the visitors' groups. A page that contains such an id shows the data of a visitor. */
  groupIds: ReadonlySet<string>
  /** The hosts of the other websites of the suite. */
  otherHosts: string[]
}

/** A server can refuse a request with one of these statuses before the client's own code runs. */
const ofServers = [400, 408, 413, 414, 431, 500, 501]
/** A server in front of the client may itself answer any other method with 405. */
const usualMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
/** On a public page that sets a cookie, a Cache-Control header with only these directives counts as correct. */
const asksAgain = /^[^a-z]*(no-cache|private|must-revalidate|max-age=0|[,\s])+$/i
/** Shorter cookie values do not count as secrets, because an address could contain such a value by coincidence. */
const shortestSecret = 16
/** A warning that PHP writes into a page. */
const warning = /(Warning|Notice|Deprecated|Fatal error)(<\/b>)?: .{1,300}? in (<b>)?\/.{1,200}? on line /s
const uuid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g
/** Names of the visitors that the suite creates. No two visitors have the same first name. */
const firstName = /\bRobin\d+\b/g
const nameOfVisitor = /\bRobin\d+\b|\brobin\d+@conformance\.test/

/**
 * Keeps the mistakes in the answers of one round. For each kind of mistake, a check of the group whole-run reports the
 * first one.
 */
export function recordAnswerMistakes(known: Known) {
  const found = new Map<MistakeKind, Found[]>()
  /** The cookies that the client has set at the login path and the callback, by name. */
  const cookies = new Map<string, ReadCookie>()
  let hasNosniff = false
  /** A mistake with a cookie counts only if the client has also set this cookie at the login path or the callback. */
  const counts = ({ cookie }: Found) => !cookie || cookies.has(cookie)

  function add(kind: MistakeKind, exchange: HttpExchange, what: string, cookie?: string): void {
    const mistakes = found.get(kind) ?? []
    // A few mistakes are enough, because a check reports only the first one that counts.
    if (mistakes.length >= 50 || mistakes.some(counts)) return
    mistakes.push({ exchange, what, cookie })
    found.set(kind, mistakes)
  }

  function judgeCookies(exchange: HttpExchange, path: string): void {
    for (const cookie of setCookiesOf(exchange).map(readSetCookie)) {
      const { name } = cookie
      if (cookie.isDeletion || cookie.value === '') continue
      // Many frameworks also set the session cookie on public pages. For these pages, a directive such as no-cache or
      // private is enough.
      const isLenient = !known.privatePaths.includes(path) && asksAgain.test(headerOf(exchange, 'cache-control') ?? '')
      const why = exchange.request.method === 'GET' && !isLenient ? whyKept(exchange) : undefined
      if (why !== undefined)
        add('kept with a cookie', exchange, `sets the cookie ${name}, and a cache may keep the answer: ${why}`, name)
      const first = cookies.get(name)
      if (known.loginPaths.includes(path) && !first) cookies.set(name, cookie)
      const lost = first && lostAttribute(first, cookie)
      if (lost) add('weak cookie', exchange, `sets the cookie ${name} ${lost}`)
    }
  }

  function judgePage(exchange: HttpExchange, path: string): void {
    const [body, type] = [bodyOf(exchange).trimStart(), headerOf(exchange, 'content-type')]
    if (type === undefined && body.startsWith('<')) add('no type', exchange, 'is a page and has no Content-Type')
    const isHtml = type === undefined ? body.startsWith('<') : /html/i.test(type)
    if (!isHtml || body === '' || isRedirect(exchange)) return
    const isNosniff = /nosniff/i.test(headerOf(exchange, 'x-content-type-options') ?? '')
    if (path === known.page && statusOf(exchange) === 200 && isNosniff) hasNosniff = true
    // The default error page of a server has no link and no button.
    if (ofServers.includes(statusOf(exchange)) && !/<(a|form|button)\b/i.test(body)) return
    if (!known.clients.some(client => isNotFramed(name => headerOf(exchange, name), client)))
      add('framed', exchange, 'can be shown in a frame on another site')
    if (!isNosniff) add('no nosniff', exchange, 'has no X-Content-Type-Options: nosniff')
    const goesOn = /http-equiv\s*=\s*["']?refresh/i.test(body)
    const isForm = !goesOn && /<form\b[^>]*\bmethod\s*=\s*["']?post/i.test(body) && !known.loginPaths.includes(path)
    if (isForm && readReferrerPolicy(headerOf(exchange, 'referrer-policy')) === 'no-referrer')
      add('no referrer', exchange, 'has a form and Referrer-Policy: no-referrer')
  }

  function judgeContent(exchange: HttpExchange): void {
    const body = bodyOf(exchange)
    const isFile = /css|javascript|font|image/i.test(headerOf(exchange, 'content-type') ?? '')
    const allowed = headerOf(exchange, 'access-control-allow-origin')
    if (allowed !== undefined && !isFile && !known.clients.includes(allowed))
      add('cors', exchange, `has Access-Control-Allow-Origin: ${allowed}`)
    const headers = headersOf(exchange)
    // The search has many patterns, so it first looks at all headers at once. Nearly always, this finds nothing.
    const mayShowInside = saysInside(headers.map(([, value]) => value).join('\n'), known.apiUrl)
    for (const [name, value] of headers) {
      if (namesVersion(name, value)) add('version', exchange, `has the header ${name}: ${value}`)
      if (mayShowInside && !name.startsWith('content-security-policy') && saysInside(value, known.apiUrl))
        add('inside', exchange, `has the header ${name}: ${value}`)
    }
    const isUsual = usualMethods.includes(exchange.request.method)
    if (statusOf(exchange) === 405 && isUsual && headerOf(exchange, 'allow') === undefined)
      add('no allow', exchange, 'has no Allow header')
    if (warning.test(body)) add('inside', exchange, 'shows a PHP warning')
    if (statusOf(exchange) >= 400 && (namesAddress(body, known.apiUrl) || showsInside(exchange)))
      add('inside', exchange, 'shows the address of the API, a stack trace or a network error')
    const isData = nameOfVisitor.test(body) || (body.match(uuid) ?? []).some(id => known.groupIds.has(id))
    const control = headerOf(exchange, 'cache-control')
    if (isData && !isRedirect(exchange) && !/no-store/i.test(control ?? ''))
      add('kept with data', exchange, `contains the visitor's data, and Cache-Control is ${control ?? 'missing'}`)
  }

  function judgeVisitors(exchange: HttpExchange, visitors: Set<string>): void {
    const [other] = (bodyOf(exchange).match(firstName) ?? []).filter(name => !visitors.has(name))
    if (other !== undefined) add('other visitor', exchange, `contains the first name of another visitor, ${other}`)
  }

  function judgeRedirect(exchange: HttpExchange, httpExchanges: HttpExchange[]): void {
    const location = headerOf(exchange, 'location')
    if (!isRedirect(exchange) || location === undefined || !URL.canParse(location, exchange.request.url)) return
    const to = new URL(location, exchange.request.url)
    // A client may redirect to other sites that its operator has chosen. But the client can learn the following hosts
    // only from the suite.
    const isForeign = to.hostname.endsWith('.example') || known.otherHosts.includes(to.host)
    if (!isForeign) return
    // A redirect counts here only if a request to the client has named the host. An answer from the platform can also
    // name such a host, for example in its metadata. The checks that order such answers look for the redirect
    // themselves.
    const isNamed = httpExchanges.some(one => isToClient(one) && namesHost(one, to.host))
    if (isNamed) add('away', exchange, `redirects to ${to.origin}`)
  }

  const isToClient = ({ request }: HttpExchange) => known.clients.includes(new URL(request.url).origin)

  function judgeAddresses(exchange: HttpExchange): void {
    const secrets = setCookiesOf(exchange)
      .map(readSetCookie)
      .filter(({ isHttpOnly, isDeletion, value }) => isHttpOnly && !isDeletion && value.length >= shortestSecret)
    if (secrets.length === 0) return
    const location = headerOf(exchange, 'location') ?? ''
    const links = [...bodyOf(exchange).matchAll(/\b(?:href|action|src|url)\s*=\s*["']?([^"'\s>]+)/gi)]
    const addresses = [location, ...links.map(([, address = '']) => address)]
    for (const { name, value } of secrets) {
      // An address at the portal contains the state, and some clients use the state as the value of a cookie.
      const isNamed = addresses.some(one => one.includes(value) && !isAtOrigin(one, known.portalUrl))
      if (isNamed) add('cookie in address', exchange, `contains the value of the cookie ${name} in an address`, name)
    }
  }

  return {
    /** Looks at the content of an answer that the client gives to a program that is not a browser. */
    noteContent(exchange: HttpExchange): void {
      if ('status' in exchange.response) judgeContent(exchange)
    },

    /**
     * Looks at an answer that the client gives to a browser. `httpExchanges`: all requests of the same check so far.
     * `visitors`: the first names of the visitors of this check.
     */
    note(exchange: HttpExchange, httpExchanges: HttpExchange[], visitors: Set<string>): void {
      if (!('status' in exchange.response)) return
      const path = new URL(exchange.request.url).pathname
      judgeCookies(exchange, path)
      judgePage(exchange, path)
      judgeContent(exchange)
      judgeVisitors(exchange, visitors)
      judgeRedirect(exchange, httpExchanges)
      judgeAddresses(exchange)
    },

    /** Returns the first mistake of this kind. */
    first(kind: MistakeKind): AnswerMistake | undefined {
      if (kind === 'no nosniff' && !hasNosniff) return undefined
      const mistake = found.get(kind)?.find(counts)
      return mistake && describe(mistake)
    },

    clear(): void {
      found.clear()
      cookies.clear()
      hasNosniff = false
    },
  }
}

function describe({ exchange, what }: Found): AnswerMistake {
  const { method, url } = exchange.request
  const reason = `The answer to ${method} ${new URL(url).pathname} with status ${statusOf(exchange)} ${what}.`
  return { reason, evidence: describeHttpExchange(exchange) }
}

/** Returns whether the address, a header or the body of the request contains the host. */
function namesHost({ request }: HttpExchange, host: string): boolean {
  const texts = [request.url, ...Object.values(request.headers), request.body]
  return texts.some(text => decodeSafely(text).toLowerCase().includes(host))
}

/** Returns the end of a sentence about the protection that the cookie had at the login but does not have now. */
function lostAttribute(first: ReadCookie, now: ReadCookie): string | undefined {
  const lost = (name: string) => `without ${name}, although the login sets this cookie with ${name}`
  if (first.isHttpOnly && !now.isHttpOnly) return lost('HttpOnly')
  if (first.isSecure && !now.isSecure) return lost('Secure')
  if (isStrictOrLax(first) && !isStrictOrLax(now)) return lost('SameSite=Strict or Lax')
  if (first.domain === undefined && now.domain !== undefined)
    return `with Domain=${now.domain}, although the login sets this cookie without Domain`
  return undefined
}

const isStrictOrLax = ({ sameSite }: ReadCookie) => sameSite === 'strict' || sameSite === 'lax'
