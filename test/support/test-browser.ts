// A browser without a window. It calls a server through inject, and keeps, sends and drops cookies as browsers do.
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'

/** Without `sameSite` a cookie is Lax, and without `expiresAt` it does not expire. */
type Cookie = { value: string; sameSite?: string; expiresAt?: number }
type Site = 'same-origin' | 'same-site' | 'cross-site' | 'none'
/** A header of undefined is not sent. */
type Headers = Record<string, string | undefined>
type Options = { site?: Site; headers?: Headers }
type Encoded = { payload?: Buffer | string; type?: { 'content-type': string } }

export class TestBrowser {
  readonly cookies = new Map<string, Cookie>()
  server: Pick<FastifyInstance, 'inject'>
  readonly #origin: string
  readonly #clock: (() => Date) | undefined

  /** Without a clock the browser keeps each cookie until the server removes it. */
  constructor(server: Pick<FastifyInstance, 'inject'>, origin: string, clock?: () => Date) {
    this.server = server
    this.#origin = origin
    this.#clock = clock
  }

  /** A navigation. If `site` is cross-site, the browser does not send Strict cookies. */
  get(url: string, { site = 'none', headers = {} }: Options = {}) {
    return this.#send({ method: 'GET', url }, site, { ...navigation(site), ...headers })
  }

  /** Sends a form from a page of `site`. FormData, which may have files, is sent as multipart. */
  async post(
    url: string,
    form: Record<string, string> | FormData = {},
    { site = 'same-origin', headers = {} }: Options = {},
  ) {
    const { payload, type } = await encode(form instanceof FormData ? form : new URLSearchParams(form))
    const own = { ...type, origin: this.#originOf(site), ...navigation(site) }
    return this.#send({ method: 'POST', url, payload }, site, { ...own, ...headers })
  }

  /** Sends the first form of a page: its hidden fields and `fields`. */
  submit({ statusCode, body }: LightMyRequestResponse, fields: Record<string, string>) {
    const action = /<form method="post" action="([^"]+)"/.exec(body)?.[1]
    if (!action) throw new Error(`There is no form on this page: ${statusCode} ${body}`)
    const hidden = [...body.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
    return this.post(action, { ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])), ...fields })
  }

  /** Sends a request as a script of a page of `site` does with `fetch`: `json` as JSON, or `form` as multipart. */
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

  /** The value as the browser would send it, or undefined. */
  cookie(name: string): string | undefined {
    return this.#live().find(([kept]) => kept === name)?.[1].value
  }

  names(): string[] {
    return this.#live().map(([name]) => name)
  }

  /** The Cookie header that the browser would send. With `isSent`, only the cookies for which it returns true. */
  cookieHeader(isSent: (cookie: Cookie) => boolean = () => true): string {
    return this.#live()
      .filter(([, cookie]) => isSent(cookie))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ')
  }

  /** Another browser with the same cookies, such as a thief's. It calls `server`, which is this one's unless given. */
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

  /** Keeps the cookies of a response as browsers do. A cookie of over 4,096 bytes is ignored, and the old one stays. */
  keep(response: LightMyRequestResponse): void {
    for (const { name, value, maxAge, sameSite, path, secure, domain } of response.cookies) {
      if (name.length + value.length > 4096) continue
      if (name.startsWith('__Host-') && (!secure || path !== '/' || domain !== undefined)) continue
      if (maxAge === 0) this.cookies.delete(name)
      else
        this.cookies.set(name, {
          value,
          ...(sameSite && { sameSite }),
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

/** The bytes and the content type that a browser sends: a form, or multipart with a boundary. */
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
