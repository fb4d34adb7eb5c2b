// Errors of the application API in its one dialect: `{"error":{"status","message"}}`.
import type { FastifyInstance } from 'fastify'
import { bounds } from '../groups/bounds.ts'
import { GroupRefusal, type GroupRefusalReason } from '../groups/group-refusal.ts'
import { storeFaultOf } from '../store/store-fault.ts'

/** Problems by field; a field may have several. */
export type FieldProblems = Record<string, string[]>

export class ApiError extends Error {
  readonly statusCode: number
  readonly body: string | FieldProblems
  readonly headers: Record<string, string>

  constructor(statusCode: number, body: string | FieldProblems, headers: Record<string, string> = {}) {
    super(typeof body === 'string' ? body : `bad fields: ${Object.keys(body).join(', ')}`)
    this.statusCode = statusCode
    this.body = body
    this.headers = headers
  }
}

export function toErrorBody(status: number, message: string | FieldProblems) {
  return { error: { status, message } }
}

/** Every error of this scope, its own or the framework's, leaves in the dialect; what is not ours to tell is a 500. */
export function answerInApiDialect(scope: FastifyInstance): void {
  scope.setErrorHandler((error, request, reply) => {
    const answer = toApiError(error)
    if (answer.statusCode >= 500)
      request.log.error({ code: 'api-failed', cause: (error as Error).message }, 'a call failed')
    else
      request.log.info(
        { code: 'api-refused', statusCode: answer.statusCode, reason: answer.message },
        'a call was refused',
      )
    return reply.status(answer.statusCode).headers(answer.headers).send(toErrorBody(answer.statusCode, answer.body))
  })
  scope.setNotFoundHandler(() => {
    throw new ApiError(404, 'Not Found')
  })
}

const { groupsOfUser, applicationsInGroup, bytesInGroup, openInvitations } = bounds

const groupRefusals: Record<GroupRefusalReason, [statusCode: number, body: string | FieldProblems]> = {
  'no group': [404, 'To identity not found.'],
  'no user': [404, 'From identity not found.'],
  'no link': [404, 'Link not found.'],
  'not allowed': [403, 'Permission denied'],
  'member already': [409, 'The user is a member of the group already.'],
  'invited already': [409, 'The user is invited to the group already.'],
  'last member': [
    409,
    'The last member of a group that has applications cannot leave it. Remove them, or invite somebody.',
  ],
  'too many groups': [422, { groupId: [`A person has at most ${groupsOfUser} groups. Leave one first.`] }],
  'too many invitations': [
    422,
    { groupId: [`A group has at most ${openInvitations} open invitations. Take one back first.`] },
  ],
  'too many applications': [
    422,
    { groupId: [`A group has at most ${applicationsInGroup} applications. Remove one, or use another group.`] },
  ],
  'too many bytes': [
    422,
    {
      groupId: [
        `The fields of a group's applications take at most ${bytesInGroup / 1024} KiB as JSON. Shorten some, or use another group.`,
      ],
    },
  ],
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof GroupRefusal) return new ApiError(...groupRefusals[error.reason])
  if (storeFaultOf(error)) return new ApiError(503, 'Service Unavailable', { 'retry-after': '2' })
  const { statusCode } = error as { statusCode?: number }
  if (statusCode === 413) return new ApiError(413, 'The request body is larger than 64 KiB.')
  if (statusCode === 415) return new ApiError(415, 'Send the body as application/json.')
  if (statusCode && statusCode < 500) return new ApiError(statusCode, 'The request cannot be read.')
  return new ApiError(500, 'Internal Server Error')
}
