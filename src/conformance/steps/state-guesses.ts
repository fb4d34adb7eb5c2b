// Finds out how an attacker could compute a state value from known values.
import { hash } from 'node:crypto'
import { unescape as percentDecode } from 'node:querystring'

/** Returns the words in a text, and the words that appear when parts of the text are decoded. */
export function wordsIn(value: string, depth = 0): string[] {
  // Random text may contain a percent sign. Unlike decodeURIComponent, `percentDecode` never throws an error.
  const decoded = [/%[0-9a-f]{2}/i.test(value) ? percentDecode(value) : '']
  if (depth < 2)
    for (const part of value.split(/[^\w+/=-]/)) decoded.push(Buffer.from(part, 'base64').toString('latin1'))
  const inner = depth < 2 ? decoded.filter(text => text !== '').flatMap(text => wordsIn(text, depth + 1)) : []
  return [value, ...value.split(/[^\w.~-]+/), ...value.split(/[^\w-]+/), ...inner]
}

/** Returns how an attacker could compute the state, or undefined if there is no simple way. */
export function findGuess(
  state: string,
  { before, after, words }: { before: number; after: number; words: string[] },
): string | undefined {
  const sources: [string, string][] = words.map(word => [word, 'a value that everybody knows'])
  for (let time = before - 1000; time <= after + 1000; time++)
    sources.push([`${time}`, 'the time'], [new Date(time).toISOString(), 'the time'])
  for (let second = Math.floor(before / 1000) - 2; second <= after / 1000 + 2; second++)
    sources.push([`${second}`, 'the time'])
  for (const word of words.filter(word => word !== ''))
    for (const time of nearTimes(before, after))
      for (const joined of ['', ':', '-', '_', '.', '|'].flatMap(sign => [word + sign + time, time + sign + word]))
        sources.push([joined, 'a value that everybody knows, and the time'])
  for (const text of preciseTimes(before, after)) sources.push([text, 'the time'])
  for (let count = 0; count < 10_000; count++) sources.push([`${count}`, 'a counter'])
  const bare = state.replace(/=+$/, '')
  const encodings: BufferEncoding[] = /^[0-9a-f]+$/.test(bare) ? ['hex'] : ['base64url', 'base64']
  // There can be more than a hundred thousand sources. It is faster to decode the state once than to encode each source
  // and its digests. The state may be only the beginning of a digest.
  const start = Buffer.from(bare, encodings[0])
  const mayBeDigest = state.length >= 8 && /^[\w+/-]*$/.test(bare)
  const algorithms = mayBeDigest ? digests.filter(({ length }) => length >= start.length) : []
  const decoded = (['hex', 'base64url', 'base64'] as const).flatMap(encoding => {
    const bytes = Buffer.from(state, encoding)
    return bytes.toString(encoding) === state ? [bytes] : []
  })
  for (const [source, name] of sources) {
    if (source.length > 3 && state === source) return `${name} itself`
    const bytes = Buffer.from(source)
    for (const { algorithm } of algorithms) {
      const digest = hash(algorithm, bytes, 'buffer')
      if (start.compare(digest, 0, start.length) !== 0) continue
      if (encodings.some(encoding => digest.toString(encoding).startsWith(bare))) return `the ${algorithm} of ${name}`
    }
    if (source.length > 5 && decoded.some(one => one.equals(bytes))) return `${name} in another encoding`
  }
  return undefined
}

/** The hash functions that a client may use for a state, with the lengths of their digests in bytes. */
const digests = [
  { algorithm: 'md5', length: 16 },
  { algorithm: 'sha1', length: 20 },
  { algorithm: 'sha256', length: 32 },
  { algorithm: 'sha512', length: 64 },
]

/**
 * The limit for the client's answer in milliseconds. If the answer took longer, there would be too many possible times
 * to try.
 */
const mostPreciseMs = 15

/**
 * Returns the times between `before` and `after`, as Python (`time.time()`) and PHP (`uniqid()`, `microtime()`) write
 * them.
 */
function preciseTimes(before: number, after: number): string[] {
  if (after - before > mostPreciseMs) return []
  const texts: string[] = []
  for (let micros = (before - 1) * 1000; micros <= (after + 1) * 1000; micros++) {
    const [seconds, rest] = [Math.floor(micros / 1e6), micros % 1e6]
    const fraction = `${rest}`.padStart(6, '0')
    texts.push(`${micros}`, `${seconds}.${fraction}`, `${seconds}.${fraction.replace(/0+$/, '') || '0'}`)
    texts.push(`${seconds.toString(16)}${rest.toString(16).padStart(5, '0')}`, `0.${fraction}00 ${seconds}`)
  }
  // Python writes a time as a floating-point number. Within one second, there are about four million (2^22) such
  // numbers.
  for (let at = ((before - 1) / 1000) * 2 ** 22; at <= ((after + 1) / 1000) * 2 ** 22; at++)
    texts.push(`${Math.floor(at) / 2 ** 22}`)
  return [...new Set(texts)]
}

/** Returns the times from `before` to `after` in milliseconds and in seconds. */
function nearTimes(before: number, after: number): string[] {
  const texts: string[] = []
  for (let time = before; time <= Math.min(after, before + 100); time++) texts.push(`${time}`)
  for (let second = Math.floor(before / 1000); second <= after / 1000; second++) texts.push(`${second}`)
  return texts
}
