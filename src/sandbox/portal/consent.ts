// Consent: who asks, for what, and the answer, which counts once and only for the request it was shown for.
import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { noteAbout, noteReason } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { rememberConsent } from '../store/consents.ts'
import { finishAuthorization } from '../store/finished-authorizations.ts'
import type { User } from '../store/users.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { addToUrl } from './add-to-url.ts'
import { makeCodeRedirect } from './code-redirect.ts'
import { PageError } from './error-pages.ts'
import { type LoginRequest, readLoginRequest, refuseRemoved, toLoginPath } from './login-request.ts'
import { endPortalSession, findVisitor } from './portal-session.ts'

/** What the page was shown for. It travels in the form, so nothing is stored until there is an answer. */
interface ConsentQuestion {
  id: string
  userId: string
  /** The request, as the path that started it. */
  path: string
}

const formLifetimeMs = 30 * 60_000

export function showConsentPage(
  reply: FastifyReply,
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  login: LoginRequest,
  visitor: User,
) {
  const { redirectUri, cancelUrl } = login
  setPageHeaders(reply, { formTargets: [new URL(redirectUri).origin, new URL(cancelUrl).origin] })
  const question: ConsentQuestion = { id: randomUUID(), userId: visitor.id, path: toLoginPath(login) }
  const expiresAt = new Date(clock().getTime() + formLifetimeMs)
  return reply.viewAsync('consent', {
    title: `Allow ${login.application.name}?`,
    application: login.application,
    redirectHost: new URL(redirectUri).host,
    visitor,
    formToken: makeFormToken(keyRing.sealingKey, 'consent', question, expiresAt),
  })
}

export function answerConsent(parts: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>) {
  const { keyRing, store, clock } = parts

  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { decision, formToken } = (request.body ?? {}) as Record<string, unknown>
    const question = readFormToken<ConsentQuestion>(keyRing.sealingKey, 'consent', formToken, clock())
    if (!question) throw new PageError(400, 'This page was open for too long.', { reason: 'form-expired' })
    noteAbout(request, { startPath: question.path, userId: question.userId })
    const startAgain = { href: question.path, label: 'Start again' }
    if (decision === 'another-account') {
      await endPortalSession(parts, request, reply)
      return reply.redirect(question.path, 303)
    }
    if (decision !== 'allow' && decision !== 'decline')
      throw new PageError(400, 'The form was incomplete.', { next: startAgain, reason: 'field-missing' })
    const visitor = await findVisitor(parts, request)
    // Signed out meanwhile, or signed in as somebody else: they have not been asked yet.
    if (visitor?.id !== question.userId) return reply.redirect(question.path, 303)

    // Read again, because the application may have been changed or removed since the page was shown.
    const query = Object.fromEntries(new URL(question.path, parts.addresses.portalUrl).searchParams)
    const login = await readLoginRequest(parts, query, request)
    const answer = store.transaction(async db => {
      const expiresAt = new Date(clock().getTime() + formLifetimeMs)
      if (!(await finishAuthorization(db, question.id, expiresAt))) return undefined
      if (decision === 'decline') return toCancelLocation(login)
      await rememberConsent(db, visitor.id, login.application.id, clock())
      return makeCodeRedirect(db, parts, login, { userId: visitor.id, proof: visitor.proof })
    })
    const location = await answer.catch(refuseRemoved)
    if (!location) throw new PageError(409, 'You have already answered this question.', { next: startAgain })
    if (decision === 'decline') noteReason(request, 'consent-declined')
    request.log.info({ code: `consent-${decision}`, clientId: login.application.id }, 'consent was answered')
    return reply.redirect(location, 303)
  }
}

function toCancelLocation({ cancelUrl, state }: LoginRequest): string {
  return addToUrl(cancelUrl, { error: 'access_denied', state })
}
