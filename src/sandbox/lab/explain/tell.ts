// A login as JSON: what happened at each step, what it means, and the notices about the client.
import type { Guidance } from '../../observe/reasons.ts'
import type { Addresses } from '../addresses.ts'
import type { Logins } from '../record/logins.ts'
import type { RecordedLogin, RecordedStep } from '../record/recorded.ts'
import { toCurlLine } from './curl-line.ts'
import { guidanceOf, guidanceOfCheck } from './guidance.ts'
import { findNotices } from './notices/notices.ts'

/**
 * `signed in` after tokens were given, `refused` after a step that failed, and `under way` before either. `no login` is
 * for requests that a program may make without a login.
 */
export type Outcome = 'signed in' | 'refused' | 'under way' | 'no login'

const outsideLogins: RecordedStep['kind'][] = ['metadata', 'api', 'me', 'page', 'revoke']

export function outcomeOf({ steps }: RecordedLogin): Outcome {
  const isSignedIn = steps.some(isExchanged)
  if (isSignedIn) return 'signed in'
  if (steps.at(-1)?.reason) return 'refused'
  return steps.some(({ kind }) => !outsideLogins.includes(kind)) ? 'under way' : 'no login'
}

/** The names of the faults that happened to the login. */
export function faultsOf({ steps }: RecordedLogin): string[] {
  return [...new Set(steps.flatMap(({ fault }) => fault?.name ?? []))]
}

/** A fault may answer instead of the platform, before that has acted. Such an answer has no tokens. */
function isExchanged({ kind, response, fault }: RecordedStep): boolean {
  const hasActed = fault?.acted !== 'before' || response.body.access_token !== undefined
  return kind === 'exchange' && response.status === 200 && hasActed
}

/** A login as one line of the list. */
export function tellSummary(login: RecordedLogin, { labUrl }: Pick<Addresses, 'labUrl'>) {
  const { id, clientId, steps, leftOut } = login
  return {
    id,
    clientId: clientId ?? null,
    startedAt: steps[0]?.at,
    lastStepAt: steps.at(-1)?.at,
    steps: steps.length + leftOut,
    outcome: outcomeOf(login),
    reasons: [...new Set(steps.flatMap(({ reason }) => reason ?? []))],
    faults: faultsOf(login),
    url: `${labUrl}/logins/${id}`,
  }
}

export function tellLogin(login: RecordedLogin, logins: Logins, addresses: Addresses) {
  return {
    ...tellSummary(login, addresses),
    leftOut: login.leftOut,
    steps: login.steps.map(step => tellStep(step, addresses)),
    noticed: tellNotices(login, logins),
  }
}

export function tellStep(step: RecordedStep, addresses: Addresses) {
  const { start: _, bytes: _bytes, reason, checks, fault, ...told } = step
  return {
    ...told,
    checks: checks.map(check => {
      const { why, reference } = guidanceOfCheck(check.name)
      return { ...check, why, source: reference }
    }),
    reason: reason ?? null,
    fault: fault ? { id: fault.id, name: fault.name, acted: fault.acted } : null,
    explanation: reason ? tellGuidance(guidanceOf(reason)) : null,
    curl: toCurlLine(step, addresses),
  }
}

/** What was noticed about the client. */
export function tellNotices(login: RecordedLogin, logins: Logins) {
  return findNotices(login, logins.othersOf(login)).map(({ id, found, why, fix, reference, steps }) => {
    return { id, wrong: found, why, mend: fix, source: reference, steps }
  })
}

/** The names of the fields are older than those of the catalogue; programs read them. */
function tellGuidance({ found, why, fix, reference }: Guidance) {
  return { found, why, mend: fix, source: reference }
}
