// The title and introduction of the laboratory's description.
import type { Description } from '../../http/describe.ts'
import type { Secret } from '../../values/secret.ts'
import type { Addresses } from '../addresses.ts'

/** For describeRoutes. */
export function descriptionOf({ labUrl }: Addresses, token: Secret | undefined): Description {
  return {
    title: 'Laboratory of the sandbox',
    version: '1.0',
    description:
      'What clients did at the sandbox and why it failed, faults to order, and people and clients to do it with. ' +
      'Every call that changes something carries Content-Type: application/json; a field that is not known is refused.',
    url: labUrl,
    tags: ['What happened', 'Faults', 'Set-up'],
    security: { labToken: { type: 'http', scheme: 'bearer', description: 'The LAB_TOKEN, where one is set.' } },
    isOpen: token === undefined,
  }
}
