// So many checks at a time. One that lets time pass gives its place to another meanwhile.
import { setTimeout as wait } from 'node:timers/promises'

export function createPlaces(count: number) {
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
    /** Runs something that takes a place, as soon as there is one. */
    async taking<T>(run: () => Promise<T>): Promise<T> {
      await enter('push')
      return run().finally(leave)
    },

    /** For who has a place: it is there again before anybody else begins. */
    async pause(ms: number): Promise<void> {
      leave()
      await wait(ms)
      await enter('unshift')
    },
  }
}
