// Finds the values that connect a request at the platform with a login, and so with the check that made this login.
import { fieldsOf, oncePerStep } from './tokens.ts'

/** Values that belong to only one login. */
interface LoginValues {
  states: string[]
  codes: string[]
}

/** Returns the states and codes in the query of an address. */
export function loginValuesIn(address: string): LoginValues {
  return pickLoginValues(queryOf(address))
}

/** Returns the states and codes in the address and the body of a request. */
export const loginValuesOf = oncePerStep(step =>
  pickLoginValues([...queryOf(step.request.url), ...Object.entries(fieldsOf(step))]),
)

function queryOf(address: string): [name: string, value: string][] {
  const query = address.split('?')[1]?.split('#')[0] ?? ''
  return [...new URLSearchParams(query)]
}

function pickLoginValues(fields: [name: string, value: unknown][]): LoginValues {
  // A shorter value could also occur in requests that do not belong to the login.
  const isLong = (value: unknown) => typeof value === 'string' && value.length >= 8
  const texts = fields.filter((field): field is [name: string, value: string] => isLong(field[1]))
  const valuesOf = (wanted: string) => texts.filter(([name]) => name === wanted).map(([, value]) => value)
  return { states: valuesOf('state'), codes: valuesOf('code') }
}
