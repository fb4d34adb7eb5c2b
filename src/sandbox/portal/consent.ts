// The consent page shows which application asks for access, and what the user would allow. The portal accepts only one
// answer to a page, and uses it only for the request that the page was made for.
import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { allowAndIssueCode, decline } from '../grants/consents.ts'
import { type LoginRequest, readLoginRequest } from '../grants/login-request.ts'
import { stepNotesOf } from '../observe/notes.ts'
import { noteAbout, noteReason } from '../observe/observe.ts'
import { Refusal } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import { findGroup } from '../store/groups.ts'
import { findUser, type User } from '../store/users.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'
import { showPage } from '../web/page-headers.ts'
import { setStartAgain } from './error-pages.ts'
import { codeUrl, declinedUrl, loginPath } from './login-urls.ts'
import { findVisitor, signBrowserOut } from './session.ts'

/**
 * The content of a consent page's form. The form contains the request, signed by the portal, so the portal stores
 * nothing until the visitor answers.
 */
interface ConsentQuestion {
  id: string
  userId: string
  /** The path, with its parameters, that started the login. */
  path: string
}

const formLifetimeMs = 30 * 60_000

export async function showConsentPage(
  reply: FastifyReply,
  { store, keyRing, clock }: Pick<Services, 'store' | 'keyRing' | 'clock'>,
  login: LoginRequest,
  visitor: User,
) {
  const { redirectUri, cancelUrl } = login
  const question: ConsentQuestion = { id: randomUUID(), userId: visitor.id, path: loginPath(login) }
  const expiresAt = new Date(clock().getTime() + formLifetimeMs)
  return showPage(reply, 'consent', {
    formTargets: [new URL(redirectUri).origin, new URL(cancelUrl).origin],
    title: `Allow ${login.application.name}?`,
    width: 'middle consent',
    application: login.application,
    maker: await findUser(store.read, login.application.createdBy),
    group: await findGroup(store.read, login.application.groupId),
    redirectHost: new URL(redirectUri).host,
    visitor,
    formToken: makeFormToken(keyRing.sealingKey, 'consent', question, expiresAt),
  })
}

export function answerConsent(services: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>) {
  const { addresses, keyRing, clock } = services

  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { decision, formToken } = (request.body ?? {}) as Record<string, unknown>
    const question = readFormToken<ConsentQuestion>(keyRing.sealingKey, 'consent', formToken, clock())
    if (!question) throw new Refusal('form-expired')
    noteAbout(request, { startPath: question.path, userId: question.userId })
    setStartAgain(request, question.path)
    if (decision === 'another-account') {
      await signBrowserOut(services, reply)
      return reply.redirect(question.path, 303)
    }
    if (decision !== 'allow' && decision !== 'decline') throw new Refusal('field-missing', { field: 'decision' })
    const visitor = await findVisitor(services, request)
    // The visitor has signed out, or has signed in as another user, whom the portal has not asked yet.
    if (visitor?.id !== question.userId) return reply.redirect(question.path, 303)

    // Read the application again, because somebody may have changed or removed it since the page was shown.
    const query = Object.fromEntries(new URL(question.path, addresses.portalUrl).searchParams)
    const login = await readLoginRequest(services, query, stepNotesOf(request))
    const answered = { id: question.id, expiresAt: new Date(clock().getTime() + formLifetimeMs) }
    const log = () =>
      request.log.info({ code: `consent-${decision}`, clientId: login.application.id }, 'consent was answered')
    if (decision === 'decline') {
      await decline(services, answered)
      noteReason(request, 'consent-declined')
      log()
      return reply.redirect(declinedUrl(login), 303)
    }
    const user = { userId: visitor.id, proof: visitor.proof }
    const code = await allowAndIssueCode(services, answered, login, user)
    log()
    return reply.redirect(codeUrl(login, { code, userId: visitor.id, issuer: addresses.portalUrl }), 303)
  }
}
