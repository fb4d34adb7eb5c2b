// What can go wrong with any answer, whatever it says: the connection, the time it takes, the body as bytes.
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { type Answer, longestSeconds, type Mishap, type Mishaps, nothing, type Outcome, type Wire } from './mishap.ts'
import { numberFrom } from './options.ts'

const both: Mishap['acted'] = ['before', 'after']
/** Where one is enough, it is the platform's own answer. */
const bothOfBodies: Mishap['acted'] = ['after', 'before']
const afterAlone: Mishap['acted'] = ['after']

export const wireMishaps: Mishaps = {
  reset: {
    does: 'The connection is reset before the first byte.',
    acted: both,
    act({ wire }) {
      wire.reset()
      return nothing
    },
  },
  cut: {
    does: 'The connection is reset in the middle of the body.',
    acted: bothOfBodies,
    act: ({ answer, wire }) => stream(answer, cut(half(answer.body), wire), Buffer.byteLength(answer.body)),
  },
  late: {
    does: 'The answer comes late. Where the platform has not acted, it acts after the wait, and never for a client that has left.',
    acted: both,
    options: { seconds: numberFrom(0, 30, { about: 'How late.', default: 5 }) },
    async act({ options, wire }) {
      await wire.wait(options.seconds as number)
      return wire.isLeft() ? nothing : undefined
    },
  },
  never: {
    does: `No answer comes, until the client closes the connection or ${longestSeconds} seconds are over.`,
    acted: both,
    async act({ wire }): Promise<Outcome> {
      await wire.wait(longestSeconds)
      wire.reset()
      return nothing
    },
  },
  drip: {
    does: 'The body comes one byte at a time.',
    acted: afterAlone,
    options: { seconds: numberFrom(0.001, 30, { about: 'Between two bytes.', default: 0.05 }) },
    act({ answer, options, wire }) {
      const bytes = Buffer.from(answer.body)
      return stream(answer, drip(bytes, options.seconds as number, wire), bytes.length)
    },
  },
  half: {
    does: 'The body is JSON that ends in the middle, and its Content-Length is right.',
    acted: bothOfBodies,
    act: ({ answer }) => ({ ...answer, body: half(answer.body) }),
  },
  empty: {
    does: 'The status is good and the body is empty.',
    acted: both,
    act: ({ answer }) => ({ ...answer, body: '' }),
  },
  html: {
    does: 'The status is good and the body is a page, as of a proxy that wants to be seen.',
    acted: both,
    act: ({ answer }) => ({ ...answer, headers: { 'content-type': 'text/html; charset=utf-8' }, body: page }),
  },
  'not-an-object': {
    does: 'The body is JSON, and null.',
    acted: both,
    act: ({ answer }) => ({ ...answer, body: 'null' }),
  },
  gzip: {
    does: 'The body is compressed, though nobody asked for that.',
    acted: afterAlone,
    act: ({ answer }) => ({
      ...answer,
      headers: { ...answer.headers, 'content-encoding': 'gzip' },
      body: gzipSync(answer.body),
    }),
  },
  'endless-body': {
    does: `The body has no end, until the client closes the connection or ${longestSeconds} seconds are over.`,
    acted: both,
    act: ({ answer, wire }) => stream(answer, endless('{"endless":"', wire)),
  },
  'endless-header': {
    does: `A header of the answer has no end, until the client closes the connection or ${longestSeconds} seconds are over.`,
    acted: both,
    async act({ wire }): Promise<Outcome> {
      for await (const piece of endless('HTTP/1.1 200 OK\r\nx-endless: ', wire)) await wire.write(piece)
      return nothing
    },
  },
  'redirect-302': redirect(302, 'which clients follow with GET'),
  'redirect-307': redirect(307, 'which clients follow with the same method and body, secrets included'),
}

function redirect(status: number, how: string): Mishap {
  return {
    does: `A redirect to a trap of the same listener, ${how}. Whatever comes to the trap is a step of the login, with a notice.`,
    acted: both,
    act: ({ setTrap }) => ({ status, headers: { location: setTrap() }, body: '' }),
  }
}

const page = '<!doctype html><title>Maintenance</title><h1>We will be back soon</h1>'

function half(body: string): string {
  return body.slice(0, Math.ceil(body.length / 2))
}

/** `length` is the Content-Length, in bytes; without one the body ends where its pieces do. */
function stream(answer: Answer, pieces: AsyncIterable<string | Buffer>, length?: number): Answer {
  const headers = { ...answer.headers, ...(length !== undefined && { 'content-length': `${length}` }) }
  // Nothing is made ahead, because the pieces are made for as long as anybody takes them.
  return { ...answer, headers, body: Readable.from(pieces, { highWaterMark: 0, objectMode: false }) }
}

async function* cut(text: string, wire: Wire): AsyncGenerator<string> {
  yield text
  // Until it is on its way: what waits here is lost with the connection.
  await pause(50)
  wire.reset()
}

async function* drip(bytes: Buffer, seconds: number, wire: Wire): AsyncGenerator<Buffer> {
  wire.resetAtEnd()
  for (const byte of bytes) {
    yield Buffer.of(byte)
    await wire.wait(seconds)
  }
}

async function* endless(start: string, wire: Wire): AsyncGenerator<string> {
  const piece = 'a'.repeat(16 * 1024)
  wire.resetAtEnd()
  yield start
  while (wire.isOpen()) {
    yield piece
    await wire.wait(0.01)
  }
}
