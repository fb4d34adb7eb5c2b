// What the HTML of a page loads and gives away.
import type { Page } from '../browser/browser.ts'
import { attribute, parsePage, rawTextOf } from '../browser/html.ts'
import { describePage } from '../findings.ts'

/** Addresses of other origins that a page loads by itself. */
export function foreignLoads(html: string, client: string): string[] {
  const loads = html.matchAll(
    /<(?:img|script|iframe|embed|source|video|audio|input)\b[^>]*?\ssrc\s*=\s*["']?([^"'\s>]+)|<link\b(?=[^>]*\brel\s*=\s*["']?(?:stylesheet|icon|preload|modulepreload))[^>]*?\shref\s*=\s*["']?([^"'\s>]+)/gi,
  )
  return [...loads]
    .map(([, src, href]) => src ?? href ?? '')
    .filter(
      address =>
        URL.canParse(address, client) &&
        /^https?:/.test(new URL(address, client).protocol) &&
        new URL(address, client).origin !== client,
    )
}

/** A stack, or a path of a source file. */
export function isInside(text: string): boolean {
  return /\bat \S+ \(?(file:|node:|\/)|node_modules|Traceback \(most recent call last\)|File "[^"]+", line \d+|\.(ts|js|py|rb|java|go):\d+|\bECONNREFUSED\b|goroutine \d+ \[/.test(
    text,
  )
}

/** Whether a page has a script that could lead on, or call for more: the suite's browser runs none. */
export function mayGoOnByScript({ status, body }: Page): boolean {
  // A page that says that something went wrong leads nowhere.
  if (status < 200 || status > 299) return false
  const { elements } = parsePage(body)
  return elements.some(element => {
    if (element.tagName !== 'script') return false
    if (/^application\/(ld\+)?json$/i.test(attribute(element, 'type') ?? '')) return false
    const leads = /\blocation\b|\bnavigat|\bhistory\b|\bsubmit\s*\(|\bfetch\s*\(|XMLHttpRequest/
    return attribute(element, 'src') !== undefined || leads.test(rawTextOf(element))
  })
}

export function describeScript(page: Page): string {
  return `The page with ${describePage(page)} has a script that may go on, and the browser of this suite runs none.`
}
