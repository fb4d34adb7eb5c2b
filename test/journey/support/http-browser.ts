// One browser over real HTTP, as far as sites, cookies and forms go: for journeys that need no picture.
import { request } from 'undici'

type Kept = { value: string; isStrict: boolean; endsAt: number }
export type Page = { status: number; url: string; location: string | undefined; text: string }

export class HttpBrowser {
  /** By host without port, as browsers keep them. */
  readonly #jars = new Map<string, Map<string, Kept>>()
  readonly #clock: () => Date
  #at: URL | undefined

  constructor(clock = () => new Date()) {
    this.#clock = clock
  }

  /** A link, an address typed or a redirect followed, from the page that is open; no redirect is followed by itself. */
  get(url: string): Promise<Page> {
    return this.#send('GET', url)
  }

  /** The form of a page of the same origin. */
  post(url: string, form: Record<string, string>): Promise<Page> {
    return this.#send('POST', url, new URLSearchParams(form).toString())
  }

  /** Goes where redirects and refreshing pages lead. */
  async follow(page: Page): Promise<Page> {
    let current = page
    for (let hops = 0; hops < 10; hops++) {
      const refresh = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(current.text)?.[1]?.replaceAll('&amp;', '&')
      const next = current.location ?? refresh
      if (next === undefined) return current
      // What began on another site stays so until a page of the site itself goes on.
      const from = current.location === undefined ? new URL(current.url) : this.#at
      current = await this.#send('GET', new URL(next, current.url).href, undefined, from)
    }
    throw new Error(`More than ten redirects, at last to ${current.url}`)
  }

  cookies(host: string): string[] {
    return this.#live(host).map(([name]) => name)
  }

  /** Another browser with the same cookies: a thief's, or this one as it was. */
  copy(): HttpBrowser {
    const copy = new HttpBrowser(this.#clock)
    for (const [host, jar] of this.#jars) copy.#jars.set(host, new Map(jar))
    return copy
  }

  async #send(method: 'GET' | 'POST', address: string, body?: string, from = this.#at): Promise<Page> {
    const url = new URL(address, this.#at)
    const isSameSite = from === undefined || from.hostname === url.hostname
    const site =
      from === undefined ? 'none' : from.origin === url.origin ? 'same-origin' : isSameSite ? 'same-site' : 'cross-site'
    const cookies = this.#live(url.hostname).filter(([, { isStrict }]) => isSameSite || !isStrict)
    const response = await request(url, {
      method,
      body: body ?? null,
      headers: {
        cookie: cookies.map(([name, { value }]) => `${name}=${value}`).join('; '),
        'sec-fetch-site': site,
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
        ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded', origin: url.origin }),
      },
      reset: true,
    })
    for (const line of [response.headers['set-cookie'] ?? []].flat()) this.#keep(url.hostname, line)
    const { location } = response.headers
    const text = await response.body.text()
    if (typeof location !== 'string') this.#at = url
    return {
      status: response.statusCode,
      url: url.href,
      text,
      location: typeof location === 'string' ? location : undefined,
    }
  }

  #keep(host: string, line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    const maxAge = /max-age=(-?\d+)/i.exec(line)?.[1]
    const endsAt = maxAge === undefined ? Number.POSITIVE_INFINITY : this.#clock().getTime() + Number(maxAge) * 1000
    const jar = this.#jars.get(host) ?? new Map<string, Kept>()
    jar.set(name, { value, isStrict: /samesite=strict/i.test(line), endsAt })
    this.#jars.set(host, jar)
  }

  #live(host: string): [string, Kept][] {
    return [...(this.#jars.get(host) ?? [])].filter(([, { endsAt }]) => endsAt > this.#clock().getTime())
  }
}

/** The hidden fields of the form that is sent to `action`, as a page has them. */
export function hiddenFields(page: Page, action = ''): Record<string, string> {
  const form = page.text.split('<form').find(part => part.includes(`action="${action}`)) ?? ''
  const fields = [...form.split('</form>')[0]!.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  return Object.fromEntries(fields.map(([, name, value]) => [name, value!.replaceAll('&amp;', '&')]))
}
