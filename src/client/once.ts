// Does a thing once: whoever asks for it again while it runs, or shortly after, shares the answer.

type Entry<T> = { answer: Promise<T> | undefined; forgetAt: number }

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

    const entry: Entry<T> = { answer: work(), forgetAt: Number.POSITIVE_INFINITY }
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
      entry.forgetAt = this.#clock().getTime() + Math.max(keepMs, this.#refuseMs)
    }
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined
  }

  #find(key: string): Entry<T> | undefined {
    const entry = this.#entries.get(key)
    return entry && entry.forgetAt > this.#clock().getTime() ? entry : undefined
  }

  /** Oldest first, so that a flood of keys costs old answers and not memory. */
  #makeRoom(): void {
    const now = this.#clock().getTime()
    for (const [key, { forgetAt }] of this.#entries) {
      if (forgetAt > now && this.#entries.size < mostEntries) break
      this.#entries.delete(key)
    }
  }
}
