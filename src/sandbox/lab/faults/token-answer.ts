// What can go wrong in a token response: a field that is missing, or has a value that it should not have.
import { randomBytes } from 'node:crypto'
import type { Mishap, Mishaps } from './mishap.ts'
import { anyJson } from './options.ts'

type Tokens = Record<string, unknown>

const otherState = () => randomBytes(32).toString('base64url')

/** Values by field and name; each field is missing once more, and once has a value of one's own. */
const values: Record<string, Record<string, unknown>> = {
  access_token: {
    null: null,
    empty: '',
    number: 12345,
    list: ['a'],
    'with-newline': 'one\r\ntwo',
    'not-ascii': 'tökén',
  },
  token_type: { null: null, empty: '', number: 1, mac: 'mac', lowercase: 'bearer' },
  expires_in: {
    null: null,
    text: '86400',
    words: 'soon',
    true: true,
    negative: -1,
    zero: 0,
    fraction: 0.5,
    huge: 1e300,
  },
  refresh_token: { null: null, empty: '', number: 12345, 'with-newline': 'one\r\ntwo' },
  state: { null: null, empty: '', number: 12345 },
}

/** Kilobytes; cookies and headers have bounds about there. */
const sizes = [3, 5, 9]

function fieldMishaps(field: string, ofField: Record<string, unknown>): [string, Mishap][] {
  const name = field.replaceAll('_', '-')
  return [
    [`${name}-missing`, change(`There is no ${field}.`, ({ [field]: _, ...rest }) => rest)],
    ...Object.entries(ofField).map(([variant, value]): [string, Mishap] => [
      `${name}-${variant}`,
      change(`${field} is ${JSON.stringify(value)}.`, tokens => ({ ...tokens, [field]: value })),
    ]),
    [
      name,
      {
        ...change(`${field} has the value that you give.`, (tokens, { value }) => ({ ...tokens, [field]: value })),
        options: { value: anyJson('The value.') },
      },
    ],
  ]
}

export const tokenMishaps: Mishaps = {
  'state-other': change('state is one of another login.', tokens => ({ ...tokens, state: otherState() })),
  ...Object.fromEntries(Object.entries(values).flatMap(([field, ofField]) => fieldMishaps(field, ofField))),
  ...Object.fromEntries(
    sizes.map(size => [
      `access-token-${size}-kb`,
      {
        does: `The access token has ${size} KB, and works.`,
        acted: ['after'],
        async act({ answer, enlargeToken }) {
          const tokens = JSON.parse(answer.body) as { access_token: string }
          const access_token = await enlargeToken(tokens.access_token, size * 1024)
          return { ...answer, body: JSON.stringify({ ...tokens, access_token }) }
        },
      } satisfies Mishap,
    ]),
  ),
}

function change(does: string, to: (tokens: Tokens, options: Record<string, unknown>) => Tokens): Mishap {
  return {
    does,
    acted: ['after'],
    act: ({ answer, options }) => ({ ...answer, body: JSON.stringify(to(JSON.parse(answer.body), options)) }),
  }
}
