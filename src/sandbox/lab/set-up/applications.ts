// POST /lab/v1/applications: makes a client from its redirect URIs, and answers with all the settings that the client
// needs.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { createApplication } from '../../applications/applications.ts'
import { dataOfClient } from '../../applications/fields.ts'
import { makeGroup } from '../../groups/groups.ts'
import { answer, listOf, object, ref, text } from '../../http/describe.ts'
import { clientSettings } from '../../seed/client-settings.ts'
import { type MadePerson, markAsMade } from '../../store/for-lab/marks.ts'
import { findOwnGroup } from '../../store/groups.ts'
import type { Db } from '../../store/schema.ts'
import { refusalAnswers, storableText } from '../call-schemas.ts'
import { LabError } from '../lab-error.ts'
import { findPerson, personProperties } from './find-person.ts'
import { lifetimesBody } from './lifetimes.ts'
import { makePerson, type Person } from './people.ts'
import { inLabWords, type SetUpServices, setUpCall, suiteProperty } from './set-up.ts'

const uri = storableText(1, 2048)

const applicationBody = {
  type: 'object',
  additionalProperties: false,
  properties: {
    redirectUri: {
      ...uri,
      description:
        'The address to which the portal redirects the browser after a login. Send redirectUri or redirectUris.',
    },
    redirectUris: { type: 'array', minItems: 1, maxItems: 20, items: uri },
    name: storableText(1, 200),
    ...personProperties,
    groupId: storableText(1, 64, {
      description:
        'The id of one of the user’s groups. If groupId is left out, the call uses the oldest group that the user created. If the user has not created a group, the call creates one.',
    }),
    lifetimes: lifetimesBody,
    suite: suiteProperty,
  },
} as const satisfies JSONSchema

type ApplicationBody = FromSchema<typeof applicationBody>

/** The schema of the answer, under its name in the OpenAPI document. */
export const clientSchemas = {
  NewClient: object(
    {
      clientId: text,
      clientSecret: text,
      redirectUris: listOf(text),
      groupId: text,
      userId: { ...text, description: 'The id of the user who made the application.' },
      person: {
        ...ref('Person'),
        description:
          'The user that the call made, with the password. This field is missing if the call did not make a user.',
      },
      tokens: listOf(object({ id: text, token: text })),
      lifetimes: ref('Lifetimes'),
      settings: {
        ...object({ LOGIN_URL: text, API_URL: text, CLIENT_ID: text, CLIENT_SECRET: text, REDIRECT_URI: text }),
        description: 'The settings for the environment of the client.',
      },
      suite: text,
    },
    { optional: ['person'] },
  ),
}

type ApplicationServices = Pick<SetUpServices, 'addresses' | 'store' | 'keyRing' | 'passwords' | 'lifetimes' | 'clock'>

export function applicationCall(services: ApplicationServices) {
  const { addresses, store, lifetimes } = services
  return {
    schema: {
      ...setUpCall,
      operationId: 'makeClient',
      summary: 'Make an application with its client',
      description: 'If the call does not name a user, it also makes a user, who then owns the application.',
      body: applicationBody,
      response: { 201: answer('Everything that the client needs.', 'NewClient'), ...refusalAnswers(404, 413, 415) },
    },
    async handler(request: FastifyRequest<{ Body: ApplicationBody }>, reply: FastifyReply) {
      const { body } = request
      // Check the fields first, so that a call with wrong fields does not create a person.
      const data = await inLabWords(async () => readApplicationFields(body))
      const { owner, person } = await findOwner(services, body)
      const suite = body.suite ?? owner.suite ?? ''
      const groupId =
        body.groupId ?? (await findOwnGroup(store.read, owner.id)) ?? (await makeOwnGroup(services, owner.id, suite))
      const created = await inLabWords(() =>
        createApplication(services, { ...data, groupId }, { userId: owner.id, clientId: null }, (db, id) =>
          markAsMade(db, 'applications', id, suite),
        ),
      )
      const { application, clientSecret, tokens } = created
      const { id: clientId, redirectUris } = application
      if (body.lifetimes) lifetimes.set(clientId, body.lifetimes)
      return reply
        .status(201)
        .send({
          clientId,
          clientSecret,
          redirectUris,
          groupId,
          userId: owner.id,
          ...(person && { person }),
          tokens,
          lifetimes: lifetimes.of(clientId),
          settings: clientSettings(addresses, created),
          suite,
        })
    },
  }
}

/** Throws LabError or Refusal if a field is wrong. */
function readApplicationFields({ redirectUri, redirectUris = [], name = 'Test client' }: ApplicationBody) {
  const uris = redirectUri === undefined ? redirectUris : [redirectUri, ...redirectUris]
  if (uris.length === 0) throw new LabError(422, { redirectUri: ['Name at least one redirect URI.'] })
  // A comma in a redirect URI would split it into two URIs.
  if (uris.some(uri => uri.includes(',')))
    throw new LabError(422, { redirectUri: ['A redirect URI cannot contain a comma.'] })
  return dataOfClient({ name, redirectUris: uris })
}

/**
 * Finds the owner of the application. If the call does not name a person, the function makes a person, and returns this
 * person with the password in `person`.
 */
async function findOwner(
  services: ApplicationServices,
  { userId, email, groupId, suite }: ApplicationBody,
): Promise<{ owner: MadePerson; person?: Person }> {
  if (userId !== undefined || email !== undefined) return { owner: await findPerson(services, { userId, email }) }
  if (groupId !== undefined)
    throw new LabError(422, {
      userId: [
        'If you send groupId, also send the userId or the email of the user who makes the application. The user must be a member of the group.',
      ],
    })
  const person = await makePerson(services, suite === undefined ? {} : { suite })
  return { owner: await findPerson(services, { userId: person.userId }), person }
}

async function makeOwnGroup(services: ApplicationServices, userId: string, suite: string): Promise<string> {
  const mark = (db: Db, id: string) => markAsMade(db, 'groups', id, suite)
  return (await inLabWords(() => makeGroup(services, { name: 'Developers', userId }, mark))).id
}
