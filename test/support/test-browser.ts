// A browser with a cookie jar that sends requests through `inject`. It keeps, sends and drops cookies as real browsers
// do.
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'

type Kept = { value: string; sameSite: string; expiresAt: number }
type Site = 'same-origin' | 'same-site' | 'cross-site' | 'none'
type Options = { site?: Site; headers?: Record<string, string> }
type Encoded = { payload?: Buffer | string; type?: { 'content-type': string } }

export class TestBrowser {
  readonly cookies = new Map<string, Kept>()
  client: FastifyInstance
  readonly #clock: () => Date
  readonly #origin: string

  constructor(client: FastifyInstance, origin: string, clock: () => Date) {
    this.client = client
    this.#origin = origin
    this.#clock = clock
  }

  /** A navigation. If `site` is cross-site, the browser does not send Strict cookies. */
  get(url: string, { site = 'none', headers = {} }: Options = {}) {
    return this.#send({ method: 'GET', url, headers: this.#metadata(site, headers) }, site)
  }

  /** Sends a form from a page of `site`. FormData, which may have files, is sent as multipart. */
  async post(
    url: string,
    form: Record<string, string> | FormData = {},
    { site = 'same-origin', headers = {} }: Options = {},
  ) {
    const { payload, type } = await encode(form instanceof FormData ? form : new URLSearchParams(form))
    const sent = { ...type, origin: this.#originOf(site), ...this.#metadata(site, headers) }
    return this.#send({ method: 'POST', url, payload, headers: sent }, site)
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
    return this.#send(
      { method, url, payload, headers: { accept: '*/*', ...type, ...origin, ...metadata, ...headers } },
      site,
    )
  }

  /** The value as the browser would send it, or undefined. */
  cookie(name: string): string | undefined {
    return this.#live().find(([kept]) => kept === name)?.[1].value
  }

  names(): string[] {
    return this.#live().map(([name]) => name)
  }

  /** The Cookie header that the browser would send. `isSent` can exclude cookies. */
  cookieHeader(isSent: (cookie: Kept) => boolean = () => true): string {
    return this.#live()
      .filter(([, cookie]) => isSent(cookie))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ')
  }

  /** A second browser with the same cookies: the browser of a thief, or the earlier state of this browser. */
  copy(): TestBrowser {
    const copy = new TestBrowser(this.client, this.#origin, this.#clock)
    for (const [name, cookie] of this.cookies) copy.cookies.set(name, cookie)
    return copy
  }

  #metadata(site: Site, headers: Record<string, string>): Record<string, string> {
    return { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', ...headers }
  }

  #originOf(site: Site): string {
    return site === 'same-origin' ? this.#origin : 'https://elsewhere.test'
  }

  async #send(options: InjectOptions, site: Site): Promise<LightMyRequestResponse> {
    const { method, headers } = options
    const cookie = this.cookieHeader(
      ({ sameSite }) => site !== 'cross-site' || (sameSite === 'Lax' && method === 'GET'),
    )
    const response = await this.client.inject({ ...options, headers: { ...(cookie && { cookie }), ...headers } })
    this.keep(response)
    return response
  }

  /**
   * Stores the cookies of a response as browsers do. A cookie of more than 4,096 bytes is dropped, and the old cookie
   * stays.
   */
  keep(response: LightMyRequestResponse): void {
    for (const { name, value, maxAge, sameSite, path, secure, domain } of response.cookies) {
      if (name.length + value.length > 4096) continue
      if (name.startsWith('__Host-') && (!secure || path !== '/' || domain !== undefined)) continue
      this.cookies.set(name, {
        value,
        sameSite: sameSite ?? 'Lax',
        expiresAt: this.#clock().getTime() + (maxAge ?? Number.POSITIVE_INFINITY) * 1000,
      })
    }
  }

  #live(): [string, Kept][] {
    return [...this.cookies].filter(([, { expiresAt }]) => expiresAt > this.#clock().getTime())
  }
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
