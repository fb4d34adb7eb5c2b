// Measures the memory of this process as Node counts it. The operating system's number never goes down, so it would
// hide later changes.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Returns the number of bytes in use, including garbage and memory that is used only for a moment. */
export function heldBytes(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Returns the number of bytes in use after a garbage collection. */
export function liveBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  // Node frees buffers in another thread, and counts them until they are free. The second collection waits for that
  // thread.
  collect()
  return heldBytes()
}
