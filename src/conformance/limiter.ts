// Limits how many checks run at a time. A check that waits gives its slot to another one meanwhile.
import { setTimeout as wait } from 'node:timers/promises'

/** What a function in a slot can wait with, so that others go on meanwhile. */
export interface Slot {
  /** Frees the slot for that time. It is there again before any function that has not begun gets one. */
  pause(ms: number): Promise<void>
  /** Frees the slot while this takes longer than a moment: who waits for an answer keeps no processor busy. */
  waitFor<T>(waiting: Promise<T>): Promise<T>
}

/** From then on something that is waited for is taken to be idle. */
const momentMs = 300

/** `mostBegun`: so many have begun and have not ended, those that wait included. */
export function createLimiter(count: number, mostBegun = 10 * count) {
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
    /** Several may wait at once in one slot: it is free until the first of them goes on. */
    let away = 0
    /** A check that takes too long is left while it still waits. */
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
      async waitFor(promise) {
        let isAway = false
        const timer = setTimeout(() => {
          isAway = true
          leave()
        }, momentMs)
        try {
          return await promise
        } finally {
          clearTimeout(timer)
          // It goes on at once, also where that is one too many for a moment: waiting would falsify what is measured.
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
