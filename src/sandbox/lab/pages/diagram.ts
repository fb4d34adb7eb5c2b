// Makes the sequence diagram of a login: each message with its sender and receiver, and the time between two messages.
import { STATUS_CODES } from 'node:http'
import type { LabAddresses } from '../addresses.ts'
import { describeStep } from '../explain/describe-login.ts'
import { leftOutSoFar } from '../record/logins.ts'
import {
  firstOf,
  gaveTokens,
  identityOf,
  type RecordedLogin,
  type RecordedStep,
  type Values,
} from '../record/recorded.ts'

/** The lifelines, from left to right. */
export const lanes = { browser: 'Browser', client: 'Client', portal: 'Portal', api: 'API' } as const
type Lane = keyof typeof lanes

/** One arrow of the diagram. */
interface Message {
  from: Lane
  to: Lane
  words: string
}

/**
 * Returns the steps of a login as the page draws them. `leftOutAtEnd` is the number of steps that were left out after
 * the last row.
 */
export function diagramOf(login: RecordedLogin, addresses: LabAddresses) {
  const { steps } = login
  return {
    lanes,
    rows: steps.map((step, index) => ({
      ...describeStep(step, addresses),
      number: index + 1,
      pause: pauseBefore(step, steps[index - 1]),
      before: inferredBefore(step, steps.slice(0, index)),
      sent: requestOf(step),
      answer: answerOf(step),
      after: inferredAfter(step, steps.slice(index + 1)),
      isArrivalUnknown: isArrivalUnknown(step, steps.slice(index + 1)),
      tables: tablesOf(step),
    })),
    leftOutAtEnd: login.leftOut - leftOutSoFar(login),
  }
}

/**
 * Returns the sender of a request. Browsers send the kinds of requests in the list below. The client's server sends all
 * other requests.
 */
function senderOf({ kind }: RecordedStep): Lane {
  return ['authorize', 'sign-in', 'sign-up', 'consent', 'page'].includes(kind) ? 'browser' : 'client'
}

const kindWords: Record<RecordedStep['kind'], string> = {
  authorize: 'Begins the login',
  'sign-in': 'Signs in',
  'sign-up': 'Creates an account',
  consent: 'Allows or declines the application',
  exchange: 'Exchanges the code',
  refresh: 'Renews the tokens',
  revoke: 'Revokes a token',
  metadata: 'Reads what the portal offers',
  api: 'Calls the API',
  me: 'Asks who signed in',
  trap: 'Follows a redirect to a trap',
  page: 'Opens a page',
}

function requestOf(step: RecordedStep): Message {
  const { kind, listener, request, route } = step
  return { from: senderOf(step), to: listener, words: kind === 'api' ? `${request.method} ${route}` : kindWords[kind] }
}

function answerOf(step: RecordedStep): Message & { symbol: string; status: string; afterMs: number } {
  const { status } = step.response
  return {
    from: step.listener,
    to: senderOf(step),
    symbol: symbolOf(step),
    status: status === 0 ? 'no answer' : String(status),
    words: answerWords(step),
    afterMs: step.durationMs,
  }
}

/** Returns the symbol of an answer. A refused request gets the symbol ✗, whether or not a fault affected it. */
function symbolOf({ reason, fault, response }: RecordedStep): string {
  if (reason) return '✗'
  if (fault) return '⚡'
  return response.status === 0 ? '✗' : '✓'
}

function answerWords(step: RecordedStep): string {
  const { status, location } = step.response
  if (location.error) return 'Sends the browser to the client, with an error'
  if (location.code) return 'Sends the browser to the client, with a code'
  if (gaveTokens(step)) return 'Issues tokens'
  if (status >= 300 && status < 400)
    return senderOf(step) === 'browser' ? 'Redirects the browser' : 'Redirects the client'
  return STATUS_CODES[status] ?? ''
}

/**
 * Returns the time from the answer of the previous step to this request. For the first step, returns undefined. The
 * steps are in the order of their answers, so a request may have come before the previous answer. Times are rounded to
 * a millisecond.
 */
function pauseBefore(step: RecordedStep, previous: RecordedStep | undefined): string | undefined {
  if (!previous) return undefined
  const ms = step.at.getTime() - previous.at.getTime() - previous.durationMs
  if (ms < -1) return 'before the previous answer'
  if (ms <= 0) return '0 ms later'
  return ms < 100_000 ? `${ms.toLocaleString('en')} ms later` : `${Math.round(ms / 1000).toLocaleString('en')} s later`
}

/**
 * The laboratory sees only requests to the portal and the API. The diagram shows a message between the browser and the
 * client only if a request to the portal proves that the message was sent.
 */
function inferredBefore(step: RecordedStep, earlier: RecordedStep[]): Message | undefined {
  if (step.kind !== 'authorize' || earlier.some(({ kind }) => kind === 'authorize')) return undefined
  return { from: 'client', to: 'browser', words: 'Sends the browser to the portal' }
}

function inferredAfter(step: RecordedStep, later: RecordedStep[]): Message | undefined {
  if (!isExchanged(step, later)) return undefined
  return { from: 'browser', to: 'client', words: 'Brings the code' }
}

/**
 * Whether a later exchange contains the code of this answer. An exchange with this code proves that the browser brought
 * the code to the client.
 */
function isExchanged({ response }: RecordedStep, later: RecordedStep[]): boolean {
  const code = identityOf(firstOf(response.location, 'code'))
  if (code === undefined) return false
  return later.some(({ kind, request }) => kind === 'exchange' && identityOf(firstOf(request.body, 'code')) === code)
}

function isArrivalUnknown(step: RecordedStep, later: RecordedStep[]): boolean {
  const { code, error } = step.response.location
  return (code !== undefined || error !== undefined) && !isExchanged(step, later)
}

function withScheme(name: string, { scheme }: RecordedStep['request']): string {
  return name === 'authorization' && scheme ? `authorization (${scheme})` : name
}

/** Returns tables of names and values, without empty tables. */
function tablesOf({ request, response }: RecordedStep) {
  const rows = (values: Values) =>
    Object.entries(values).flatMap(([name, value]) => [value].flat().map(one => [name, one] as const))
  const tables = [
    ['Parameters in the address', rows(request.query)],
    ['Fields in the body', rows(request.body)],
    ['Headers', rows(request.headers).map(([name, value]) => [withScheme(name, request), value] as const)],
    ['Answer', rows(response.body)],
    ['Where the answer leads', rows(response.location)],
    ['Headers of the answer', rows(response.headers)],
  ] as const
  return tables.filter(([, values]) => values.length > 0)
}
