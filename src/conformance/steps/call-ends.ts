// Finds out whether the client ends a call to which the platform gives no whole answer.
import type { CheckContext } from '../context.ts'
import { expect } from '../findings.ts'

/** How many seconds a call may last. The platform gives no whole answer for a minute. */
const mostSeconds = 35

/**
 * Waits until the client has ended its calls that met the fault, and fails if a call lasts too long. A client can answer
 * the visitor in time although the call has no deadline, for example because another thread makes the call.
 */
export async function expectCallEnds(context: CheckContext, fault: string, call: string): Promise<void> {
  const met = context.timesMet(fault)
  // The platform records such a call only when the client has closed the connection.
  const recorded = () => context.arrived().filter(step => step.fault?.name === fault)
  const end = performance.now() + mostSeconds * 1000
  while (recorded().length < met && performance.now() < end) await context.pause(1000)
  const steps = recorded()
  const longest = Math.max(0, ...steps.map(({ durationMs }) => durationMs))
  expect(
    steps.length >= met && longest < (mostSeconds + 10) * 1000,
    `The client answered the visitor, but ${call} still lasted after ${mostSeconds} seconds.`,
  )
}
