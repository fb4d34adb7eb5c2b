// Sends requests that no browser sends, one after the other, and tests whether the client still answers.
import type { HttpExchange } from '../browser/browser.ts'
import { Failed, ReportedElsewhere, Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { fail, statusOf } from '../findings.ts'
import type { RawAnswer, RawBytes } from '../raw-connection.ts'
import { typedAddress } from './callback.ts'

/** A request as bytes, with a description for findings. */
export interface Odd extends RawBytes {
  what: string
  /** True if the request is not valid HTTP, so that a server may close the connection without an answer. */
  isNoHttp?: boolean
}

/** The client's answer to an odd request. */
interface AnswerToOdd extends RawAnswer {
  odd: Odd
}

/** Returns a request as text. The text leaves out headers whose value is undefined. */
export function requestText(
  context: CheckContext,
  method: string,
  target: string,
  {
    headers = {},
    body = '',
    version = '1.1',
  }: { headers?: Record<string, string | undefined>; body?: string; version?: string } = {},
): string {
  const all: Record<string, string | undefined> = {
    host: new URL(context.settings.client).host,
    ...typedAddress,
    connection: 'close',
    ...(body !== '' && { 'content-length': `${Buffer.byteLength(body, 'latin1')}` }),
    ...headers,
  }
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
  return `${method} ${target} HTTP/${version}\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}

/** The time limit, in milliseconds, for a normal request while the client handles an unusual one. */
const longestPlainMs = 5000

/** Fails if the client does not answer a normal request. */
export async function expectStillThere(
  context: CheckContext,
  after: string,
  ...evidence: HttpExchange[]
): Promise<void> {
  const plain = await context.request(context.settings.login, { headers: typedAddress, timeoutMs: longestPlainMs })
  if ('error' in plain.response)
    fail(`After ${after} the client no longer answers: ${plain.response.error}.`, ...evidence, plain)
}

/**
 * Sends all requests. Fails if the client does not answer one of the requests, or if it does not answer a normal
 * request afterwards. If a request is not valid HTTP, the client may close the connection without an answer.
 */
export async function sendOdd(context: CheckContext, all: Odd[]): Promise<AnswerToOdd[]> {
  const plain = await context.request(context.settings.login, { headers: typedAddress, timeoutMs: longestPlainMs })
  if ('error' in plain.response)
    throw new Undecided(`The client did not answer a normal request: ${plain.response.error}.`)
  const answers: AnswerToOdd[] = []
  for (const odd of all) {
    const answer = await context.sendBytes(odd)
    if (statusOf(answer.exchange) === 0) {
      await expectStillThere(context, odd.what, answer.exchange)
      if (!answer.isClosed) fail(`The client does not answer ${odd.what}.`, answer.exchange)
      if (!odd.isNoHttp) fail(`The client closes the connection without an answer to ${odd.what}.`, answer.exchange)
    }
    answers.push({ ...answer, odd })
  }
  await expectStillThere(context, all.at(-1)!.what)
  return answers
}

/** 501 is correct for an unknown method, and 505 for an unknown HTTP version. */
function isOwnMistake(status: number): boolean {
  return status >= 500 && status !== 501 && status !== 505
}

/** Sends all requests. Ends the check if the client does not answer one of them, because another check reports this. */
export async function sendAnswered(context: CheckContext, all: Odd[]): Promise<AnswerToOdd[]> {
  return sendOdd(context, all).catch(error => {
    throw error instanceof Failed ? new ReportedElsewhere('the client does not answer all of these requests') : error
  })
}

/** Fails if the status of an answer means a mistake in the client. */
export async function expectOwnStatus(context: CheckContext, all: Odd[]): Promise<void> {
  for (const { odd, exchange } of await sendAnswered(context, all))
    if (isOwnMistake(statusOf(exchange))) fail(`${odd.what} is answered with status ${statusOf(exchange)}.`, exchange)
}
