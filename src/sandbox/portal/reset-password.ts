// Helps people who have forgotten their password: sends a link by mail, and shows the page on which a person sets a new
// password.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sourceOf } from '../http/trusted-proxies.ts'
import { catchRefusal, Refusal } from '../observe/refusal.ts'
import { changePassword } from '../people/password.ts'
import { makeResetToken, mostResetLinks, readResetToken, resetLinkMinutes } from '../people/reset-links.ts'
import { findEmailProblem, findPasswordProblem, shortestPassword } from '../people/rules.ts'
import type { Services } from '../services.ts'
import { type Credentials, findUser } from '../store/users.ts'
import { normaliseEmail } from '../values/email-address.ts'
import { showPage } from '../web/page-headers.ts'
import { rememberBrowser, signBrowserOut } from './session.ts'
import { makePurposeToken, readPurpose, type SignInPurpose } from './sign-in.ts'

/** The routes give the same answer after the same time, whether the e-mail address has an account or not. */
export function forgotPasswordRoutes(
  services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock' | 'mailbox'>,
) {
  const { addresses, mailbox } = services

  /**
   * The address of this page contains the purpose of the sign-in, so that the visitor can continue the login after the
   * reset.
   */
  async function show(request: FastifyRequest, reply: FastifyReply) {
    const { formToken } = request.query as Record<string, unknown>
    const toAccount = { returnTo: '/account', applicationName: undefined, formTargets: [] }
    return showForm(reply, formToken === undefined ? toAccount : readPurpose(services, formToken, request))
  }

  async function send(request: FastifyRequest, reply: FastifyReply) {
    const { formToken, email: given } = (request.body ?? {}) as Record<string, unknown>
    const purpose = readPurpose(services, formToken, request)
    const email = typeof given === 'string' ? given.trim() : ''
    if (!mailbox) return showForm(reply, purpose)
    const problem = findEmailProblem(email)
    if (problem !== undefined) return showForm(reply.status(422), purpose, { email, problem })
    const made = await makeResetToken(services, { email, source: sourceOf(request) })
    if (made === undefined) {
      request.log.info({ code: 'password-reset-limited' }, 'a link to reset a password was requested too often')
    } else {
      const mail = { to: normaliseEmail(email), subject: 'Reset your password', text: writeMail(made.token) }
      if (made.isForSomebody) mailbox.deliver(mail)
      request.log.info({ code: 'password-reset-asked' }, 'a link to reset a password was requested')
    }
    // Show the same page whether the portal sent a link or not. The page also names the maximum number of links that
    // the portal sends.
    return reply.viewAsync('reset-mail-sent', {
      title: 'Check your e-mail',
      email,
      minutes: resetLinkMinutes,
      mostLinks: mostResetLinks,
      mailboxUrl: mailbox.url,
      formToken: makePurposeToken(services, purpose),
      ...purpose,
    })
  }

  function showForm(reply: FastifyReply, purpose: SignInPurpose, sent: { email?: string; problem?: string } = {}) {
    return reply.viewAsync('forgot-password', {
      title: 'Reset your password',
      hasMailbox: mailbox !== undefined,
      formToken: makePurposeToken(services, purpose),
      ...purpose,
      ...sent,
    })
  }

  function writeMail(token: string): string {
    return [
      `Somebody asked to reset the password of your account at ${addresses.portalUrl}.`,
      `Choose a new password within ${resetLinkMinutes} minutes. The link works only once:`,
      `${addresses.portalUrl}/reset-password?token=${token}`,
      'If you did not ask for this, ignore this mail: your password will not change.',
    ].join('\n\n')
  }

  return { show, send }
}

/** A visitor can open the page several times. The link stops working only when the visitor sets a new password. */
export function resetPasswordRoutes(services: Pick<Services, 'store' | 'keyRing' | 'passwords' | 'clock'>) {
  async function show(request: FastifyRequest, reply: FastifyReply) {
    const { token } = request.query as Record<string, unknown>
    return showForm(reply, token, await findEmail(await readResetToken(services, token)))
  }

  async function reset(request: FastifyRequest, reply: FastifyReply) {
    const { token, password: given } = (request.body ?? {}) as Record<string, unknown>
    const credentials = await readResetToken(services, token)
    const email = await findEmail(credentials)
    const password = typeof given === 'string' ? given : ''
    const problem = findPasswordProblem(password, email)
    if (problem !== undefined) return showForm(reply.status(422), token, email, problem)
    const changed = await catchRefusal(changePassword(services, credentials, { password, source: sourceOf(request) }))
    // The password was changed after the token was read, so the link is no longer valid.
    if (changed instanceof Refusal) throw new Refusal('link-expired')
    await signBrowserOut(services, reply)
    // A person who opened the link in the mail is the owner of the account. Failed sign-ins of strangers must not lock
    // the owner out.
    rememberBrowser(services, changed, reply)
    request.log.info({ code: 'password-reset', user: changed.userId }, 'a password was reset')
    return reply.viewAsync('password-reset', { title: 'Your password has been changed', email })
  }

  async function findEmail({ userId }: Credentials): Promise<string> {
    return (await findUser(services.store.read, userId))?.email ?? ''
  }

  return { show, reset }
}

function showForm(reply: FastifyReply, token: unknown, email: string, problem?: string) {
  return showPage(reply, 'reset-password', {
    title: 'Choose a new password',
    scripts: ['show-passwords.js'],
    token,
    email,
    problem,
    shortestPassword,
  })
}
