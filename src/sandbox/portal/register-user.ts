// Signs a new user up: looks at every field, says everything that is wrong at once, and makes the account.
import type { Services } from '../services.ts'
import { type Bucket, countFailure, findBackOff } from '../store/failures.ts'
import { type Credentials, createUser, longestEmail, normaliseEmail } from '../store/users.ts'
import { isLonger } from '../values/text-length.ts'
import { findPasswordProblem } from './password-rules.ts'

/** Wire names, the same on the page and at /api/register. */
export const signUpFields = ['email', 'password', 'firstName', 'lastName', 'termsAccepted'] as const

/** One sentence for each field that is not as it should be. */
export type SignUpProblems = Partial<Record<(typeof signUpFields)[number], string>>

export type Registration = { credentials: Credentials } | { problems: SignUpProblems } | { retryAfterSeconds: number }

const longestName = 100
const signUpsAnHour = 100
const hourMs = 3_600_000

/** `fields` as they came, of any type. Throws Busy and what the store throws. */
export async function registerUser(
  { store, passwords, clock }: Pick<Services, 'store' | 'passwords' | 'clock'>,
  fields: Record<string, unknown>,
  source: string,
): Promise<Registration> {
  const person = {
    email: readText(fields.email),
    password: typeof fields.password === 'string' ? fields.password : '',
    firstName: readText(fields.firstName),
    lastName: readText(fields.lastName),
  }
  const problems: SignUpProblems = {
    ...findPersonProblems(person),
    ...findProblem('termsAccepted', isTicked(fields.termsAccepted) ? undefined : 'Accept the terms to continue.'),
  }
  if (Object.keys(problems).length > 0) return { problems }

  const buckets: Bucket[] = [{ key: `sign-ups ${source}`, limit: signUpsAnHour, windowMs: hourMs }]
  const retryAfterSeconds = await findBackOff(store.read, buckets, clock())
  if (retryAfterSeconds > 0) return { retryAfterSeconds }
  await store.write(db => countFailure(db, buckets, clock()))

  // Hashed before anybody looks whether the address is taken: the work is the same either way.
  const passwordHash = await passwords.hash(person.password, source)
  const userId = await store.write(db => createUser(db, { ...person, passwordHash }, clock()))
  return userId
    ? { credentials: { userId, passwordHash } }
    : { problems: { email: 'You cannot use this address for a new account. Sign in if it is yours.' } }
}

/** The rules for an account, whoever makes it. */
export function findPersonProblems({ email, password, firstName, lastName }: Record<PersonField, string>) {
  return {
    ...findProblem('email', findEmailProblem(email)),
    ...findProblem('password', findPasswordProblem(password, email)),
    ...findProblem('firstName', findNameProblem(firstName)),
    ...findProblem('lastName', findNameProblem(lastName)),
  }
}

type PersonField = Exclude<keyof SignUpProblems, 'termsAccepted'>

function findProblem(name: keyof SignUpProblems, problem: string | undefined): SignUpProblems {
  return problem === undefined ? {} : { [name]: problem }
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}

function isTicked(value: unknown): boolean {
  return value === true || (typeof value === 'string' && ['true', 'on', 'yes', '1'].includes(value))
}

/** ASCII alone, after normalising: a letter that only looks like another must not make a second account. */
export function findEmailProblem(email: string): string | undefined {
  if (email === '') return 'Enter your e-mail address.'
  const address = normaliseEmail(email)
  const isAddress = address.length <= longestEmail && /^[!-?A-~]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)*$/.test(address)
  return isAddress ? undefined : 'Enter an e-mail address like name@example.org.'
}

function findNameProblem(name: string): string | undefined {
  if (name === '') return 'Enter your name.'
  if (isLonger(name, longestName)) return `Use ${longestName} characters or fewer.`
  // Control characters have no place in a name, and NUL none in PostgreSQL; half a surrogate pair is no text at all.
  return /\p{Cc}/u.test(name) || !name.isWellFormed() ? 'Use only letters, spaces and symbols.' : undefined
}
