// Opens callbacks that the client must refuse, and returns the pages with which the client answers. The browser does
// not follow a redirect to the portal, so that a check sees whether the client begins a new login.
import type { Browser, Page } from '../browser/browser.ts'
import type { CheckContext } from '../context.ts'
import { beginLogin, errorCallback, followCallback } from './callback.ts'

interface RefusedCallback {
  /** The name of the callback in messages. */
  what: string
  browser: Browser
  sent: URL
  page: Page
}

const changes: [what: string, change: (query: URLSearchParams) => void][] = [
  ['a callback without a code', query => query.delete('code')],
  ['a callback without a state', query => query.delete('state')],
  ['a callback with an unknown state', query => query.set('state', 'of-no-login-00000000000000000000000000000000')],
  ['a callback for another client', query => query.set('client_id', '00000000-0000-4000-8000-000000000000')],
  ['a callback without a subject', query => query.delete('subject')],
  ['a callback from another issuer', query => query.set('iss', 'https://evil.example')],
  ['a callback with a repeated code', query => query.append('code', 'A'.repeat(30))],
  ['a callback with a line break in its code', query => query.set('code', 'a\r\nb')],
]

/** Faults of the exchange that make the login fail. */
const faults: [what: string, fault: string, options: Record<string, unknown>][] = [
  ['a callback whose exchange the portal refuses', 'exchange-400', { error: 'invalid_grant' }],
  ['a callback whose exchange the portal answers with status 503', 'exchange-503', {}],
  ['a callback whose token response has the state of another login', 'exchange-state-other', {}],
]

/**
 * Opens each callback in a separate browser. The result leaves out each callback that the client accepted and whose
 * code it exchanged.
 */
export async function refusedCallbacks(context: CheckContext): Promise<RefusedCallback[]> {
  const refused: RefusedCallback[] = []
  const add = async (what: string, browser: Browser, sent: URL) =>
    refused.push({ what, browser, sent, page: await followCallback(context, browser, sent, context.beforePortal) })
  for (const [what, change] of changes) {
    const { browser, callback } = await beginLogin(context)
    const known = context.arrived('exchange').length
    change(callback.searchParams)
    await add(what, browser, callback)
    if ((await context.codeExchanges()).length > known) refused.pop()
  }
  const { browser, start, callback } = await beginLogin(context)
  const error = { error: 'access_denied', error_description: 'no', state: start.state ?? '' }
  await add('a callback with an error', browser, errorCallback(callback, error))
  // When a callback is used a second time, some clients answer as they did the first time, and sign the visitor in.
  const used = await beginLogin(context)
  const before = used.browser.copy()
  await followCallback(context, used.browser, used.callback, context.beforePortal)
  await add('a callback that has been used before', before, used.callback)
  for (const [what, fault, options] of faults) {
    const { browser, callback } = await beginLogin(context)
    await context.order(fault, { options })
    await add(what, browser, callback)
    await context.dropFaults()
  }
  return refused
}
