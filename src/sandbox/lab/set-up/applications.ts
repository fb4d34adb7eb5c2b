// POST /lab/v1/applications: makes a client from its redirect URIs, and answers with all the settings that it needs.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { createApplication } from '../../applications/applications.ts'
import { dataOfClient } from '../../applications/fields.ts'
import { makeGroup } from '../../groups/groups.ts'
import { clientSettings } from '../../seed/client-settings.ts'
import { type MadePerson, markAsMade } from '../../store/marks.ts'
import type { Db } from '../../store/schema.ts'
import { findOwnGroup } from '../../store/seeds.ts'
import { storable } from '../check-request.ts'
import { LabError } from '../lab-error.ts'
import { findPerson, personProperties } from './find-person.ts'
import { inLabWords } from './in-lab-words.ts'
import { lifetimesBody } from './lifetimes.ts'
import { makePerson, type Person } from './people.ts'
import type { SetUpParts } from './set-up-parts.ts'
import { suiteProperty } from './suite.ts'

const uri = { type: 'string', pattern: storable, minLength: 1, maxLength: 2048 } as const

export const applicationBody = {
  type: 'object',
  additionalProperties: false,
  properties: {
    redirectUri: { ...uri, description: 'Where the portal leads back to: this or redirectUris.' },
    redirectUris: { type: 'array', minItems: 1, maxItems: 20, items: uri },
    name: { type: 'string', pattern: storable, minLength: 1, maxLength: 200 },
    ...personProperties,
    groupId: {
      type: 'string',
      pattern: storable,
      minLength: 1,
      maxLength: 64,
      description:
        'A group of the person. Without one it is the oldest of their own making; where there is none, one is made.',
    },
    lifetimes: lifetimesBody,
    suite: suiteProperty,
  },
} as const satisfies JSONSchema

type NewApplication = FromSchema<typeof applicationBody>

type ApplicationParts = Pick<SetUpParts, 'addresses' | 'store' | 'keyRing' | 'passwords' | 'lifetimes' | 'clock'>

export function makeApplications(parts: ApplicationParts) {
  const { addresses, store, lifetimes } = parts

  return async (request: FastifyRequest<{ Body: NewApplication }>, reply: FastifyReply) => {
    const { body } = request
    // Everything that can be refused is checked before a person is made.
    const data = await inLabWords(async () => readFields(body))
    const { owner, person } = await findOwner(parts, body)
    const suite = body.suite ?? owner.suite ?? ''
    const groupId =
      body.groupId ?? (await findOwnGroup(store.read, owner.id)) ?? (await makeOwnGroup(parts, owner.id, suite))
    const created = await inLabWords(() =>
      createApplication(parts, { ...data, groupId }, { userId: owner.id, clientId: null }, (db, id) =>
        markAsMade(db, 'applications', id, suite),
      ),
    )
    const { application, clientSecret, tokens } = created
    const { id: clientId, redirectUris } = application
    if (body.lifetimes) lifetimes.set(clientId, body.lifetimes)
    const answer = { clientId, clientSecret, redirectUris, groupId, userId: owner.id, ...(person && { person }) }
    const settings = clientSettings(addresses, created)
    return reply.status(201).send({ ...answer, tokens, lifetimes: lifetimes.of(clientId), settings, suite })
  }
}

/** Throws LabError and ApiError 422. */
function readFields({ redirectUri, redirectUris = [], name = 'Test client' }: NewApplication) {
  const uris = redirectUri === undefined ? redirectUris : [redirectUri, ...redirectUris]
  if (uris.length === 0) throw new LabError(422, { redirectUri: ['Say where the portal is to lead back to.'] })
  // A URI with a comma would be read as two.
  if (uris.some(uri => uri.includes(','))) throw new LabError(422, { redirectUri: ['It cannot hold a comma.'] })
  return dataOfClient({ name, redirectUris: uris })
}

/** `person` is set, with the password, if the call made one. */
async function findOwner(
  parts: ApplicationParts,
  { userId, email, groupId, suite }: NewApplication,
): Promise<{ owner: MadePerson; person?: Person }> {
  if (userId !== undefined || email !== undefined) return { owner: await findPerson(parts, { userId, email }) }
  if (groupId !== undefined)
    throw new LabError(422, { userId: ['With groupId, say who of the group makes the application.'] })
  const person = await makePerson(parts, suite === undefined ? {} : { suite })
  return { owner: await findPerson(parts, { userId: person.userId }), person }
}

async function makeOwnGroup(parts: ApplicationParts, userId: string, suite: string): Promise<string> {
  const mark = (db: Db, id: string) => markAsMade(db, 'groups', id, suite)
  return (await inLabWords(() => makeGroup(parts, { name: 'Developers', userId }, mark))).id
}
