// A queue for expensive work. It limits how many tasks run at the same time and how many wait. Each source gets an
// equal share of the places for waiting tasks.

// Each hash uses 19 MiB of memory and one of libuv's four threads. The file system and DNS need the other threads.
const maxAtOnce = 2
const maxWaiting = 50

/** Thrown if too many tasks are waiting. The caller can try again a little later. */
export class Busy extends Error {}

interface Waiter {
  start(): void
  refuse(): void
}

/**
 * Returns a function that waits for its turn and then calls `work`. If too many tasks are waiting, the function throws
 * Busy. Sources take turns: a source with one task does not wait behind fifty tasks of another source. If no place is
 * free, a source with few waiting tasks takes a place from the source with the most waiting tasks. The newest task of
 * that other source is then refused with Busy.
 */
export function createTurns(): <T>(source: string, work: () => Promise<T>) => Promise<T> {
  let running = 0
  let waiting = 0
  // The waiting tasks of each source. The source whose turn is next comes first.
  const queues = new Map<string, Waiter[]>()

  function takePlace(source: string): Promise<void> {
    const own = queues.get(source) ?? []
    if (waiting >= maxWaiting) {
      const longest = [...queues.values()].reduce((most, queue) => (queue.length > most.length ? queue : most))
      if (longest.length <= own.length + 1) throw new Busy('too many tasks are waiting')
      longest.pop()?.refuse()
      waiting -= 1
    }
    queues.set(source, own)
    waiting += 1
    return new Promise((resolve, reject) =>
      own.push({ start: resolve, refuse: () => reject(new Busy('the place was needed for another source')) }),
    )
  }

  function callNext(): void {
    const [source, queue] = queues.entries().next().value ?? []
    if (source === undefined || !queue) {
      running -= 1
      return
    }
    // Pass the place directly to the next task, so that a new caller cannot take the place.
    queue.shift()?.start()
    waiting -= 1
    queues.delete(source)
    if (queue.length > 0) queues.set(source, queue)
  }

  return async (source, work) => {
    if (running < maxAtOnce) running += 1
    else await takePlace(source)
    try {
      return await work()
    } finally {
      callNext()
    }
  }
}
