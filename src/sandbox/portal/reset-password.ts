// Where the link of a reset mail leads: a new password for whoever reads that mail. Looking at the page uses nothing up.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../services.ts'
import { type Credentials, findUser } from '../store/users.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { changePassword } from './change-password.ts'
import { PageError } from './error-pages.ts'
import { markBrowser } from './known-browser.ts'
import { findPasswordProblem, shortestPassword } from './password-rules.ts'
import { endPortalSession } from './portal-session.ts'
import { readResetToken, resetLinkMinutes } from './reset-link.ts'

export function resetPasswordRoutes(parts: Pick<Services, 'store' | 'keyRing' | 'passwords' | 'clock' | 'sourceOf'>) {
  async function show(request: FastifyRequest, reply: FastifyReply) {
    const { token } = request.query as Record<string, unknown>
    return showForm(reply, token, await findEmail(await requireCredentials(token)))
  }

  async function reset(request: FastifyRequest, reply: FastifyReply) {
    const { token, password: given } = (request.body ?? {}) as Record<string, unknown>
    const credentials = await requireCredentials(token)
    const email = await findEmail(credentials)
    const password = typeof given === 'string' ? given : ''
    const problem = findPasswordProblem(password, email)
    if (problem !== undefined) return showForm(reply.status(422), token, email, problem)
    const changed = await changePassword(parts, credentials, { password, source: parts.sourceOf(request) })
    if (!changed) throw linkIsOver()
    await endPortalSession(parts, request, reply)
    // Who reads the account's mail is no stranger to it: what strangers got wrong must not stand in the way now.
    markBrowser(parts, changed, request, reply)
    request.log.info({ code: 'password-reset', userId: changed.userId }, 'a password was reset')
    return reply.viewAsync('password-reset', { title: 'Your password has been changed', email })
  }

  /** Throws PageError. */
  async function requireCredentials(token: unknown): Promise<Credentials> {
    const credentials = await readResetToken(parts, token)
    if (!credentials) throw linkIsOver()
    return credentials
  }

  async function findEmail({ userId }: Credentials): Promise<string> {
    return (await findUser(parts.store.read, userId))?.email ?? ''
  }

  return { show, reset }
}

function showForm(reply: FastifyReply, token: unknown, email: string, problem?: string) {
  setPageHeaders(reply, { hasScript: true })
  const title = 'Choose a new password'
  return reply.viewAsync('reset-password', {
    title,
    scripts: ['show-passwords.js'],
    token,
    email,
    problem,
    shortestPassword,
  })
}

function linkIsOver(): PageError {
  return new PageError(
    400,
    `This link does not work any more. A link is valid for ${resetLinkMinutes} minutes and works once.`,
    { next: { href: '/forgot-password', label: 'Ask for a new link' }, reason: 'form-expired' },
  )
}
