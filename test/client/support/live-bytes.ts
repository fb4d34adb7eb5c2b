// The memory of this process as Node counts it. The system's number never goes down, so it would hide later changes.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The memory in use now, including garbage. The number includes memory that is used only for a moment. */
export function heldBytes(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** The memory in use after a garbage collection. */
export function liveBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  // Node frees buffers in another thread, and counts them until they are free. The second collection waits for that
  // thread.
  collect()
  return heldBytes()
}
