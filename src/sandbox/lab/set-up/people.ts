// POST /lab/v1/people: makes a person who can sign in. Fields that are left out get made-up values.
import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { accountBucket } from '../../people/password.ts'
import { findPersonProblems } from '../../people/rules.ts'
import { forgetFailures } from '../../store/failures.ts'
import { markAsMade } from '../../store/marks.ts'
import { createUser, normaliseEmail } from '../../store/users.ts'
import { storable } from '../check-request.ts'
import { LabError } from '../lab-error.ts'
import type { SetUpParts } from './set-up-parts.ts'
import { suiteProperty } from './suite.ts'

const name = { type: 'string', pattern: storable, minLength: 1, maxLength: 100 } as const

export const personBody = {
  type: 'object',
  additionalProperties: false,
  properties: {
    email: {
      type: 'string',
      pattern: storable,
      minLength: 3,
      maxLength: 254,
      description: 'An address that nobody has yet.',
    },
    password: { type: 'string', pattern: storable, minLength: 8, maxLength: 1000 },
    firstName: name,
    lastName: name,
    suite: suiteProperty,
  },
} as const satisfies JSONSchema

export type NewPerson = FromSchema<typeof personBody>

export interface Person {
  userId: string
  email: string
  password: string
  firstName: string
  lastName: string
  suite: string
}

export function makePeople(parts: Pick<SetUpParts, 'store' | 'passwords' | 'clock'>) {
  return async (request: FastifyRequest<{ Body: NewPerson }>, reply: FastifyReply) =>
    reply.status(201).send(await makePerson(parts, request.body))
}

/** Throws LabError 422. */
export async function makePerson(
  { store, passwords, clock }: Pick<SetUpParts, 'store' | 'passwords' | 'clock'>,
  given: NewPerson,
): Promise<Person> {
  const random = randomBytes(8).toString('hex')
  const { suite = '', ...asked } = given
  const made = { email: `person-${random}@example.test`, firstName: 'Test', lastName: `Person ${random.slice(0, 4)}` }
  const person = { ...made, password: randomBytes(12).toString('base64url'), ...asked }
  const problems = Object.entries(findPersonProblems(person)).map(([field, problem]) => [field, [problem]])
  if (problems.length > 0) throw new LabError(422, Object.fromEntries(problems))
  const passwordHash = await passwords.hash(person.password)
  const userId = await store.transaction(async db => {
    const userId = await createUser(db, { ...person, passwordHash }, clock())
    if (!userId) return undefined
    await markAsMade(db, 'users', userId, suite)
    // An earlier person with this address may have been locked out.
    await forgetFailures(db, accountBucket(person.email))
    return userId
  })
  if (!userId) throw new LabError(422, { email: ['Somebody has this address. Leave it out, and one is made up.'] })
  return { userId, ...person, email: normaliseEmail(person.email), suite }
}
