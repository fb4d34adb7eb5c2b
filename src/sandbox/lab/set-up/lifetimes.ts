// PUT /lab/v1/applications/{id}/lifetimes: sets how long the codes and tokens of one client live from now on.
import type { FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { familyLifetimeMs, longestTokenSeconds } from '../../store/grants.ts'
import { isMadeApplication } from '../../store/marks.ts'
import { isId } from '../../values/is-id.ts'
import { LabError } from '../lab-error.ts'
import type { SetUpParts } from './set-up-parts.ts'

export const lifetimesBody = {
  type: 'object',
  additionalProperties: false,
  description: 'In seconds. Of what is left out the settings of the sandbox count.',
  properties: {
    accessTokenSeconds: {
      type: 'integer',
      minimum: 1,
      maximum: longestTokenSeconds,
      description: 'The API takes a token up to 60 seconds longer, as clocks differ.',
    },
    refreshTokenSeconds: {
      type: 'integer',
      minimum: 1,
      maximum: familyLifetimeMs / 1000,
      description: 'From when it is given, for one that is not used.',
    },
    codeSeconds: { type: 'integer', minimum: 1, maximum: 600 },
  },
} as const satisfies JSONSchema

export function setLifetimes({ store, lifetimes }: Pick<SetUpParts, 'store' | 'lifetimes'>) {
  return async (request: FastifyRequest<{ Params: { id: string }; Body: FromSchema<typeof lifetimesBody> }>) => {
    const { id } = request.params
    if (!isId(id) || !(await isMadeApplication(store.read, id)))
      throw new LabError(404, 'Neither the laboratory nor the seeds made such an application.')
    lifetimes.set(id, request.body)
    return lifetimes.of(id)
  }
}
