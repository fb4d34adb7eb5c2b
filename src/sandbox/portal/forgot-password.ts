// Asking for a link that resets the password: the same answer, and the same work, whether or not there is such an account.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { noteReason } from '../observe.ts'
import type { Parts } from '../parts.ts'
import { type Bucket, countFailure, findBackOff } from '../store/failures.ts'
import { findCredentials, normaliseEmail } from '../store/users.ts'
import { hashToken } from '../tokens/opaque-token.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { findEmailProblem } from './register-user.ts'
import { makeResetLink, resetLinkMinutes } from './reset-link.ts'
import { describeBackOff } from './sign-in-page.ts'
import { makePurposeToken, readPurpose, type SignInPurpose } from './sign-in-purpose.ts'

const hourMs = 3_600_000
const mailsAnHour = 5
const mailsAnHourFromOneAddress = 50

/** A link is made all the same, so that the work does not tell whether there is an account. */
const nobody = { userId: '', passwordHash: '' }

export function forgotPasswordRoutes(
  parts: Pick<Parts, 'addresses' | 'store' | 'keyRing' | 'clock' | 'sourceOf' | 'mailbox'>,
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
    const buckets: Bucket[] = [
      { key: `resets of ${hashToken(normaliseEmail(email))}`, limit: mailsAnHour },
      { key: `resets from ${parts.sourceOf(request)}`, limit: mailsAnHourFromOneAddress },
    ]
    const retryAfterSeconds = await findBackOff(store.read, buckets, clock())
    if (retryAfterSeconds > 0) {
      noteReason(request, 'too-many-failures')
      const problem = describeBackOff(reply, 'requests to reset this password', retryAfterSeconds)
      return showForm(reply, purpose, { email, problem })
    }
    await store.write(db => countFailure(db, buckets, clock(), hourMs))
    const credentials = await findCredentials(store.read, email)
    const link = makeResetLink(parts, credentials ?? nobody)
    if (credentials) mailbox.deliver({ to: normaliseEmail(email), subject: 'Reset your password', text: write(link) })
    request.log.info({ code: 'password-reset-asked' }, 'a link to reset a password was asked for')
    return reply.viewAsync('reset-mail-sent', {
      title: 'Check your e-mail',
      email,
      minutes: resetLinkMinutes,
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
