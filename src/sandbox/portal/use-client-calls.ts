// What every call of a client has: OAuth's dialect of errors, nothing cached, no other origin let in.
import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { formBodyLimit } from '../http/server.ts'
import { noteAbout } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { setCallHeaders } from './call-headers.ts'
import { isFromOtherSite } from './cross-site-guard.ts'
import { longestText } from './longest-text.ts'
import { answerInOAuthDialect, OAuthError } from './oauth-error.ts'

export async function useClientCalls(
  scope: FastifyInstance,
  parts: Pick<Services, 'addresses' | 'observer'>,
): Promise<void> {
  await scope.register(formbody)
  if (parts.observer) readClaimsOfOtherTypes(scope)
  setCallHeaders(scope)
  answerInOAuthDialect(scope)
  scope.addHook('onRequest', async request => {
    if (isFromOtherSite(request, parts.addresses.portalUrl))
      throw new OAuthError(403, 'access_denied', 'Calls from pages of other sites are not answered.', {
        reason: 'cross-site',
      })
  })
}

/**
 * A body of another type is refused, as it is without this. A developer looks for that refusal by the client, so the body
 * is read as far as it names one.
 */
function readClaimsOfOtherTypes(scope: FastifyInstance): void {
  scope.addContentTypeParser('*', (request, payload, done) => {
    const refused = Object.assign(new Error('Unsupported Media Type'), { statusCode: 415 })
    let text = ''
    payload.setEncoding('utf8')
    payload.on('data', (chunk: string) => {
      text += chunk
      if (text.length > formBodyLimit) payload.pause().emit('end')
    })
    payload.once('end', () => {
      noteClaim(request, text)
      done(refused)
    })
    payload.once('error', () => done(refused))
  })
}

function noteClaim(request: FastifyRequest, text: string): void {
  const clientId = new URLSearchParams(text).get('client_id') ?? clientIdInJson(text)
  if (typeof clientId === 'string') noteAbout(request, { claimedClientId: clientId.slice(0, longestText) })
}

function clientIdInJson(text: string): unknown {
  try {
    return (JSON.parse(text) as { client_id?: unknown } | null)?.client_id
  } catch {
    return undefined
  }
}
