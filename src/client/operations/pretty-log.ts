// Log lines as a person at a terminal wants them; where no terminal reads them they stay JSON.
import type { DestinationStream } from 'pino'

const levels: Record<number, string> = { 30: ' ', 40: 'warn', 50: 'ERROR', 60: 'FATAL' }
/** Of interest to who searches a log, not to who watches it. */
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
