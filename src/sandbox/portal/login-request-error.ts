// A login request that has a fault, and its answer: straight back to the application that the visitor knows, or a page
// with a way back.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HttpRefusal } from '../http/http-refusal.ts'
import { stepUrlOf } from '../observe/observe.ts'
import type { Reason } from '../observe/steps.ts'
import type { Services } from '../services.ts'
import type { Application } from '../store/applications.ts'
import { hasConsent } from '../store/consents.ts'
import { findVisitor } from './portal-session.ts'

/** Told to the client, at a redirect URI that has been checked before (RFC 6749 4.1.2.1). */
export class LoginRequestError extends HttpRefusal {
  readonly code: string
  readonly application: Application
  readonly location: string

  constructor(
    code: string,
    description: string,
    { application, location, reason }: { application: Application; location: string; reason: Reason },
  ) {
    super(400, description, reason)
    this.code = code
    this.application = application
    this.location = location
  }
}

/**
 * Anybody can register an application, with any address. So nobody is sent on without asking who has not allowed it
 * before: the portal's address in a link would lead wherever somebody likes (RFC 9700 4.11.2).
 */
export async function answerLoginRequestError(
  parts: Pick<Services, 'store' | 'clock'>,
  { message, application, location }: LoginRequestError,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  if (await isAllowed(parts, application.id, request)) return reply.redirect(location, 303)
  // The page has no form of its own, which would need an Origin; where it leads must not learn how it was found.
  reply.status(400).header('referrer-policy', 'no-referrer')
  return reply.viewAsync('wrong-start', {
    title: 'You cannot sign in with this link',
    applicationName: application.name,
    message,
    location,
    // As the URL parser gives it: ASCII, so that no letter looks like another.
    host: new URL(location).host,
    requestId: request.id,
    explainedAt: stepUrlOf(request),
  })
}

/** Not, as far as can be known just now: this is the answer to an error, and must not be another one. */
async function isAllowed(
  parts: Pick<Services, 'store' | 'clock'>,
  applicationId: string,
  request: FastifyRequest,
): Promise<boolean> {
  try {
    const visitor = await findVisitor(parts, request)
    return visitor !== undefined && (await hasConsent(parts.store.read, visitor.id, applicationId))
  } catch {
    return false
  }
}
