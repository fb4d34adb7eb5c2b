// Watches whether the client under test is still there, brings it back, and says during which checks it went away.
import { setTimeout as wait } from 'node:timers/promises'
import type { ClientProcess } from './client-process.ts'

export interface Watched {
  clientProcess: ClientProcess | undefined
  /** Whether the client can be judged: it answers, and not only that it is not ready. */
  isAnswering: () => Promise<boolean>
  /** Whether it gives any answer at all; without it, as `isAnswering`. */
  isAlive?: () => Promise<boolean>
}

/** A check that is under way, and the ids of those that ran at the same time. */
export interface Watching {
  beside: Set<string>
  /** Ends the watching; says what happened to the client meanwhile, if anything did. */
  end(): Promise<string | undefined>
}

export type ClientWatch = ReturnType<typeof watchClient>

/** A client that ends again and again is not started for each of four hundred checks. */
const mostEnds = 50
const tries = 3
const betweenTriesMs = 500

export function watchClient({ clientProcess, isAnswering, isAlive = isAnswering }: Watched) {
  const running = new Map<string, Set<string>>()
  const countEnds = () => clientProcess?.unexpectedEnds().length ?? 0
  /** Ends of the client up to the last check. Those before the first one belong to no check. */
  let blamedEnds: number | undefined
  /** How often it was running without an answer when a check was to begin beside others. */
  let silences = 0
  /** It did not answer when it was last asked, so it is not given much time again. */
  let wasGone = false
  let cannotStart = false

  /** One answer out of a few tries is enough: the client may only be slow. */
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
     * Before a check: why there is no client to judge, or undefined if there is one. Starts a client of this command again
     * that has ended or does not answer.
     */
    async whyGone(): Promise<string | undefined> {
      let isThere = await holdsSoon(isAnswering)
      // It is started again, or comes back by itself, before the checks that are under way look.
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
        ? `The client has ended ${countEnds()} times, and is not started again.`
        : 'The client does not answer any more.'
    },

    begin(id: string): Watching {
      // With no check under way, an end since the last check would be nobody's.
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
          if (silences > silencesBefore) return 'During this check the client did not answer any more for a while.'
          return isSilent ? 'After this check the client did not answer any more.' : undefined
        },
      }
    },
  }
}
