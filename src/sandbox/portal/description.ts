// The portal's calls in OpenAPI 3.1: those of OAuth that every client needs, and those of 2019 for scripts and tests.
import { listOf, object, only, type Schema, text } from '../http/describe.ts'
import type { Addresses } from '../services.ts'

const description =
  'How an application signs people in: send the browser to GET /, take the code that it comes back with, and exchange it ' +
  'for tokens from the server of the application. No page of another site may make these calls.'

const jsonOf = (schema: Schema) => ({ 'application/json': { schema } })
const named = (name: string) => ({ $ref: `#/components/schemas/${name}` })

function answer(description: string, schema: Schema) {
  return { description, content: jsonOf(schema) }
}

/** A form. The same fields are accepted as JSON. `example` has values that work, where they can be known. */
function form(properties: Record<string, Schema>, { optional = [] as string[], example = {} } = {}) {
  const schema = object(properties, { optional })
  return {
    required: true,
    content: { 'application/x-www-form-urlencoded': { schema, example }, 'application/json': { schema, example } },
  }
}

const about = (description: string, more: Schema = {}): Schema => ({ type: 'string', description, ...more })

const client = {
  client_id: about('Client ID of the application.'),
  client_secret: about('Its client secret, which never leaves the server.', { format: 'password' }),
}
const start = {
  grant_type: only('authorization'),
  response_type: only('code'),
  client_id: client.client_id,
  redirect_uri: about('Where the browser comes back to: byte for byte one that is registered.', { format: 'uri' }),
  cancel_url: about('Where it goes when the person declines: of the origin of a registered redirect URI.', {
    format: 'uri',
  }),
  state: about('New for each login. It comes back, and the application compares it.'),
  code_challenge: about('PKCE (RFC 7636): the hash of a verifier that the exchange then has to bring.', {
    minLength: 43,
    maxLength: 43,
  }),
  code_challenge_method: only('S256'),
}
const optionalAtStart = ['state', 'code_challenge', 'code_challenge_method']
const person = { email: about('E-mail address.', { format: 'email' }), password: about('', { format: 'password' }) }

const refused = answer('What is wrong, in the words of RFC 6749 5.2.', named('OAuthError'))
const denied = answer(
  'E-mail address or password is incorrect, or something has to be allowed first.',
  named('Message'),
)
const tooMany = { ...answer('Too many failures. See Retry-After.', named('Message')) }
const oauth = { tags: ['OAuth'], security: [] }
const scripts = { tags: ['For scripts and tests'], security: [] }

/** `portalUrl` is the address that serves the description. */
export function describePortalCalls({ portalUrl }: Pick<Addresses, 'portalUrl'>) {
  return {
    openapi: '3.1.0',
    info: { title: 'Login portal', version: '1.0', description },
    servers: [{ url: portalUrl }],
    tags: [{ name: 'OAuth' }, { name: 'Person' }, { name: 'For scripts and tests' }],
    paths: {
      '/': { get: startOfLogin },
      '/api/exchangeToken': { post: exchangeToken },
      '/api/revokeToken': { post: revokeToken },
      '/api/me': { get: me },
      '/api/register': { post: register },
      '/api/authorize': { post: authorize },
      '/api/authorizeApplication': { post: authorizeApplication },
      '/.well-known/oauth-authorization-server': { get: metadata },
      '/.well-known/jwks.json': { get: keys },
    },
    components: {
      securitySchemes: { accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: {
        Tokens: object(
          {
            access_token: about('A JWT (RFC 9068), for the Authorization header.'),
            expires_in: { type: 'integer', description: 'Seconds.' },
            token_type: only('Bearer'),
            refresh_token: about('Replaced each time it is used.'),
            scope: text,
            state: about('As it was sent.'),
          },
          { optional: ['state'] },
        ),
        OAuthError: object(
          {
            error: about('A code of RFC 6749 5.2.'),
            error_description: text,
            error_uri: about('Where the laboratory says what happened.', { format: 'uri' }),
            state: text,
          },
          { optional: ['error_description', 'error_uri', 'state'] },
        ),
        Message: object(
          { message: { description: 'A sentence, or sentences by field.' }, userId: text },
          { optional: ['userId'] },
        ),
        Person: object({
          '@context': text,
          '@type': only('Person'),
          '@id': about('User ID.'),
          email: text,
          role: text,
          firstName: text,
          lastName: text,
        }),
      },
    },
  }
}

const startOfLogin = {
  ...oauth,
  operationId: 'startLogin',
  summary: 'Start a login: the browser is sent here',
  description: 'The browser comes back to redirect_uri with code, state, redirect_uri, subject and client_id.',
  parameters: Object.entries(start).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !optionalAtStart.includes(name),
    schema,
  })),
  responses: {
    200: { description: 'A page on which the person signs in, or is asked to allow the application.' },
    303: {
      description:
        'Back to the application, where the person has allowed it before; without any parameter, to the account.',
    },
    400: { description: 'A page that says what is wrong with the request.' },
  },
}

const exchangeToken = {
  ...oauth,
  operationId: 'exchangeToken',
  summary: 'Exchange a code, or a refresh token, for tokens',
  requestBody: form(
    {
      grant_type: only('authorization_code', 'refresh_token'),
      code: about('From the redirect: valid for 60 seconds, once.'),
      redirect_uri: start.redirect_uri,
      state: about('The one of the start, if it had one.'),
      code_verifier: about('PKCE, where the start had a challenge.'),
      refresh_token: about('In place of code and redirect_uri, with grant_type refresh_token.'),
      ...client,
    },
    { optional: ['code', 'redirect_uri', 'state', 'code_verifier', 'refresh_token'] },
  ),
  responses: { 200: answer('The tokens.', named('Tokens')), 400: refused, 401: refused, 429: refused },
}

const revokeToken = {
  ...oauth,
  operationId: 'revokeToken',
  summary: 'End a login by its refresh token or an access token, and with it all tokens that it gave (RFC 7009)',
  requestBody: form({ token: text, ...client }),
  responses: { 200: { description: 'It is valid no longer, or never was.' }, 400: refused, 401: refused, 429: refused },
}

const me = {
  tags: ['Person'],
  security: [{ accessToken: [] }],
  operationId: 'me',
  summary: 'Get the person who signed in',
  responses: { 200: answer('The person.', named('Person')), 403: denied },
}

const register = {
  ...scripts,
  operationId: 'register',
  summary: 'Create an account',
  requestBody: form(
    { ...person, firstName: text, lastName: text, termsAccepted: only('true') },
    {
      example: {
        email: 'someone@example.test',
        password: 'several words are good',
        firstName: 'Sam',
        lastName: 'One',
        termsAccepted: 'true',
      },
    },
  ),
  responses: {
    201: answer('The person.', named('Person')),
    422: answer('Sentences by field.', named('Message')),
    429: tooMany,
  },
}

const authorize = {
  ...scripts,
  operationId: 'authorize',
  summary: 'Sign in without a browser',
  requestBody: form({ ...person, ...start }, { optional: optionalAtStart }),
  responses: {
    200: answer('Where the browser would have been sent.', object({ redirectUrl: text, userId: text })),
    400: refused,
    403: denied,
    429: tooMany,
  },
}

const authorizeApplication = {
  ...scripts,
  operationId: 'authorizeApplication',
  summary: 'Allow an application without a browser',
  requestBody: form({ userId: text, clientId: text, ...person }),
  responses: { 200: { description: 'It is allowed.' }, 400: refused, 403: denied, 429: tooMany },
}

const metadata = {
  ...oauth,
  operationId: 'metadata',
  summary: 'What the portal offers, for clients to find out (RFC 8414)',
  responses: { 200: answer('The metadata.', { type: 'object' }) },
}

const keys = {
  ...oauth,
  operationId: 'keys',
  summary: 'The public keys that access tokens are verified with (RFC 7517)',
  responses: { 200: answer('The keys.', object({ keys: listOf({ type: 'object' }) })) },
}

/** Settings of the page for reading and trying the calls. */
export function callsPageOf({ portalUrl, apiUrl }: Addresses) {
  return {
    title: 'The login portal’s calls',
    about: description,
    documentPath: '/api/openapi.json',
    tokenUrl: `${portalUrl}/account/token`,
    links: [
      { href: '/api/openapi.json', label: 'OpenAPI 3.1' },
      { href: `${apiUrl}/apps/v1/docs`, label: 'The application API' },
    ],
  }
}
