// The errors of the application API. Every error answer has this form: `{"error":{"status","message"}}`.
import type { FastifyInstance } from 'fastify'
import { limits } from '../groups/limits.ts'
import { type CommonReason, classifyError, reportRefusal } from '../http/report-refusal.ts'
import type { Reason } from '../observe/reasons.ts'
import { type AnswerTable, answerIn, type FieldProblems, Refusal } from '../observe/refusal.ts'

/** A refusal together with the API's answer. The answer must not contain a secret. */
export class ApiError extends Refusal {
  readonly statusCode: number
  readonly body: string | FieldProblems
  readonly headers: Record<string, string>

  constructor(
    statusCode: number,
    body: string | FieldProblems,
    { reason, headers = {} }: { reason: Reason; headers?: Record<string, string> },
  ) {
    super(reason)
    this.message = typeof body === 'string' ? body : `bad fields: ${Object.keys(body).join(', ')}`
    this.statusCode = statusCode
    this.body = body
    this.headers = headers
  }
}

export function toErrorBody(status: number, message: string | FieldProblems) {
  return { error: { status, message } }
}

/**
 * After this call, the scope sends every error, including Fastify's errors, in the form of the API's errors. If callers
 * must not see the details of an error, the answer has the status 500.
 */
export function answerInApiDialect(scope: FastifyInstance): void {
  scope.setErrorHandler((error, _request, reply) => {
    const answer = toApiError(error)
    reportRefusal(reply, error, answer, 'api')
    return reply.status(answer.statusCode).headers(answer.headers).send(toErrorBody(answer.statusCode, answer.body))
  })
  scope.setNotFoundHandler(() => {
    throw new ApiError(404, 'Not Found', { reason: 'not-found' })
  })
}

const { groupsOfUser, applicationsInGroup, bytesInGroup, openInvitations, invitationsADay } = limits

/** The real platform uses the same words. */
export const permissionDenied = 'Permission denied'

/** The status and the message of the API's answer, for each reason why the domain code refuses a request. */
const answers: AnswerTable<[statusCode: number, body: string | FieldProblems]> = {
  'fields-invalid': ({ problems = {} }) => [422, problems],
  'not-found': [404, 'App not found.'],
  'method-not-allowed': [405, 'Method Not Allowed'],
  'changed-meanwhile': [412, 'App was changed in the meantime.'],
  'group-unknown': ({ field }) => [404, field === 'groupId' ? 'Group not found.' : 'To identity not found.'],
  'not-allowed': ({ field, managed }) => {
    if (managed !== undefined) return [403, refusalToRemove(managed)]
    const isCreation = field === 'groupId'
    return [403, isCreation ? 'Could not create App. User is not a member of the group.' : permissionDenied]
  },
  'token-of-another-kind': [403, permissionDenied],
  'user-unknown': [404, 'From identity not found.'],
  'link-unknown': [404, 'Link not found.'],
  'member-already': [409, 'The user is already a member of the group.'],
  'invited-already': [409, 'The user has already been invited to the group.'],
  'last-member': [
    409,
    'You are the last member of this group, and the group has applications. Remove the applications first, or wait until another person has joined the group.',
  ],
  'too-many-groups': [422, { groupId: [`A person can be in at most ${groupsOfUser} groups. Leave a group first.`] }],
  'too-many-invitations': [
    422,
    { groupId: [`A group has at most ${openInvitations} open invitations. Cancel an invitation first.`] },
  ],
  'invited-too-often': [
    422,
    {
      groupId: [
        `A person can invite the same person at most ${invitationsADay} times in 24 hours. Try again tomorrow.`,
      ],
    },
  ],
  'too-many-applications': [
    422,
    {
      groupId: [
        `A group has at most ${applicationsInGroup} applications. Remove an application, or use another group.`,
      ],
    },
  ],
  'too-many-bytes': [
    422,
    {
      groupId: [
        `The fields of all applications of a group together take at most ${bytesInGroup / 1024} KiB as JSON. Shorten some fields, or use another group.`,
      ],
    },
  ],
}

/** The message of a refused removal, in the words of the real platform. */
export function refusalToRemove(appId: string): string {
  return `Forbidden: You don't have 'manage' permission on '${appId}'`
}

/** The API's messages for errors that can also happen on the portal and in the laboratory. */
const commonMessages: Record<CommonReason, string> = {
  busy: 'Service Unavailable',
  'store-unavailable': 'Service Unavailable',
  'body-too-large': 'The request body is larger than 64 KiB.',
  'content-type-unsupported': 'Send the body as application/json.',
  'body-unreadable': 'The request cannot be read.',
  'host-repeated': 'Send one Host header.',
  internal: 'Internal Server Error',
}

export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const answer = error instanceof Refusal && answerIn(answers, error)
  if (answer) return new ApiError(...answer, { reason: error.reason })
  const { statusCode, reason } = classifyError(error)
  return new ApiError(statusCode, commonMessages[reason], { reason })
}
