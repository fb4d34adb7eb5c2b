// Which client a request proves to come from, for whoever looks on: no failure is counted, and nothing noted.
import type { FastifyRequest } from 'fastify'
import { isId } from '../is-id.ts'
import type { Parts } from '../parts.ts'
import { listSecretHashes } from '../store/client-secrets.ts'
import { findCaller } from './find-caller.ts'
import { hashToken, isEqualHash } from './opaque-token.ts'

/** By the access token that it carries, or by the client's secret in its body. */
export async function findProvenClient(
  parts: Pick<Parts, 'addresses' | 'store' | 'keyRing' | 'clock'>,
  { headers, body }: FastifyRequest,
): Promise<string | undefined> {
  if (headers.authorization !== undefined) {
    const caller = await findCaller(parts, headers.authorization)
    return typeof caller === 'string' ? undefined : caller.clientId
  }
  const { client_id: clientId, client_secret: secret } = (body ?? {}) as Record<string, unknown>
  if (typeof clientId !== 'string' || typeof secret !== 'string') return undefined
  return (await isClientSecret(parts, clientId, secret)) ? clientId : undefined
}

async function isClientSecret({ store }: Pick<Parts, 'store'>, clientId: string, secret: string): Promise<boolean> {
  if (!isId(clientId)) return false
  const hash = hashToken(secret)
  return (await listSecretHashes(store.read, clientId)).some(valid => isEqualHash(valid, hash))
}
