// A Map of limited size whose entries expire, and a function that lets several callers share one result.

const maxEntries = 10_000

type Entry<V> = { value: V; setAt: number; lifetimeMs: number }

export class ExpiringMap<V> {
  readonly #clock: () => Date
  readonly #entries = new Map<string, Entry<V>>()

  constructor(clock: () => Date) {
    this.#clock = clock
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    return entry && this.#isLive(entry) ? entry.value : undefined
  }

  set(key: string, value: V, lifetimeMs: number): void {
    this.#entries.delete(key)
    this.#makeRoom()
    this.#entries.set(key, { value, setAt: this.#clock().getTime(), lifetimeMs })
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  #isLive({ setAt, lifetimeMs }: Entry<V>): boolean {
    if (lifetimeMs === Number.POSITIVE_INFINITY) return true
    const ageMs = this.#clock().getTime() - setAt
    // The age is negative if the clock was set back after the entry was added. The map treats such an entry as expired,
    // so that it does not keep the entry too long.
    return ageMs >= 0 && ageMs < lifetimeMs
  }

  /** Removes the oldest entries, as long as they are expired or the map is full. */
  #makeRoom(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#isLive(entry) && this.#entries.size < maxEntries) break
      this.#entries.delete(key)
    }
  }
}

/**
 * Runs `work` and returns its result. But `work` does not run if an earlier run for the same key is still in progress,
 * or succeeded less than `shareMs` ago. The caller then gets the result of the earlier run. If a run fails, all callers
 * that share it get the error, and the next caller starts a new run.
 */
export async function shareWork<T>(
  results: ExpiringMap<Promise<T>>,
  key: string,
  shareMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const known = results.get(key)
  if (known) return known
  const result = work()
  results.set(key, result, Number.POSITIVE_INFINITY)
  try {
    await result
    results.set(key, result, shareMs)
  } catch {
    results.delete(key)
  }
  return result
}
