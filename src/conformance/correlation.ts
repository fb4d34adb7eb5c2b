// Finds the values that connect a request at the platform with a login, and so with the check that made this login.
import type { LabStep } from '../sandbox/lab/record/recorded.ts'
import { fieldsOf } from './tokens.ts'

/** Values that belong to only one login. */
export interface LoginValues {
  states: string[]
  codes: string[]
}

/** Returns the states and codes in the query of an address. */
export function loginValuesIn(address: string): LoginValues {
  const query = address.split('?')[1]?.split('#')[0] ?? ''
  return pickLoginValues([...new URLSearchParams(query)])
}

const known = new WeakMap<LabStep, LoginValues>()

/** Returns the states and codes in the address and the body of a request. */
export function loginValuesOf(step: LabStep): LoginValues {
  const before = known.get(step)
  if (before) return before
  const inAddress = loginValuesIn(step.request.url)
  const inBody = pickLoginValues(Object.entries(fieldsOf(step)))
  const values = { states: [...inAddress.states, ...inBody.states], codes: [...inAddress.codes, ...inBody.codes] }
  known.set(step, values)
  return values
}

function pickLoginValues(fields: [name: string, value: unknown][]): LoginValues {
  const valuesOf = (wanted: string) =>
    fields.flatMap(([name, value]) =>
      name === wanted && typeof value === 'string' && value.length >= 8 ? [value] : [],
    )
  return { states: valuesOf('state'), codes: valuesOf('code') }
}
