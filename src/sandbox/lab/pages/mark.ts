// The colour and symbol for the status of a login.
import type { LoginOutcome } from '../explain/login-status.ts'

/** Green only if nothing is wrong. */
export function markOf(outcome: LoginOutcome, isLoop: boolean): 'good' | 'bad' | 'open' {
  if (outcome === 'signed in' && !isLoop) return 'good'
  return outcome === 'refused' || isLoop ? 'bad' : 'open'
}
