// Which client a request proves to come from, for whoever looks on: no failure is counted, and nothing noted.
import type { FastifyRequest } from 'fastify'
import type { Services } from '../services.ts'
import { listSecretHashes } from '../store/client-secrets.ts'
import { isId } from '../values/is-id.ts'
import { findCaller } from './find-caller.ts'
import { hashToken, isEqualHash } from './opaque-token.ts'

/** By the client's secret in its body, or by the access token that it carries. */
export async function findProvenClient(
  services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>,
  { headers, body }: FastifyRequest,
): Promise<string | undefined> {
  const { client_id: clientId, client_secret: secret } = (body ?? {}) as Record<string, unknown>
  if (typeof clientId === 'string' && typeof secret === 'string')
    return (await isClientSecret(services, clientId, secret)) ? clientId : undefined
  const caller = await findCaller(services, headers.authorization)
  return 'refusal' in caller ? undefined : caller.clientId
}

async function isClientSecret({ store }: Pick<Services, 'store'>, clientId: string, secret: string): Promise<boolean> {
  if (!isId(clientId)) return false
  const hash = hashToken(secret)
  return (await listSecretHashes(store.read, clientId)).some(valid => isEqualHash(valid, hash))
}
