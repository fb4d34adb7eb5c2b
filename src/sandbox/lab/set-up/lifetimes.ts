// PUT /lab/v1/applications/{id}/lifetimes: sets how long new codes and tokens of one client are valid.
import type { FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { answer, count, object } from '../../http/describe.ts'
import { isMadeApplication } from '../../store/for-lab/marks.ts'
import { familyLifetimeMs, longestTokenSeconds } from '../../store/grants.ts'
import { isId } from '../../values/is-id.ts'
import { longestCodeSeconds } from '../../values/longest-code.ts'
import { idInPath, refusalAnswers } from '../call-schemas.ts'
import { LabError } from '../lab-error.ts'
import { type SetUpServices, setUpCall } from './set-up.ts'

export const lifetimesBody = {
  type: 'object',
  additionalProperties: false,
  description: 'The lifetimes in seconds. If a lifetime is left out, the settings of the sandbox apply.',
  properties: {
    accessTokenSeconds: {
      type: 'integer',
      minimum: 1,
      maximum: longestTokenSeconds,
      description: 'The API refuses the token exactly at the end of this time.',
    },
    refreshTokenSeconds: {
      type: 'integer',
      minimum: 1,
      maximum: familyLifetimeMs / 1000,
      description: 'The time begins when the refresh token is issued. Each renewal issues a new refresh token.',
    },
    codeSeconds: { type: 'integer', minimum: 1, maximum: longestCodeSeconds },
  },
} as const satisfies JSONSchema

/** The schema of the answer, under its name in the OpenAPI document. */
export const lifetimesSchemas = {
  Lifetimes: object({ accessTokenSeconds: count, refreshTokenSeconds: count, codeSeconds: count }),
}

type LifetimesRequest = FastifyRequest<{ Params: { id: string }; Body: FromSchema<typeof lifetimesBody> }>

export function lifetimesCall({ store, lifetimes }: Pick<SetUpServices, 'store' | 'lifetimes'>) {
  return {
    schema: {
      ...setUpCall,
      operationId: 'setLifetimes',
      summary: 'Set how long the codes and tokens of a client are valid',
      description:
        'The lifetimes apply to codes and tokens that the client gets after this call, until the sandbox stops.',
      params: idInPath,
      body: lifetimesBody,
      response: { 200: answer('The lifetimes that apply now.', 'Lifetimes'), ...refusalAnswers(404, 413, 415) },
    },
    async handler(request: LifetimesRequest) {
      const { id } = request.params
      if (!isId(id) || !(await isMadeApplication(store.read, id)))
        throw new LabError(404, 'Neither the laboratory nor the seeds made this application.')
      lifetimes.set(id, request.body)
      return lifetimes.of(id)
    },
  }
}
