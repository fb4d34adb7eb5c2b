// Reads the fields of requests to the platform and of the platform's answers, and the tokens in these fields.
import type { LabStep } from '../sandbox/lab/record/recorded.ts'
import { isTokenCall } from './platform-calls.ts'

/**
 * Returns the fields in the body of the request. If the body is neither a form nor a JSON object, there are no fields.
 */
export function fieldsOf({ request: { body } }: LabStep): Record<string, unknown> {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
}

/** Returns the fields of the JSON answer. If the answer is not a JSON object, there are no fields. */
export function jsonOf({ response: { body } }: LabStep): Record<string, unknown> {
  try {
    const answer: unknown = typeof body === 'string' ? JSON.parse(body) : undefined
    return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** Returns the fields of an answer that contains an access token. For every other answer, returns undefined. */
export function tokensOf(step: LabStep): { access_token?: unknown; refresh_token?: unknown } | undefined {
  const answer = jsonOf(step)
  return 'access_token' in answer ? answer : undefined
}

/**
 * Returns the same function, but it computes the value of each step only once. Checks ask for the same values very
 * often, for example each time they wait for the next step.
 */
export function oncePerStep<Value extends object>(compute: (step: LabStep) => Value): (step: LabStep) => Value {
  const known = new WeakMap<LabStep, Value>()
  return step => {
    const before = known.get(step)
    if (before) return before
    const value = compute(step)
    known.set(step, value)
    return value
  }
}

/** Returns the tokens that the portal issued in this answer. */
export const tokensIssuedIn = oncePerStep((step): readonly string[] => {
  if (!isTokenCall(step)) return []
  const { access_token, refresh_token } = jsonOf(step)
  return [access_token, refresh_token].filter(token => typeof token === 'string')
})

/** Returns the tokens that the client sent in this request. */
export const tokensSentIn = oncePerStep((step): readonly unknown[] => {
  const { refresh_token, token } = fieldsOf(step)
  const bearer = String(step.request.headers.authorization ?? '')
    .split(' ')
    .at(-1)
  return [refresh_token, token, bearer].filter(Boolean)
})
