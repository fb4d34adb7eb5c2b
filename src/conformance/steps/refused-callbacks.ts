// Callbacks that sign nobody in, with the pages that the client answers. Each stops before the portal, so that a check
// sees whether the client sends the visitor to the portal again.
import type { Browser, Page } from '../browser/browser.ts'
import type { CheckContext } from '../context.ts'
import { beginLogin, errorCallback, followCallback } from './callback.ts'

export interface RefusedCallback {
  /** The callback, as messages name it. */
  what: string
  browser: Browser
  sent: URL
  page: Page
}

const changes: [what: string, change: (query: URLSearchParams) => void][] = [
  ['a callback without a code', query => query.delete('code')],
  ['a callback without a state', query => query.delete('state')],
  ['a callback with a state of no login', query => query.set('state', 'of-no-login-00000000000000000000000000000000')],
  ['a callback for another client', query => query.set('client_id', '00000000-0000-4000-8000-000000000000')],
]

/** Faults of the exchange after which the login has failed. */
const faults: [what: string, fault: string, options: Record<string, unknown>][] = [
  ['a callback whose exchange the portal refuses', 'exchange-400', { error: 'invalid_grant' }],
  ['a callback whose exchange the portal answers with status 503', 'exchange-503', {}],
  ['a callback whose token response is for another state', 'exchange-state-other', {}],
]

/** Opens a callback of each kind in a separate browser. Leaves out a callback for which the client made a session. */
export async function refusedCallbacks(context: CheckContext): Promise<RefusedCallback[]> {
  const refused: RefusedCallback[] = []
  const stopAt = (url: URL) => url.origin === context.platform.portalUrl
  const add = async (what: string, browser: Browser, sent: URL) =>
    refused.push({ what, browser, sent, page: await followCallback(context, browser, sent, stopAt) })
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
  for (const [what, fault, options] of faults) {
    const { browser, callback } = await beginLogin(context)
    await context.order(fault, { options })
    await add(what, browser, callback)
    await context.dropFaults()
  }
  return refused
}
