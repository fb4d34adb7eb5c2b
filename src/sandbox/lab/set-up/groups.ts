// POST /lab/v1/groups: a group with its members, without invitations.
import { randomBytes, randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { requireRoomForGroup } from '../../groups/limits.ts'
import { createGroup } from '../../store/groups.ts'
import { markAsMade } from '../../store/marks.ts'
import { addMember } from '../../store/memberships.ts'
import { lockUser } from '../../store/users.ts'
import { storable } from '../check-request.ts'
import { findPerson } from './find-person.ts'
import { inLabWords } from './in-lab-words.ts'
import type { SetUpParts } from './set-up-parts.ts'
import { suiteProperty } from './suite.ts'

export const groupBody = {
  type: 'object',
  additionalProperties: false,
  required: ['members'],
  properties: {
    name: { type: 'string', pattern: storable, minLength: 1, maxLength: 200 },
    members: {
      type: 'array',
      minItems: 1,
      maxItems: 20,
      items: { type: 'string', pattern: storable, minLength: 1, maxLength: 64 },
      description: 'Ids of people. The first one is the maker of the group.',
    },
    suite: suiteProperty,
  },
} as const satisfies JSONSchema

export function makeGroups(parts: Pick<SetUpParts, 'store' | 'clock'>) {
  const { store, clock } = parts

  return async (request: FastifyRequest<{ Body: FromSchema<typeof groupBody> }>, reply: FastifyReply) => {
    const { body } = request
    const { name = `Group ${randomBytes(4).toString('hex')}` } = body
    const people = await Promise.all([...new Set(body.members)].map(userId => findPerson(parts, { userId })))
    const [maker] = people
    const suite = body.suite ?? maker!.suite ?? ''
    const members = people.map(({ id }) => id)
    const group = await inLabWords(() =>
      store.transaction(async db => {
        // Always in the same order, so that two such calls cannot deadlock.
        for (const userId of members.toSorted()) {
          await lockUser(db, userId)
          await requireRoomForGroup(db, userId)
        }
        const made = await createGroup(db, name, maker!.id, clock())
        const link = { groupId: made.id, addedBy: maker!.id, now: clock() }
        for (const userId of members.slice(1)) await addMember(db, { ...link, id: randomUUID(), userId })
        await markAsMade(db, 'groups', made.id, suite)
        return made
      }),
    )
    return reply.status(201).send({ groupId: group.id, name, members, suite })
  }
}
