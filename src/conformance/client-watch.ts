// Watches whether the client under test answers, restarts the client, and reports the checks during which the client
// stopped answering.
import { setTimeout as wait } from 'node:timers/promises'
import { Undecided } from './check.ts'
import type { ClientProcess } from './client-process.ts'

export interface WatchOptions {
  clientProcess: ClientProcess | undefined
  /** The second instance, if the suite has started it. */
  replicaProcess?: ClientProcess | undefined
  /** Returns whether the client answers with a status that means that it is ready. */
  isAnswering: () => Promise<boolean>
  /** Returns whether the client sends any answer. The default is `isAnswering`. */
  isAlive?: () => Promise<boolean>
}

/** Watches the client during one check. `beside` has the ids of the checks that ran at the same time. */
interface CheckWatch {
  beside: Set<string>
  /**
   * Stops watching. Returns what happened to the client during the check, or undefined if the client answered all the
   * time.
   */
  end(): Promise<string | undefined>
}

export type ClientWatch = ReturnType<typeof watchClient>

/** When the client has ended this many times, the suite does not start it again. */
const mostEnds = 50
/**
 * When this many restarts in a row have failed, the suite does not try again. A restart can fail once, for example
 * because the port is still in use.
 */
const mostFailedRestarts = 3
const tries = 3
const betweenTriesMs = 500

export function watchClient({ clientProcess, replicaProcess, isAnswering, isAlive = isAnswering }: WatchOptions) {
  const running = new Map<string, Set<string>>()
  const listEnds = () => [clientProcess, replicaProcess].flatMap(one => one?.unexpectedEnds() ?? [])
  const countEnds = () => listEnds().length
  /**
   * The result of `countEnds` at the end of the last check. If the client ended before the first check, the suite does
   * not blame any check.
   */
  let blamedEnds: number | undefined
  /**
   * The number of times that the client did not answer when a check began, although the client's process and other
   * checks were running.
   */
  let silences = 0
  /** True if the client did not answer before the last check. The suite then asks only once before the next check. */
  let wasGone = false
  /**
   * The errors of the restarts that have failed since the last good start. Checks that share a restart get the same
   * error.
   */
  const failedRestarts = new Set<unknown>()

  const hasEnded = () => clientProcess?.isRunning() === false

  /** Asks a few times, because the client may just be slow. Returns true after the first good answer. */
  async function isTrueSoon(ask: () => Promise<boolean>): Promise<boolean> {
    for (let left = wasGone ? 1 : tries; left > 0; left--) {
      if (await ask()) return true
      if (hasEnded()) return false
      if (left > 1) await wait(betweenTriesMs)
    }
    return false
  }

  return {
    /**
     * Restarts a client that was started with --start, if this client has ended or does not answer. Returns why the
     * next check cannot begin, or undefined if the client is ready.
     */
    async makeReady(): Promise<string | undefined> {
      // If the second instance does not start again, the checks that use it fail.
      if (replicaProcess && !replicaProcess.isRunning()) await replicaProcess.restart().catch(() => undefined)
      // If the process has ended and a program still answers, this program may be an old process of the client, or
      // another program.
      let isThere = !hasEnded() && (await isTrueSoon(isAnswering))
      // Counts the silence now, because the client may answer again before the running checks notice the silence.
      const isSilent = !isThere && running.size > 0 && !hasEnded() && !(await isAlive())
      if (isSilent) silences++
      const hasEndedTooOften = countEnds() >= mostEnds
      const mayRestart = failedRestarts.size < mostFailedRestarts && !hasEndedTooOften
      if (!isThere && clientProcess && mayRestart) {
        await clientProcess.restart().then(
          () => failedRestarts.clear(),
          error => failedRestarts.add(error),
        )
        isThere = !hasEnded() && (await isAnswering())
      }
      wasGone = !isThere
      if (isThere) return undefined
      const whyNotRestarted = [...failedRestarts].find(error => error instanceof Undecided)
      if (whyNotRestarted) return whyNotRestarted.message
      return hasEndedTooOften
        ? `The client has ended ${countEnds()} times, and the suite does not start it again.`
        : 'The client no longer answers.'
    },

    begin(id: string): CheckWatch {
      // If the process ended after the last check and no other check is running, this check reports the end of the
      // process. Without this rule, no check would report it.
      blamedEnds ??= countEnds()
      const endsBefore = running.size === 0 ? blamedEnds : countEnds()
      const silencesBefore = silences
      const beside = new Set(running.keys())
      for (const others of running.values()) others.add(id)
      running.set(id, beside)
      return {
        beside,
        async end() {
          const isSilent = countEnds() === endsBefore && !(await isTrueSoon(isAlive))
          running.delete(id)
          if (countEnds() > endsBefore) {
            blamedEnds = countEnds()
            return `The process of the client ended ${listEnds().at(-1)}.`
          }
          if (silences > silencesBefore) return 'During this check the client did not answer for a while.'
          return isSilent ? 'After this check the client no longer answered.' : undefined
        },
      }
    },
  }
}
