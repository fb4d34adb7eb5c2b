// Faults that every answer can have: in the connection, the timing, and the bytes of the body.
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, gzip, gzipSync } from 'node:zlib'
import {
  type Answer,
  type Connection,
  enlarged,
  type FaultResult,
  type Kind,
  type Kinds,
  longestSeconds,
  noAnswer,
  numberFrom,
  type Option,
  oneOf,
} from './kind.ts'

const both: Kind['when'] = ['before', 'after']
/**
 * If a call only reads data, only the first entry applies. The first entry is `after`, so that the fault damages the
 * real body of the platform's answer.
 */
const bothWithOwnBody: Kind['when'] = ['after', 'before']
const after: Kind['when'] = ['after']

/**
 * The size after decompression. A client should not keep so much data from one answer, but a developer's machine has
 * enough memory for it.
 */
const bombMiB = 32

/**
 * Compresses the text after many spaces. The result is one gzip member (RFC 1952 2.2), because some libraries unpack
 * only the first member.
 */
function makeBomb(text: string): Promise<Buffer> {
  const spaces = Buffer.alloc(bombMiB * 1024 * 1024, ' ')
  return promisify(gzip)(Buffer.concat([spaces, Buffer.from(text)]), { level: constants.Z_BEST_SPEED })
}

/**
 * Headers that describe the body and the connection. A fault must not change these headers: if one of them is wrong, no
 * client can read the answer. Node also throws an error for a `trailer` in an answer that is not chunked.
 */
const ownHeaders = ['content-length', 'content-encoding', 'transfer-encoding', 'trailer', 'connection', 'content-type']

export const furtherHeaders: Option = {
  about: 'The additional headers: an object with their names and values.',
  allowed: `an object of at most 20 headers, with values of printable ASCII characters, and without ${ownHeaders.join(', ')}`,
  schema: {
    type: 'object',
    maxProperties: 20,
    propertyNames: { pattern: '^[\\w-]{1,100}$', not: { enum: ownHeaders } },
    additionalProperties: { type: 'string', pattern: '^[ -~]*$', maxLength: 2000 },
  },
  // The schema allows names with capital letters, such as Content-Length.
  isAlsoAllowed: headers => !Object.keys(headers as object).some(name => ownHeaders.includes(name.toLowerCase())),
}

/** The answer is larger than a client should read, and larger than the buffers of a connection. */
const largeMiB = 32

/** A fault kind for answers with a JSON body. */
export const large: Kind = {
  does: `The body is correct, but ${largeMiB} MiB of spaces come before it.`,
  when: after,
  run: ({ answer, connection }) => enlarged(answer, largeMiB, connection),
}

export const connectionKinds: Kinds = {
  reset: {
    does: 'The connection is reset before the first byte.',
    when: both,
    needsConnection: () => true,
    run({ connection }) {
      connection.reset()
      return noAnswer
    },
  },
  cut: {
    does: 'The connection is reset in the middle of the body.',
    when: bothWithOwnBody,
    needsConnection: () => true,
    run: ({ answer, connection }) => stream(answer, cut(half(answer.body), connection), Buffer.byteLength(answer.body)),
  },
  late: {
    does: 'The answer comes late. With `before`, the platform waits first and then acts. If the client closes the connection during this delay, the platform does not act. With `after`, the platform acts first and then waits.',
    when: both,
    needsConnection: () => true,
    options: {
      seconds: numberFrom(0, longestSeconds, { about: 'The delay in seconds.', default: 5, unit: 'seconds' }),
    },
    async run({ options, connection }) {
      await connection.wait(options.seconds as number)
      return connection.isLeft() ? noAnswer : undefined
    },
  },
  never: {
    does: `The platform sends no answer. The connection ends when the client closes it, or after ${longestSeconds} seconds.`,
    when: both,
    needsConnection: () => true,
    async run({ connection }): Promise<FaultResult> {
      await connection.wait(longestSeconds)
      connection.reset()
      return noAnswer
    },
  },
  drip: {
    does: 'The body arrives one byte at a time.',
    when: after,
    needsConnection: () => true,
    options: {
      seconds: numberFrom(0.001, 30, { about: 'The seconds between two bytes.', default: 0.05, unit: 'seconds' }),
    },
    run: ({ answer, options, connection }) => dripped(answer, options.seconds as number, connection),
  },
  half: {
    does: 'The body is JSON that is cut off in the middle. Its Content-Length is the length of the shortened body.',
    when: bothWithOwnBody,
    run: ({ answer }) => ({ ...answer, body: half(answer.body) }),
  },
  empty: {
    does: 'The status is 2xx and the body is empty.',
    when: both,
    run: ({ answer }) => ({ ...answer, body: '' }),
  },
  html: {
    does: 'The status is 2xx and the body is an HTML page, like a page from a proxy.',
    when: both,
    run: ({ answer }) => ({ ...answer, headers: { 'content-type': 'text/html; charset=utf-8' }, body: page }),
  },
  'not-an-object': {
    does: 'The body is the JSON value null.',
    when: both,
    run: ({ answer }) => ({ ...answer, body: 'null' }),
  },
  gzip: {
    does: 'The body is compressed, although the client did not ask for that.',
    when: after,
    run: ({ answer }) => ({
      ...answer,
      headers: { ...answer.headers, 'content-encoding': 'gzip' },
      body: gzipSync(answer.body),
    }),
  },
  'gzip-bomb': {
    does: `The body is compressed, although the client did not ask for that. After decompression it begins with ${bombMiB} MiB of spaces.`,
    when: after,
    run: async ({ answer }) => ({
      ...answer,
      headers: { ...answer.headers, 'content-encoding': 'gzip' },
      body: await makeBomb(answer.body),
    }),
  },
  headers: {
    does: 'The answer has the headers that you give, in addition to its own headers.',
    when: after,
    options: { headers: { ...furtherHeaders, isRequired: true } },
    run: ({ answer, options }) => ({
      ...answer,
      headers: { ...answer.headers, ...(options.headers as Record<string, string>) },
    }),
  },
  'endless-body': {
    does: `The body does not end until the client closes the connection, or until ${longestSeconds} seconds have passed.`,
    when: both,
    needsConnection: () => true,
    run: ({ answer, connection }) => stream(answer, endless('{"endless":"', connection)),
  },
  'endless-header': {
    does: `A header of the answer does not end until the client closes the connection, or until ${longestSeconds} seconds have passed.`,
    when: both,
    needsConnection: () => true,
    async run({ connection }): Promise<FaultResult> {
      for await (const piece of endless('HTTP/1.1 200 OK\r\nx-endless: ', connection)) await connection.write(piece)
      return noAnswer
    },
  },
  'slow-header': {
    does: `A header of the answer arrives one byte at a time. It does not end until the client closes the connection, or until ${longestSeconds} seconds have passed.`,
    when: both,
    needsConnection: () => true,
    options: {
      seconds: numberFrom(0.001, 30, { about: 'The seconds between two bytes.', default: 0.5, unit: 'seconds' }),
    },
    async run({ options, connection }): Promise<FaultResult> {
      connection.resetAtEnd()
      await connection.write('HTTP/1.1 200 OK\r\nx-slow: ')
      while (connection.isOpen()) {
        await connection.write('a')
        await connection.wait(options.seconds as number)
      }
      return noAnswer
    },
  },
  redirect: {
    does: redirectWith('with the status that you give'),
    when: both,
    options: { status: oneOf([302, 307], { about: 'The status of the redirect.' }) },
    presets: {
      'redirect-302': {
        does: redirectWith('with status 302. Clients that follow this redirect send a GET'),
        fixed: { status: 302 },
      },
      'redirect-307': {
        does: redirectWith(
          'with status 307. Clients that follow this redirect send the same method and body again, including secrets',
        ),
        fixed: { status: 307 },
      },
    },
    run: ({ options, setTrap }) => ({ status: options.status as number, headers: { location: setTrap() }, body: '' }),
  },
}

function redirectWith(how: string): string {
  return `The answer redirects to a trap on the same server, ${how}. The laboratory records every request to the trap as a step of the login, with a notice.`
}

const page = '<!doctype html><title>Maintenance</title><h1>We will be back soon</h1>'

function half(body: string): string {
  return body.slice(0, Math.ceil(body.length / 2))
}

/** `length` is the Content-Length in bytes. Without a length, the body ends after the last piece. */
function stream(answer: Answer, pieces: AsyncIterable<string | Buffer>, length?: number): Answer {
  const headers = { ...answer.headers, ...(length !== undefined && { 'content-length': `${length}` }) }
  // The generator makes each piece only when it is needed, so an endless body continues as long as the client reads.
  return { ...answer, headers, body: Readable.from(pieces, { highWaterMark: 0, objectMode: false }) }
}

async function* cut(text: string, connection: Connection): AsyncGenerator<string> {
  yield text
  // Wait until the text has been sent: when a connection is reset, unsent bytes are lost.
  await pause(50)
  connection.reset()
}

/** Returns the same answer, but its body arrives one byte at a time. */
export function dripped(answer: Answer & { body: string }, seconds: number, connection: Connection): Answer {
  const bytes = Buffer.from(answer.body)
  return stream(answer, drip(bytes, seconds, connection), bytes.length)
}

async function* drip(bytes: Buffer, seconds: number, connection: Connection): AsyncGenerator<Buffer> {
  connection.resetAtEnd()
  for (const byte of bytes) {
    yield Buffer.of(byte)
    await connection.wait(seconds)
  }
}

async function* endless(start: string, connection: Connection): AsyncGenerator<string> {
  const piece = 'a'.repeat(16 * 1024)
  connection.resetAtEnd()
  yield start
  while (connection.isOpen()) {
    yield piece
    await connection.wait(0.01)
  }
}
