// Does a thing once: whoever asks for it again while it runs, or shortly after, shares the answer.

/** `doneAt` in milliseconds since 1970, and undefined while the work runs. */
type Entry<T> = { answer: Promise<T> | undefined; doneAt?: number; liveMs: number }

/** A thing that was done before, and whose answer is not shared. */
export class AlreadyDone extends Error {}

const mostEntries = 10_000

/** In the memory of one process; `shareMs` counts from when the work has succeeded. A failure is not shared. */
export class Once<T> {
  readonly #clock: () => Date
  readonly #shareMs: number
  readonly #refuseMs: number
  readonly #entries = new Map<string, Entry<T>>()

  /** With `refuseMs`, a key is refused with AlreadyDone for so long after its work has ended, well or badly. */
  constructor(clock: () => Date, { shareMs, refuseMs = 0 }: { shareMs: number; refuseMs?: number }) {
    this.#clock = clock
    this.#shareMs = shareMs
    this.#refuseMs = refuseMs
  }

  async do(key: string, work: () => Promise<T>): Promise<T> {
    const known = this.#find(key)
    if (known?.answer) return known.answer
    if (known) throw new AlreadyDone()

    const entry: Entry<T> = { answer: work(), liveMs: 0 }
    this.#makeRoom()
    this.#entries.set(key, entry)
    try {
      return await entry.answer!
    } catch (error) {
      entry.answer = undefined
      throw error
    } finally {
      const shareMs = entry.answer ? this.#shareMs : 0
      if (shareMs === 0) entry.answer = undefined
      entry.liveMs = Math.max(shareMs, this.#refuseMs)
      entry.doneAt = this.#clock().getTime()
    }
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined
  }

  #find(key: string): Entry<T> | undefined {
    const entry = this.#entries.get(key)
    return entry && this.#isLive(entry) ? entry : undefined
  }

  #isLive({ doneAt, liveMs }: Entry<T>): boolean {
    if (doneAt === undefined) return true
    const ageMs = this.#clock().getTime() - doneAt
    // A clock that was set back must not turn seconds into days.
    return ageMs >= 0 && ageMs < liveMs
  }

  /** Oldest first, so that a flood of keys costs old answers and not memory. */
  #makeRoom(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#isLive(entry) && this.#entries.size < mostEntries) break
      this.#entries.delete(key)
    }
  }
}
