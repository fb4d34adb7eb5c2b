// POST /lab/v1/applications: a client. Its redirect URIs go in, and everything that it needs as settings comes out.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readNewApplication } from '../../api/application-fields.ts'
import { createApplication } from '../../api/create-application.ts'
import { makeGroup } from '../../groups/make-group.ts'
import { findOwnGroup } from '../../store/seeds.ts'
import { LabError } from '../lab-error.ts'
import { type ObjectSchema, readBody } from '../read-body.ts'
import { findPerson, type PersonFields, personProperties } from './find-person.ts'
import { inLabWords } from './in-lab-words.ts'
import { lifetimesBody, type NewLifetimes } from './lifetimes.ts'
import { makePerson, type Person } from './people.ts'
import type { SetUpParts } from './set-up-parts.ts'
import { suiteProperty } from './suite.ts'

const uri = { type: 'string', minLength: 1, maxLength: 2048 } as const

export const applicationBody: ObjectSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    redirectUri: { ...uri, description: 'Where the portal leads back to: this or redirectUris.' },
    redirectUris: { type: 'array', minItems: 1, maxItems: 20, items: uri },
    name: { type: 'string', minLength: 1, maxLength: 200 },
    ...personProperties,
    groupId: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      description:
        'A group of the person. Without one it is the oldest of their own making; where there is none, one is made.',
    },
    lifetimes: lifetimesBody,
    suite: suiteProperty,
  },
}

interface NewApplication extends PersonFields {
  redirectUri?: string
  redirectUris?: string[]
  name?: string
  groupId?: string
  lifetimes?: NewLifetimes
  suite?: string
}

export function makeApplications(
  parts: Pick<SetUpParts, 'addresses' | 'store' | 'keyRing' | 'passwords' | 'lifetimes' | 'clock'>,
) {
  const { addresses, store, lifetimes } = parts

  return async (request: FastifyRequest, reply: FastifyReply) => {
    const {
      redirectUri,
      redirectUris = [],
      name = 'Test client',
      ...body
    } = readBody<NewApplication>(request.body, applicationBody)
    const uris = redirectUri === undefined ? redirectUris : [redirectUri, ...redirectUris]
    if (uris.length === 0) throw new LabError(422, { redirectUri: ['Say where the portal is to lead back to.'] })
    if (uris.some(uri => uri.includes(','))) throw new LabError(422, { redirectUri: ['It cannot hold a comma.'] })
    // The rest of the fields by the rules of the API, before anybody is made.
    const texts = { description: '', webPageUrl: '', iconUrl: '', privacyPolicyUrl: '', scopes: '', defaultScopes: '' }
    const fields = await inLabWords(async () =>
      readNewApplication({ ...texts, name, redirectUris: uris.join(), groupId: body.groupId ?? '-' }),
    )
    const isNamed = body.userId !== undefined || body.email !== undefined
    if (!isNamed && body.groupId !== undefined)
      throw new LabError(422, { userId: ['With groupId, say who of the group makes the application.'] })
    const person: Person | undefined = isNamed
      ? undefined
      : await makePerson(parts, { ...(body.suite && { suite: body.suite }) })
    const owner = await findPerson(parts, person ? { userId: person.userId } : body)
    const suite = body.suite ?? owner.suite ?? ''
    const groupId =
      body.groupId ?? (await findOwnGroup(store.read, owner.id)) ?? (await makeOwnGroup(parts, owner.id, suite))
    const created = await inLabWords(() =>
      createApplication(parts, { ...fields, groupId }, { userId: owner.id, clientId: null }, { suite }),
    )
    const { application, clientSecret, tokens } = created
    if (body.lifetimes) lifetimes.set(application.id, body.lifetimes)
    return reply
      .status(201)
      .send({
        clientId: application.id,
        clientSecret,
        redirectUris: application.redirectUris,
        groupId,
        userId: owner.id,
        ...(person && { person }),
        tokens,
        lifetimes: lifetimes.of(application.id),
        settings: {
          LOGIN_URL: addresses.portalUrl,
          API_URL: addresses.apiUrl,
          CLIENT_ID: application.id,
          CLIENT_SECRET: clientSecret,
          REDIRECT_URI: application.defaultRedirectUri,
        },
        suite,
      })
  }
}

async function makeOwnGroup(
  parts: Pick<SetUpParts, 'store' | 'clock'>,
  userId: string,
  suite: string,
): Promise<string> {
  return (await inLabWords(() => makeGroup(parts, { name: 'Developers', userId, suite }))).id
}
