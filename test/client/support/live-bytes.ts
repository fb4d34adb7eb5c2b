// The memory of this process by its own account. What the system has given it stays with it, and would hide what comes later.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What is held at the moment, garbage included: for what is held for a moment only. */
export function heldBytes(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** What is still held after the garbage has gone. */
export function liveBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  // Buffers are freed beside the program, and counted until then: the next one waits for that.
  collect()
  return heldBytes()
}
