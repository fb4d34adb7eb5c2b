// POST /lab/v1/reset: removes the records that the laboratory made for one test suite or for all suites, and can reset
// the seeds. Other records stay.
import type { FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { answer, count, object } from '../../http/describe.ts'
import { forgetAllFailures } from '../../store/failures.ts'
import { removeMade } from '../../store/for-lab/remove-made.ts'
import { resetSeeded } from '../../store/for-lab/reset-seeded.ts'
import { refusalAnswers } from '../call-schemas.ts'
import { LabError } from '../lab-error.ts'
import { type SetUpServices, setUpCall, suiteProperty } from './set-up.ts'

const resetBody = {
  type: 'object',
  additionalProperties: false,
  properties: {
    suite: {
      ...suiteProperty,
      description:
        'The suite whose users, groups and applications the call removes. If suite is left out, the call removes records that were made without a suite.',
    },
    seeds: {
      type: 'boolean',
      description:
        'Removes the applications, groups and consents of the seeded user, and applies the SEED_ settings again. Also removes the lifetimes and faults of the seeded application. This also affects other suites.',
    },
    all: {
      type: 'boolean',
      description:
        'Removes the records of all suites, resets the seeds, and deletes the counts of failures. Use this only if nobody else uses the sandbox.',
    },
  },
} as const satisfies JSONSchema

/** The schema of the answer, under its name in the OpenAPI document. */
export const resetSchemas = {
  Reset: object({ removed: object({ people: count, groups: count, applications: count }) }),
}

type ResetServices = Pick<SetUpServices, 'store' | 'lifetimes' | 'clock' | 'applySeeds'>

/**
 * `forgetFaults` removes the faults that were ordered for the given clients: no request can match a fault of a removed
 * client, and a seeded client begins without faults.
 */
export function resetCall(
  { store, lifetimes, clock, applySeeds }: ResetServices,
  forgetFaults: (clientIds: readonly string[]) => void,
) {
  return {
    schema: {
      ...setUpCall,
      operationId: 'reset',
      summary: 'Remove the records that were made for a test suite',
      description:
        'Removes the users, groups and applications of the suite, with all tokens and consents of these users. Also removes all groups and applications that these users made. ' +
        'Records of other suites stay. If somebody outside the suite made an application in one of these groups, the application and the group stay, and another member becomes the creator of the group.',
      body: resetBody,
      response: { 200: answer('How many records were removed.', 'Reset'), ...refusalAnswers(413, 415) },
    },
    async handler(request: FastifyRequest<{ Body: FromSchema<typeof resetBody> }>) {
      const { suite, seeds = false, all = false } = request.body
      if (all && suite !== undefined) throw new LabError(422, { all: ['Send either suite or all, not both.'] })
      const removed = await removeMade(store, all ? undefined : (suite ?? ''), clock())
      const ofSeeds = all || seeds ? await resetSeeded(store, clock()) : { removed: [], seeded: [] }
      if (all || seeds) await applySeeds()
      // The portal counts failed attempts for each network address. All suites on a machine share one address, so one
      // suite must not reset this count.
      if (all) await store.write(forgetAllFailures)
      const applications = [...removed.applications, ...ofSeeds.removed]
      lifetimes.forget([...applications, ...ofSeeds.seeded])
      forgetFaults([...applications, ...ofSeeds.seeded])
      return { removed: { people: removed.people, groups: removed.groups, applications: applications.length } }
    },
  }
}
