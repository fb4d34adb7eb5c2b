// POST /lab/v1/expire: lets tokens, codes and sessions expire now. They are then refused like any that have expired.
import type { FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import {
  expireAccessTokens,
  expireAppAccessToken,
  expireCodes,
  expirePortalSessions,
  expireRefreshTokens,
  type Which,
} from '../../store/expire.ts'
import { generationOf, grantIdOf, readAccessToken } from '../../tokens/access-token.ts'
import { hashToken } from '../../tokens/opaque-token.ts'
import { storable } from '../check-request.ts'
import { LabError } from '../lab-error.ts'
import { findPerson, personProperties } from './find-person.ts'
import type { SetUpParts } from './set-up-parts.ts'

const kinds = ['access-token', 'refresh-token', 'code', 'portal-session'] as const

export const expireBody = {
  type: 'object',
  additionalProperties: false,
  required: ['what'],
  properties: {
    what: { type: 'string', enum: kinds },
    value: {
      type: 'string',
      pattern: storable,
      minLength: 1,
      maxLength: 8192,
      description: 'The token or code itself, or the value of the portal’s session cookie: this, or a person.',
    },
    ...personProperties,
    clientId: {
      type: 'string',
      pattern: storable,
      minLength: 1,
      maxLength: 64,
      description: 'With a person: what this client was given alone.',
    },
  },
} as const satisfies JSONSchema

type Wanted = FromSchema<typeof expireBody>

type ExpireParts = Pick<SetUpParts, 'addresses' | 'store' | 'keyRing' | 'clock'>

export function expire(parts: ExpireParts) {
  return async (request: FastifyRequest<{ Body: Wanted }>) => {
    const wanted = request.body
    const { what, value, clientId } = wanted
    if (value === undefined) {
      if (clientId !== undefined && what === 'portal-session')
        throw new LabError(422, { clientId: ['A portal session is of no client. Leave this out.'] })
      const { id: userId } = await findPerson(parts, wanted)
      return { expired: await endThose(parts, what, { userId, clientId }) }
    }
    for (const name of ['userId', 'email', 'clientId'] as const)
      if (wanted[name] !== undefined) throw new LabError(422, { [name]: ['Give value, or a person, not both.'] })
    const expired =
      what === 'access-token'
        ? await endAccessToken(parts, value)
        : await endThose(parts, what, { hash: hashToken(value) })
    if (expired === 0)
      throw new LabError(
        404,
        `No ${what} of this value is alive that somebody was given whom the laboratory or the seeds made.`,
      )
    return { expired }
  }
}

async function endThose({ store, clock }: ExpireParts, what: Wanted['what'], which: Which): Promise<number> {
  const now = clock()
  return store.write(db => {
    if (what === 'refresh-token') return expireRefreshTokens(db, which, now)
    if (what === 'code') return expireCodes(db, which, now)
    if (what === 'portal-session') return expirePortalSessions(db, which, now)
    if ('hash' in which) throw new TypeError('access tokens are not known by hashes')
    return expireAccessTokens(db, which)
  })
}

/** Earlier access tokens of the same family end, too. */
async function endAccessToken({ addresses, store, keyRing, clock }: ExpireParts, token: string): Promise<number> {
  const now = clock()
  const claims = await readAccessToken(keyRing, token, { issuer: addresses.portalUrl, now })
  if (claims === 'token-malformed') throw new LabError(422, { value: ['This is no access token of this sandbox.'] })
  if (claims === 'token-expired') return 0
  return store.write(db =>
    claims.type === 'App'
      ? expireAppAccessToken(db, claims.jti, now)
      : expireAccessTokens(db, { grantId: grantIdOf(claims), generation: generationOf(claims) }),
  )
}
