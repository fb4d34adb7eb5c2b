// The target of redirects with which the laboratory answers. Nothing must arrive there.
import type { CheckContext } from '../context.ts'

export function requestAtTrap({ platform }: CheckContext, fault: string) {
  return platform.steps.find(step => step.fault?.name === fault && step.request.url.startsWith('/trap/'))
}
