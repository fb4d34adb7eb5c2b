// POST /api/authorizeApplication: a user allows an application to sign them in, as on the consent page.
import type { FastifyRequest } from 'fastify'
import { noteAbout } from '../../observe/observe.ts'
import type { Services } from '../../services.ts'
import { ApplicationRemoved, findApplication } from '../../store/applications.ts'
import { rememberConsent } from '../../store/consents.ts'
import { type CallFields, readCallFields, requireField } from '../call-fields.ts'
import { findVisitor } from '../portal-session.ts'
import { authenticateUser } from './authenticate-user.ts'
import { permissionDenied, UserCallError } from './user-call-error.ts'

const fieldNames = ['userId', 'clientId', 'email', 'password'] as const

export function allowApplication(parts: Pick<Services, 'store' | 'passwords' | 'clock' | 'sourceOf'>) {
  const { store, clock } = parts

  return async (request: FastifyRequest) => {
    const fields = readCallFields(request, fieldNames)
    const userId = requireField(fields, 'userId')
    const clientId = requireField(fields, 'clientId')
    noteAbout(request, { claimedClientId: clientId })
    if ((await findSender(parts, request, fields)) !== userId) throw permissionDenied()
    const isPossible = /^[A-Za-z0-9_-]{1,64}$/.test(clientId)
    const application = isPossible ? await findApplication(store.read, clientId) : undefined
    if (!application) throw notFound()
    noteAbout(request, { knownClientId: clientId, userId })
    await store
      .write(db => rememberConsent(db, userId, clientId, clock()))
      .catch(error => {
        // Removed in this moment.
        throw error instanceof ApplicationRemoved ? notFound() : error
      })
    request.log.info({ code: 'consent-allow', clientId }, 'consent was given by a script')
    return { userId, clientId }
  }
}

function notFound(): UserCallError {
  return new UserCallError(404, { message: 'App not found.' }, { reason: 'client-unknown' })
}

/** By e-mail and password, or else by the portal's session. */
async function findSender(
  parts: Pick<Services, 'store' | 'passwords' | 'clock' | 'sourceOf'>,
  request: FastifyRequest,
  fields: CallFields,
): Promise<string | undefined> {
  if (fields.email !== undefined || fields.password !== undefined)
    return (await authenticateUser(parts, fields, parts.sourceOf(request))).userId
  return (await findVisitor(parts, request))?.id
}
