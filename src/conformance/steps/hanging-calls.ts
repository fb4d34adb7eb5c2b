// Tests whether the client ends a call that the platform does not answer.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'
import type { CheckContext } from '../context.ts'
import { expect } from '../findings.ts'

/** How many seconds a call may last. With a fault such as `list-never`, the platform does not answer for a minute. */
const mostCallSeconds = 35

/**
 * Fails if the client does not end a call that the fault has affected. Call this function after the client has answered
 * the visitor. If the fault has affected no call, the function does nothing.
 */
export async function expectCallEnds(context: CheckContext, kind: LabStep['kind'], fault: string): Promise<void> {
  if (context.timesMet(fault) === 0) return
  // The platform records the call only when the client has closed the connection.
  const isEnded = () => context.arrived(kind).some(step => step.fault?.name === fault)
  const end = performance.now() + mostCallSeconds * 1000
  while (!isEnded() && performance.now() < end) await context.pause(500)
  expect(
    isEnded(),
    `The client answered the visitor, but did not end its call to the platform within ${mostCallSeconds} seconds.`,
  )
}
