// Limits how many checks run at a time. While a check waits, another check can use its slot.
import { setTimeout as wait } from 'node:timers/promises'

/** The functions with which a check waits, so that other checks can run during this time. */
export interface Slot {
  /** Frees the slot for that time. Afterwards the paused function gets a slot before functions that have not begun. */
  pause(ms: number): Promise<void>
  /** Frees the slot if the promise takes longer than `momentMs`, because waiting for an answer uses no processor. */
  waitFor<T>(promise: Promise<T>, momentMs?: number): Promise<T>
}

/** The default of `momentMs`. */
const usualMomentMs = 300

/** `mostBegun`: the limit of functions that have begun and not ended, including functions that do not use their slot now. */
export function createLimiter(slots: number, mostBegun = 15 * slots) {
  let [usedSlots, begun] = [0, 0]
  /** Functions whose pause is over. Each needs a slot to continue. */
  const toContinue: (() => void)[] = []
  /** Functions that have not begun. */
  const toBegin: (() => void)[] = []

  function fillSlots(): void {
    while (usedSlots < slots && toContinue.length > 0) {
      usedSlots++
      toContinue.shift()!()
    }
    while (usedSlots < slots && begun < mostBegun && toBegin.length > 0) {
      usedSlots++
      begun++
      toBegin.shift()!()
    }
  }

  function createSlot(): Slot & { end(): void } {
    /** A function may wait for several promises at once. Its slot stays free until the last of them has settled. */
    let idleReasons = 0
    /** True when the function has ended. A check that reaches its time limit ends while it still waits for a promise. */
    let isOver = false
    const freeSlot = () => {
      if (idleReasons++ > 0 || isOver) return
      usedSlots--
      fillSlots()
    }
    return {
      async pause(ms) {
        freeSlot()
        await wait(ms)
        if (--idleReasons > 0 || isOver) return
        await new Promise<void>(resolve => {
          toContinue.push(resolve)
          fillSlots()
        })
      },
      async waitFor(promise, momentMs = usualMomentMs) {
        let isIdle = false
        const timer = setTimeout(() => {
          isIdle = true
          freeSlot()
        }, momentMs)
        try {
          return await promise
        } finally {
          clearTimeout(timer)
          // Continues at once, because a delay would falsify measurements. For a moment, more functions than slots may
          // run.
          if (isIdle && --idleReasons === 0 && !isOver) usedSlots++
        }
      },
      end() {
        isOver = true
        if (idleReasons === 0) usedSlots--
        begun--
        fillSlots()
      },
    }
  }

  return {
    /** Runs the function as soon as a slot is free. */
    async runInSlot<T>(run: (slot: Slot) => Promise<T>): Promise<T> {
      await new Promise<void>(resolve => {
        toBegin.push(resolve)
        fillSlots()
      })
      const slot = createSlot()
      return run(slot).finally(slot.end)
    },
  }
}
