// A login as JSON: what happened at each step, what it means, and the notices about the client.
import { listOf, object, only, ref, type Schema, text } from '../../http/describe.ts'
import type { Guidance } from '../../observe/reasons.ts'
import type { Logins } from '../record/logins.ts'
import type { RecordedLogin, RecordedStep } from '../record/recorded.ts'
import { type LabAddresses, toCurlLine } from './curl-line.ts'
import { guidanceOf, guidanceOfCheck } from './guidance.ts'
import { outcomes } from './login-status.ts'
import { severities } from './notices/notice.ts'
import { findNotices } from './notices/notices.ts'
import { verdictOf } from './verdict.ts'

/** The data from which a login is described. */
export interface LoginReader {
  logins: Logins
  addresses: LabAddresses
  clock: () => Date
}

/** The names of the faults that happened to the login. */
export function faultsOf({ steps }: RecordedLogin): string[] {
  return [...new Set(steps.flatMap(({ fault }) => fault?.name ?? []))]
}

/** A login as one line of the list. */
export function describeSummary(login: RecordedLogin, { logins, addresses: { labUrl }, clock }: LoginReader) {
  const { id, clientId, steps, leftOut } = login
  const verdict = verdictOf(login, logins.othersOf(login), clock())
  const { outcome, status, refusedCalls, isLoop, sentence, fix, step, faulted, causes } = verdict
  const url = `${labUrl}/logins/${id}`
  return {
    id,
    clientId: clientId ?? null,
    startedAt: steps[0]?.at,
    lastStepAt: steps.at(-1)?.at,
    steps: steps.length + leftOut,
    outcome,
    status,
    refusedCalls,
    isLoop,
    verdict: {
      sentence,
      fix: fix ?? null,
      step: step
        ? { id: step.id, number: steps.indexOf(step) + 1, url: `${url}#step-${steps.indexOf(step) + 1}` }
        : null,
      fault: faulted?.fault?.name ?? null,
      causes,
    },
    reasons: [...new Set(steps.flatMap(({ reason }) => reason ?? []))],
    faults: faultsOf(login),
    url,
  }
}

export function describeLogin(login: RecordedLogin, reader: LoginReader) {
  const { logins, addresses } = reader
  return {
    ...describeSummary(login, reader),
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

/** What was noticed about the client. The fields `wrong`, `mend` and `source` keep their old names, as below. */
export function describeNotices(login: RecordedLogin, logins: Logins) {
  return findNotices(login, logins.othersOf(login)).map(({ id, severity, found, why, fix, reference, steps }) => {
    return { id, severity, wrong: found, why, mend: fix, source: reference, steps }
  })
}

/** The catalogue has newer names for these fields. The JSON keeps the old names, because programs read them. */
function describeGuidance({ found, why, fix, reference }: Guidance) {
  return { found, why, mend: fix, source: reference }
}

const time = { type: 'string', format: 'date-time' }
const count = { type: 'integer', minimum: 0 }
const textOrNull = { type: ['string', 'null'] }
const values = {
  type: 'object',
  additionalProperties: { anyOf: [ref('Value'), listOf(ref('Value'))] },
  description: 'The values by name. If a name was sent more than once, its values are a list.',
}

const summary = {
  id: text,
  clientId: { ...textOrNull, description: 'The proven or claimed client. Null if no step has named one.' },
  startedAt: time,
  lastStepAt: time,
  steps: count,
  outcome: only(...outcomes),
  status: {
    ...text,
    description: 'The outcome and the refused calls after it, such as `signed in, then 3 calls refused`.',
  },
  refusedCalls: { ...count, description: 'How many calls were refused after somebody had signed in.' },
  isLoop: {
    type: 'boolean',
    description:
      'Whether the login may be part of a loop: three or more logins of one browser within a minute, without a call between them.',
  },
  verdict: object({
    sentence: { ...text, description: 'What happened, and at which step.' },
    fix: { ...textOrNull, description: 'What to do.' },
    step: {
      anyOf: [object({ id: text, number: count, url: text }), { type: 'null' }],
      description: 'The step that the sentence is about.',
    },
    fault: { ...textOrNull, description: 'The ordered fault that caused it.' },
    causes: {
      ...listOf(object({ cause: text, check: text })),
      description: 'Why the login may be in a loop, the likeliest cause first.',
    },
  }),
  reasons: { ...listOf(text), description: 'Why steps were refused.' },
  faults: { ...listOf(text), description: 'Names of the faults that happened to it.' },
  url: { ...text, description: 'The page of the login.' },
}

/** The schemas of the answers above, by name. */
export const loginSchemas: Record<string, Schema> = {
  Value: {
    description:
      'The value as it was sent. A value that could be a secret is replaced by its hash, its length and, for a state, how hard it is to guess.',
    anyOf: [
      text,
      object(
        {
          hash: { ...text, description: 'Equal values have the same hash.' },
          length: count,
          bits: {
            type: 'number',
            description:
              'Only for a state: how many random bits it can have at most, estimated from its length and its alphabet.',
          },
          beginning: { ...text, description: 'Only for a state: the hash of its first half. Empty for short values.' },
          isTime: { type: 'boolean', description: 'Only for a state: whether it is the time of the request.' },
        },
        { optional: ['bits', 'beginning', 'isTime'] },
      ),
    ],
  },
  LoginSummary: object(summary),
  LoginList: object({
    logins: listOf(ref('LoginSummary')),
    total: { ...count, description: 'How many logins were found. A call lists at most a hundred of them.' },
    cursor: {
      ...count,
      description: 'Send this number as `after` in the next call, to get only logins with newer steps.',
    },
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
      description:
        'The client, the user and the grant of the step: claimedClientId, knownClientId, provenClientId, userId, grantId.',
    },
    checks: listOf(ref('Check')),
    reason: { ...textOrNull, description: 'Why it was refused.' },
    fault: {
      anyOf: [object({ id: text, name: text, acted: only('before', 'after') }), { type: 'null' }],
      description: 'The ordered fault that changed the answer.',
    },
    leftOutBefore: {
      ...count,
      description: 'How many steps just before this one were left out, because there were too many.',
    },
    isShortened: {
      type: 'boolean',
      description: 'Whether values were left out. The laboratory keeps at most 8 KiB and 200 values of one request.',
    },
    explanation: { anyOf: [object({ found: text, why: text, mend: text, source: text }), { type: 'null' }] },
    curl: { ...text, description: 'The same request as a line for curl.' },
  }),
  Login: object({
    ...summary,
    leftOut: { ...count, description: 'How many steps were left out, because there were too many.' },
    steps: listOf(ref('Step')),
    noticed: listOf(
      object({
        id: text,
        severity: only(...severities),
        wrong: text,
        why: text,
        mend: text,
        source: text,
        steps: listOf(text),
      }),
    ),
  }),
}
