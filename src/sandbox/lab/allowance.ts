// How much the laboratory keeps of one step. A caller must not decide how much memory that takes.
import type { Value } from './recorded.ts'

/** Of one step, in JSON. */
export const mostStepBytes = 8 * 1024
export const mostStepValues = 200

/** At most, in JSON: two short hashes, two numbers, and a truth value. */
const hiddenBytes = 100

/** What may still be kept of a step. */
export type Allowance = ReturnType<typeof createAllowance>

export function createAllowance({ bytes = mostStepBytes, values = mostStepValues } = {}) {
  const left = { bytes, values }
  let isExceeded = false
  return {
    /** False if there is no room for the value, which is then left out. */
    take(name: string, value: Value): boolean {
      // Beside name and value: a colon, a comma, and the brackets of a list.
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

/** Printable ASCII but for the quotation mark and the backslash: in JSON it is as it is. */
const plain = /^[ !#-[\]-~]*$/

/** In bytes. */
export function sizeInJson(value: unknown): number {
  if (typeof value === 'string' && plain.test(value)) return value.length + 2
  return Buffer.byteLength(JSON.stringify(value))
}

/**
 * The beginning of a text, which takes at most so many bytes between its quotes in JSON. It is a copy: a slice would
 * keep the whole text in memory.
 */
export function beginningOf(text: string, mostBytes: number): string {
  const start = text.slice(0, mostBytes)
  // In JSON no character takes more than six bytes.
  const fits = start.length * 6 <= mostBytes || sizeInJson(start) <= mostBytes + 2
  return Buffer.from(fits ? start : start.slice(0, Math.floor(mostBytes / 6))).toString()
}
