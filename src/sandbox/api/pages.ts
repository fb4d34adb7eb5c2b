// The web pages of the API's listener: the home page, and the content of the page that describes the calls. Anyone can
// read these pages, because they contain no secrets.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { exampleFields } from '../applications/fields.ts'
import type { Addresses } from '../services.ts'
import { appTokenLifetime } from '../tokens/access-token.ts'
import { contexts } from '../values/contexts.ts'
import { curlList } from '../web/curl.ts'
import { showPage } from '../web/page-headers.ts'

/** Shows the page at the API's own address. This page says what the API is, and where to read more. */
export function homeHandler({ apiUrl, portalUrl, labUrl }: Addresses) {
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    return showPage(reply, 'application-api', {
      title: 'Create and manage applications from a program',
      width: 'middle',
      brand: 'Application API',
      scripts: ['copy-buttons.js'],
      list: curlList(apiUrl),
      portalUrl,
      labUrl,
    })
  }
}

const exampleId = '8f6f2f4e-6d1c-4a55-b6f0-3c8d1f0a9b21'
const exampleGroup = 'd2719e1c-5a4f-4f6e-9a3b-0f7c2f5f1e77'
const exampleUser = '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed'

const exampleSecret = 'kX2vJm0Qh7sWc5Tz9rLb3NfYp8GdVa1Ue6Ro4Ai_0Hs'

/** Values for the example answers on the page that describes the calls. */
const samples = {
  ...Object.fromEntries(Object.entries(contexts).map(([type, context]) => [`${type}.@context`, context])),
  'DeveloperOf.from': exampleGroup,
  'DeveloperOf.to': exampleId,
  'Group.@id': exampleGroup,
  'MemberOf.data': { name: 'Weather', status: 'maker' },
  outLinks: [],
  '@id': exampleId,
  clientId: exampleId,
  from: exampleUser,
  to: exampleGroup,
  createdBy: exampleUser,
  updatedBy: exampleUser,
  ...exampleFields,
  clientSecrets: [exampleSecret],
  clientSecret: exampleSecret,
  token: 'eyJhbGciOiJFUzI1NiIs…',
  access_token: 'eyJhbGciOiJFUzI1NiIs…',
  expires_in: appTokenLifetime,
}

/** The title, texts and links of the page that describes the calls. */
export function apiCallsPage({ portalUrl, labUrl }: Addresses) {
  return {
    title: 'API reference',
    home: { href: '/', label: 'Application API' },
    brand: 'Application API',
    about: 'List, create, change and remove the applications that you develop, and manage their groups.',
    tokenUrl: `${portalUrl}/account/token`,
    variables: [
      { name: 'USER_ID', is: 'Your user ID. It is on your account page at the login portal.' },
      {
        name: 'GROUP_ID',
        is: 'The ID of one of your groups. In the response to “List your groups”, it is the field “to”.',
      },
      {
        name: 'APP_ID',
        is: 'The ID of an application. In the response to “List your applications”, it is the field “@id”.',
      },
    ],
    errorHelp:
      'Every error has this format. If the status is 422, the field “message” is an object with a list of problems for each field. Otherwise, “message” is a string.',
    errorExample: { error: { status: 404, message: 'App not found.' } },
    samples,
    links: [
      { href: '/apps/v1/openapi.json', label: 'OpenAPI 3.1' },
      { href: '/apps/v1/api.raml', label: 'RAML 1.0' },
      { href: `${portalUrl}/api/docs`, label: 'The login portal’s OAuth calls' },
      ...(labUrl === undefined ? [] : [{ href: labUrl, label: 'The laboratory' }]),
    ],
  }
}
