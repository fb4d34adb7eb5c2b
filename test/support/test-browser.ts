// Simulates a browser for tests. The browser calls the server with Fastify's `inject`, and stores and sends cookies as
// a real browser does.
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'

/**
 * A stored cookie. `sameSite` is the attribute SameSite; if it is missing, the cookie is treated as Lax. `expiresAt` is
 * in milliseconds since 1970; if it is missing, the cookie does not expire.
 */
type Cookie = { value: string; sameSite?: SameSite; expiresAt?: number }
type SameSite = 'Strict' | 'Lax' | 'None'
type Site = 'same-origin' | 'same-site' | 'cross-site' | 'none'
/** Headers, keyed by name. A header with the value undefined is not sent. */
type Headers = Record<string, string | undefined>
type Options = { site?: Site; headers?: Headers }
type Encoded = { payload?: Buffer | string; type?: { 'content-type': string } }

export class TestBrowser {
  readonly cookies = new Map<string, Cookie>()
  server: Pick<FastifyInstance, 'inject'>
  readonly #origin: string
  readonly #clock: (() => Date) | undefined

  /**
   * `origin` is the origin of the server's pages, such as `http://localhost:3000`. `clock` decides when cookies with
   * Max-Age expire. Without a clock, they never expire.
   */
  constructor(server: Pick<FastifyInstance, 'inject'>, origin: string, clock?: () => Date) {
    this.server = server
    this.#origin = origin
    this.#clock = clock
  }

  /**
   * Opens an address, as a link or the address bar does. `site` becomes the header Sec-Fetch-Site. With `cross-site`,
   * the visitor follows a link on another site, and the browser does not send Strict cookies.
   */
  get(url: string, { site = 'none', headers = {} }: Options = {}) {
    return this.#send({ method: 'GET', url }, site, { ...navigation(site), ...headers })
  }

  /**
   * Sends a form with POST. `site` says where the page with the form is. By default, the page is on the server's own
   * origin. A plain object is sent URL-encoded, and FormData is sent as multipart/form-data, for forms with files.
   */
  async post(
    url: string,
    form: Record<string, string> | FormData = {},
    { site = 'same-origin', headers = {} }: Options = {},
  ) {
    const { payload, type } = await encode(form instanceof FormData ? form : new URLSearchParams(form))
    const own = { ...type, origin: this.#originOf(site), ...navigation(site) }
    return this.#send({ method: 'POST', url, payload }, site, { ...own, ...headers })
  }

  /** Sends the first form on the page in this response, with the hidden fields of the form and with `fields`. */
  submit({ statusCode, body }: LightMyRequestResponse, fields: Record<string, string>) {
    const action = /<form method="post" action="([^"]+)"/.exec(body)?.[1]
    if (!action) throw new Error(`There is no form on this page: ${statusCode} ${body}`)
    const hidden = [...body.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
    return this.post(action, { ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])), ...fields })
  }

  /**
   * Sends a request like `fetch` in a script. `site` says where the page with the script is. The body is `json` as
   * JSON, or `form` as multipart/form-data.
   */
  async fetch(
    url: string,
    {
      method = 'GET',
      json,
      form,
      site = 'same-origin',
      headers = {},
    }: Options & { method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'; json?: unknown; form?: FormData } = {},
  ) {
    const { payload, type } = json === undefined ? await encode(form) : encodeJson(json)
    const metadata = { 'sec-fetch-site': site, 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }
    const origin = method === 'GET' ? {} : { origin: this.#originOf(site) }
    return this.#send({ method, url, payload }, site, { accept: '*/*', ...type, ...origin, ...metadata, ...headers })
  }

  /**
   * Returns the value of the cookie. Returns undefined if the browser has no such cookie, or if the cookie has expired.
   */
  cookie(name: string): string | undefined {
    return this.#live().find(([kept]) => kept === name)?.[1].value
  }

  names(): string[] {
    return this.#live().map(([name]) => name)
  }

  /**
   * Returns the value of the Cookie header: all cookies that have not expired, or only those for which `isSent` returns
   * true.
   */
  cookieHeader(isSent: (cookie: Cookie) => boolean = () => true): string {
    return this.#live()
      .filter(([, cookie]) => isSent(cookie))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ')
  }

  /**
   * Returns another browser, such as a thief's browser, with a copy of the cookies. By default, the other browser calls
   * the same server.
   */
  copy(server = this.server): TestBrowser {
    const copy = new TestBrowser(server, this.#origin, this.#clock)
    for (const [name, cookie] of this.cookies) copy.cookies.set(name, cookie)
    return copy
  }

  #originOf(site: Site): string {
    return site === 'same-origin' ? this.#origin : 'https://elsewhere.test'
  }

  async #send(options: InjectOptions, site: Site, headers: Headers): Promise<LightMyRequestResponse> {
    const cookie = this.cookieHeader(
      ({ sameSite = 'Lax' }) => site !== 'cross-site' || (sameSite === 'Lax' && options.method === 'GET'),
    )
    const all = Object.entries({ ...(cookie && { cookie }), ...headers })
    const sent = all.filter((header): header is [string, string] => header[1] !== undefined)
    const response = await this.server.inject({ ...options, headers: Object.fromEntries(sent) })
    this.keep(response)
    return response
  }

  /**
   * Stores the cookies that a response sets, as browsers do. Cookies of more than 4,096 bytes are ignored. `__Host-`
   * cookies are ignored if they lack Secure or Path=/, or if they have a Domain. Max-Age=0 deletes a cookie.
   */
  keep(response: LightMyRequestResponse): void {
    for (const { name, value, maxAge, sameSite, path, secure, domain } of response.cookies) {
      if (name.length + value.length > 4096) continue
      if (name.startsWith('__Host-') && (!secure || path !== '/' || domain !== undefined)) continue
      if (maxAge === 0) this.cookies.delete(name)
      else
        this.cookies.set(name, {
          value,
          ...(sameSite && { sameSite: sameSite as SameSite }),
          ...(maxAge !== undefined && this.#clock && { expiresAt: this.#clock().getTime() + maxAge * 1000 }),
        })
    }
  }

  #live(): [string, Cookie][] {
    const now = this.#clock?.().getTime() ?? 0
    return [...this.cookies].filter(([, { expiresAt = Number.POSITIVE_INFINITY }]) => expiresAt > now)
  }
}

function navigation(site: Site): Headers {
  return { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
}

/** Encodes a form as browsers do, and returns the body with its content type. */
async function encode(body: URLSearchParams | FormData | undefined): Promise<Encoded> {
  if (!body) return {}
  if (body instanceof URLSearchParams)
    return { payload: body.toString(), type: { 'content-type': 'application/x-www-form-urlencoded' } }
  const encoded = new Response(body)
  const type = { 'content-type': encoded.headers.get('content-type') ?? '' }
  return { payload: Buffer.from(await encoded.arrayBuffer()), type }
}

function encodeJson(value: unknown): Encoded {
  return { payload: JSON.stringify(value), type: { 'content-type': 'application/json' } }
}
