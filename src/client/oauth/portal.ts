// What the OAuth steps know of the login portal: this client's registration there, and how to post a form to it.
import { PublicError } from '../errors.ts'
import type { Secret } from '../secret.ts'
import { type Answer, isRecord, type RequestContext, type Upstream } from '../upstream.ts'

export type Portal = {
  /** The portal's public address, which is also its issuer name (RFC 8414); browsers are sent there. */
  loginUrl: string
  /** The same portal, as this server reaches it. */
  loginInternalUrl: string
  clientId: string
  clientSecret: Secret
  redirectUri: string
  cancelUrl: string
  upstream: Upstream
}

const maxBytes = 64 * 1024

/** RFC 6749 2.3.1: the client secret goes into the body, and nowhere else. */
export function postForm(
  portal: Portal,
  path: '/api/exchangeToken' | '/api/revokeToken',
  fields: Record<string, string>,
  context: RequestContext,
  deadlineMs = 5_000,
): Promise<Answer> {
  const form = new URLSearchParams({
    ...fields,
    client_id: portal.clientId,
    client_secret: portal.clientSecret.reveal(),
  })
  return portal.upstream.send({
    method: 'POST',
    url: portal.loginInternalUrl + path,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
    ...context,
    deadlineMs,
    maxBytes,
  })
}

/**
 * Turns a refusal of the token endpoint (RFC 6749 5.2) into the error that tells visitor and operator what to do.
 * The portal answers invalid_grant with 401 and others with 400: the word decides, not the status.
 */
export function refusal(portal: Portal, answer: Answer): PublicError {
  if (answer.status === 429 || answer.status >= 500) return portal.upstream.unavailable(answer)
  const error = isRecord(answer.json) ? answer.json.error : undefined
  if (error === 'invalid_grant') {
    const message = 'The login portal no longer accepts this sign-in: it was used already or took too long.'
    return new PublicError('invalid_grant', 400, `${message} Please sign in again.`)
  }
  if (typeof error === 'string' && answer.status >= 400) {
    const known = /^[a-z_]{1,40}$/.test(error) ? error : 'an unknown error'
    return new PublicError(
      'client_misconfigured',
      502,
      'The login portal refused this client. That is a fault of its settings and not of yours; its operator can read more in the log.',
      { cause: `status ${answer.status}, ${known}` },
    )
  }
  return portal.upstream.unexpected(`status ${answer.status}`)
}
