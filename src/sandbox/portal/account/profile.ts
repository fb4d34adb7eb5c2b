// GET /account: shows the user's details and links to the other pages of the account. Its form signs out everywhere.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../../services.ts'
import { listInvitationsOf } from '../../store/invitations.ts'
import { signOutEverywhere } from '../../store/portal-sessions.ts'
import { redirectWithNotice } from '../notice.ts'
import { signedOutPath } from '../sign-in.ts'
import { makeAccountForm, readAccountForm, showAccountPage, visitorOf } from './account.ts'

export function profileRoutes(services: Pick<Services, 'store' | 'keyRing' | 'clock'>) {
  const { store, clock } = services

  async function show(request: FastifyRequest, reply: FastifyReply) {
    const [invitation] = await listInvitationsOf(store.read, visitorOf(request).id, 1)
    return showAccountPage(reply, 'account/profile', {
      title: 'Your account',
      isInvited: invitation !== undefined,
      formToken: makeAccountForm(services, request, 'sign out everywhere'),
    })
  }

  async function endEverywhere(request: FastifyRequest, reply: FastifyReply) {
    readAccountForm(services, request, 'sign out everywhere')
    const userId = visitorOf(request).id
    await store.transaction(db => signOutEverywhere(db, userId, clock()))
    request.log.info({ code: 'signed-out-everywhere', userId }, 'a user signed out everywhere')
    // The cookie of this browser names a session that has ended.
    return redirectWithNotice(services, reply, { path: signedOutPath, notice: { about: 'signed out everywhere' } })
  }

  return { show, endEverywhere }
}
