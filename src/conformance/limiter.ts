// Limits how many checks run at the same time. While a check waits, another check can use its slot.
import { setTimeout as wait } from 'node:timers/promises'

/** A check that must wait calls one of these functions. While it waits, other checks can run. */
export interface Slot {
  /**
   * Waits, and frees the slot while waiting. After the pause, the calling function gets a slot before any function that
   * has not begun.
   */
  pause(ms: number): Promise<void>
  /**
   * Waits for the promise. If the promise takes longer than `momentMs`, frees the slot, because waiting for an answer
   * needs no CPU time.
   */
  waitFor<T>(promise: Promise<T>, momentMs?: number): Promise<T>
}

/** The default of `momentMs`. */
const usualMomentMs = 300

/**
 * `mostBegun`: the maximum number of functions that have begun but not ended. Functions that have freed their slot also
 * count.
 */
export function createLimiter(slots: number, mostBegun = 15 * slots) {
  let [usedSlots, begun] = [0, 0]
  /** Functions whose pause is over. Each of these functions needs a slot to continue. */
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
    /**
     * The number of promises and pauses that the function is waiting for. Its slot stays free until all of them have
     * ended.
     */
    let idleReasons = 0
    /**
     * True when the function has ended. A check that reaches its time limit ends while it still waits for a promise.
     */
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
          // Continues at once, because a delay would make measurements wrong. For a short time, the number of running
          // functions may then exceed the number of slots.
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
