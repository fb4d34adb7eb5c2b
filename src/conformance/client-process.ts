// The client as a process of this command: start it with its settings, read its output, restart it, stop it.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'

/** Settings with which a check can start the client, in place of the real ones. */
export interface ChangedSettings {
  CLIENT_ID?: string
  LOGIN_URL?: string
}

export interface ClientProcess {
  /** True if a check has changed the process in a way that must not affect other checks. The next check first restarts it. */
  isStale?: boolean
  /** Everything that the client has printed so far, in all its starts. */
  output(): string
  isRunning(): boolean
  /**
   * The process id of the shell that runs the command. This process is the parent of the client, or the client itself
   * if the shell has replaced itself with the client.
   */
  pid?(): number | undefined
  /** One text for each time that the client ended by itself: `with exit code 1`, or `by SIGSEGV`. */
  unexpectedEnds(): string[]
  /**
   * Stops the client and starts it again. Resolves when the client answers. Rejects after stop(). `changed`: settings
   * with another value than before, for this start only.
   */
  restart(changed?: ChangedSettings): Promise<void>
  /** Stops the client for good: restart() rejects afterwards. */
  stop(): Promise<void>
}

/** If the output is longer, the oldest part is dropped. */
const mostOutput = 16 * 1024 * 1024
const stopMs = 10_000

/**
 * `waitForClient` resolves to true when the client answers, and to false if it does not answer in time or has ended. Then this
 * function rejects with the end of the output.
 */
export async function startClient(
  command: string,
  environment: Record<string, string | undefined>,
  waitForClient: (isRunning: () => boolean) => Promise<boolean>,
): Promise<ClientProcess> {
  let output = ''
  let child: ChildProcess
  /** The process that the suite is stopping, so that its end is expected. */
  let stopping: ChildProcess | undefined
  const unexpectedEnds: string[] = []

  async function start(changed: ChangedSettings = {}): Promise<void> {
    // Starts a separate process group, so that children of the shell stop with the shell. On Windows, `detached` would open a window instead.
    const detached = process.platform !== 'win32'
    child = spawn(command, {
      shell: true,
      detached,
      env: withChanged(environment, changed),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
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
      // A process that ends before its first answer counts as not started, and the caller gets an error.
      if (started !== stopping && hasAnswered) unexpectedEnds.push(signal ? `by ${signal}` : `with exit code ${code}`)
    })
    if (!(await waitForClient(isRunning)))
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
    // Children of the shell may run longer than the shell. The output closes when the shell and its children have
    // ended, except children that left the process group.
    kill('SIGKILL')
    await Promise.race([closed, wait(1000, undefined, { ref: false })])
  }

  function kill(signal: NodeJS.Signals): void {
    // Windows has no process groups and no signals. taskkill ends the shell and all its children at once.
    if (process.platform === 'win32') {
      spawnSync('taskkill', ['/pid', `${child.pid}`, '/t', '/f'])
      return
    }
    try {
      process.kill(-child.pid!, signal)
    } catch {
      // The process has already ended.
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
    // Calls at the same time share one restart, because two processes would use the same port.
    async restart(changed) {
      // A check may still run after stop() and find no client. It must not start a client, because nobody would stop
      // it.
      if (isOver) throw new Error('The client was stopped, and cannot be restarted.')
      restarting ??= stop()
        .then(() => start(changed))
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

/** The environment with the changed values, under every name that has the old value or contains it. */
function withChanged(
  environment: Record<string, string | undefined>,
  changed: ChangedSettings,
): Record<string, string | undefined> {
  const replaced = { ...environment }
  for (const [name, value] of Object.entries(changed)) {
    const old = environment[name]
    if (!old) continue
    for (const [key, text] of Object.entries(replaced)) replaced[key] = text?.replaceAll(old, value)
  }
  return replaced
}

function lastOf(text: string): string {
  return text.trim().split('\n').slice(-20).join('\n') || '(nothing)'
}
