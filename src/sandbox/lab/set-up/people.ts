// POST /lab/v1/people: makes a person who can sign in. Fields that are left out get made-up values.
import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { answer } from '../../http/describe.ts'
import { longestPassword } from '../../people/hash-passwords.ts'
import { accountBucket } from '../../people/password.ts'
import { findPersonProblems, longestName, shortestPassword } from '../../people/rules.ts'
import { forgetFailures } from '../../store/failures.ts'
import { markAsMade } from '../../store/for-lab/marks.ts'
import { createUser } from '../../store/users.ts'
import { longestEmail, normaliseEmail } from '../../values/email-address.ts'
import { refusalAnswers, storableText } from '../call-schemas.ts'
import { LabError } from '../lab-error.ts'
import { shortestEmail } from './find-person.ts'
import { type SetUpServices, setUpCall, suiteProperty } from './set-up.ts'

const name = storableText(1, longestName)

const personBody = {
  type: 'object',
  additionalProperties: false,
  properties: {
    email: storableText(shortestEmail, longestEmail, { description: 'An e-mail address that has no account yet.' }),
    password: storableText(shortestPassword, longestPassword),
    firstName: name,
    lastName: name,
    suite: suiteProperty,
  },
} as const satisfies JSONSchema

type PersonBody = FromSchema<typeof personBody>

const text = { type: 'string' } as const

const person = {
  type: 'object',
  additionalProperties: false,
  required: ['userId', 'email', 'password', 'firstName', 'lastName', 'suite'],
  properties: {
    userId: text,
    email: text,
    password: text,
    firstName: text,
    lastName: text,
    suite: { ...text, description: 'Empty if the call did not name a suite.' },
  },
} as const satisfies JSONSchema

/** The schema of the answer, under its name in the OpenAPI document. */
export const personSchemas = { Person: person }

export type Person = FromSchema<typeof person>

type PersonServices = Pick<SetUpServices, 'store' | 'passwords' | 'clock'>

export function personCall(services: PersonServices) {
  return {
    schema: {
      ...setUpCall,
      operationId: 'makePerson',
      summary: 'Make a user who can sign in',
      description: 'The laboratory makes up values for fields that are left out.',
      body: personBody,
      response: { 201: answer('The user, with the password.', 'Person'), ...refusalAnswers(413, 415) },
    },
    handler: async (request: FastifyRequest<{ Body: PersonBody }>, reply: FastifyReply) =>
      reply.status(201).send(await makePerson(services, request.body)),
  }
}

/** Makes up values for the missing fields. Throws LabError 422 if a field is wrong. */
export async function makePerson({ store, passwords, clock }: PersonServices, given: PersonBody): Promise<Person> {
  const random = randomBytes(8).toString('hex')
  const { suite = '', ...asked } = given
  const made = { email: `person-${random}@example.test`, firstName: 'Test', lastName: `Person ${random.slice(0, 4)}` }
  const person = { ...made, password: randomBytes(12).toString('base64url'), ...asked }
  const problems = findPersonProblems(person)
  if (Object.keys(problems).length > 0) throw new LabError(422, problems)
  const passwordHash = await passwords.hash(person.password)
  const userId = await store.transaction(async db => {
    const userId = await createUser(db, { ...person, passwordHash }, clock())
    if (!userId) return undefined
    await markAsMade(db, 'users', userId, suite)
    // Delete the count of failures: an earlier person with this address may have been locked out.
    await forgetFailures(db, accountBucket(person.email))
    return userId
  })
  if (!userId)
    throw new LabError(422, {
      email: ['An account already has this address. Leave email out to get a made-up address.'],
    })
  return { userId, ...person, email: normaliseEmail(person.email), suite }
}
