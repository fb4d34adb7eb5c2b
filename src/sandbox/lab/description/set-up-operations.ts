// Descriptions of the calls that make, expire and remove things.
import { answer, parameters } from '../../http/describe.ts'
import { queryOf } from '../check-request.ts'
import { applicationBody } from '../set-up/applications.ts'
import { expireBody } from '../set-up/expire.ts'
import { groupBody } from '../set-up/groups.ts'
import { lifetimesBody } from '../set-up/lifetimes.ts'
import { personBody } from '../set-up/people.ts'
import { resetBody } from '../set-up/reset.ts'
import { signInBody } from '../set-up/sign-in.ts'
import { id, refuse } from './refusals.ts'

const setUp = { tags: ['Set-up'], querystring: queryOf() }

export const makePerson = {
  ...setUp,
  operationId: 'makePerson',
  summary: 'Make somebody who can sign in',
  description: 'What is left out is made up.',
  body: personBody,
  response: { 201: answer('The person, with the password.', 'Person'), ...refuse(413, 415) },
}

export const makeGroup = {
  ...setUp,
  operationId: 'makeGroup',
  summary: 'Make a group with its members',
  body: groupBody,
  response: { 201: answer('The group.', 'Group'), ...refuse(404, 413, 415) },
}

export const makeClient = {
  ...setUp,
  operationId: 'makeClient',
  summary: 'Make an application with its client',
  description: 'Without a person, one is made to whom it belongs.',
  body: applicationBody,
  response: { 201: answer('All that the client needs.', 'NewClient'), ...refuse(404, 413, 415) },
}

export const setLifetimes = {
  ...setUp,
  operationId: 'setLifetimes',
  summary: 'Say how long what a client is given lives from now on',
  description: 'Until the sandbox stops.',
  params: parameters(id),
  body: lifetimesBody,
  response: { 200: answer('What counts now.', 'Lifetimes'), ...refuse(404, 413, 415) },
}

export const signIn = {
  ...setUp,
  operationId: 'signIn',
  summary: 'Get the tokens of a person, or bring a login to its end',
  body: signInBody,
  response: { 200: answer('Tokens, or where the portal leads to.', 'SignedIn'), ...refuse(404, 413, 415) },
}

export const expire = {
  ...setUp,
  operationId: 'expire',
  summary: 'Let tokens, codes and portal sessions expire now',
  description:
    'One by its value, or all that a person has. When it comes it is answered as any expired one. An access token takes ' +
    'those with it that were given before it in the same login; refresh tokens go on working.',
  body: expireBody,
  response: { 200: answer('How many have expired.', 'Expired'), ...refuse(404, 413, 415) },
}

export const reset = {
  ...setUp,
  operationId: 'reset',
  summary: 'Remove what was made for a suite of tests',
  description:
    'People, groups and applications, and the groups and applications that those people made, in whatever group, with ' +
    'all tokens and consents that they gave. What belongs to other suites stays, and so does an application that somebody else made: ' +
    'its group then passes to a member who stays.',
  body: resetBody,
  response: { 200: answer('How many were removed.', 'Reset'), ...refuse(413, 415) },
}
