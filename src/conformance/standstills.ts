// Notices when this process has stood still, for example because the machine was suspended or overloaded. The client
// usually runs on the same machine. If the client does not answer at such a time, the machine is the cause.

/** How often the process looks at the clock, in milliseconds. */
const everyMs = 200
/** If the process looks at the clock this many milliseconds late, it has stood still. */
const lateMs = 2000

export type Standstills = ReturnType<typeof watchStandstills>

export function watchStandstills() {
  let lookedAt = performance.now()
  let endedAt = Number.NEGATIVE_INFINITY
  const look = () => {
    const now = performance.now()
    if (now - lookedAt > everyMs + lateMs) endedAt = now
    lookedAt = now
  }
  const timer = setInterval(look, everyMs)
  timer.unref()
  return {
    /** Whether the process has stood still since this time of `performance.now()`. */
    hasStoodStillSince(time: number): boolean {
      look()
      return endedAt >= time
    },
    stop: () => clearInterval(timer),
  }
}
