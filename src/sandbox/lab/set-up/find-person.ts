// Finds the person that a call is about. A call can name only people whom the laboratory or the seeds made.
import type { Services } from '../../services.ts'
import { findMadePerson, type MadePerson } from '../../store/for-lab/marks.ts'
import { longestEmail } from '../../values/email-address.ts'
import { isId } from '../../values/is-id.ts'
import { storableText } from '../call-schemas.ts'
import { LabError } from '../lab-error.ts'

/** The length of `a@b`. */
export const shortestEmail = 3

/** Exactly one of the two fields must be given. The answer to POST /lab/v1/people contains both fields. */
export interface PersonFields {
  userId?: string | undefined
  email?: string | undefined
}

export const personProperties = {
  userId: storableText(1, 64, { description: 'The id of the user. Send either userId or email.' }),
  email: storableText(shortestEmail, longestEmail, { description: 'The e-mail address of the user.' }),
} as const

/**
 * Throws LabError 422 if both fields are given, or if neither is given. Throws LabError 404 if neither the laboratory
 * nor the seeds made the person.
 */
export async function findPerson(
  { store }: Pick<Services, 'store'>,
  { userId, email }: PersonFields,
): Promise<MadePerson> {
  if ((userId === undefined) === (email === undefined))
    throw new LabError(422, { userId: ['Send either userId or email, not both.'] })
  const person =
    userId === undefined
      ? await findMadePerson(store.read, { email: email ?? '' })
      : isId(userId) && (await findMadePerson(store.read, { userId }))
  if (person) return person
  throw new LabError(
    404,
    'Neither the laboratory nor the seeds made this person. To make a person, call POST /lab/v1/people. This call does not accept accounts that people created themselves.',
  )
}
