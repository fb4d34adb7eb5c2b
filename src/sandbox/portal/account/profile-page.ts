// GET /account: who I am, the ways to everything else, and signing out everywhere.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../../services.ts'
import { listInvitationsOf } from '../../store/invitations.ts'
import { signOutEverywhere } from '../../store/sign-out-everywhere.ts'
import { redirectWithNotice } from '../notice.ts'
import { signedOutPath } from '../sign-out.ts'
import { makeAccountForm, readAccountForm } from './account-form.ts'
import { showAccountPage, visitorOf } from './require-visitor.ts'

export function profileRoutes(parts: Pick<Services, 'store' | 'keyRing' | 'clock'>) {
  async function show(request: FastifyRequest, reply: FastifyReply) {
    const [invitation] = await listInvitationsOf(parts.store.read, visitorOf(request).id, 1)
    return showAccountPage(reply, 'account/profile', {
      title: 'Your account',
      isInvited: invitation !== undefined,
      formToken: makeAccountForm(parts, request, 'sign out everywhere'),
    })
  }

  async function endEverywhere(request: FastifyRequest, reply: FastifyReply) {
    readAccountForm(parts, request, 'sign out everywhere')
    const userId = visitorOf(request).id
    await parts.store.transaction(db => signOutEverywhere(db, userId, parts.clock()))
    request.log.info({ code: 'signed-out-everywhere', userId }, 'a user signed out everywhere')
    // The cookie of this browser names a session that has ended.
    return redirectWithNotice(parts, reply, { path: signedOutPath, notice: { about: 'signed out everywhere' } })
  }

  return { show, endEverywhere }
}
