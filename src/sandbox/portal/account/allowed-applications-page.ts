// The applications I allowed, and withdrawing: it ends what the application was given, and it has to ask again. What it
// made stays, and stands on the page from then on.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../../services.ts'
import { findApplication } from '../../store/applications.ts'
import { listConsents, withdrawConsent } from '../../store/consents.ts'
import { listMadeByClients } from '../../store/made-by-clients.ts'
import { revokeGrantsOf } from '../../store/user-grants.ts'
import { redirectWithNotice, takeNotice } from '../notice.ts'
import { makeAccountForm, readAccountForm } from './account-form.ts'
import { showAccountPage, visitorOf } from './require-visitor.ts'

const path = '/account/applications'
// Of each list: a page is read by a person. What is withdrawn or removed leaves it, and what is renewed goes to its end.
const shown = 100

export function allowedApplicationsRoutes(parts: Pick<Services, 'store' | 'keyRing' | 'clock'>) {
  const { store, clock } = parts

  async function show(request: FastifyRequest, reply: FastifyReply) {
    const userId = visitorOf(request).id
    const applications = await listConsents(store.read, userId, shown + 1)
    const made = await listMadeByClients(store.read, userId, { now: clock(), limit: shown + 1 })
    const notice = takeNotice(parts, reply, { path, userId })
    return showAccountPage(reply, 'account/applications', {
      title: 'Applications you allowed',
      applications: applications.slice(0, shown),
      hasMore: applications.length > shown,
      withdrawn: notice?.about === 'withdrawn' ? await findApplication(store.read, notice.clientId) : undefined,
      formToken: makeAccountForm(parts, request, 'withdraw'),
      made: made.slice(0, shown),
      hasMoreMade: made.length > shown,
      renewToken: makeAccountForm(parts, request, 'renew'),
    })
  }

  async function withdraw(request: FastifyRequest, reply: FastifyReply) {
    const { fields } = readAccountForm(parts, request, 'withdraw')
    const clientId = fields.clientId ?? ''
    const userId = visitorOf(request).id
    // Text that is no id is in no row, and PostgreSQL takes no NUL.
    if (!/^[\w-]{1,64}$/.test(clientId)) return reply.redirect(path, 303)
    await store.transaction(async db => {
      await withdrawConsent(db, userId, clientId)
      await revokeGrantsOf(db, userId, clientId, clock())
    })
    request.log.info({ code: 'consent-withdrawn', clientId }, 'a consent was withdrawn')
    return redirectWithNotice(parts, reply, { path, userId, notice: { about: 'withdrawn', clientId } })
  }

  return { show, withdraw }
}
