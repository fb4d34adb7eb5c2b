// Makes cookies that look as if another program on this host had set them, under names that this client uses.
import type { TestBrowser } from '../../support/test-browser.ts'

/** Adds cookies until they fill Node's limit of 16 KiB for all headers. Returns the number of added cookies. */
export function plantCookies(browser: TestBrowser, prefix: string, nameLength: number, value: string): number {
  const room = 15_500 - browser.cookieHeader().length
  const count = Math.floor(room / (prefix.length + nameLength + value.length + 3))
  for (let index = 0; index < count; index++) {
    const name = prefix + String(index).padStart(nameLength, 'x')
    browser.cookies.set(name, { value, sameSite: 'Lax', expiresAt: Number.POSITIVE_INFINITY })
  }
  return count
}

/**
 * Returns a forged value that begins like a real cookie of this client. The client notices the forgery only when it
 * unseals the value.
 */
export function forgedLike(browser: TestBrowser, name: string): string {
  return `${browser.cookie(name)!.slice(0, 28)}${'A'.repeat(24)}`
}
