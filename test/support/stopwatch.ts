// Measures how long work takes on a busy machine.

/** Times in seconds. `own` does not include the time in which other processes had the processor. */
export type Took = { wall: number; own: number }

const tickMs = 10

/** Resolves to the result of the work, and the time that it took. */
export async function timed<T>(work: Promise<T>): Promise<[result: T, took: Took]> {
  const startedAt = performance.now()
  let [lookedAt, workedMs, ownMs] = [startedAt, cpuMs(), 0]
  const look = () => {
    const [now, worked] = [performance.now(), cpuMs()]
    // If the timer is late, this process was busy, or it waited for the processor. Only busy time counts.
    ownMs += Math.min(now - lookedAt, 2 * tickMs + worked - workedMs)
    lookedAt = now
    workedMs = worked
  }
  const timer = setInterval(look, tickMs)
  try {
    const result = await work
    look()
    return [result, { wall: (lookedAt - startedAt) / 1000, own: ownMs / 1000 }]
  } finally {
    clearInterval(timer)
  }
}

/**
 * The CPU time of this process so far, in ms. If several threads are busy, this time is longer than the elapsed
 * time.
 */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
