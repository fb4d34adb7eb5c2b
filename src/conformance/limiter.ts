// Limits how many checks run at a time. While a check waits, another check can use its slot.
import { setTimeout as wait } from 'node:timers/promises'

/** The functions with which a check waits, so that other checks can run during this time. */
export interface Slot {
  /** Frees the slot for that time. Afterwards the waiting function gets a slot before functions that have not begun. */
  pause(ms: number): Promise<void>
  /** Frees the slot if the promise takes longer than `momentMs`, because waiting for an answer uses no processor. */
  waitFor<T>(waiting: Promise<T>, momentMs?: number): Promise<T>
}

/** After this time, a promise counts as idle if the caller names no other time. */
const usualMomentMs = 300

/** `mostBegun`: the limit of functions that have begun and not ended, including waiting functions. */
export function createLimiter(count: number, mostBegun = 15 * count) {
  let [busy, begun] = [0, 0]
  const returning: (() => void)[] = []
  const waiting: (() => void)[] = []

  function next(): void {
    while (busy < count && returning.length > 0) {
      busy++
      returning.shift()!()
    }
    while (busy < count && begun < mostBegun && waiting.length > 0) {
      busy++
      begun++
      waiting.shift()!()
    }
  }

  function createSlot(): Slot & { end(): void } {
    /** Several promises may wait at once in one slot. The slot stays free until the last of them has settled. */
    let away = 0
    /** True when the function has ended. A check that reaches its time limit ends while it still waits for a promise. */
    let isOver = false
    const leave = () => {
      if (away++ > 0 || isOver) return
      busy--
      next()
    }
    return {
      async pause(ms) {
        leave()
        await wait(ms)
        if (--away > 0 || isOver) return
        await new Promise<void>(resolve => {
          returning.push(resolve)
          next()
        })
      },
      async waitFor(promise, momentMs = usualMomentMs) {
        let isAway = false
        const timer = setTimeout(() => {
          isAway = true
          leave()
        }, momentMs)
        try {
          return await promise
        } finally {
          clearTimeout(timer)
          // Continues at once, even if more functions than slots run for a moment, because a delay would falsify measurements.
          if (isAway && --away === 0 && !isOver) busy++
        }
      },
      end() {
        isOver = true
        if (away === 0) busy--
        begun--
        next()
      },
    }
  }

  return {
    /** Runs the function as soon as a slot is free. */
    async runInSlot<T>(run: (slot: Slot) => Promise<T>): Promise<T> {
      await new Promise<void>(resolve => {
        waiting.push(resolve)
        next()
      })
      const slot = createSlot()
      return run(slot).finally(slot.end)
    },
  }
}
