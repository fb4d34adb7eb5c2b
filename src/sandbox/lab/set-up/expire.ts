// POST /lab/v1/expire: makes tokens, codes and sessions expire now. The sandbox then refuses these tokens, codes and
// sessions as expired.
import type { FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { answer, object } from '../../http/describe.ts'
import {
  expireAccessTokens,
  expireAppAccessToken,
  expireCodes,
  expirePortalSessions,
  expireRefreshTokens,
  type Selection,
} from '../../store/for-lab/expire.ts'
import { generationOf, grantIdOf, readAccessToken } from '../../tokens/access-token.ts'
import { hashToken } from '../../tokens/opaque-token.ts'
import { refusalAnswers, storableText } from '../call-schemas.ts'
import { LabError } from '../lab-error.ts'
import { findPerson, personProperties } from './find-person.ts'
import { type SetUpServices, setUpCall } from './set-up.ts'

const kinds = ['access-token', 'refresh-token', 'code', 'portal-session'] as const

const expireBody = {
  type: 'object',
  additionalProperties: false,
  required: ['what'],
  properties: {
    what: { type: 'string', enum: kinds },
    value: storableText(1, 8192, {
      description:
        'The token, the code, or the value of the portal’s session cookie. Send either `value`, or the user’s `userId` or `email`.',
    }),
    ...personProperties,
    clientId: storableText(1, 64, {
      description: 'Send this only with a user. Then only the codes and tokens of this client expire.',
    }),
  },
} as const satisfies JSONSchema

type ExpireBody = FromSchema<typeof expireBody>

/** The schema of the answer, under its name in the OpenAPI document. */
export const expiredSchemas = {
  Expired: object({
    expired: { type: 'integer', minimum: 0, description: 'How many tokens, codes or sessions have expired.' },
  }),
}

type ExpireServices = Pick<SetUpServices, 'addresses' | 'store' | 'keyRing' | 'clock'>

export function expireCall(services: ExpireServices) {
  return {
    schema: {
      ...setUpCall,
      operationId: 'expire',
      summary: 'Make tokens, codes and portal sessions expire now',
      description:
        'If you send `value`, one token, code or session expires. If you send a user, all tokens, codes or sessions of this user expire. The sandbox then ' +
        'refuses them as expired. If you send an access token, the earlier access tokens of the same grant also expire, but the refresh tokens keep working.',
      body: expireBody,
      response: {
        200: answer('How many tokens, codes or sessions have expired.', 'Expired'),
        ...refusalAnswers(404, 413, 415),
      },
    },
    async handler({ body }: FastifyRequest<{ Body: ExpireBody }>) {
      const { what, value, clientId } = body
      if (value === undefined) {
        if (clientId !== undefined && what === 'portal-session')
          throw new LabError(422, { clientId: ['A portal session does not belong to a client. Leave clientId out.'] })
        const { id: userId } = await findPerson(services, body)
        return { expired: await expireAll(services, what, { userId, clientId }) }
      }
      for (const name of ['userId', 'email', 'clientId'] as const)
        if (body[name] !== undefined) throw new LabError(422, { [name]: ['Send either value or a person, not both.'] })
      const expired =
        what === 'access-token'
          ? await expireAccessToken(services, value)
          : await expireAll(services, what, { hash: hashToken(value) })
      if (expired === 0)
        throw new LabError(
          404,
          `There is no valid ${what} with this value. The ${what} must belong to a person whom the laboratory or the seeds made.`,
        )
      return { expired }
    },
  }
}

async function expireAll(
  { store, clock }: ExpireServices,
  what: ExpireBody['what'],
  which: Selection,
): Promise<number> {
  const now = clock()
  return store.write(db => {
    if (what === 'refresh-token') return expireRefreshTokens(db, which, now)
    if (what === 'code') return expireCodes(db, which, now)
    if (what === 'portal-session') return expirePortalSessions(db, which, now)
    if ('hash' in which) throw new TypeError('an access token cannot be found by its hash')
    return expireAccessTokens(db, which)
  })
}

/** Earlier access tokens of the same login also expire. */
async function expireAccessToken({ addresses, store, keyRing, clock }: ExpireServices, token: string): Promise<number> {
  const now = clock()
  const claims = await readAccessToken(keyRing, token, { issuer: addresses.portalUrl, now })
  if (claims === 'token-malformed') throw new LabError(422, { value: ['This is not an access token of this sandbox.'] })
  if (claims === 'token-expired') return 0
  return store.write(db =>
    claims.type === 'App'
      ? expireAppAccessToken(db, claims.jti, now)
      : expireAccessTokens(db, { grantId: grantIdOf(claims), generation: generationOf(claims) }),
  )
}
