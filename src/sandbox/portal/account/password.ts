// Changes the password of a signed-in user, who must also give the old password.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sourceOf } from '../../http/trusted-proxies.ts'
import { catchRefusal, Refusal } from '../../observe/refusal.ts'
import { changePassword, checkPassword } from '../../people/password.ts'
import { findPasswordProblem, shortestPassword } from '../../people/rules.ts'
import type { Services } from '../../services.ts'
import { readKnownBrowser, signBrowserIn } from '../session.ts'
import { setTooMany } from '../sign-in.ts'
import { makeAccountForm, readAccountForm, showAccountPage, visitorOf } from './account.ts'

interface Problems {
  password?: string | undefined
  newPassword?: string | undefined
}

export function passwordRoutes(services: Pick<Services, 'store' | 'keyRing' | 'passwords' | 'clock'>) {
  async function show(_request: FastifyRequest, reply: FastifyReply) {
    return showForm(reply)
  }

  async function change(request: FastifyRequest, reply: FastifyReply) {
    const { fields } = readAccountForm(services, request, 'change password')
    const { password = '', newPassword = '' } = fields
    const { email } = visitorOf(request)
    const source = sourceOf(request)
    // Count wrong passwords in the same way as at sign-in. Otherwise a stranger could guess passwords in a browser in
    // which the user is still signed in.
    const checked = await catchRefusal(
      checkPassword(services, { email, password, source, knownBrowser: readKnownBrowser(services, request) }),
    )
    const newPasswordProblem = findPasswordProblem(newPassword, email)
    if (checked instanceof Refusal) {
      const { retryAfterSeconds } = checked.details
      return retryAfterSeconds === undefined
        ? showForm(reply.status(422), {
            password: 'This is not your current password.',
            newPassword: newPasswordProblem,
          })
        : showForm(reply, { password: setTooMany(reply, 'failed attempts', retryAfterSeconds) })
    }
    if (newPasswordProblem !== undefined) return showForm(reply.status(422), { newPassword: newPasswordProblem })
    const changed = await changePassword(services, checked, { password: newPassword, source })
    await signBrowserIn(services, changed, reply)
    request.log.info({ code: 'password-changed', user: changed.userId }, 'a password was changed')
    return showAccountPage(reply, 'account/password-changed', {
      title: 'Your password has been changed',
      width: 'narrow',
    })
  }

  function showForm(reply: FastifyReply, problems: Problems = {}) {
    return showAccountPage(reply, 'account/password', {
      title: 'Change your password',
      width: 'narrow',
      problems,
      shortestPassword,
      formToken: makeAccountForm(services, reply.request, 'change password'),
    })
  }

  return { show, change }
}
