// A new password for somebody who is signed in and knows the present one.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../../services.ts'
import { changePassword } from '../change-password.ts'
import { checkPassword } from '../check-password.ts'
import { PageError } from '../error-pages.ts'
import { markBrowser, readMark } from '../known-browser.ts'
import { findPasswordProblem, shortestPassword } from '../password-rules.ts'
import { startPortalSession } from '../portal-session.ts'
import { describeBackOff } from '../sign-in-page.ts'
import { makeAccountForm, readAccountForm } from './account-form.ts'
import { showAccountPage, visitorOf } from './require-visitor.ts'

interface Problems {
  password?: string | undefined
  newPassword?: string | undefined
}

export function passwordRoutes(parts: Pick<Services, 'store' | 'keyRing' | 'passwords' | 'clock' | 'sourceOf'>) {
  async function show(_request: FastifyRequest, reply: FastifyReply) {
    return showForm(reply)
  }

  async function change(request: FastifyRequest, reply: FastifyReply) {
    const { fields } = readAccountForm(parts, request, 'change password')
    const { password = '', newPassword = '' } = fields
    const { email } = visitorOf(request)
    const source = parts.sourceOf(request)
    // Counted like signing in: a browser that was left signed in is no place to guess at the password.
    const checked = await checkPassword(parts, { email, password, source, mark: readMark(parts, request) })
    if ('refusal' in checked && checked.refusal === 'too-many-failures')
      return showForm(reply, { password: describeBackOff(reply, 'failed attempts', checked.retryAfterSeconds) })
    const problems: Problems = {
      password: 'credentials' in checked ? undefined : 'This is not your current password.',
      newPassword: findPasswordProblem(newPassword, email),
    }
    if (!('credentials' in checked) || problems.newPassword !== undefined) return showForm(reply.status(422), problems)
    const changed = await changePassword(parts, checked.credentials, { password: newPassword, source })
    if (!changed || !(await startPortalSession(parts, changed, request, reply)))
      throw new PageError(409, 'Your password was changed somewhere else in the meantime.', {
        next: { href: '/account', label: 'Sign in with the new one' },
      })
    markBrowser(parts, changed, request, reply)
    request.log.info({ code: 'password-changed', userId: changed.userId }, 'a password was changed')
    return showAccountPage(reply, 'account/password-changed', { title: 'Your password has been changed' })
  }

  function showForm(reply: FastifyReply, problems: Problems = {}) {
    return showAccountPage(reply, 'account/password', {
      title: 'Change your password',
      problems,
      shortestPassword,
      formToken: makeAccountForm(parts, reply.request, 'change password'),
    })
  }

  return { show, change }
}
