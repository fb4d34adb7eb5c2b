// Faults in a token response: a missing member, or a member with a wrong value.
import { randomBytes } from 'node:crypto'
import { anyJson, hyphens, type Kind, type Kinds, oneOf, opaqueForms, type Preset, wholeNumberFrom } from './kind.ts'

type Tokens = Record<string, unknown>

/**
 * Wrong values for each member of the token response. Each value has a key from which the name of its preset is made.
 */
const wrongValues: Record<string, Record<string, unknown>> = {
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

const members = Object.keys(wrongValues)
const member = oneOf(members, { about: 'The JSON member of the answer.' })

/** Sizes in KB. Cookies and headers have limits of about these sizes. */
const sizes = [3, 5, 9]

export const tokenKinds: Kinds = {
  member: {
    ...change('One JSON member has the value that you give.', (tokens, { member, value }) => ({
      ...tokens,
      [`${member}`]: value,
    })),
    options: { member, value: anyJson('The value.') },
    presets: Object.fromEntries(members.flatMap(presetsForMember)),
  },
  'member-missing': {
    ...change('One JSON member is missing.', (tokens, { member }) => {
      const { [`${member}`]: _, ...others } = tokens
      return others
    }),
    options: { member },
    presets: Object.fromEntries(
      members.map(member => [`${hyphens(member)}-missing`, { does: `${member} is missing.`, fixed: { member } }]),
    ),
  },
  'state-other': change('state has a wrong value.', tokens => ({
    ...tokens,
    state: randomBytes(32).toString('base64url'),
  })),
  'unknown-member': change('The answer has an additional member that the platform does not define.', tokens => ({
    ...tokens,
    unknown_member: { of: ['this', 'answer'] },
  })),
  'tokens-with-status': {
    does: 'The answer contains the tokens, but has the error status that you give.',
    when: ['after'],
    options: { status: wholeNumberFrom(400, 599, { about: 'The status.' }) },
    run: ({ answer, options }) => ({ ...answer, status: Number(options.status) }),
  },
  'large-access-token': {
    does: 'The access token works, and has the size that you give.',
    when: ['after'],
    options: { kilobytes: wholeNumberFrom(1, 64, { about: 'The size in KB.', unit: 'KB' }) },
    presets: Object.fromEntries(
      sizes.map(kilobytes => [
        `access-token-${kilobytes}-kb`,
        { does: `The access token works, and is ${kilobytes} KB long.`, fixed: { kilobytes } },
      ]),
    ),
    async run({ answer, options, enlargeToken }) {
      const tokens = JSON.parse(answer.body) as { access_token: string }
      const access_token = await enlargeToken(tokens.access_token, Number(options.kilobytes) * 1024)
      return { ...answer, body: JSON.stringify({ ...tokens, access_token }) }
    },
  },
  'early-end-of-access-token': {
    does: 'The access token expires after the number of seconds that you give. The fault does not change expires_in.',
    when: ['after'],
    options: { seconds: wholeNumberFrom(1, 86_400, { about: 'How long the access token works.', unit: 'seconds' }) },
    async run({ answer, options, endTokenIn }) {
      const tokens = JSON.parse(answer.body) as { access_token: string }
      const access_token = await endTokenIn(tokens.access_token, Number(options.seconds))
      return { ...answer, body: JSON.stringify({ ...tokens, access_token }) }
    },
  },
  'short-session': {
    does: 'expires_in is the number of seconds that you give, and there is no refresh token. The access token itself stays valid longer than expires_in says.',
    when: ['after'],
    options: { seconds: wholeNumberFrom(1, 86_400, { about: 'The value of expires_in.', unit: 'seconds' }) },
    run({ answer, options }) {
      const { refresh_token: _, ...tokens } = JSON.parse(answer.body) as Tokens
      return { ...answer, body: JSON.stringify({ ...tokens, expires_in: Number(options.seconds) }) }
    },
  },
  'opaque-access-token': {
    does: 'The access token works, but is not a JWT of the portal. By default, it is a random string.',
    when: ['after'],
    options: { form: oneOf([...opaqueForms], { about: 'The form of the token.', default: 'plain' }) },
    presets: {
      'dotted-access-token': {
        does: 'The access token works, but is not a JWT: it is three random strings with dots between them.',
        fixed: { form: 'dotted' },
      },
    },
    run({ answer, options, makeOpaque }) {
      const tokens = JSON.parse(answer.body) as { access_token: string }
      const form = opaqueForms.find(one => one === options.form) ?? 'plain'
      const access_token = makeOpaque(tokens.access_token, form)
      return { ...answer, body: JSON.stringify({ ...tokens, access_token }) }
    },
  },
}

function presetsForMember(member: string): [string, Preset][] {
  const name = hyphens(member)
  return [
    [name, { does: `${member} has the value that you give.`, fixed: { member } }],
    ...Object.entries(wrongValues[member] ?? {}).map(([short, value]): [string, Preset] => [
      `${name}-${short}`,
      { does: `${member} is ${JSON.stringify(value)}.`, fixed: { member, value } },
    ]),
  ]
}

function change(does: string, to: (tokens: Tokens, options: Record<string, unknown>) => Tokens): Kind {
  return {
    does,
    when: ['after'],
    run: ({ answer, options }) => ({ ...answer, body: JSON.stringify(to(JSON.parse(answer.body), options)) }),
  }
}
