// GET /account shows a summary of the account, with links to the other account pages. The form on this page signs the
// user out everywhere.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../../services.ts'
import { listConsents } from '../../store/consents.ts'
import { listPortalGrants } from '../../store/grants.ts'
import { listInvitationsOf } from '../../store/invitations.ts'
import { listGroupsOf } from '../../store/memberships.ts'
import { listPortalSessions, signOutEverywhere } from '../../store/portal-sessions.ts'
import { redirectWithMessage } from '../message.ts'
import { signedOutPath } from '../sign-in.ts'
import { askFirst, makeAccountForm, readAccountForm, showAccountPage, visitorOf } from './account.ts'

const path = '/account'
/** How many entries each list on this page shows. */
const mostShown = 5

export function profileRoutes(services: Pick<Services, 'store' | 'keyRing' | 'clock'>) {
  const { store, clock } = services

  async function show(request: FastifyRequest, reply: FastifyReply) {
    const { id: userId, proof } = visitorOf(request)
    const [invitation] = await listInvitationsOf(store.read, userId, 1)
    const sessions = await listPortalSessions(store.read, userId, clock(), mostShown + 1)
    return showAccountPage(reply, 'account/profile', {
      title: 'Your account',
      isInvited: invitation !== undefined,
      mostShown,
      groups: await listGroupsOf(store.read, userId),
      applications: await listConsents(store.read, userId, mostShown + 1),
      sessions: sessions.map(({ idHash, startedAt }) => ({
        startedAt,
        isThis: 'sessionHash' in proof && proof.sessionHash === idHash,
      })),
      tokens: await listPortalGrants(store.read, userId, clock()),
    })
  }

  async function askToEndEverywhere(request: FastifyRequest, reply: FastifyReply) {
    return askFirst(reply, {
      title: 'Sign out everywhere?',
      question: ['Sign out everywhere', '?'],
      texts: [
        'Your sessions at the login portal end in every browser, including this one.',
        'Your access tokens are revoked.',
        'The applications that you signed in to cannot act as you until you sign in to them again.',
      ],
      stays: 'Anything that these applications created for you, such as other applications or secrets, keeps working.',
      action: path,
      fields: { formToken: makeAccountForm(services, request, 'sign out everywhere') },
      button: 'Sign out everywhere',
      cancel: path,
    })
  }

  async function endEverywhere(request: FastifyRequest, reply: FastifyReply) {
    readAccountForm(services, request, 'sign out everywhere')
    const userId = visitorOf(request).id
    await store.transaction(db => signOutEverywhere(db, userId, clock()))
    request.log.info({ code: 'signed-out-everywhere', user: userId }, 'a user signed out everywhere')
    // The browser can keep its cookie, because the session that this cookie names has ended.
    return redirectWithMessage(services, reply, { path: signedOutPath, message: { about: 'signed out everywhere' } })
  }

  return { show, askToEndEverywhere, endEverywhere }
}
