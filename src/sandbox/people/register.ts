// Makes a new account. Checks every field first, and reports all problems at once.
import { Refusal } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import { countAttempt } from '../store/failures.ts'
import { type Credentials, createUser } from '../store/users.ts'
import { findPersonProblems, isTicked } from './rules.ts'

const signUpsAnHour = 100
const hourMs = 3_600_000

/**
 * `fields` contains the fields exactly as the request contains them, so a field may have any type. The function throws
 * Refusal and Busy. It also throws the errors of the store.
 */
export async function registerUser(
  { store, passwords, clock }: Pick<Services, 'store' | 'passwords' | 'clock'>,
  fields: Record<string, unknown>,
  source: string,
): Promise<Credentials> {
  const person = {
    email: readText(fields.email),
    password: typeof fields.password === 'string' ? fields.password : '',
    firstName: readText(fields.firstName),
    lastName: readText(fields.lastName),
  }
  const problems = findPersonProblems(person)
  if (!isTicked(fields.termsAccepted)) problems.termsAccepted = ['Accept the terms to continue.']
  if (Object.keys(problems).length > 0) throw new Refusal('fields-invalid', { problems })

  await store.transaction(async db => {
    const bucket = { key: `sign-ups ${source}`, limit: signUpsAnHour, windowMs: hourMs }
    const retryAfterSeconds = await countAttempt(db, bucket, clock())
    if (retryAfterSeconds > 0) throw new Refusal('too-many-sign-ups', { retryAfterSeconds })
  })

  // Hash the password before checking whether the e-mail address is taken. The response time then does not show whether
  // the address has an account.
  const passwordHash = await passwords.hash(person.password, source)
  const userId = await store.write(db => createUser(db, { ...person, passwordHash }, clock()))
  if (userId === undefined)
    throw new Refusal('fields-invalid', {
      problems: { email: ['You cannot use this address for a new account. Sign in if this address is yours.'] },
    })
  return { userId, passwordHash }
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}
