// POST /lab/v1/reset: removes what the laboratory made for a suite of tests, or goes back to the seeds. Everything else stays.
import type { FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { forgetAllFailures } from '../../store/failures.ts'
import { removeMade } from '../../store/remove-made.ts'
import { resetSeeded } from '../../store/reset-seeded.ts'
import { LabError } from '../lab-error.ts'
import type { SetUpParts } from './set-up-parts.ts'
import { suiteProperty } from './suite.ts'

export const resetBody = {
  type: 'object',
  additionalProperties: false,
  properties: {
    suite: {
      ...suiteProperty,
      description: 'The suite whose people, groups and applications go. Left out: those of no suite.',
    },
    seeds: {
      type: 'boolean',
      description:
        'Removes what the seeded person made and gave since, and applies the SEED_ settings again; other suites notice that.',
    },
    all: {
      type: 'boolean',
      description:
        'What was made for whatever suite, the seeds, and the failures that were counted: for a sandbox of one’s own.',
    },
  },
} as const satisfies JSONSchema

/** `forgetFaults` drops the faults ordered for removed clients, which no request can match any more. */
export function reset(
  { store, lifetimes, clock, applySeeds }: Pick<SetUpParts, 'store' | 'lifetimes' | 'clock' | 'applySeeds'>,
  forgetFaults: (clientIds: readonly string[]) => void,
) {
  return async (request: FastifyRequest<{ Body: FromSchema<typeof resetBody> }>) => {
    const { suite, seeds = false, all = false } = request.body
    if (all && suite !== undefined) throw new LabError(422, { all: ['Name a suite, or reset all of them, not both.'] })
    const removed = await removeMade(store, all ? undefined : (suite ?? ''), clock())
    const seeded = all || seeds ? await resetSeeded(store, clock()) : []
    if (all || seeds) await applySeeds()
    // All suites on a machine share its address. So one suite must not reset the failures that were counted for it.
    if (all) await store.write(forgetAllFailures)
    const applications = [...removed.applications, ...seeded]
    lifetimes.forget(applications)
    forgetFaults(applications)
    return { removed: { people: removed.people, groups: removed.groups, applications: applications.length } }
  }
}
