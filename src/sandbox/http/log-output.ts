// Writes log lines to standard output. A blocked output never delays a request or the end of the process.
import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'

const retryMs = 1_000
const lastLinesMs = 500

/**
 * Opens the log output. The output is asynchronous. With a synchronous output, the process would wait forever if nobody
 * reads the log. At most 1 MiB of lines waits to be written. Further lines are lost. If the disk is full, the output
 * tries again until there is space.
 */
export function openLogOutput() {
  let isFailing = false
  // Use process.stdout.fd instead of the number 1. Reading the property process.stdout has a side effect: if standard
  // output is a pipe, Node makes this pipe non-blocking. A write to a full pipe then does not block the process.
  const output = pino.destination({ dest: process.stdout.fd, sync: false, maxLength: 1024 * 1024 })
  output.on('error', () => {
    isFailing = true
  })
  output.on('write', () => {
    isFailing = false
  })
  setInterval(() => isFailing && output.write(''), retryMs).unref()
  // Drop the lines that are not written yet. Otherwise Pino would try to write these lines at exit. If nobody reads the
  // lines or the disk is full, Pino would try forever.
  process.prependListener('exit', () => output.destroy())
  return {
    output,
    /**
     * Resolves when all lines are written, or after half a second. Lines that are not written after half a second are
     * lost.
     */
    async flush(): Promise<void> {
      const written = new Promise(resolve => output.once('drain', resolve))
      output.write('')
      await Promise.race([written, wait(lastLinesMs)])
    },
  }
}
