// Bounds how many lists of one caller are written at the same time: each holds a portion, for a reader who may read nothing.
import type { Caller } from '../tokens/find-caller.ts'

const mostAtOnce = 8

/** The returned function passes portions on once it is the caller's turn, in the order of asking. */
export function createListTurns() {
  const callers = new Map<string, { running: number; waiting: (() => void)[] }>()

  async function begin(key: string): Promise<void> {
    const turns = callers.get(key) ?? { running: 0, waiting: [] }
    callers.set(key, turns)
    if (turns.running < mostAtOnce) turns.running += 1
    else await new Promise<void>(resolve => turns.waiting.push(resolve))
  }

  function end(key: string): void {
    const turns = callers.get(key)
    if (!turns) return
    const next = turns.waiting.shift()
    // The place is handed on, not given back.
    if (next) next()
    else turns.running -= 1
    if (turns.running === 0) callers.delete(key)
  }

  return async function* inTurn<T>({ userId, clientId }: Caller, portions: AsyncIterable<T>): AsyncGenerator<T> {
    const key = `${userId} ${clientId}`
    await begin(key)
    try {
      yield* portions
    } finally {
      // Also where the reader has gone, or the store has a fault.
      end(key)
    }
  }
}
