// Limits how many checks run at a time. A check that waits gives its slot to another one meanwhile.
import { setTimeout as wait } from 'node:timers/promises'

export function createLimiter(count: number) {
  let free = count
  const waiting: (() => void)[] = []

  const enter = async (add: 'push' | 'unshift') => {
    if (free > 0) free--
    else await new Promise<void>(resolve => waiting[add](resolve))
  }
  const leave = () => {
    const next = waiting.shift()
    if (next) next()
    else free++
  }
  return {
    /** Runs the function as soon as a slot is free. */
    async runInSlot<T>(run: () => Promise<T>): Promise<T> {
      await enter('push')
      return run().finally(leave)
    },

    /** Frees the slot of the caller for that time. It gets one again before any function that has not begun. */
    async pause(ms: number): Promise<void> {
      leave()
      await wait(ms)
      await enter('unshift')
    },
  }
}
