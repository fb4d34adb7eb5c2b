// A browser over real HTTP, for journeys without Chromium. The browser does not follow redirects automatically, so a
// test can act between two redirects.
import {
  type Browser,
  createBrowser,
  noRedirects,
  type Page as Seen,
} from '../../../src/conformance/browser/browser.ts'

export type Page = { status: number; url: string; location: string | undefined; text: string; seen: Seen }

export class HttpBrowser {
  readonly #browser: Browser
  /** The open page. */
  #at: Seen | undefined

  constructor(clock = () => new Date(), browser = createBrowser({ clock: () => clock().getTime() })) {
    this.#browser = browser
  }

  /** Follows a link on the open page, or opens a typed address. Does not follow redirects. */
  async get(url: string): Promise<Page> {
    const address = new URL(url, this.#at?.url).href
    return this.#open(await this.#browser.visit(address, { from: this.#at ?? 'typed', ...noRedirects }))
  }

  /** Sends a form as a page of the same origin would. */
  async post(url: string, form: Record<string, string>): Promise<Page> {
    const address = new URL(url, this.#at?.url)
    const fields = Object.keys(form).map(name => `<textarea name="${name}"></textarea>`)
    const own = this.#browser.show(
      address.origin,
      `<form method="post" action="${address.href.replaceAll('&', '&amp;')}">${fields.join('')}</form>`,
    )
    return this.#open(await this.#browser.submit(own, own.forms[0]!, form, noRedirects))
  }

  /** Follows redirects. If a page opens the next page automatically, this browser also opens that page. */
  async follow({ seen }: Page): Promise<Page> {
    const end = seen.stoppedAt === undefined ? seen : await this.#browser.goOn(seen, undefined, { stopAt: () => false })
    if (end.error) throw new Error(`${end.error}. The last address was ${end.url}`)
    return this.#open(end)
  }

  cookies(host: string): string[] {
    return this.#browser.cookies.list().flatMap(({ name, domain }) => (domain === host ? [name] : []))
  }

  /**
   * Returns a second browser with the same cookies. The second browser can act as a thief's browser, or keep the
   * earlier state of this browser.
   */
  copy(): HttpBrowser {
    return new HttpBrowser(undefined, this.#browser.copy())
  }

  #open(seen: Seen): Page {
    if (seen.error) throw new Error(`${seen.url}: ${seen.error}`)
    const location = seen.headers.get('location') ?? undefined
    if (location === undefined) this.#at = seen
    return { status: seen.status, url: seen.url, location, text: seen.body, seen }
  }
}

/** Returns the hidden fields of the form that the page sends to `action`. */
export function hiddenFields({ seen }: Page, action = ''): Record<string, string> {
  const form = seen.forms.find(({ action: address }) => new URL(address).pathname.startsWith(action))
  const hidden = form?.controls.filter(({ type }) => type === 'hidden') ?? []
  return Object.fromEntries(hidden.map(({ name, values }) => [name, values[0] ?? '']))
}
