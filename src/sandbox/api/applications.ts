// The application API itself (specification 4.1).
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../services.ts'
import { appTokenLifetime } from '../tokens/access-token.ts'
import { isId } from '../values/is-id.ts'
import { ApiError } from './api-error.ts'
import { readNewApplication } from './application-fields.ts'
import { toAppJson, toClientJson, writeCollection } from './application-json.ts'
import { type CreatedApplication, createApplication } from './create-application.ts'
import { entityTagOf } from './entity-tag.ts'
import { bodyOf } from './json-body.ts'
import { createListTurns } from './lists-in-turn.ts'
import { findReadable, listReadable } from './readable-applications.ts'
import { refreshSecret } from './refresh-secret.ts'
import { removeApplication } from './remove-application.ts'
import { callerOf, makerOf } from './require-token.ts'
import { updateApplication } from './update-application.ts'

interface OneApplication {
  Params: { app_id: string }
}

export function applicationRoutes(parts: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>) {
  const inTurn = createListTurns()

  async function list(request: FastifyRequest, reply: FastifyReply) {
    const caller = callerOf(request)
    const list = writeCollection(inTurn(caller, listReadable(parts, caller)), toAppJson)
    return reply.type('application/json; charset=utf-8').send(list)
  }

  async function create(request: FastifyRequest, reply: FastifyReply) {
    const { userId } = callerOf(request)
    const created = await createApplication(parts, readNewApplication(bodyOf(request)), makerOf(request))
    request.log.info({ code: 'application-created', userId, appId: created.application.id }, 'created')
    return reply.status(201).header('etag', entityTagOf(created.application)).send(toCreatedJson(created))
  }

  async function show(request: FastifyRequest<OneApplication>, reply: FastifyReply) {
    const application = await findReadable(parts, readAppId(request.params), callerOf(request))
    // Somebody else's application is answered like one that is not there.
    if (!application) throw new ApiError(404, 'App not found.')
    reply.header('etag', entityTagOf(application))
    return { ...toAppJson(application), client: toClientJson(application) }
  }

  async function update(request: FastifyRequest<OneApplication>) {
    const appId = readAppId(request.params)
    const { userId } = callerOf(request)
    const change = { body: bodyOf(request), userId, ifMatch: request.headers['if-match'] }
    const application = await updateApplication(parts, appId, change)
    request.log.info({ code: 'application-updated', userId, appId }, 'updated')
    return { ...toAppJson(application), client: toClientJson(application) }
  }

  async function remove(request: FastifyRequest<OneApplication>, reply: FastifyReply) {
    const appId = readAppId(request.params)
    const { userId } = callerOf(request)
    await removeApplication(parts, appId, { userId, ifMatch: request.headers['if-match'] })
    request.log.info({ code: 'application-removed', userId, appId }, 'removed')
    return reply.status(204).send()
  }

  async function renewSecret(request: FastifyRequest<OneApplication>, reply: FastifyReply) {
    const appId = readAppId(request.params)
    const { userId } = callerOf(request)
    const clientSecret = await refreshSecret(parts, appId, makerOf(request))
    request.log.info({ code: 'client-secret-created', userId, appId }, 'a new client secret')
    return reply.status(201).send({ clientSecret })
  }

  return { list, create, show, update, remove, renewSecret }
}

/** What cannot be an id at all is not looked for in the store. */
function readAppId({ app_id: appId }: OneApplication['Params']): string {
  if (!isId(appId)) throw new ApiError(404, 'App not found.')
  return appId
}

function toCreatedJson({ application, clientSecret, tokens }: CreatedApplication) {
  return {
    ...toAppJson(application),
    client: toClientJson(application, [clientSecret]),
    tokens: tokens.map(({ id, token }) => ({
      id,
      token,
      access_token: token,
      expires_in: appTokenLifetime,
      token_type: 'Bearer',
    })),
  }
}
