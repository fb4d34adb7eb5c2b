// Limits how much the laboratory keeps of one step, so that a caller cannot fill the memory.
import type { Value } from './recorded.ts'

/** The laboratory keeps at most this many bytes of JSON of one step. */
export const mostStepBytes = 8 * 1024
export const mostStepValues = 200

/** The maximum number of bytes that a hidden value takes in JSON: two short hashes, two numbers and a boolean. */
const hiddenBytes = 100

/** Counts how many more bytes and values of a step the laboratory can keep. */
export function createAllowance({ bytes = mostStepBytes, values = mostStepValues } = {}) {
  const left = { bytes, values }
  let isExceeded = false
  return {
    /** Returns false if there is no room for the value. The caller then leaves the value out. */
    take(name: string, value: Value): boolean {
      // The 4 bytes are for a colon, a comma and the brackets of a list.
      const size = sizeInJson(name) + (typeof value === 'string' ? sizeInJson(value) : hiddenBytes) + 4
      if (left.values < 1 || left.bytes < size) {
        isExceeded = true
        return false
      }
      left.values -= 1
      left.bytes -= size
      return true
    },

    /** Whether something was left out. */
    isExceeded: () => isExceeded,

    bytesLeft: () => left.bytes,
  }
}

/** Printable ASCII without the quotation mark and the backslash. JSON does not escape these characters. */
const plain = /^[ !#-[\]-~]*$/

/** Returns the value's size as JSON, in bytes. */
export function sizeInJson(value: unknown): number {
  if (typeof value === 'string' && plain.test(value)) return value.length + 2
  return Buffer.byteLength(JSON.stringify(value))
}

/**
 * Returns the beginning of the text. As JSON, the beginning takes at most `mostBytes` bytes, not counting the quotation
 * marks. The result is a copy, because a slice would keep the whole text in memory.
 */
export function beginningOf(text: string, mostBytes: number): string {
  const start = text.slice(0, mostBytes)
  // In JSON no character takes more than six bytes.
  const fits = start.length * 6 <= mostBytes || sizeInJson(start) <= mostBytes + 2
  return Buffer.from(fits ? start : start.slice(0, Math.floor(mostBytes / 6))).toString()
}
