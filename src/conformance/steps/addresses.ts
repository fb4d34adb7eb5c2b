// Compares and builds addresses of the client and of the platform. The paths in the settings can have a query, such as
// `/index.php?action=login`.
import { encodeForm } from '../browser/encode-form.ts'
import type { Form } from '../browser/form.ts'

/**
 * Whether an address has the origin, the path and all parameters of `wanted`. The address may have more parameters, such
 * as a return address.
 */
export function leadsTo(address: string, wanted: string): boolean {
  const [found, there] = [URL.parse(address), URL.parse(wanted)]
  if (!found || !there) return false
  const hasAll = [...there.searchParams].every(([name, value]) => found.searchParams.getAll(name).includes(value))
  return found.origin === there.origin && found.pathname === there.pathname && hasAll
}

/** Whether a form sends its fields to this address. A browser replaces the query of a GET form with the fields. */
export function formLeadsTo(form: Form, wanted: string): boolean {
  return leadsTo(form.method === 'GET' ? encodeForm(form).url : form.action, wanted)
}

/**
 * Returns the path with further parameters. A string is added unchanged, so the result can break the rules for
 * addresses.
 */
export function withQuery(path: string, query: string | Record<string, string> | URLSearchParams): string {
  const text = typeof query === 'string' ? query : `${new URLSearchParams(query)}`
  return `${path}${path.includes('?') ? '&' : '?'}${text}`
}

/**
 * Whether this is an address at the origin. Comparing only the first characters would also accept another port:
 * `http://localhost:30001` begins with `http://localhost:3000`.
 */
export function isAtOrigin(address: string | undefined, origin: string): boolean {
  return URL.parse(address ?? '')?.origin === origin
}

/** Whether the text contains the address. A longer host, port or path is another address. */
export function namesAddress(text: string, address: string): boolean {
  return text
    .split(address)
    .slice(1)
    .some(rest => !/^[.-]?\w/.test(rest))
}
