// The schemas of the requests and answers of the portal's calls. Fastify checks requests with these schemas, and the
// API description contains them.
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { loginParameters } from '../grants/login-request.ts'
import { text as anyText, listOf, object, type Schema } from '../http/describe.ts'

const text = { type: 'string' } as const

const client = {
  client_id: loginParameters.properties.client_id,
  client_secret: {
    type: 'string',
    format: 'password',
    description: 'The client secret. The secret must never leave the server of the application.',
  },
} as const

const account = {
  email: { type: 'string', format: 'email', description: 'E-mail address.' },
  password: { type: 'string', format: 'password' },
} as const

export const tokenRequest = {
  type: 'object',
  required: ['grant_type', 'client_id', 'client_secret'],
  // The order of these fields matters: if several fields are wrong, the answer names only the wrong field that comes
  // first here.
  properties: {
    grant_type: { type: 'string', enum: ['authorization_code', 'refresh_token'] },
    code: {
      type: 'string',
      description: 'The code from the redirect. A code works only once, and only for a short time.',
    },
    refresh_token: {
      type: 'string',
      description: 'Required if grant_type is refresh_token, instead of code and redirect_uri.',
    },
    ...client,
    // This field has no `format`, because parsing the address would take time. A `format` is not needed: the exchange
    // accepts only the redirect URI from the start of the login.
    redirect_uri: { type: 'string', description: 'The same value as at the start of the login, byte for byte.' },
    state: {
      type: 'string',
      description: 'The same value as at the start of the login. Required if the login started with a state.',
    },
    code_verifier: { type: 'string', description: 'Required if the login started with a code_challenge (PKCE).' },
    scope: { type: 'string', description: 'Leave this field out: a renewal cannot add a scope.' },
  },
  if: { properties: { grant_type: { const: 'refresh_token' } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['refresh_token'] },
  else: { required: ['code', 'redirect_uri'] },
} as const satisfies JSONSchema

export const revocationRequest = {
  type: 'object',
  required: ['token', 'client_id', 'client_secret'],
  properties: { token: text, ...client },
} as const satisfies JSONSchema

export const scriptLogin = {
  type: 'object',
  required: ['email', 'password', ...loginParameters.required],
  properties: { ...account, ...loginParameters.properties },
} as const satisfies JSONSchema

export const consentRequest = {
  type: 'object',
  required: ['userId', 'clientId'],
  properties: { userId: text, clientId: text, ...account },
  dependencies: { email: ['password'], password: ['email'] },
} as const satisfies JSONSchema

const tokens = {
  type: 'object',
  required: ['access_token', 'expires_in', 'token_type', 'scope', 'refresh_token'],
  properties: {
    access_token: { type: 'string', description: 'A JWT (RFC 9068), for the Authorization header.' },
    expires_in: { type: 'integer', description: 'Seconds.' },
    token_type: { type: 'string', enum: ['Bearer'] },
    scope: text,
    refresh_token: { type: 'string', description: 'Each use replaces this token with a new refresh token.' },
    state: { type: 'string', description: 'The state from the request.' },
  },
} as const satisfies JSONSchema

const oauthError = {
  type: 'object',
  required: ['error', 'error_description'],
  properties: {
    error: { type: 'string', description: 'An error code from RFC 6749 4.1.2.1 or 5.2.' },
    error_description: text,
    error_uri: { type: 'string', format: 'uri', description: 'The page of the laboratory that says what happened.' },
    state: { type: 'string', description: 'The state from the request.' },
  },
} as const satisfies JSONSchema

const person = {
  type: 'object',
  required: ['@context', '@type', '@id', 'email', 'role', 'firstName', 'lastName'],
  properties: {
    '@context': text,
    '@type': { type: 'string', enum: ['Person'] },
    '@id': { type: 'string', description: 'User ID.' },
    email: text,
    role: text,
    firstName: text,
    lastName: text,
  },
} as const satisfies JSONSchema

const scriptLoginAnswer = {
  type: 'object',
  required: ['redirectUrl', 'userId'],
  properties: { redirectUrl: text, userId: text },
} as const satisfies JSONSchema

const consentAnswer = {
  type: 'object',
  required: ['userId', 'clientId'],
  properties: { userId: text, clientId: text },
} as const satisfies JSONSchema

export type TokenRequest = FromSchema<typeof tokenRequest, { parseIfThenElseKeywords: true }>
export type CodeRequest = Extract<TokenRequest, { grant_type: 'authorization_code' }>
export type RenewalRequest = Extract<TokenRequest, { grant_type: 'refresh_token' }>
export type RevocationRequest = FromSchema<typeof revocationRequest>
export type ScriptLogin = FromSchema<typeof scriptLogin>
export type ConsentRequest = FromSchema<typeof consentRequest>
export type TokenAnswer = FromSchema<typeof tokens>
export type OAuthError = FromSchema<typeof oauthError>
export type PersonAnswer = FromSchema<typeof person>
export type ScriptLoginAnswer = FromSchema<typeof scriptLoginAnswer>
export type ConsentAnswer = FromSchema<typeof consentAnswer>

/** The schemas, keyed by the names that the API description uses. */
export const portalSchemas: Record<string, Schema> = {
  Tokens: tokens,
  OAuthError: oauthError,
  Person: person,
  ScriptLogin: scriptLoginAnswer,
  Consent: consentAnswer,
  Message: object({ message: anyText, userId: anyText }, { optional: ['userId'] }),
  FieldMessages: object({ message: { type: 'object', additionalProperties: listOf(anyText) } }),
  Metadata: object({
    issuer: anyText,
    authorization_endpoint: anyText,
    token_endpoint: anyText,
    revocation_endpoint: anyText,
    end_session_endpoint: anyText,
    jwks_uri: anyText,
    response_types_supported: listOf(anyText),
    response_modes_supported: listOf(anyText),
    grant_types_supported: listOf(anyText),
    token_endpoint_auth_methods_supported: listOf(anyText),
    revocation_endpoint_auth_methods_supported: listOf(anyText),
    code_challenge_methods_supported: listOf(anyText),
    authorization_response_iss_parameter_supported: { type: 'boolean' },
  }),
  Keys: object({
    keys: listOf(
      object(Object.fromEntries(['kty', 'crv', 'x', 'y', 'kid', 'alg', 'use'].map(name => [name, anyText]))),
    ),
  }),
}
