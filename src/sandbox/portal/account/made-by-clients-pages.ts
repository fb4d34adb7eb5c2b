// What a withdrawn application made in my name: a new secret for it, shown once, or removing it, after a question.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../../services.ts'
import { claimApplication, removeApplicationOf } from '../../store/applications.ts'
import { addClientSecret } from '../../store/client-secrets.ts'
import { finishAuthorization } from '../../store/finished-authorizations.ts'
import { endMadeByClient, listMadeByClients, type MadeByClient } from '../../store/made-by-clients.ts'
import type { Db } from '../../store/schema.ts'
import { hashToken, makeSecret } from '../../tokens/opaque-token.ts'
import { isId } from '../../values/is-id.ts'
import { PageError } from '../error-pages.ts'
import { accountFormLifetimeMs, makeAccountForm, readAccountForm } from './account-form.ts'
import { showAccountPage, visitorOf } from './require-visitor.ts'

const listPath = '/account/applications'
const back = { href: `${listPath}#made`, label: 'Back to your applications' }

export function madeByClientsRoutes(parts: Pick<Services, 'store' | 'keyRing' | 'clock'>) {
  const { store, clock } = parts

  async function renewSecret(request: FastifyRequest, reply: FastifyReply) {
    const { id: formId, fields } = readAccountForm(parts, request, 'renew')
    const userId = visitorOf(request).id
    const now = clock()
    const clientSecret = makeSecret()
    const made = await store.transaction(async db => {
      const made = await claimMade(db, userId, fields, now)
      // One form stands for all that is on the page.
      const id = `${formId} ${made.applicationId} ${made.clientId}`
      if (!(await finishAuthorization(db, id, new Date(now.getTime() + accountFormLifetimeMs))))
        throw new PageError(409, 'This secret has been shown already. Each is shown only once.', { next: back })
      await endMadeByClient(db, made)
      await addClientSecret(db, made.applicationId, hashToken(clientSecret), { maker: { userId, clientId: null }, now })
      return made
    })
    const { applicationId, clientId } = made
    request.log.info({ code: 'made-by-client-renewed', userId, appId: applicationId, clientId }, 'a secret was renewed')
    return showAccountPage(reply, 'account/secret-shown', { title: 'New secret', made, clientSecret })
  }

  async function confirmRemoval(request: FastifyRequest, reply: FastifyReply) {
    const made = await findMade(store.read, visitorOf(request).id, request.query as Record<string, unknown>, clock())
    // Also where a form led here that was sent after the session ended.
    if (!made) return reply.redirect(back.href, 303)
    return showAccountPage(reply, 'account/remove-made', {
      title: made.what === 'application' ? `Remove ${made.applicationName}?` : 'End these secrets?',
      made,
      formToken: makeAccountForm(parts, request, 'remove'),
    })
  }

  async function remove(request: FastifyRequest, reply: FastifyReply) {
    const { fields } = readAccountForm(parts, request, 'remove')
    const userId = visitorOf(request).id
    const { applicationId, clientId, what } = await store.transaction(async db => {
      const made = await claimMade(db, userId, fields, clock())
      if (made.what === 'application') await removeApplicationOf(db, made.applicationId, { userId, now: clock() })
      else if (made.hasOtherSecret) await endMadeByClient(db, made)
      else throw new PageError(409, 'These are its only secrets. Create a new one instead.', { next: back })
      return made
    })
    request.log.info({ code: 'made-by-client-removed', userId, appId: applicationId, clientId, what }, 'removed')
    return reply.redirect(back.href, 303)
  }

  return { renewSecret, confirmRemoval, remove }
}

/** Locked until the transaction ends, so that it is still what it was. Throws PageError 404. */
async function claimMade(db: Db, userId: string, fields: Record<string, unknown>, now: Date): Promise<MadeByClient> {
  const { applicationId } = fields
  const isThere = isId(applicationId) && (await claimApplication(db, applicationId, { userId, now }))
  const made = isThere ? await findMade(db, userId, fields, now) : undefined
  if (!made) throw new PageError(404, 'That is not there any more, or is not yours to change.', { next: back })
  return made
}

/** By the ids that a form or a link names. */
async function findMade(
  db: Db,
  userId: string,
  { applicationId, clientId }: Record<string, unknown>,
  now: Date,
): Promise<MadeByClient | undefined> {
  if (!isId(applicationId) || !(clientId === '' || isId(clientId))) return undefined
  const [made] = await listMadeByClients(db, userId, { now, limit: 1, id: { applicationId, clientId } })
  return made
}
