// Shows the progress of a run. A terminal shows one line that changes. A log file gets a new line every few seconds.
import type { Result } from '../result.ts'
import { countLine } from './report.ts'

const everyMs = 5000

interface Progress {
  result(result: Result): void
  /** Ends the progress display, and clears its line on a terminal. */
  end(): void
}

/** `isTerminal`: true if the output can overwrite its last line. */
export function showProgress(total: number, isTerminal: boolean, say: (text: string) => void): Progress {
  const results: Result[] = []
  const started = performance.now()
  const tell = () => {
    const seconds = Math.round((performance.now() - started) / 1000)
    say(
      `${results.length} of ${total} after ${seconds} s${results.length > 0 ? `: ${countLine(results, [], true)}` : ''}\n`,
    )
  }
  const timer = isTerminal ? undefined : setInterval(tell, everyMs)
  timer?.unref()
  return {
    result(result) {
      results.push(result)
      if (isTerminal) say(`\r\x1b[K${results.length} of ${total}: ${result.id}`)
      else if (!['passed', 'not applicable', 'not run'].includes(result.verdict))
        say(`${result.verdict}: ${result.id}\n`)
    },
    end() {
      clearInterval(timer)
      if (isTerminal) say('\r\x1b[K')
    },
  }
}
