// Where log lines go: to the standard output, and never in the way of a request or of the process's end.
import { pino } from 'pino'

const retryMs = 1_000

/**
 * Not synchronous, for a log that nobody reads would stop the process. What does not fit into 1 MiB is lost, and a full
 * disk is no fault of the process: it is tried again until there is space.
 */
export function openLogOutput() {
  let isExiting = false
  let isFailing = false
  const output = pino.destination({
    // Rather than 1: a pipe does not block any more once process.stdout was asked for.
    dest: process.stdout.fd,
    sync: false,
    maxLength: 1024 * 1024,
    retryEAGAIN: () => !isExiting,
  })
  output.on('error', () => {
    isFailing = true
  })
  output.on('write', () => {
    isFailing = false
  })
  setInterval(() => isFailing && output.write(''), retryMs).unref()
  process.prependListener('exit', () => {
    isExiting = true
    try {
      // On a full disk it would try without end.
      if (!isFailing) output.flushSync()
    } catch {
      // Nobody reads, and pino itself would now try without end.
    }
    output.destroy()
  })
  return output
}
