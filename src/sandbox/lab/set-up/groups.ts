// POST /lab/v1/groups: makes a group with its members, without invitations.
import { randomBytes, randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { requireGroupName } from '../../groups/groups.ts'
import { longestGroupName, requireRoomForGroup } from '../../groups/limits.ts'
import { answer, listOf, object, text } from '../../http/describe.ts'
import { markAsMade } from '../../store/for-lab/marks.ts'
import { createGroup } from '../../store/groups.ts'
import { addMember } from '../../store/memberships.ts'
import { lockUser } from '../../store/users.ts'
import { refusalAnswers, storableText } from '../call-schemas.ts'
import { findPerson } from './find-person.ts'
import { inLabWords, type SetUpServices, setUpCall, suiteProperty } from './set-up.ts'

const groupBody = {
  type: 'object',
  additionalProperties: false,
  required: ['members'],
  properties: {
    name: storableText(1, longestGroupName),
    members: {
      type: 'array',
      minItems: 1,
      maxItems: 20,
      items: storableText(1, 64),
      description: 'The ids of the members. The first member is the creator of the group.',
    },
    suite: suiteProperty,
  },
} as const satisfies JSONSchema

/** The schema of the answer, under its name in the OpenAPI document. */
export const groupSchemas = { Group: object({ groupId: text, name: text, members: listOf(text), suite: text }) }

export function groupCall({ store, clock }: Pick<SetUpServices, 'store' | 'clock'>) {
  return {
    schema: {
      ...setUpCall,
      operationId: 'makeGroup',
      summary: 'Make a group with its members',
      body: groupBody,
      response: { 201: answer('The group.', 'Group'), ...refusalAnswers(404, 413, 415) },
    },
    async handler(request: FastifyRequest<{ Body: FromSchema<typeof groupBody> }>, reply: FastifyReply) {
      const { body } = request
      const { name = `Group ${randomBytes(4).toString('hex')}` } = body
      const people = await Promise.all([...new Set(body.members)].map(userId => findPerson({ store }, { userId })))
      const [maker] = people
      const suite = body.suite ?? maker!.suite ?? ''
      const members = people.map(({ id }) => id)
      const group = await inLabWords(async () => {
        requireGroupName(name)
        return store.transaction(async db => {
          // Always lock the members in the same order. Otherwise two calls with the same members could wait for each
          // other forever.
          for (const userId of members.toSorted()) {
            await lockUser(db, userId)
            await requireRoomForGroup(db, userId)
          }
          const made = await createGroup(db, name, maker!.id, clock())
          const link = { groupId: made.id, addedBy: maker!.id, now: clock() }
          for (const userId of members.slice(1)) await addMember(db, { ...link, id: randomUUID(), userId })
          await markAsMade(db, 'groups', made.id, suite)
          return made
        })
      })
      return reply.status(201).send({ groupId: group.id, name, members, suite })
    },
  }
}
