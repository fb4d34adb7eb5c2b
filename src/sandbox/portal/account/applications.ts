// The page with the applications that the visitor has allowed. If the visitor withdraws the consent for an application,
// the application's grants end, but the records that it has made stay. The page then lists these records, and the
// visitor can remove a record or renew its secret.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { withdrawConsent } from '../../grants/consents.ts'
import { findMade, removeMadeByClient, renewMadeByClient } from '../../grants/made-by-clients.ts'
import type { Services } from '../../services.ts'
import { findApplication } from '../../store/applications.ts'
import { findAllowedName, listConsents } from '../../store/consents.ts'
import { listMadeByClients } from '../../store/made-by-clients.ts'
import { isId } from '../../values/is-id.ts'
import { redirectWithMessage, takeMessage } from '../message.ts'
import {
  accountFormLifetimeMs,
  askFirst,
  makeAccountForm,
  readAccountForm,
  showAccountPage,
  visitorOf,
} from './account.ts'

const path = '/account/applications'
export const madePath = `${path}#made`
// The maximum number of entries in each list. Nobody reads a longer list. Withdrawn and removed entries disappear.
// Renewed entries disappear or move to the end of the list. The visitor can therefore reach all entries.
const mostShown = 100

interface OneClient {
  Params: { client_id: string }
}

export function allowedApplicationsRoutes(services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>) {
  const { store, clock } = services

  async function show(request: FastifyRequest, reply: FastifyReply) {
    const userId = visitorOf(request).id
    const applications = await listConsents(store.read, userId, mostShown + 1)
    const made = await listMadeByClients(store.read, userId, { now: clock(), limit: mostShown + 1 })
    const message = takeMessage(services, reply, { path, userId })
    return showAccountPage(reply, 'account/applications', {
      title: 'Applications',
      labUrl: services.addresses.labUrl,
      applications: applications.slice(0, mostShown),
      hasMore: applications.length > mostShown,
      withdrawn: message?.about === 'withdrawn' ? await findApplication(store.read, message.clientId) : undefined,
      made: made.slice(0, mostShown),
      hasMoreMade: made.length > mostShown,
      renewToken: makeAccountForm(services, request, 'renew'),
    })
  }

  async function askToWithdraw(request: FastifyRequest<OneClient>, reply: FastifyReply) {
    const { client_id: clientId } = request.params
    const name = isId(clientId) ? await findAllowedName(store.read, visitorOf(request).id, clientId) : undefined
    if (name === undefined) return reply.redirect(path, 303)
    return askFirst(reply, {
      title: 'Withdraw access?',
      question: ['Withdraw access from “', '”?'],
      name,
      texts: [
        'The application can no longer act as you. The next time you sign in to the application, the portal asks you for your consent again.',
      ],
      stays:
        'The applications that it created for you stay. The next page lists these applications. On that page, you can renew their secrets or remove the applications.',
      action: path,
      fields: { formToken: makeAccountForm(services, request, 'withdraw'), clientId },
      button: 'Withdraw access',
      cancel: path,
    })
  }

  async function withdraw(request: FastifyRequest, reply: FastifyReply) {
    const { fields } = readAccountForm(services, request, 'withdraw')
    const clientId = fields.clientId ?? ''
    const userId = visitorOf(request).id
    // The message shows the name of the application. If there was no consent, show no message. Otherwise, a visitor could
    // send any client ID and read the name.
    if (!(await withdrawConsent(services, { userId, clientId }))) return reply.redirect(path, 303)
    request.log.info({ code: 'consent-withdrawn', clientId }, 'a consent was withdrawn')
    return redirectWithMessage(services, reply, { path, userId, message: { about: 'withdrawn', clientId } })
  }

  async function renewSecret(request: FastifyRequest, reply: FastifyReply) {
    const { id, fields } = readAccountForm(services, request, 'renew')
    const userId = visitorOf(request).id
    const form = { id, expiresAt: new Date(clock().getTime() + accountFormLifetimeMs) }
    const { made, clientSecret } = await renewMadeByClient(services, { userId, ids: fields, form })
    const { applicationId, clientId } = made
    request.log.info(
      { code: 'made-by-client-renewed', user: userId, appId: applicationId, clientId },
      'a secret was renewed',
    )
    return showAccountPage(reply, 'account/secret-shown', { title: 'New client secret', made, clientSecret })
  }

  async function confirmRemoval(request: FastifyRequest, reply: FastifyReply) {
    const ids = request.query as Record<string, unknown>
    const made = await findMade(store.read, { userId: visitorOf(request).id, ids, now: clock() })
    // The address may contain no ids. If a visitor sends the form after the session has ended, the sign-in page leads
    // to this address without the ids. Also, the only secret of an application cannot be revoked.
    if (!made || (made.what !== 'application' && !made.hasOtherSecret)) return reply.redirect(madePath, 303)
    return showAccountPage(reply, 'account/remove-made', {
      title: made.what === 'application' ? `Remove ${made.applicationName}?` : 'Revoke this secret?',
      width: 'narrow',
      made,
      formToken: makeAccountForm(services, request, 'remove'),
    })
  }

  async function remove(request: FastifyRequest, reply: FastifyReply) {
    const { fields } = readAccountForm(services, request, 'remove')
    const userId = visitorOf(request).id
    const { applicationId, clientId, what } = await removeMadeByClient(services, { userId, ids: fields })
    request.log.info({ code: 'made-by-client-removed', user: userId, appId: applicationId, clientId, what }, 'removed')
    return reply.redirect(madePath, 303)
  }

  return { show, askToWithdraw, withdraw, renewSecret, confirmRemoval, remove }
}
