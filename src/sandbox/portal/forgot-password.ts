// Asking for a link that resets the password: the same answer, and the same work, whether or not there is such an account.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { noteReason } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { type Bucket, countFailure, findBackOff } from '../store/failures.ts'
import { type Credentials, findCredentials, normaliseEmail } from '../store/users.ts'
import { hashToken } from '../tokens/opaque-token.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { findEmailProblem } from './register-user.ts'
import { makeResetLink, resetLinkMinutes } from './reset-link.ts'
import { makePurposeToken, readPurpose, type SignInPurpose } from './sign-in-purpose.ts'

const mostLinks = 5
// As long as a link is valid. So whoever has reached the limit has a link that works until the next one can be sent.
const windowMs = resetLinkMinutes * 60_000

/** Without an account the work is the same, so that its time does not tell whether there is one. */
const nobody: Credentials = { userId: '', passwordHash: '' }

export function forgotPasswordRoutes(
  parts: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock' | 'sourceOf' | 'mailbox'>,
) {
  const { addresses, store, clock, mailbox } = parts

  /** The purpose of signing in comes along, so that the login goes on afterwards. */
  async function show(request: FastifyRequest, reply: FastifyReply) {
    const { formToken } = request.query as Record<string, unknown>
    const own = { returnTo: '/account', applicationName: undefined, formTargets: [] }
    return showForm(reply, formToken === undefined ? own : readPurpose(parts, formToken, request))
  }

  async function send(request: FastifyRequest, reply: FastifyReply) {
    const { formToken, email: given } = (request.body ?? {}) as Record<string, unknown>
    const purpose = readPurpose(parts, formToken, request)
    const email = typeof given === 'string' ? given.trim() : ''
    if (!mailbox) return showForm(reply, purpose)
    const problem = findEmailProblem(email)
    if (problem !== undefined) return showForm(reply.status(422), purpose, { email, problem })
    const credentials = await findCredentials(store.read, email)
    const link = makeResetLink(parts, credentials ?? nobody)
    const bucket = bucketOf(credentials ?? nobody, parts.sourceOf(request))
    const isFull = (await findBackOff(store.read, [bucket], clock())) > 0
    await store.write(db => countFailure(db, [bucket], clock()))
    if (isFull) {
      noteReason(request, 'too-many-failures')
      request.log.info({ code: 'password-reset-limited' }, 'a link to reset a password was asked for too often')
    } else {
      if (credentials) mailbox.deliver({ to: normaliseEmail(email), subject: 'Reset your password', text: write(link) })
      request.log.info({ code: 'password-reset-asked' }, 'a link to reset a password was asked for')
    }
    // The same page in every case. It says what happens beyond the limit.
    return reply.viewAsync('reset-mail-sent', {
      title: 'Check your e-mail',
      email,
      minutes: resetLinkMinutes,
      mostLinks,
      mailboxUrl: mailbox.url,
      ...purpose,
    })
  }

  function showForm(reply: FastifyReply, purpose: SignInPurpose, sent: { email?: string; problem?: string } = {}) {
    setPageHeaders(reply)
    return reply.viewAsync('forgot-password', {
      title: 'Reset your password',
      hasMailbox: mailbox !== undefined,
      formToken: makePurposeToken(parts, purpose),
      ...purpose,
      ...sent,
    })
  }

  function write(link: string): string {
    return [
      `Somebody asked to reset the password of your account at ${addresses.portalUrl}.`,
      `Choose a new one within ${resetLinkMinutes} minutes. The link works once:`,
      link,
      'If it was not you, ignore this mail: your password stays as it is.',
    ].join('\n\n')
  }

  return { show, send }
}

/**
 * Counts requests by source and account together, so that a stranger uses up nothing of the owner's. A new password
 * ends every link, so it begins a new count. All addresses without an account share one bucket for each source: a
 * stranger cannot fill the table with made-up addresses.
 */
function bucketOf({ userId, passwordHash }: Credentials, source: string): Bucket {
  return { key: `resets of ${hashToken(`${userId} ${passwordHash}`)} from ${source}`, limit: mostLinks, windowMs }
}
