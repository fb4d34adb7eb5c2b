// A login as JSON: what happened at each step, what it means, and the notices about the client.
import { listOf, object, only, ref, type Schema, text } from '../../http/describe.ts'
import type { Guidance } from '../../observe/reasons.ts'
import type { Logins } from '../record/logins.ts'
import type { RecordedLogin, RecordedStep } from '../record/recorded.ts'
import { type LabAddresses, toCurlLine } from './curl-line.ts'
import { guidanceOf, guidanceOfCheck } from './guidance.ts'
import { findNotices } from './notices/notices.ts'

const outcomes = ['signed in', 'refused', 'under way', 'no login'] as const

/**
 * `signed in` after tokens were given, `refused` after a step that failed, and `under way` before either. `no login` is
 * for requests that a program may make without a login.
 */
type LoginOutcome = (typeof outcomes)[number]

const outsideLogins: RecordedStep['kind'][] = ['metadata', 'api', 'me', 'page', 'revoke']

export function outcomeOf({ steps }: RecordedLogin): LoginOutcome {
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
export function describeSummary(login: RecordedLogin, { labUrl }: Pick<LabAddresses, 'labUrl'>) {
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

export function describeLogin(login: RecordedLogin, logins: Logins, addresses: LabAddresses) {
  return {
    ...describeSummary(login, addresses),
    leftOut: login.leftOut,
    steps: login.steps.map(step => describeStep(step, addresses)),
    noticed: describeNotices(login, logins),
  }
}

export function describeStep(step: RecordedStep, addresses: LabAddresses) {
  const { start: _, bytes: _bytes, reason, checks, fault, ...rest } = step
  return {
    ...rest,
    checks: checks.map(check => {
      const { why, reference } = guidanceOfCheck(check.name)
      return { ...check, why, source: reference }
    }),
    reason: reason ?? null,
    fault: fault ? { id: fault.id, name: fault.name, acted: fault.acted } : null,
    explanation: reason ? describeGuidance(guidanceOf(reason)) : null,
    curl: toCurlLine(step, addresses),
  }
}

/** What was noticed about the client. */
export function describeNotices(login: RecordedLogin, logins: Logins) {
  return findNotices(login, logins.othersOf(login)).map(({ id, found, why, fix, reference, steps }) => {
    return { id, wrong: found, why, mend: fix, source: reference, steps }
  })
}

/** The names of the fields are older than those of the catalogue. Programs read them. */
function describeGuidance({ found, why, fix, reference }: Guidance) {
  return { found, why, mend: fix, source: reference }
}

const time = { type: 'string', format: 'date-time' }
const count = { type: 'integer', minimum: 0 }
const textOrNull = { type: ['string', 'null'] }
const values = {
  type: 'object',
  additionalProperties: { anyOf: [ref('Value'), listOf(ref('Value'))] },
  description: 'By name. A name that was sent more than once has a list.',
}

const summary = {
  id: text,
  clientId: { ...textOrNull, description: 'The proven or claimed client. Null if no step has named one.' },
  startedAt: time,
  lastStepAt: time,
  steps: count,
  outcome: only(...outcomes),
  reasons: { ...listOf(text), description: 'Why steps were refused.' },
  faults: { ...listOf(text), description: 'Names of the faults that happened to it.' },
  url: { ...text, description: 'The page of the login.' },
}

/** The schemas of the answers above, by name. */
export const loginSchemas: Record<string, Schema> = {
  Value: {
    description: 'The value as it was sent. A value that could be a secret is replaced by what can be said about it.',
    anyOf: [
      text,
      object({
        hash: { ...text, description: 'Equal values have the same hash.' },
        length: count,
        bits: {
          type: 'number',
          description: 'At most so many random bits, estimated from the length and the alphabet.',
        },
        beginning: { ...text, description: 'The hash of the first half. Empty for short values.' },
        isTime: { type: 'boolean', description: 'Whether the value is the time of the request.' },
      }),
    ],
  },
  LoginSummary: object(summary),
  LoginList: object({
    logins: listOf(ref('LoginSummary')),
    cursor: { ...count, description: 'Send it as `after` in the next call, to get only what is newer.' },
  }),
  Check: object(
    {
      name: text,
      passed: { type: 'boolean' },
      expected: ref('Value'),
      received: ref('Value'),
      why: text,
      source: text,
    },
    { optional: ['expected', 'received'] },
  ),
  Step: object({
    id: { ...text, description: 'The id of this step. Its page is at /requests/{id}.' },
    requestId: {
      ...text,
      description:
        'The X-Request-Id that the caller sent, or one that the sandbox made. It is in the log and on error pages.',
    },
    at: time,
    listener: only('portal', 'api'),
    kind: text,
    route: text,
    durationMs: count,
    request: object({ method: text, path: text, headers: values, query: values, body: values }),
    response: object({ status: count, headers: values, body: values, location: values }),
    about: {
      type: 'object',
      additionalProperties: text,
      description: 'Whom the step is about: claimedClientId, knownClientId, provenClientId, userId, grantId.',
    },
    checks: listOf(ref('Check')),
    reason: { ...textOrNull, description: 'Why it was refused.' },
    fault: {
      anyOf: [object({ id: text, name: text, acted: only('before', 'after') }), { type: 'null' }],
      description: 'The ordered fault that made the answer go wrong.',
    },
    isShortened: {
      type: 'boolean',
      description: 'Whether values were left out: at most 8 KiB and 200 values of one request are kept.',
    },
    explanation: { anyOf: [object({ found: text, why: text, mend: text, source: text }), { type: 'null' }] },
    curl: { ...text, description: 'The same request as a line for curl.' },
  }),
  Login: object({
    ...summary,
    leftOut: { ...count, description: 'How many steps were left out, because there were too many.' },
    steps: listOf(ref('Step')),
    noticed: listOf(object({ id: text, wrong: text, why: text, mend: text, source: text, steps: listOf(text) })),
  }),
}
