// The cookies of one browser: which cookies it keeps from Set-Cookie, and to which addresses it sends them (RFC
// 6265bis, as in Chromium).
import { parseSetCookie, type SetCookie } from './set-cookie.ts'
import { isTrustworthy, registrableDomain } from './site.ts'

export interface Cookie extends SetCookie {
  /** The host that set the cookie, or the cookie's Domain attribute. */
  domain: string
  path: string
  /** Milliseconds since 1970. Infinity for a cookie that is deleted when the browser closes. */
  expiresAt: number
  createdAt: number
  usedAt: number
}

/** The facts about a request that decide whether a SameSite cookie is sent. */
export interface RequestKind {
  /** Whether the page that began the request and the requested address belong to one site. */
  isSameSite: boolean
  /** Whether the request changes the address bar. */
  isNavigation: boolean
  method: string
}

/** The facts for an address that a person typed. */
const typed: RequestKind = { isSameSite: true, isNavigation: true, method: 'GET' }

const laxPostMs = 120_000
const longestMs = 400 * 86_400_000
/**
 * The limit for one registrable domain. If a domain has more than `most` cookies, the browser drops cookies until
 * `left` cookies remain. The browser first drops cookies without Secure. It begins with the cookies that were used
 * least recently.
 */
const most = 180
const left = 150

export class CookieJar {
  readonly #clock: () => number
  #cookies: Cookie[] = []

  constructor(clock: () => number = Date.now) {
    this.#clock = clock
  }

  /**
   * Returns the cookies that have not expired, oldest first. With `url`, the function returns only the cookies that the
   * browser would send if a person typed this address, in the order of the Cookie header.
   */
  list(url?: string): Cookie[] {
    this.#cookies = this.#cookies.filter(({ expiresAt }) => expiresAt > this.#clock())
    return url === undefined ? [...this.#cookies] : this.#matching(new URL(url), typed)
  }

  get(name: string, url?: string): Cookie | undefined {
    return this.list(url).find(cookie => cookie.name === name)
  }

  /**
   * Deletes the cookies with this name, or all cookies if no name is given. With `url`, the function deletes only
   * cookies that the browser would send to this address.
   */
  delete(name?: string, url?: string): void {
    const gone = new Set(this.list(url).filter(cookie => name === undefined || cookie.name === name))
    this.#cookies = this.#cookies.filter(cookie => !gone.has(cookie))
  }

  /** Deletes the cookies of a site and its subdomains, as `Clear-Site-Data: "cookies"` requires. */
  clearSite({ hostname }: URL): void {
    const site = registrableDomain(hostname)
    this.#cookies = this.#cookies.filter(({ domain }) => registrableDomain(domain) !== site)
  }

  /** Handles a Set-Cookie line in an answer from `url`. Returns whether the browser keeps the cookie. */
  set(url: string, line: string, kind: RequestKind = typed): boolean {
    const from = new URL(url)
    const parsed = parseSetCookie(line, from)
    if (!parsed) return false
    if (parsed.sameSite !== 'none' && !kind.isSameSite && !kind.isNavigation) return false
    const now = this.#clock()
    const expiresAt = Math.min(
      parsed.maxAge === undefined ? (parsed.expires ?? Number.POSITIVE_INFINITY) : now + parsed.maxAge * 1000,
      parsed.maxAge === undefined && parsed.expires === undefined ? Number.POSITIVE_INFINITY : now + longestMs,
    )
    const cookie = { ...parsed, expiresAt, createdAt: now, usedAt: now }
    const old = this.list().find(
      one =>
        one.name === cookie.name &&
        one.domain === cookie.domain &&
        one.path === cookie.path &&
        one.isHostOnly === cookie.isHostOnly,
    )
    const isSame = old?.value === cookie.value && expiresAt > now
    // A cookie that is set again with the same value keeps its position and its age.
    if (isSame) this.#cookies[this.#cookies.indexOf(old!)] = { ...cookie, createdAt: old!.createdAt }
    else this.#cookies = this.#cookies.filter(one => one !== old)
    if (expiresAt <= now || isSame) return true
    this.#cookies.push(cookie)
    this.#makeRoom(registrableDomain(cookie.domain))
    return true
  }

  /** Returns the Cookie header of a request, or undefined if the request contains no cookie. */
  header(url: URL, kind: RequestKind): string | undefined {
    const sent = this.#matching(url, kind)
    const now = this.#clock()
    for (const cookie of sent) cookie.usedAt = now
    return sent.length === 0
      ? undefined
      : sent.map(({ name, value }) => (name === '' ? value : `${name}=${value}`)).join('; ')
  }

  copy(): CookieJar {
    const copy = new CookieJar(this.#clock)
    copy.#cookies = this.list().map(cookie => ({ ...cookie }))
    return copy
  }

  /**
   * Returns the cookies that the browser sends with this request. Cookies with longer paths come first. Cookies with
   * equally long paths stay in the order of their creation.
   */
  #matching(url: URL, kind: RequestKind): Cookie[] {
    const now = this.#clock()
    return this.list()
      .filter(cookie => {
        const isThere = cookie.isHostOnly
          ? url.hostname === cookie.domain
          : url.hostname === cookie.domain || url.hostname.endsWith(`.${cookie.domain}`)
        return (
          isThere &&
          isOnPath(url.pathname, cookie.path) &&
          (!cookie.isSecure || isTrustworthy(url)) &&
          isSentOn(cookie, kind, now)
        )
      })
      .sort((a, b) => b.path.length - a.path.length)
  }

  #makeRoom(site: string): void {
    const own = this.#cookies.filter(({ domain }) => registrableDomain(domain) === site)
    if (own.length <= most) return
    const gone = new Set(
      own.sort((a, b) => Number(a.isSecure) - Number(b.isSecure) || a.usedAt - b.usedAt).slice(0, own.length - left),
    )
    this.#cookies = this.#cookies.filter(cookie => !gone.has(cookie))
  }
}

function isSentOn(
  { sameSite, createdAt }: Cookie,
  { isSameSite, isNavigation, method }: RequestKind,
  now: number,
): boolean {
  if (isSameSite || sameSite === 'none') return true
  if (!isNavigation || sameSite === 'strict') return false
  if (method === 'GET' || method === 'HEAD') return true
  // A cookie without SameSite counts as Lax. For two minutes after this cookie was set, browsers also send it with a
  // form from another site.
  return sameSite === undefined && now - createdAt < laxPostMs
}

function isOnPath(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`)
}
