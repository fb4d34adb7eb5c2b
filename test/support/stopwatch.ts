// How long work takes, on a machine that has other things to do as well.

/** In seconds. `own` leaves out the time in which others had the processor: only this process can make that long. */
export type Took = { wall: number; own: number }

const tickMs = 10

/** What the work gives, and how long that took. */
export async function timed<T>(work: Promise<T>): Promise<[result: T, took: Took]> {
  const startedAt = performance.now()
  let [lookedAt, workedMs, ownMs] = [startedAt, cpuMs(), 0]
  const look = () => {
    const [now, worked] = [performance.now(), cpuMs()]
    // A timer is late by what this process did meanwhile, and by how long it waited for the processor.
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

/** How long this process has worked so far, in ms; longer than it took where several of its threads work at once. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
