// Starts the client as a process with its settings, reads its output, restarts it and stops it.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { Undecided } from './check.ts'
import { type ClientOutput, recordOutput } from './output-record.ts'

/** Settings that a check can replace with other values when it restarts the client. */
export interface ChangedSettings {
  CLIENT_ID?: string
  LOGIN_URL?: string
  API_URL?: string
  REDIRECT_URI?: string
  CLIENT_URL?: string
}

export interface ClientProcess extends ClientOutput {
  /**
   * True if a check has changed the client in a way that must not affect other checks. The suite then restarts the
   * client before the next check. Do not copy the whole object, because the copy would not get later changes.
   */
  isStale?: boolean
  isRunning(): boolean
  /**
   * The process id of the shell that runs the command. This process is the parent of the client, or the client itself
   * if the shell has replaced itself with the client.
   */
  pid?(): number | undefined
  /**
   * One string for each time that the client ended although the suite was not stopping it, such as `with exit code 1`
   * or `by SIGSEGV`.
   */
  unexpectedEnds(): string[]
  /**
   * Stops the client and starts it again. Resolves when the client answers. Rejects after stop(). `changed`: settings
   * that get different values until the next restart.
   */
  restart(changed?: ChangedSettings): Promise<void>
  /** The time from the first start of the client to its first answer. */
  firstStartMs?: number
  /**
   * After each start, the suite requests the login path until the client answers. Returns how long the slowest of these
   * requests took after the last start, in milliseconds.
   */
  slowestFirstLoginMs?(): number
  /** Stops the client permanently. After that, restart() rejects. */
  stop(): Promise<void>
}

const stopMs = 10_000
/** How long the suite waits until no program answers at the address of the client. */
const waitForSilenceMs = 10_000

const stillAnswers =
  'The suite has stopped the client, but a program still answers at its address. Start the client in the foreground. If the --start command starts processes in a group of their own (setsid), it must also stop them.'

/**
 * Starts the client, and rejects with its output if `waitForClient` resolves to false. `waitForClient`
 * resolves to true when the client answers, and to false if the client does not answer in time or has ended.
 * `record`: where the output of the client is kept. Two instances can share a record. `isAnswering`: whether any program
 * answers at the address of the client.
 */
export async function startClient(
  command: string,
  environment: Record<string, string | undefined>,
  waitForClient: (isRunning: () => boolean) => Promise<boolean>,
  { record = recordOutput(), isAnswering = async () => false } = {},
): Promise<ClientProcess> {
  const { add, output, outputEnd, hasOutputSince } = record
  let child: ChildProcess
  /** The process that the suite itself is stopping. Its end does not count as unexpected. */
  let stopping: ChildProcess | undefined
  const unexpectedEnds: string[] = []

  async function start(changed: ChangedSettings = {}): Promise<void> {
    const printedBefore = outputEnd()
    // Starts a separate process group, so that a signal stops the shell together with its children. On Windows,
    // `detached` would open a window instead.
    const detached = process.platform !== 'win32'
    child = spawn(command, {
      shell: true,
      detached,
      env: withChanged(environment, changed),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout!, child.stderr!]) stream.setEncoding('utf8').on('data', add)
    child.on('error', error => add(`\n${error.message}`))
    const started = child
    let hasAnswered = false
    started.on('exit', (code, signal) => {
      // If a process ends before its first answer, the client has not started, and the caller gets an error.
      if (started !== stopping && hasAnswered) unexpectedEnds.push(signal ? `by ${signal}` : `with exit code ${code}`)
      // Children of the shell may run longer than the shell. A second instance of the client would then keep its port,
      // and the next start would fail.
      killGroup(started, 'SIGKILL')
    })
    if (!(await waitForClient(isRunning)))
      throw new Error(
        `The client was started with "${command}", but it does not answer. It printed:\n${shorten(output(printedBefore))}`,
      )
    hasAnswered = true
  }

  const isRunning = () => child.exitCode === null && child.signalCode === null

  async function stop(): Promise<void> {
    if (!isRunning()) return
    stopping = child
    const [ended, closed] = [once(child, 'exit'), once(child, 'close')]
    killGroup(child, 'SIGTERM')
    const timer = setTimeout(() => killGroup(child, 'SIGKILL'), stopMs)
    await ended
    clearTimeout(timer)
    // The output closes when all children have ended. The wait is limited, because a child that has left the process
    // group does not get the signal.
    await Promise.race([closed, wait(1000, undefined, { ref: false })])
  }

  /**
   * Waits until nobody answers at the address of the client. Throws Undecided if a program still answers after ten
   * seconds. This program is probably a process of the client that has left the process group, so it still has the old
   * settings.
   */
  async function expectSilence(): Promise<void> {
    const end = performance.now() + waitForSilenceMs
    while (await isAnswering()) {
      if (performance.now() > end) throw new Undecided(stillAnswers)
      await wait(100)
    }
  }

  const begun = performance.now()
  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  const firstStartMs = performance.now() - begun
  let restarting: { changed: ChangedSettings | undefined; done: Promise<void> } | undefined
  let isOver = false
  return {
    output,
    outputEnd,
    hasOutputSince,
    isRunning,
    pid: () => child.pid,
    firstStartMs,
    unexpectedEnds: () => unexpectedEnds,
    // If several checks call `restart` at the same time with the same settings, they share one restart. With different
    // settings, one restart follows the other, because two processes cannot use the same port.
    async restart(changed) {
      // Without this error, a check that still runs after stop() could restart the client, and nothing would stop the
      // new process.
      if (isOver) throw new Error('The client was stopped, and cannot be restarted.')
      const earlier = restarting
      if (earlier && earlier.changed === changed) return earlier.done
      const done = (async () => {
        await earlier?.done.catch(() => undefined)
        await stop()
        await expectSilence()
        await start(changed)
      })().finally(() => {
        if (restarting?.done === done) restarting = undefined
      })
      restarting = { changed, done }
      return done
    },
    async stop() {
      isOver = true
      await restarting?.done.catch(() => undefined)
      await stop()
    },
  }
}

/** Sends the signal to the process and to all its children that have not left its process group. */
function killGroup(leader: ChildProcess, signal: NodeJS.Signals): void {
  // Windows has no process groups and no signals. taskkill ends the shell and all its children at once.
  if (process.platform === 'win32') {
    spawnSync('taskkill', ['/pid', `${leader.pid}`, '/t', '/f'])
    return
  }
  try {
    process.kill(-leader.pid!, signal)
  } catch {
    // All processes of the group have already ended.
  }
}

const knownSettings = ['CLIENT_ID', 'LOGIN_URL', 'API_URL', 'REDIRECT_URI', 'CLIENT_URL'] as const

/**
 * Replaces the old value of each changed setting in all variables of the environment that contain this value. One
 * address can be the beginning of another: `http://localhost:4100` and `http://localhost:41001`. Therefore placeholders
 * first replace the old values of all settings, the longest value first. Then the new values replace the placeholders.
 */
function withChanged(
  environment: Record<string, string | undefined>,
  changed: ChangedSettings,
): Record<string, string | undefined> {
  const replaced = { ...environment }
  const replaceAll = (old: string, value: string) => {
    for (const [key, text] of Object.entries(replaced)) replaced[key] = text?.replaceAll(old, value)
  }
  const settings = knownSettings.flatMap(name => {
    const old = environment[name]
    return old ? [{ old, value: changed[name] ?? old, mark: `\0${name}\0` }] : []
  })
  for (const { old, mark } of settings.toSorted((one, other) => other.old.length - one.old.length))
    replaceAll(old, mark)
  for (const { mark, value } of settings) replaceAll(mark, value)
  return replaced
}

/**
 * The number of lines that an error message shows from the beginning and from the end of the output. The beginning can
 * matter most, because some languages print the cause of a crash first.
 */
const [firstLines, lastLines] = [12, 20]

function shorten(text: string): string {
  const lines = text.trim().split('\n')
  const left = lines.length - firstLines - lastLines
  if (left > 1) lines.splice(firstLines, left, `(${left} other lines)`)
  return lines.join('\n') || '(nothing)'
}
