// The rules for the fields of an account. The sign-up page, POST /api/register and the laboratory report problems with
// the same sentences.
import type { JSONSchema } from 'json-schema-to-ts'
import type { FieldProblems } from '../observe/refusal.ts'
import { longestEmail, normaliseEmail } from '../values/email-address.ts'
import { findLineProblem } from '../values/line-problem.ts'
import { isLonger } from '../values/text-length.ts'
import { longestPassword } from './hash-passwords.ts'

export interface AccountFields {
  email: string
  password: string
  firstName: string
  lastName: string
}

/** The minimum number of characters in a password. Pages show this number next to the password field. */
export const shortestPassword = 8
/** The maximum number of characters in a first name, and in a last name. */
export const longestName = 100

const name = { type: 'string', minLength: 1, maxLength: longestName } as const

/** The fields of a new account, for the description of POST /api/register. The functions below report wrong fields. */
export const newPerson = {
  type: 'object',
  required: ['email', 'password', 'firstName', 'lastName', 'termsAccepted'],
  properties: {
    email: { type: 'string', format: 'email', maxLength: longestEmail, description: 'E-mail address.' },
    password: { type: 'string', format: 'password', minLength: shortestPassword, maxLength: longestPassword },
    firstName: name,
    lastName: name,
    termsAccepted: { type: 'string', enum: ['true', 'on', 'yes', '1'], description: 'In JSON, true is also allowed.' },
  },
} as const satisfies JSONSchema

/** Returns whether the value of a checkbox says that a person has accepted the terms. */
export function isTicked(value: unknown): boolean {
  const words: readonly unknown[] = newPerson.properties.termsAccepted.enum
  return value === true || words.includes(value)
}

/** Returns one sentence for each wrong field. */
export function findPersonProblems({ email, password, firstName, lastName }: AccountFields): FieldProblems {
  const problems = {
    email: findEmailProblem(email),
    password: findPasswordProblem(password, email),
    firstName: findNameProblem(firstName, 'first name'),
    lastName: findNameProblem(lastName, 'last name'),
  }
  return Object.fromEntries(Object.entries(problems).flatMap(([field, text]) => (text ? [[field, [text]]] : [])))
}

/**
 * Allows only ASCII characters in the normalised address. Otherwise somebody could create an account with an address
 * that looks like another person's address.
 */
export function findEmailProblem(email: string): string | undefined {
  if (email === '') return 'Enter your e-mail address.'
  const address = normaliseEmail(email)
  const isAddress = address.length <= longestEmail && /^[!-?A-~]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)*$/.test(address)
  return isAddress ? undefined : 'Enter an e-mail address like name@example.org.'
}

/**
 * Checks the length of a password, but does not demand certain characters. The password is never shortened, trimmed or
 * changed to lower case.
 */
export function findPasswordProblem(password: string, email: string): string | undefined {
  if (isLonger(password, longestPassword)) return `Use ${longestPassword} characters or fewer.`
  if (!isLonger(password, shortestPassword - 1)) return `Use at least ${shortestPassword} characters.`
  // Half a surrogate pair would be hashed as another character.
  if (!password.isWellFormed()) return 'Use only letters, numbers and symbols.'
  const address = normaliseEmail(email)
  // If the text is too long for an address, normaliseEmail returns an empty string. Then there is no address to compare
  // the password with.
  if (address !== '' && [address, address.split('@')[0]].includes(normaliseEmail(password)))
    return 'Choose a password that is not your e-mail address.'
  return undefined
}

function findNameProblem(name: string, label: string): string | undefined {
  if (name === '') return `Enter your ${label}.`
  return findLineProblem(name, longestName)
}
