// The target of the redirects that the laboratory sends to the client. A request that arrives at this address shows
// that the client followed such a redirect.
import { randomUUID } from 'node:crypto'
import type { CheckContext } from '../context.ts'
import { expect } from '../findings.ts'

/**
 * The statuses of redirects that the fault `redirect` does not offer. Some clients refuse only the statuses that this
 * fault offers.
 */
export const rareRedirects = [301, 303, 308]

/**
 * Returns options for a fault of the kind `answer`: a redirect to an address on another website. The function
 * `expectNotFollowed` fails if a request has arrived at this address.
 */
export function redirectAway({ platform: { otherSite } }: CheckContext, status: number) {
  const path = `/redirected-${randomUUID()}`
  return {
    options: { status, headers: { location: otherSite.url(path) } },
    expectNotFollowed() {
      const [request] = otherSite.arrived(path)
      expect(
        !request,
        `The client followed a redirect with status ${status}, and sent a ${request?.method} request to its target.`,
      )
    },
  }
}

export function requestAtTrap({ platform }: CheckContext, fault: string) {
  return platform.steps
    .slice(platform.round.step)
    .find(step => step.fault?.name === fault && step.request.url.startsWith('/trap/'))
}
