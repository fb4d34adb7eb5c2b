// The refusals in the descriptions of the laboratory's calls, and parameters that several calls share.
import { answer } from '../../http/describe.ts'

const refusals = {
  400: answer('The request cannot be read.', 'Error'),
  401: answer('LAB_TOKEN is set, and was not sent.', 'Error'),
  403: answer('Asked under another name, by a page of another site, or for somebody who may not.', 'Error'),
  404: answer('There is no such thing, or the laboratory leaves it alone.', 'Error'),
  413: answer('The body is larger than 32 KiB.', 'Error'),
  415: answer('Not application/json.', 'Error'),
  422: answer('Which field or parameter is wrong, and what is allowed.', 'Error'),
  429: answer('Too many faults wait already.', 'Error'),
  500: answer('A fault of the sandbox.', 'Error'),
  503: answer('Too much to do, or no database just now. See Retry-After.', 'Error'),
}

/** The refusals that every call can get, and the given ones. */
export function refuse(...statuses: (keyof typeof refusals)[]) {
  return Object.fromEntries(
    [400, 401, 403, 422, ...statuses, 500, 503].map(status => [status, refusals[status as 400]]),
  )
}

export const id = { id: { type: 'string', maxLength: 100 } }
export const clientId = { clientId: { type: 'string', description: 'Of this client alone.' } }
