// Watches whether the client under test still answers, restarts it, and reports during which checks it stopped answering.
import { setTimeout as wait } from 'node:timers/promises'
import type { ClientProcess } from './client-process.ts'

export interface Watched {
  clientProcess: ClientProcess | undefined
  /** Whether the client is ready: it answers, and not with a status that says that it is not ready. */
  isAnswering: () => Promise<boolean>
  /** Whether the client sends any answer. The default is `isAnswering`. */
  isAlive?: () => Promise<boolean>
}

/** A check that is running, and the ids of those that ran at the same time. */
export interface Watching {
  beside: Set<string>
  /** Stops watching, and returns what happened to the client meanwhile, if anything. */
  end(): Promise<string | undefined>
}

export type ClientWatch = ReturnType<typeof watchClient>

/** After this number of ends, the client is not restarted for further checks. */
const mostEnds = 50
const tries = 3
const betweenTriesMs = 500

export function watchClient({ clientProcess, isAnswering, isAlive = isAnswering }: Watched) {
  const running = new Map<string, Set<string>>()
  const countEnds = () => clientProcess?.unexpectedEnds().length ?? 0
  /** The number of ends of the client up to the last check. Ends before the first check belong to no check. */
  let blamedEnds: number | undefined
  /** How often the process was running but did not answer when a check began while other checks were running. */
  let silences = 0
  /** True if the client did not answer last time. The next test is then shorter. */
  let wasGone = false
  let cannotStart = false

  /** One answer out of a few tries is enough, because the client may only be slow. */
  async function holdsSoon(ask: () => Promise<boolean>): Promise<boolean> {
    for (let left = wasGone ? 1 : tries; left > 0; left--) {
      if (await ask()) return true
      if (clientProcess && !clientProcess.isRunning()) return false
      if (left > 1) await wait(betweenTriesMs)
    }
    return false
  }

  return {
    /**
     * Returns why a check cannot begin, or undefined if the client is ready. Restarts a client of --start that has ended
     * or does not answer.
     */
    async whyGone(): Promise<string | undefined> {
      let isThere = await holdsSoon(isAnswering)
      // Counts this now, because the client may answer again before the running checks look.
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

    begin(id: string): Watching {
      // If no check is running, this check gets the ends since the last check, because no other check would report them.
      blamedEnds ??= countEnds()
      const endsBefore = running.size === 0 ? blamedEnds : countEnds()
      const silencesBefore = silences
      const beside = new Set(running.keys())
      for (const others of running.values()) others.add(id)
      running.set(id, beside)
      return {
        beside,
        async end() {
          const isSilent = countEnds() === endsBefore && !(await holdsSoon(isAlive))
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
