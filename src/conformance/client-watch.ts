// Watches whether the client under test still answers, restarts it, and reports during which checks it stopped answering.
import { setTimeout as wait } from 'node:timers/promises'
import type { ClientProcess } from './client-process.ts'

export interface WatchOptions {
  clientProcess: ClientProcess | undefined
  /** Whether the client answers with a status that means that it is ready. */
  isAnswering: () => Promise<boolean>
  /** Whether the client sends any answer. The default is `isAnswering`. */
  isAlive?: () => Promise<boolean>
}

/** A check that is running, and the ids of the checks that ran at the same time. */
export interface CheckWatch {
  beside: Set<string>
  /** Stops watching. Returns what happened to the client while the check ran, or undefined if it always answered. */
  end(): Promise<string | undefined>
}

export type ClientWatch = ReturnType<typeof watchClient>

/** If the client has ended this many times, the suite does not restart it for further checks. */
const mostEnds = 50
const tries = 3
const betweenTriesMs = 500

export function watchClient({ clientProcess, isAnswering, isAlive = isAnswering }: WatchOptions) {
  const running = new Map<string, Set<string>>()
  const countEnds = () => clientProcess?.unexpectedEnds().length ?? 0
  /**
   * How often the client had ended when the last check was over. If the client ended before the first check, this
   * counts for no check.
   */
  let blamedEnds: number | undefined
  /**
   * How often the client did not answer when a check began, although its process was running and other checks were
   * running.
   */
  let silences = 0
  /** True if the client did not answer last time. The next time, the suite asks only once. */
  let wasGone = false
  let cannotStart = false

  /** One answer out of a few tries is enough, because the client may only be slow. */
  async function isTrueSoon(ask: () => Promise<boolean>): Promise<boolean> {
    for (let left = wasGone ? 1 : tries; left > 0; left--) {
      if (await ask()) return true
      if (clientProcess && !clientProcess.isRunning()) return false
      if (left > 1) await wait(betweenTriesMs)
    }
    return false
  }

  return {
    /**
     * Restarts a client of --start that has ended or does not answer. Returns why a check still cannot begin, or
     * undefined if the client is ready.
     */
    async makeReady(): Promise<string | undefined> {
      let isThere = await isTrueSoon(isAnswering)
      // Count now that the client does not answer. It may answer again before the running checks notice.
      const isSilent = !isThere && running.size > 0 && clientProcess?.isRunning() !== false && !(await isAlive())
      if (isSilent) silences++
      const hasEndedTooOften = countEnds() >= mostEnds
      if (!isThere && clientProcess && !cannotStart && !hasEndedTooOften) {
        await clientProcess.restart().catch(() => {
          cannotStart = true
        })
        isThere = await isAnswering()
      }
      wasGone = !isThere
      if (isThere) return undefined
      return hasEndedTooOften
        ? `The client has ended ${countEnds()} times, and the suite does not start it again.`
        : 'The client no longer answers.'
    },

    begin(id: string): CheckWatch {
      // If no other check is running, this check reports every end of the process since the last check. Otherwise
      // nothing would report them.
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
            return `The process of the client ended ${clientProcess?.unexpectedEnds().at(-1)}.`
          }
          if (silences > silencesBefore) return 'During this check the client did not answer for a while.'
          return isSilent ? 'After this check the client no longer answered.' : undefined
        },
      }
    },
  }
}
