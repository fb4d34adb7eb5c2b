// Sweeps the store once a minute, and ends with it.
import type { Store } from './store.ts'
import { sweep } from './sweep.ts'

export interface Sweeper {
  start(): void
  /** Resolves once a sweep that is under way has left off, which is soon. */
  stop(): Promise<void>
}

/** `onFailed` hears why rows stay until the next sweep. */
export function createSweeper(store: Store, onFailed: (error: Error) => void, pauseMs = 60_000): Sweeper {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<unknown> = Promise.resolve()

  function sweepLater(): void {
    if (stopping.signal.aborted) return
    timer = setTimeout(() => {
      // The real clock: where a test or a lesson moves the other, that must not delete for good.
      running = sweep(store, new Date(), stopping.signal).catch(onFailed).finally(sweepLater)
    }, pauseMs).unref()
  }

  return {
    start: sweepLater,
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}
