// Describes a login as JSON: what happened at each step, why a step was refused, and the notices about the client.
import { count, listOf, object, only, ref, type Schema, text, time } from '../../http/describe.ts'
import type { Guidance } from '../../observe/reasons.ts'
import type { LabAddresses } from '../addresses.ts'
import type { Logins } from '../record/logins.ts'
import { type RecordedLogin, type RecordedStep, schemes } from '../record/recorded.ts'
import { toCurlLine } from './curl-line.ts'
import { guidanceOf, guidanceOfCheck } from './guidance.ts'
import { outcomes } from './login-status.ts'
import { severities } from './notices/notice.ts'
import { findNotices } from './notices/notices.ts'
import { verdictOf } from './verdict.ts'

/** What the functions below need to describe a login. */
export interface LoginReader {
  logins: Logins
  addresses: LabAddresses
  clock: () => Date
}

/** Returns the names of the faults that affected the login. */
export function faultsOf({ steps }: RecordedLogin): string[] {
  return [...new Set(steps.flatMap(({ fault }) => fault?.name ?? []))]
}

/** Describes a login for one line of the list. */
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

/**
 * Describes the notices about the client. The fields `wrong`, `mend` and `source` keep their old names, because
 * programs read them.
 */
export function describeNotices(login: RecordedLogin, logins: Logins) {
  return findNotices(login, logins.othersOf(login)).map(({ id, severity, found, why, fix, reference, steps }) => {
    return { id, severity, wrong: found, why, mend: fix, source: reference, steps }
  })
}

/** In the JSON, the fields `mend` and `source` keep their old names, because programs read them. */
function describeGuidance({ found, why, fix, reference }: Guidance) {
  return { found, why, mend: fix, source: reference }
}

const textOrNull = { type: ['string', 'null'] }
const values = {
  type: 'object',
  additionalProperties: { anyOf: [ref('Value'), listOf(ref('Value'))] },
  description:
    'The keys are the names of the values. The value is a list if its name was sent more than once, or if a JSON body contains a list with this name.',
}

const summary = {
  id: text,
  clientId: {
    ...textOrNull,
    description:
      'The id of the client that the platform has identified. If the platform has not identified a client, this is the client id that a step sent. Null if no step sent a client id.',
  },
  startedAt: time,
  lastStepAt: time,
  steps: count,
  outcome: only(...outcomes),
  status: {
    ...text,
    description: 'The outcome, and how many later calls were refused, such as `signed in, then 3 calls refused`.',
  },
  refusedCalls: { ...count, description: 'How many calls were refused after somebody had signed in.' },
  isLoop: {
    type: 'boolean',
    description:
      'Whether the login may be part of a loop. This is true if one browser completed three or more logins within a minute, and the client made no call between these logins.',
  },
  verdict: object({
    sentence: { ...text, description: 'What happened, and at which step.' },
    fix: { ...textOrNull, description: 'What to do. Null if there is nothing to do.' },
    step: {
      anyOf: [object({ id: text, number: count, url: text }), { type: 'null' }],
      description: 'The step that the sentence is about.',
    },
    fault: { ...textOrNull, description: 'The name of the fault that the sentence mentions.' },
    causes: {
      ...listOf(object({ cause: text, check: text })),
      description: 'Possible causes of a loop, the most likely first. Empty if the login is not part of a loop.',
    },
  }),
  reasons: { ...listOf(text), description: 'Why steps were refused.' },
  faults: { ...listOf(text), description: 'The names of the faults that affected the login.' },
  url: { ...text, description: 'The page of the login.' },
}

/** The schemas of the answers above, under their names in the OpenAPI document. */
export const loginSchemas: Record<string, Schema> = {
  Value: {
    description:
      'If this kind of value is never secret, this is the text that was sent. If it can be secret, this is an object with the hash and the length of the value. For a state, the object also says how hard the state is to guess.',
    anyOf: [
      text,
      object(
        {
          hash: { ...text, description: 'Equal values have the same hash.' },
          length: count,
          bits: {
            type: 'number',
            description:
              'Only for a state: the maximum number of random bits in the state, estimated from its length and its alphabet.',
          },
          beginning: {
            ...text,
            description: 'Only for a state: the hash of the first half of the state. Empty if the state is short.',
          },
          isTime: {
            type: 'boolean',
            description:
              'Only for a state: whether its value is the time of the request, in seconds or milliseconds since 1970.',
          },
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
      expected: {
        anyOf: [ref('Value'), listOf(ref('Value'))],
        description:
          'A list if the received value may equal any of several values, such as the registered redirect URIs.',
      },
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
        'The X-Request-Id that the caller sent, or an id that the sandbox made. This id is also in the log and on error pages.',
    },
    at: time,
    listener: only('portal', 'api'),
    kind: text,
    route: text,
    durationMs: count,
    request: object(
      {
        method: text,
        path: text,
        scheme: { ...only(...schemes), description: 'The scheme of the Authorization header, if the scheme is known.' },
        headers: values,
        query: values,
        body: values,
      },
      { optional: ['scheme'] },
    ),
    response: object({ status: count, headers: values, body: values, location: values }),
    about: {
      type: 'object',
      additionalProperties: text,
      description:
        'The ids of the client, the user and the grant: claimedClientId, knownClientId, provenClientId, userId, grantId.',
    },
    checks: listOf(ref('Check')),
    reason: { ...textOrNull, description: 'Why the request was refused. Null if it was not refused.' },
    fault: {
      anyOf: [object({ id: text, name: text, acted: only('before', 'after') }), { type: 'null' }],
      description: 'The fault that changed the answer.',
    },
    leftOutBefore: {
      ...count,
      description: 'How many steps directly before this step were left out, because the login had too many steps.',
    },
    isShortened: {
      type: 'boolean',
      description: 'Whether values were left out. The laboratory keeps at most 8 KiB and 200 values of one request.',
    },
    explanation: { anyOf: [object({ found: text, why: text, mend: text, source: text }), { type: 'null' }] },
    curl: {
      ...text,
      description:
        'A curl command for a similar request. Each hidden value is a placeholder in angle brackets. In an address, the value of a parameter begins with `hidden-`.',
    },
  }),
  Login: object({
    ...summary,
    leftOut: { ...count, description: 'How many steps were left out, because the login had too many steps.' },
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
