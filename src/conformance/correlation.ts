// Finds the values that connect a request at the platform with a login, and so with the check that made this login.
import type { LabStep } from '../sandbox/lab/record/recorded.ts'
import { fieldsOf } from './tokens.ts'

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
  const fields = Object.entries(fieldsOf(step))
  const values = [...loginValuesIn(step.request.url), ...fields.flatMap(([name, value]) => loginValue(name, value))]
  known.set(step, values)
  return values
}
