// The color and symbol for the status of a login.
import type { LoginOutcome } from '../explain/login-status.ts'

/** The status is green only if the visitor has signed in and the login is not part of a loop. */
export function statusColor(outcome: LoginOutcome, isLoop: boolean): 'good' | 'bad' | 'open' {
  if (outcome === 'signed in' && !isLoop) return 'good'
  return outcome === 'refused' || isLoop ? 'bad' : 'open'
}
