// Identifies the caller by the access token. Also notes which client received the token, so that the laboratory shows
// the call as a step of this client.
import type { FastifyRequest } from 'fastify'
import { noteAbout } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { type Caller, type CallerReason, findCaller } from './find-caller.ts'

/** Returns the caller, or the reason why the caller cannot be identified. */
export async function identifyCaller(
  services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>,
  request: FastifyRequest,
): Promise<Caller | CallerReason> {
  const found = await findCaller(services, request.headers.authorization)
  if ('refusal' in found) {
    const { refusal, userId, clientId, claimedClientId } = found
    noteAbout(request, { userId, claimedClientId, knownClientId: clientId, provenClientId: clientId })
    return refusal
  }
  const { kind, userId, clientId } = found
  // The audience of a token from the portal's own page is the portal, which is not a client.
  noteAbout(request, { userId, ...(kind !== 'portal' && { knownClientId: clientId, provenClientId: clientId }) })
  return found
}
