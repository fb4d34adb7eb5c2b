// Where log lines go: to the standard output, and never in the way of a request or of the process's end.
import { pino } from 'pino'

/** Not synchronous, for a log that nobody reads would stop the process. What does not fit into 1 MiB is lost. */
export function openLogOutput() {
  let isExiting = false
  const output = pino.destination({
    // Rather than 1: a pipe does not block any more once process.stdout was asked for.
    dest: process.stdout.fd,
    sync: false,
    maxLength: 1024 * 1024,
    retryEAGAIN: () => !isExiting,
  })
  process.prependListener('exit', () => {
    isExiting = true
    try {
      output.flushSync()
    } catch {
      // Nobody reads, and pino itself would now try without end.
    }
    output.destroy()
  })
  return output
}
