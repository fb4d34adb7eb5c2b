// Turns at work that is dear: a few at once, a few waiting, and of those who wait each source has the same share.

// Each hash takes 19 MiB and one of libuv's four threads; file system and DNS need the others.
const maxAtOnce = 2
const maxWaiting = 50

/** Too many wait; come again in a moment. */
export class Busy extends Error {}

interface Waiter {
  start(): void
  refuse(): void
}

/**
 * The returned function does the work when it is its turn, or throws Busy. Sources take turns, so that whoever has one
 * piece of work does not wait behind the fifty of another; and where no place is free, the latest of the source that has
 * the most gives its place up to a source that has fewer.
 */
export function createTurns(): <T>(source: string, work: () => Promise<T>) => Promise<T> {
  let running = 0
  let waiting = 0
  // In the order of their turns; a source is in it while it waits.
  const queues = new Map<string, Waiter[]>()

  function takePlace(source: string): Promise<void> {
    const own = queues.get(source) ?? []
    if (waiting >= maxWaiting) {
      const longest = [...queues.values()].reduce((most, queue) => (queue.length > most.length ? queue : most))
      if (longest.length <= own.length + 1) throw new Busy('too many are waiting')
      longest.pop()?.refuse()
      waiting -= 1
    }
    queues.set(source, own)
    waiting += 1
    return new Promise((resolve, reject) =>
      own.push({ start: resolve, refuse: () => reject(new Busy('others had to wait, too')) }),
    )
  }

  function callNext(): void {
    const [source, queue] = queues.entries().next().value ?? []
    if (source === undefined || !queue) {
      running -= 1
      return
    }
    // The place is handed on, not given back, so that nobody can slip in between.
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
