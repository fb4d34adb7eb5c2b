// Where log lines go: JSON on the standard output, or lines for the person at a terminal; never in the way of anything.
import { setTimeout as wait } from 'node:timers/promises'
import { type DestinationStream, type Logger, pino } from 'pino'

const retryMs = 1_000
const lastLinesMs = 500

/** `flush` resolves when all lines are written; when that does not succeed at once, they are given up. */
export function openLog(level: string, version: string): { logger: Logger; flush: () => Promise<void> } {
  const options = { level, base: { app: 'client', version }, timestamp: pino.stdTimeFunctions.isoTime }
  if (process.stdout.isTTY) return { logger: pino(options, prettyLog(process.stdout)), flush: async () => {} }
  const output = openOutput()
  async function flush(): Promise<void> {
    const written = new Promise(resolve => output.once('drain', resolve))
    output.write('')
    await Promise.race([written, wait(lastLinesMs)])
  }
  return { logger: pino(options, output), flush }
}

/**
 * Not synchronous, because a log that nobody reads would stop the process. What does not fit into 1 MiB is lost. A full
 * disk is no fault of the process: it is tried again until there is space.
 */
function openOutput() {
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
  // At the exit pino would write all that is left, and try without end where nobody reads or the disk is full.
  process.prependListener('exit', () => output.destroy())
  return output
}

const levels: Record<number, string> = { 30: ' ', 40: 'warn', 50: 'ERROR', 60: 'FATAL' }
/** Of interest to those who search a log, and not to those who watch it. */
const hidden = new Set(['level', 'time', 'pid', 'hostname', 'app', 'version', 'event', 'reqId', 'visitor'])

export function prettyLog(out: NodeJS.WritableStream): DestinationStream {
  return {
    write(line) {
      const entry = JSON.parse(line) as Record<string, unknown>
      const shown = Object.entries(entry).filter(([name, value]) => !hidden.has(name) && value !== undefined)
      const details = shown.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(' ')
      const time = String(entry.time).slice(11, 19)
      out.write(`${time} ${levels[Number(entry.level)] ?? 'debug'} ${entry.event ?? ''} ${details}\n`)
    },
  }
}
