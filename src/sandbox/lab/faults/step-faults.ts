// Which ordered fault happened to which request. The core does not know of faults; its steps get them here.
import type { FastifyRequest } from 'fastify'
import type { Step } from '../../observe/steps.ts'
import type { LabStep, StepFault } from '../record/recorded.ts'

export function createStepFaults() {
  const faults = new WeakMap<FastifyRequest, StepFault>()
  const trapped = new WeakSet<FastifyRequest>()

  return {
    note: (request: FastifyRequest, fault: StepFault): void => void faults.set(request, fault),

    /** For a request that went where the redirect of a fault led. */
    noteTrap(request: FastifyRequest, fault: StepFault): void {
      faults.set(request, fault)
      trapped.add(request)
    },

    addTo(step: Step, request: FastifyRequest): LabStep {
      const fault = faults.get(request)
      if (!fault) return step
      return { ...step, fault, ...(trapped.has(request) && { kind: 'trap', reason: 'redirect-followed' }) }
    },
  }
}
