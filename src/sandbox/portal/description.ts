// The title and the introduction of the portal's API description, and the texts of the page that shows this
// description.
import type { Description } from '../http/describe.ts'
import type { Addresses } from '../services.ts'
import { contexts } from '../values/contexts.ts'
import { describePortal } from './metadata.ts'

const description =
  'To sign a person in, an application sends the browser to GET /. The browser comes back with a code, and the server of ' +
  'the application exchanges the code for tokens. Pages of other sites cannot make these calls.'

/** The title, the address and the tags of the description. Pass this value to describeRoutes. */
export function portalDescription({ portalUrl }: Pick<Addresses, 'portalUrl'>): Description {
  return {
    title: 'Login portal',
    version: '1.0',
    description,
    url: portalUrl,
    tags: ['OAuth', 'Person', 'For scripts and tests'],
    security: { accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
  }
}

/** The title, texts and links of the page that describes the calls. */
export function portalCallsPage({ portalUrl, apiUrl, labUrl }: Addresses) {
  return {
    title: 'Calls to the login portal',
    about: description,
    tokenUrl: `${portalUrl}/account/token`,
    variables: [
      { name: 'CLIENT_ID, CLIENT_SECRET', is: 'The credentials of your application.' },
      {
        name: 'REDIRECT_URI, CANCEL_URL',
        is: 'The address to which the portal redirects the browser after a login, and the address to which it redirects the browser if the person declines. Register the redirect URI first.',
      },
      {
        name: 'CODE',
        is: 'The code from the address that the browser comes back to. A code works only once, and only for a short time.',
      },
      { name: 'STATE, CODE_VERIFIER', is: 'Random values that your application makes for each login.' },
      { name: 'CODE_CHALLENGE', is: 'The SHA-256 hash of CODE_VERIFIER, in base64url.' },
      { name: 'EMAIL, PASSWORD, USER_ID', is: 'An account for tests. The account page shows the user ID.' },
    ],
    errorHelp:
      'Errors of OAuth calls have this format. All other errors have the field “message”. If the status is 422, “message” is an object with a list of problems for each field. Otherwise, “message” is a string.',
    errorExample: {
      error: 'invalid_grant',
      error_description: 'The code is not valid, or does not belong to this request.',
    },
    samples: {
      access_token: 'eyJhbGciOiJFUzI1NiIs…',
      refresh_token: 'v3Jm0Qh7sWc5Tz9rLb3NfYp8GdVa1U',
      expires_in: 86_400,
      state: 'af0ifjsldkj',
      '@context': contexts.Person,
      '@id': userId,
      userId,
      clientId: '8f6f2f4e-6d1c-4a55-b6f0-3c8d1f0a9b21',
      email: 'ada@example.test',
      role: 'developer',
      firstName: 'Ada',
      lastName: 'Lovelace',
      redirectUrl: 'http://localhost:3000/exchangeToken?code=…&state=af0ifjsldkj',
      ...describePortal(portalUrl),
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
      kid: '2026-03-01',
      alg: 'ES256',
      use: 'sig',
    },
    links: [
      { href: '/api/openapi.json', label: 'OpenAPI 3.1' },
      { href: `${apiUrl}/apps/v1/docs`, label: 'The application API' },
      ...(labUrl === undefined ? [] : [{ href: labUrl, label: 'The laboratory' }]),
    ],
  }
}

const userId = '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed'
