// The cancel_url of a login: the portal sends the browser there if the visitor declines.
import { Undecided } from '../check.ts'
import type { CheckContext, Start } from '../context.ts'
import { isAtOrigin } from './addresses.ts'

/** Returns the cancel_url of the login, or undefined if it is missing or is not an address of the client. */
export function findCancelUrl({ settings }: CheckContext, { url }: Start): URL | undefined {
  const address = url.searchParams.get('cancel_url') ?? undefined
  return isAtOrigin(address, settings.client) ? new URL(address!) : undefined
}

/** Returns the cancel_url of the login. Ends the check as undecided if it is not an address of the client. */
export function requireCancelUrl(context: CheckContext, start: Start): URL {
  const cancelUrl = findCancelUrl(context, start)
  if (!cancelUrl) throw new Undecided('cancel_url is not an address of the client.')
  return cancelUrl
}

/**
 * Returns the address to which the portal sends the browser if the visitor declines this login: cancel_url with an
 * error, and with the state of the login.
 */
export function declinedCallback(context: CheckContext, start: Start): URL {
  const address = requireCancelUrl(context, start)
  address.searchParams.set('error', 'access_denied')
  if (start.state !== undefined) address.searchParams.set('state', start.state)
  return address
}
