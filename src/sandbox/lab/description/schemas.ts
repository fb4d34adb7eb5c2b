// What the laboratory's answers look like, by name, as JSON schemas.
import { listOf, object, only, ref, type Schema, text } from '../../http/describe.ts'

const time = { type: 'string', format: 'date-time' }
const count = { type: 'integer', minimum: 0 }
const textOrNull = { type: ['string', 'null'] }
const values = {
  type: 'object',
  additionalProperties: { anyOf: [ref('Value'), listOf(ref('Value'))] },
  description: 'By name; a name that stood more than once has a list.',
}

const summary = {
  id: text,
  clientId: { ...textOrNull, description: 'As far as anybody said.' },
  startedAt: time,
  lastStepAt: time,
  steps: count,
  outcome: only('signed in', 'refused', 'under way', 'no login'),
  reasons: { ...listOf(text), description: 'Why steps were refused.' },
  faults: { ...listOf(text), description: 'Names of the faults that happened to it.' },
  url: { ...text, description: 'The page of the login.' },
}

const lifetimes = { accessTokenSeconds: count, refreshTokenSeconds: count, codeSeconds: count }

const person = {
  userId: text,
  email: text,
  password: text,
  firstName: text,
  lastName: text,
  suite: { ...text, description: 'Empty where none was named.' },
}

export const schemas: Record<string, Schema> = {
  Value: {
    description: 'As it came, or hidden where it could open a door.',
    anyOf: [
      text,
      object({
        hash: { ...text, description: 'Two values that are equal have the same.' },
        length: count,
        bits: { type: 'number', description: 'Random bits at most, judged by length and alphabet.' },
        beginning: { ...text, description: 'The hash of its first half; empty for short ones.' },
        isTime: { type: 'boolean' },
      }),
    ],
  },
  LoginSummary: object(summary),
  MailList: object({
    mails: listOf(
      object({
        id: text,
        at: time,
        to: text,
        subject: text,
        text,
        links: { ...listOf(text), description: 'Those in the text: the one of a reset mail works once.' },
      }),
    ),
  }),
  LoginList: object({
    logins: listOf(ref('LoginSummary')),
    cursor: { ...count, description: 'The `after` of the next question.' },
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
    id: { ...text, description: 'Its own: the address of its page is /requests/{id}.' },
    requestId: {
      ...text,
      description: 'The X-Request-Id that the caller sent, or one made for it. It is in the log and on error pages.',
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
      description: 'Whom it is about: claimedClientId, knownClientId, provenClientId, userId, grantId.',
    },
    checks: listOf(ref('Check')),
    reason: { ...textOrNull, description: 'Why it was refused.' },
    fault: {
      anyOf: [object({ id: text, name: text, acted: only('before', 'after') }), { type: 'null' }],
      description: 'What was ordered and made the answer go wrong.',
    },
    isShortened: {
      type: 'boolean',
      description: 'Whether values were left out: of one request at most 8 KiB and 200 values are kept.',
    },
    explanation: { anyOf: [object({ found: text, why: text, mend: text, source: text }), { type: 'null' }] },
    curl: { ...text, description: 'The same request as a line for curl.' },
  }),
  Login: object({
    ...summary,
    leftOut: { ...count, description: 'Steps that are not told, because there were too many.' },
    steps: listOf(ref('Step')),
    noticed: listOf(object({ id: text, wrong: text, why: text, mend: text, source: text, steps: listOf(text) })),
  }),
  Har: {
    ...object({ log: { type: 'object', additionalProperties: true } }),
    description: 'HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/).',
  },

  Fault: object({
    fault: text,
    place: text,
    kind: text,
    when: {
      ...only('before', 'after'),
      description: 'Before or after the platform has done what the request asks for.',
    },
    does: text,
    acted: { ...only('before', 'after'), description: 'The same as when.' },
    fixed: { type: 'object', additionalProperties: true, description: 'The options that the name decides.' },
    options: {
      type: 'object',
      additionalProperties: object({
        about: text,
        allowed: { ...text, description: 'The end of “This must be …”.' },
        default: { description: 'What it is when it is left out.' },
      }),
    },
  }),
  FaultCatalogue: object({ faults: listOf(ref('Fault')) }),
  OrderedFault: object(
    {
      id: text,
      fault: text,
      place: text,
      kind: text,
      when: only('before', 'after'),
      clientId: textOrNull,
      hasState: { type: 'boolean', description: 'Whether it waits for one login. The state itself is not told.' },
      skip: count,
      times: { anyOf: [count, only('always')] },
      options: { type: 'object', additionalProperties: true },
      status: only('waiting', 'used up', 'dropped'),
      consumed: { ...count, description: 'How often it has happened.' },
      requestIds: { ...listOf(text), description: 'The last ones that consumed it.' },
      orderedAt: time,
      dropsAt: { ...time, description: 'While it waits: when it is dropped, unless somebody consumes it.' },
      overAt: { ...time, description: 'Since when it is over.' },
      message: text,
    },
    { optional: ['dropsAt', 'overAt', 'message'] },
  ),
  OrderedFaults: object({ faults: listOf(ref('OrderedFault')) }),
  RemovedFaults: object({ removed: count }),

  Person: object(person),
  Group: object({ groupId: text, name: text, members: listOf(text), suite: text }),
  Lifetimes: object(lifetimes),
  NewClient: object(
    {
      clientId: text,
      clientSecret: text,
      redirectUris: listOf(text),
      groupId: text,
      userId: { ...text, description: 'Whose it is.' },
      person: { ...ref('Person'), description: 'Where somebody was made to whom it belongs.' },
      tokens: listOf(object({ id: text, token: text })),
      lifetimes: ref('Lifetimes'),
      settings: {
        ...object({ LOGIN_URL: text, API_URL: text, CLIENT_ID: text, CLIENT_SECRET: text, REDIRECT_URI: text }),
        description: 'For the environment of the client.',
      },
      suite: text,
    },
    { optional: ['person'] },
  ),
  SignedIn: {
    anyOf: [
      object({ userId: text, accessToken: text, expiresIn: count, refreshToken: text }, { optional: ['refreshToken'] }),
      object({ userId: text, redirectUrl: text }),
    ],
    description: 'Tokens, or for a login that a client began where the portal leads the browser to.',
  },
  Expired: object({ expired: { ...count, description: 'How many.' } }),
  Reset: object({ removed: object({ people: count, groups: count, applications: count }) }),

  Error: object({
    error: object({
      status: { type: 'integer' },
      message: {
        anyOf: [text, { type: 'object', additionalProperties: listOf(text) }],
        description: 'A sentence, or what is wrong with which field, every bad field at once.',
      },
    }),
  }),
}
