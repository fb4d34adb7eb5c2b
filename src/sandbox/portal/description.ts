// The title and introduction of the portal's description, and the page to read it and to try the calls.
import type { Description } from '../http/describe.ts'
import type { Addresses } from '../services.ts'

const description =
  'How an application signs people in: send the browser to GET /, take the code that it comes back with, and exchange it ' +
  'for tokens from the server of the application. No page of another site may make these calls.'

/** For describeRoutes. */
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

/** Settings of the page for reading and trying the calls. */
export function portalCallsPage({ portalUrl, apiUrl }: Addresses) {
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
