// Where log lines go: to the standard output, and never in the way of a request or of the process's end.
import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'

const retryMs = 1_000
const lastLinesMs = 500

/**
 * Not synchronous, for a log that nobody reads would stop the process. What does not fit into 1 MiB is lost, and a full
 * disk is no fault of the process: it is tried again until there is space.
 */
export function openLogOutput() {
  let isFailing = false
  // Rather than 1: a pipe does not block any more once process.stdout was asked for.
  const output = pino.destination({ dest: process.stdout.fd, sync: false, maxLength: 1024 * 1024 })
  output.on('error', () => {
    isFailing = true
  })
  output.on('write', () => {
    isFailing = false
  })
  setInterval(() => isFailing && output.write(''), retryMs).unref()
  // Otherwise pino would write the rest at the exit, and try forever if nobody reads or the disk is full.
  process.prependListener('exit', () => output.destroy())
  return {
    output,
    /** Resolves when all lines are written; when that does not succeed at once, they are given up. */
    async flush(): Promise<void> {
      const written = new Promise(resolve => output.once('drain', resolve))
      output.write('')
      await Promise.race([written, wait(lastLinesMs)])
    },
  }
}
