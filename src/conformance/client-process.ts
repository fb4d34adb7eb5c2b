// The client as a process of this command: started with its settings, heard, restarted, stopped.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'

export interface ClientProcess {
  /** A check has left something in it that others must not meet: it is started anew before the next one. */
  isStale?: boolean
  /** Everything that it has printed so far, all starts together. */
  output(): string
  isRunning(): boolean
  /** Of the shell that runs the command, which is the parent of the client or the client itself. */
  pid?(): number | undefined
  /** Each time that it ended although nobody had stopped it: `with exit code 1`, or `by SIGSEGV`. */
  unexpectedEnds(): string[]
  /** Stops it and starts it once more; resolves when it answers. Rejects after stop(). */
  restart(): Promise<void>
  /** For good. */
  stop(): Promise<void>
}

/** Output beyond this is dropped, the oldest first. */
const mostOutput = 16 * 1024 * 1024
const stopMs = 10_000

/** `isAnswering` is asked until it is true. Rejects when the process ends before, with the end of what it printed. */
export async function startClient(
  command: string,
  environment: Record<string, string | undefined>,
  isAnswering: (isAlive: () => boolean) => Promise<boolean>,
): Promise<ClientProcess> {
  let output = ''
  let child: ChildProcess
  /** The process that is being stopped: its end is expected. */
  let stopping: ChildProcess | undefined
  const unexpectedEnds: string[] = []

  async function start(): Promise<void> {
    // A group of its own, so that what the shell starts stops with it. On Windows that would be a window of its own.
    const detached = process.platform !== 'win32'
    child = spawn(command, { shell: true, detached, env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-mostOutput)
      })
    child.on('error', error => {
      output += `\n${error.message}`
    })
    const started = child
    let hasAnswered = false
    started.on('exit', (code, signal) => {
      // One that ends before its first answer has not started, which the caller hears.
      if (started !== stopping && hasAnswered) unexpectedEnds.push(signal ? `by ${signal}` : `with exit code ${code}`)
    })
    if (!(await isAnswering(isRunning)))
      throw new Error(`The client was started with "${command}" and does not answer. It printed:\n${lastOf(output)}`)
    hasAnswered = true
  }

  const isRunning = () => child.exitCode === null && child.signalCode === null

  async function stop(): Promise<void> {
    if (!isRunning()) return
    stopping = child
    const [ended, closed] = [once(child, 'exit'), once(child, 'close')]
    kill('SIGTERM')
    const timer = setTimeout(() => kill('SIGKILL'), stopMs)
    await ended
    clearTimeout(timer)
    // What the shell started may outlive it. The output closes when all of that is gone, but for what has left its group.
    kill('SIGKILL')
    await Promise.race([closed, wait(1000, undefined, { ref: false })])
  }

  function kill(signal: NodeJS.Signals): void {
    // Windows has neither process groups nor signals: this ends the shell, and all that it has started, at once.
    if (process.platform === 'win32') {
      spawnSync('taskkill', ['/pid', `${child.pid}`, '/t', '/f'])
      return
    }
    try {
      process.kill(-child.pid!, signal)
    } catch {
      // It has ended already.
    }
  }

  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  let restarting: Promise<void> | undefined
  let isOver = false
  return {
    output: () => output,
    isRunning,
    pid: () => child.pid,
    unexpectedEnds: () => unexpectedEnds,
    // Two at once would meet at one port, and the one that is known would be the one that has lost.
    async restart() {
      // Checks that are still under way at the end find no client, and would start one that nobody stops.
      if (isOver) throw new Error('The client was stopped for good.')
      restarting ??= stop()
        .then(start)
        .finally(() => {
          restarting = undefined
        })
      return restarting
    },
    async stop() {
      isOver = true
      await restarting?.catch(() => undefined)
      await stop()
    },
  }
}

function lastOf(text: string): string {
  return text.trim().split('\n').slice(-20).join('\n') || '(nothing)'
}
