// The routes for applications (rule api-operations). Each route has schemas for its requests and answers, and calls the
// domain code.
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  addSecret,
  type CreatedApplication,
  changeApplication,
  createApplication,
  listReadable,
  readApplication,
  removeApplication,
  requireDeveloper,
} from '../applications/applications.ts'
import {
  type ChangedApplication,
  findChangeProblems,
  findFieldProblems,
  type NewApplication,
} from '../applications/fields.ts'
import type { Services } from '../services.ts'
import type { Application } from '../store/applications.ts'
import { listSecretTimes } from '../store/client-secrets.ts'
import { appTokenLifetime } from '../tokens/access-token.ts'
import { readData, requireBody } from './body.ts'
import { createListTurns } from './lists-in-turn.ts'
import { callerOf, makerOf } from './require-token.ts'
import { toAppJson, toClientJson, toTime, writeCollection } from './to-json.ts'

interface OneApplication {
  Params: { app_id: string }
}

export function applicationRoutes(services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>) {
  const inTurn = createListTurns()

  async function list(request: FastifyRequest, reply: FastifyReply) {
    const caller = callerOf(request)
    const list = writeCollection(inTurn(caller, listReadable(services, caller)), toAppJson)
    return reply.type('application/json; charset=utf-8').send(list)
  }

  async function create(request: FastifyRequest, reply: FastifyReply) {
    const data = readData<NewApplication>(request, findFieldProblems)
    const created = await createApplication(services, data, makerOf(request))
    logChange(request, 'application-created', created.application.id)
    return reply.status(201).header('etag', entityTagOf(created.application)).send(toCreatedJson(created))
  }

  async function show(request: FastifyRequest<OneApplication>, reply: FastifyReply) {
    const application = await readApplication(services, request.params.app_id, callerOf(request))
    const secretTimes = await listSecretTimes(services.store.read, application.id)
    reply.header('etag', entityTagOf(application)).header('client-secrets-created', secretTimes.map(toTime).join(', '))
    return toAppWithClient(application)
  }

  async function update(request: FastifyRequest<OneApplication>) {
    const { app_id: id } = request.params
    const { userId } = callerOf(request)
    requireBody(request)
    // Check the caller's rights first: a caller without the right to change the application must not learn which fields
    // are wrong.
    await requireDeveloper(services, id, userId)
    const change = readData<ChangedApplication>(request, findChangeProblems)
    const application = await changeApplication(services, id, change, { userId, ...conditionOf(request) })
    logChange(request, 'application-updated', id)
    return toAppWithClient(application)
  }

  async function remove(request: FastifyRequest<OneApplication>, reply: FastifyReply) {
    const { app_id: id } = request.params
    await removeApplication(services, id, { userId: callerOf(request).userId, ...conditionOf(request) })
    logChange(request, 'application-removed', id)
    return reply.status(204).send()
  }

  async function renewSecret(request: FastifyRequest<OneApplication>, reply: FastifyReply) {
    const { app_id: id } = request.params
    const clientSecret = await addSecret(services, id, makerOf(request))
    logChange(request, 'client-secret-created', id)
    return reply.status(201).send({ clientSecret })
  }

  return { list, create, show, update, remove, renewSecret }
}

function logChange(request: FastifyRequest, code: string, appId: string): void {
  request.log.info({ code, user: callerOf(request).userId, appId }, 'an application was changed')
}

function toAppWithClient(application: Application) {
  return { ...toAppJson(application), client: toClientJson(application) }
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

/**
 * A strong ETag (RFC 9110 8.8.3): two answers to Get with the same ETag are equal byte for byte. The answer to Create
 * has the ETag of the new application (RFC 9110 15.3.2), although this answer also contains the secret and the tokens.
 */
function entityTagOf({ version }: Pick<Application, 'version'>): string {
  return `"${version}"`
}

/**
 * Reads the condition in the If-Match header (RFC 9110 13.1.1). The condition is true if the header is missing, is `*`,
 * or contains the ETag of the given version. The comparison is strong: a weak tag never matches. The function splits
 * the header at every comma, even inside a tag. This is safe: our own tags do not contain commas. A piece of a split
 * tag never equals one of our tags, because the piece lacks a quotation mark at one end or at both ends.
 */
function conditionOf({ headers }: FastifyRequest): { isKnownVersion: (version: number) => boolean } {
  const tags = headers['if-match']?.split(',').map(tag => tag.trim())
  const isAny = tags === undefined || (tags.length === 1 && tags[0] === '*')
  return { isKnownVersion: version => isAny || tags.includes(entityTagOf({ version })) }
}
