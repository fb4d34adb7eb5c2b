// Does a thing once: whoever asks for it again while it runs, or shortly after, shares the answer.

/** `doneAt` in milliseconds since 1970, and undefined while the work runs. */
type Entry<T> = { answer: Promise<T> | undefined; doneAt?: number; keepMs: number }

/** A thing that was done before, and whose answer is not kept. */
export class AlreadyDone extends Error {}

const mostEntries = 10_000

/** In the memory of one process; `keepMs` counts from when the work has succeeded. A failure is not kept. */
export class Once<T> {
  readonly #clock: () => Date
  readonly #keepMs: number
  readonly #refuseMs: number
  readonly #entries = new Map<string, Entry<T>>()

  /** With `refuseMs`, a key is refused with AlreadyDone for so long after its work has ended, well or badly. */
  constructor(clock: () => Date, { keepMs, refuseMs = 0 }: { keepMs: number; refuseMs?: number }) {
    this.#clock = clock
    this.#keepMs = keepMs
    this.#refuseMs = refuseMs
  }

  async do(key: string, work: () => Promise<T>): Promise<T> {
    const known = this.#find(key)
    if (known?.answer) return known.answer
    if (known) throw new AlreadyDone()

    const entry: Entry<T> = { answer: work(), keepMs: 0 }
    this.#makeRoom()
    this.#entries.set(key, entry)
    try {
      return await entry.answer!
    } catch (error) {
      entry.answer = undefined
      throw error
    } finally {
      const keepMs = entry.answer ? this.#keepMs : 0
      if (keepMs === 0) entry.answer = undefined
      entry.keepMs = Math.max(keepMs, this.#refuseMs)
      entry.doneAt = this.#clock().getTime()
    }
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined
  }

  #find(key: string): Entry<T> | undefined {
    const entry = this.#entries.get(key)
    return entry && this.#isKept(entry) ? entry : undefined
  }

  #isKept({ doneAt, keepMs }: Entry<T>): boolean {
    if (doneAt === undefined) return true
    const ageMs = this.#clock().getTime() - doneAt
    // A clock that was set back must not turn seconds into days.
    return ageMs >= 0 && ageMs < keepMs
  }

  /** Oldest first, so that a flood of keys costs old answers and not memory. */
  #makeRoom(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#isKept(entry) && this.#entries.size < mostEntries) break
      this.#entries.delete(key)
    }
  }
}
