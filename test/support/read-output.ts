// Reads the output of a process that a test has started.
import { EventEmitter, once } from 'node:events'
import type { Readable } from 'node:stream'

type Process = NodeJS.EventEmitter & { stdout: Readable; stderr: Readable }

/** Call this immediately after the process has been started. */
export function readOutput(child: Process) {
  let output = ''
  const arrivals = new EventEmitter()
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => {
      output += text
      arrivals.emit('text')
    })
  /** Resolves when the process has ended, also because of a signal, and its whole output has been read. */
  const closed = once(child, 'close') as Promise<[code: number | null, signal: NodeJS.Signals | null]>
  // Prevents an unhandled rejection if the process cannot be started and nothing waits for `closed`.
  closed.catch(() => undefined)
  return {
    closed,
    /** Returns the output so far: both streams together. */
    output: () => output,
    /** Resolves when the output contains this text. Rejects if the process ends before that. */
    async waitForOutput(text: string): Promise<void> {
      const ended = closed.then(([code, signal]) => {
        if (!output.includes(text)) throw new Error(`The process has ended (${signal ?? code}). It printed:\n${output}`)
      })
      // Prevents an unhandled rejection if nothing waits for `ended`.
      ended.catch(() => undefined)
      while (!output.includes(text)) await Promise.race([once(arrivals, 'text'), ended])
    },
  }
}
