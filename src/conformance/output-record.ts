// Records what the client prints. The record keeps only the last part of the output. Positions are counted from the
// beginning of the output, so they never change.

export interface ClientOutput {
  /**
   * Returns what the client has printed since this position, including the output before a restart. Leaves out the part
   * that is no longer in the record.
   */
  output(since?: number): string
  /** The number of characters that the client has printed, which is the position of its next output. */
  outputEnd(): number
  /** Whether the record still contains everything that the client has printed since this position. */
  hasOutputSince(position: number): boolean
}

const defaultLength = 16 * 1024 * 1024

/** `length`: the record keeps at least this many characters. */
export function recordOutput(length = defaultLength): ClientOutput & { add(text: string): void } {
  let kept = ''
  let dropped = 0
  return {
    add(text) {
      kept += text
      // Shortening the text copies all of it, so the record must not do this for each new line.
      if (kept.length < 2 * length) return
      dropped += kept.length - length
      kept = kept.slice(-length)
    },
    output: (since = 0) => kept.slice(Math.max(0, since - dropped)),
    outputEnd: () => dropped + kept.length,
    hasOutputSince: position => position >= dropped,
  }
}
