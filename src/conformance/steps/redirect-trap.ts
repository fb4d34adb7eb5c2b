// The target of the redirects that the laboratory sends to the client. A request that arrives at this address shows
// that the client followed such a redirect.
import type { CheckContext } from '../context.ts'

export function requestAtTrap({ platform }: CheckContext, fault: string) {
  return platform.steps
    .slice(platform.round.step)
    .find(step => step.fault?.name === fault && step.request.url.startsWith('/trap/'))
}
