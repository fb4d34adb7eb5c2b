// What can go wrong in the address that leads the browser back to the client.
import { randomBytes } from 'node:crypto'
import type { Answer, Mishap, Mishaps } from './mishap.ts'
import { textUpTo } from './options.ts'

type Change = (query: URLSearchParams, options: Record<string, unknown>) => void

const random = () => randomBytes(24).toString('base64url')

/** The codes of RFC 6749 4.1.2.1. */
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

const description = textUpTo(2000, { about: 'The error_description.', default: 'It was ordered in the laboratory.' })

const missing = ['code', 'state', 'iss', 'client_id', 'subject', 'redirect_uri']
const other = { state: random, code: random, iss: () => 'https://portal.example', client_id: random, subject: random }

export const redirectMishaps: Mishaps = {
  ...table(missing, name => [`${hyphens(name)}-missing`, change(`There is no ${name}.`, query => query.delete(name))]),
  ...table(Object.entries(other), ([name, make]) => [
    `${hyphens(name)}-other`,
    change(`${name} is another one.`, query => query.set(name, make())),
  ]),
  ...table(['code', 'state'], name => [
    `${name}-twice`,
    change(`${name} stands there twice, with two values.`, query => query.append(name, random())),
  ]),
  'code-empty': change('code is empty.', query => query.set('code', '')),
  ...table(errors, error => [
    `error-${hyphens(error)}`,
    {
      ...change(`An error in place of the code: ${error}.`, (query, { description }) =>
        fail(query, error, `${description}`),
      ),
      options: { description },
    },
  ]),
  'hostile-description': change('An error whose description is markup, control characters and line breaks.', query =>
    fail(query, 'server_error', hostile),
  ),
}

function table<T>(rows: readonly T[], toPair: (row: T) => [string, Mishap]): Mishaps {
  return Object.fromEntries(rows.map(toPair))
}

function hyphens(name: string): string {
  return name.replaceAll('_', '-')
}

function fail(query: URLSearchParams, error: string, description: string): void {
  for (const name of ['code', 'subject']) query.delete(name)
  query.set('error', error)
  query.set('error_description', description)
}

/** The address stands in a header, or, for a login without a browser, in the body. */
function change(does: string, to: Change): Mishap {
  return {
    does,
    acted: ['after'],
    act({ answer, options }) {
      const url = new URL(addressBack(answer)!)
      to(url.searchParams, options)
      const { location } = answer.headers
      if (location !== undefined) return { ...answer, headers: { ...answer.headers, location: url.href } }
      return { ...answer, body: JSON.stringify({ ...JSON.parse(answer.body), redirectUrl: url.href }) }
    },
  }
}

/** The address with a code to which the answer leads, if it does. */
export function addressBack({ headers, body }: Pick<Answer, 'headers'> & { body: unknown }): string | undefined {
  const isOfScript = typeof body === 'string' && body.startsWith('{"redirectUrl":')
  const address =
    headers.location ?? (isOfScript ? (JSON.parse(body) as { redirectUrl: string }).redirectUrl : undefined)
  if (address === undefined || !URL.canParse(address)) return undefined
  const { searchParams } = new URL(address)
  return searchParams.has('code') && searchParams.has('client_id') ? address : undefined
}
