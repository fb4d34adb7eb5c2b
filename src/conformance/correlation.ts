// Finds the values that connect a request at the platform with a login, and so with the check that made this login.
import type { LabStep } from '../sandbox/lab/record/recorded.ts'

/** Returns the values in an address that belong to only one login: its state and its code. */
export function loginValuesIn(address: string): string[] {
  const query = address.split('?')[1]?.split('#')[0] ?? ''
  return [...new URLSearchParams(query)].flatMap(([name, value]) => loginValue(name, value))
}

function loginValue(name: string, value: unknown): string[] {
  return ['state', 'code'].includes(name) && typeof value === 'string' && value.length >= 8 ? [`${name} ${value}`] : []
}

const known = new WeakMap<LabStep, string[]>()

/** Returns the states and codes in the address and the body of a request. */
export function loginValuesOf(step: LabStep): string[] {
  const before = known.get(step)
  if (before) return before
  const { url, body } = step.request
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : []
  const values = [...loginValuesIn(url), ...fields.flatMap(([name, value]) => loginValue(name, value))]
  known.set(step, values)
  return values
}

export function tokensSentIn({ request }: LabStep): unknown[] {
  const { refresh_token, token } = (request.body ?? {}) as Record<string, unknown>
  return [
    refresh_token,
    token,
    String(request.headers.authorization ?? '')
      .split(' ')
      .at(-1),
  ].filter(Boolean)
}

export function tokensGivenIn({ kind, response }: LabStep): unknown[] {
  if (!['exchange', 'refresh'].includes(kind) || typeof response.body !== 'string') return []
  try {
    const { access_token, refresh_token } = JSON.parse(response.body) as Record<string, unknown>
    return [access_token, refresh_token].filter(token => typeof token === 'string')
  } catch {
    return []
  }
}

/** Whether a visitor waits for this call of the client. Calls for metadata and revocations do not count. */
export const isPlatformCall = ({ kind }: LabStep): boolean => ['api', 'me', 'exchange', 'refresh'].includes(kind)
