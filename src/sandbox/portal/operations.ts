// Describes the portal's calls: the OAuth calls, which every client needs, and the calls for scripts and tests.
import { loginParameters } from '../grants/login-request.ts'
import { answer } from '../http/describe.ts'
import { newPerson } from '../people/rules.ts'
import { consentRequest, revocationRequest, scriptLogin, tokenRequest } from './schemas.ts'

const retryAfter = { 'Retry-After': { type: 'integer', description: 'Seconds.' } }

/** Returns the error answers that all calls have in common. Their bodies have the given schema. */
function refusalsIn(schema: string) {
  return {
    400: answer('A field is missing, was sent twice, or has a wrong value, or the body cannot be read.', schema),
    403: answer('The call is from a page of another site.', schema),
    413: answer('The body is larger than 32 KiB.', schema),
    415: answer('The body is neither a form nor JSON.', schema),
    429: {
      ...answer('There were too many attempts. Retry-After says how many seconds to wait.', schema),
      headers: retryAfter,
    },
    500: answer('The server failed, but it may have carried out the call.', schema),
    503: {
      ...answer('The database does not answer. Retry-After says how many seconds to wait.', schema),
      headers: retryAfter,
    },
  }
}

const ofOAuth = {
  ...refusalsIn('OAuthError'),
  401: answer('The client, the code or the refresh token is not valid.', 'OAuthError'),
}

// The calls for scripts send no client secret, no code and no refresh token, so they never answer 401.
const ofScripts = {
  ...refusalsIn('Message'),
  403: answer(
    'The e-mail address or the password is incorrect, the person has not allowed the application, or the call is from a page of another site.',
    'Message',
  ),
}

/**
 * Describes a body that can be a form or JSON, with the same fields. `example` contains example values that work in
 * this sandbox.
 */
function describeFields(schema: object, example: Record<string, string> = {}) {
  return {
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: { ...schema, examples: [example] },
  }
}

const oauth = { tags: ['OAuth'], security: [] }
const scripts = { tags: ['For scripts and tests'], security: [] }

const empty = (description: string) => ({ type: 'null', description })

export const startLoginCall = {
  ...oauth,
  operationId: 'startLogin',
  summary: 'Start a login in the browser',
  description:
    'The portal sends the browser back to redirect_uri, with the parameters code, state, redirect_uri, subject, client_id and iss.',
  querystring: loginParameters,
  response: {
    200: empty('A page on which the person signs in, or is asked to allow the application.'),
    303: empty(
      'A redirect back to the application, if the person has allowed the application before. If the request has no parameters, a redirect to the account page.',
    ),
    400: empty('A page that says what is wrong with the request.'),
  },
}

export const exchangeTokenCall = {
  ...oauth,
  operationId: 'exchangeToken',
  summary: 'Exchange a code or a refresh token for tokens',
  ...describeFields(tokenRequest, {
    grant_type: 'authorization_code',
    state: '$STATE',
    code_verifier: '$CODE_VERIFIER',
  }),
  response: { 200: answer('The tokens.', 'Tokens'), ...ofOAuth },
}

export const revokeTokenCall = {
  ...oauth,
  operationId: 'revokeToken',
  summary: 'End a login and all its tokens (RFC 7009)',
  ...describeFields(revocationRequest),
  response: { 200: empty('The token is no longer valid. The answer is the same for an unknown token.'), ...ofOAuth },
}

export const meCall = {
  tags: ['Person'],
  operationId: 'me',
  summary: 'Get the person who signed in',
  response: {
    200: answer('The person.', 'Person'),
    403: answer(
      'The access token is missing or not valid, or the user of the token no longer has an account.',
      'Message',
    ),
    500: ofScripts[500],
    503: ofScripts[503],
  },
}

export const registerCall = {
  ...scripts,
  operationId: 'register',
  summary: 'Create an account',
  ...describeFields(newPerson, {
    email: 'someone@example.test',
    password: 'several words are good',
    firstName: 'Sam',
    lastName: 'One',
    termsAccepted: 'true',
  }),
  response: {
    201: answer('The person.', 'Person'),
    422: answer(
      'Fields are not valid. The message is an object with a list of problems for each of these fields.',
      'FieldMessages',
    ),
    ...ofScripts,
  },
}

export const authorizeCall = {
  ...scripts,
  operationId: 'authorize',
  summary: 'Sign in without a browser',
  ...describeFields(scriptLogin, { grant_type: 'authorization', response_type: 'code' }),
  response: {
    200: answer('The address to which the portal would have redirected a browser.', 'ScriptLogin'),
    ...ofScripts,
  },
}

export const authorizeApplicationCall = {
  ...scripts,
  operationId: 'authorizeApplication',
  summary: 'Allow an application without a browser',
  description: 'Send the e-mail address and the password, or the cookie of a session at the portal.',
  ...describeFields(consentRequest, { email: '$EMAIL', password: '$PASSWORD' }),
  response: {
    200: answer('The application is allowed.', 'Consent'),
    404: answer('There is no such application.', 'Message'),
    ...ofScripts,
  },
}

export const metadataCall = {
  ...oauth,
  operationId: 'metadata',
  summary: 'Read the metadata of the portal (RFC 8414)',
  response: { 200: answer('The metadata.', 'Metadata') },
}

export const keysCall = {
  ...oauth,
  operationId: 'keys',
  summary: 'Read the public keys for verifying access tokens (RFC 7517)',
  response: { 200: answer('The keys.', 'Keys') },
}
