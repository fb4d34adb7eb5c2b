// PUT /lab/v1/applications/{id}/lifetimes: how long what one client is given lives from now on.
import type { FastifyRequest } from 'fastify'
import type { Lifetimes } from '../../services.ts'
import { familyLifetimeMs, longestTokenSeconds } from '../../store/grants.ts'
import { isMadeApplication } from '../../store/marks.ts'
import { isId } from '../../values/is-id.ts'
import { LabError } from '../lab-error.ts'
import { type ObjectSchema, readBody } from '../read-body.ts'
import type { SetUpParts } from './set-up-parts.ts'

export type NewLifetimes = Partial<Lifetimes>

export const lifetimesBody: ObjectSchema = {
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
}

export function setLifetimes({ store, lifetimes }: Pick<SetUpParts, 'store' | 'lifetimes'>) {
  return async (request: FastifyRequest) => {
    const { id } = request.params as { id: string }
    const wanted = readBody<NewLifetimes>(request.body, lifetimesBody)
    if (!isId(id) || !(await isMadeApplication(store.read, id)))
      throw new LabError(404, 'Neither the laboratory nor the seeds made such an application.')
    lifetimes.set(id, wanted)
    return lifetimes.of(id)
  }
}
