// Limits how many lists one caller receives at the same time. Each list keeps one portion in memory, even if the caller
// does not read the answer.
import type { Caller } from '../tokens/find-caller.ts'

const mostAtOnce = 8

/**
 * Returns a function that waits until it is the caller's turn to receive one more list, and then yields the portions of
 * this list. The lists of a caller start in the order of the requests.
 */
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
    // The list that has waited longest gets the free place.
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
      // This also frees the place if the caller has disconnected or the store has failed.
      end(key)
    }
  }
}
