// Faults in the redirect that sends the browser back to the client.
import { randomBytes } from 'node:crypto'
import { type Answer, hyphens, type Kind, type Kinds, type Options, oneOf, type Preset, textUpTo } from './kind.ts'

type Change = (query: URLSearchParams, options: Record<string, unknown>) => void

const random = () => randomBytes(24).toString('base64url')

/** The error codes of RFC 6749 4.1.2.1. */
const errors = [
  'invalid_request',
  'unauthorized_client',
  'access_denied',
  'unsupported_response_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
]

const hostile =
  '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\u0000\r\nSet-Cookie: a=b\r\n\r\n{{7*7}}<%= 7*7 %>javascript:alert(1)'

const parameters = ['code', 'state', 'iss', 'client_id', 'subject', 'redirect_uri']
const replaceable = parameters.filter(name => name !== 'redirect_uri')

export const redirectKinds: Kinds = {
  'parameter-missing': {
    ...change('A parameter is missing.', (query, { name }) => query.delete(String(name))),
    options: nameOf(parameters),
    presets: presetsFor(parameters, 'missing', name => `${name} is missing.`),
  },
  'parameter-other': {
    ...change('A parameter has a wrong value.', (query, { name }) =>
      query.set(`${name}`, name === 'iss' ? 'https://portal.example' : random()),
    ),
    options: nameOf(replaceable),
    presets: presetsFor(replaceable, 'other', name => `${name} has a wrong value.`),
  },
  'parameter-twice': {
    ...change('A parameter appears twice, with two values.', (query, { name }) => query.append(`${name}`, random())),
    options: nameOf(['code', 'state']),
    presets: presetsFor(['code', 'state'], 'twice', name => `${name} appears twice, with two values.`),
  },
  'parameter-empty': {
    ...change('A parameter is empty.', (query, { name }) => query.set(`${name}`, '')),
    options: nameOf(parameters),
    presets: presetsFor(['code'], 'empty', name => `${name} is empty.`),
  },
  error: {
    ...change('The redirect contains an error instead of the code.', (query, { error, description }) => {
      for (const name of ['code', 'subject']) query.delete(name)
      query.set('error', `${error}`)
      query.set('error_description', `${description}`)
    }),
    options: {
      error: oneOf(errors, { about: 'The error code (RFC 6749 4.1.2.1).' }),
      description: textUpTo(2000, {
        about: 'The error_description.',
        default: 'The error was ordered in the laboratory.',
      }),
    },
    presets: {
      ...Object.fromEntries(
        errors.map(error => [
          `error-${hyphens(error)}`,
          { does: `The redirect contains this error instead of the code: ${error}.`, fixed: { error } },
        ]),
      ),
      'hostile-description': {
        does: 'The redirect contains an error with a hostile description: markup, control characters and line breaks.',
        fixed: { error: 'server_error', description: hostile },
      },
    },
  },
}

/** Returns a preset for each of these parameters. */
function presetsFor(names: string[], ending: string, does: (name: string) => string): Record<string, Preset> {
  return Object.fromEntries(names.map(name => [`${hyphens(name)}-${ending}`, { does: does(name), fixed: { name } }]))
}

/** Returns the option `name`, which selects one of the parameters. */
function nameOf(names: string[]): Options {
  return { name: oneOf(names, { about: 'The parameter.' }) }
}

/**
 * Makes a kind of fault that changes the address of the redirect. The address is in a header. For a login without a
 * browser, it is in the body.
 */
function change(does: string, to: Change): Kind {
  return {
    does,
    when: ['after'],
    run({ answer, options }) {
      const url = new URL(findRedirectBack(answer)!)
      to(url.searchParams, options)
      const { location } = answer.headers
      if (location !== undefined) return { ...answer, headers: { ...answer.headers, location: url.href } }
      return { ...answer, body: JSON.stringify({ ...JSON.parse(answer.body), redirectUrl: url.href }) }
    },
  }
}

/**
 * Returns the address that the answer sends the browser back to. If this address contains no code, returns undefined.
 */
export function findRedirectBack({ headers, body }: Pick<Answer, 'headers'> & { body: unknown }): string | undefined {
  const isInBody = typeof body === 'string' && body.startsWith('{"redirectUrl":')
  const address = headers.location ?? (isInBody ? (JSON.parse(body) as { redirectUrl: string }).redirectUrl : undefined)
  if (address === undefined || !URL.canParse(address)) return undefined
  const { searchParams } = new URL(address)
  return searchParams.has('code') && searchParams.has('client_id') ? address : undefined
}
