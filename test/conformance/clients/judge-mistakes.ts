// Judges small clients with one mistake each: every check that the table names for a mistake must find the mistake.
import type { Check } from '../../../src/conformance/check.ts'
import { checks } from '../../../src/conformance/checks.ts'
import { isBlamed } from '../../../src/conformance/result.ts'
import { skip as noChromium } from '../../support/launch-chromium.ts'
import { openStage, type Stage, type StageSettings } from '../support/stage.ts'
import { buildFaultyClient } from './faulty-client.ts'
import type { Mistake } from './mistake.ts'
import { mistakes } from './mistakes.ts'

export interface Pair {
  mistake: Mistake
  check: Check
}

export interface Judged extends Pair {
  isFound: boolean
  /** The names of the mistake and the check, and the result of the check. */
  said: string
}

/**
 * Returns each mistake with each of its checks as a pair. If Chromium is missing, the function leaves out the pairs
 * that need it. Throws if the table names a check that does not exist.
 */
export function listPairs(): Pair[] {
  const byId = new Map(checks.map(check => [check.id, check]))
  return mistakes
    .flatMap(mistake =>
      mistake.checks.map(id => {
        const check = byId.get(id)
        if (!check) throw new Error(`The mistake ${mistake.name} names the check ${id}, which does not exist.`)
        return { mistake, check }
      }),
    )
    .filter(({ check }) => !noChromium || !check.needs?.includes('browser'))
}

interface Bounds {
  mostMs?: number
  sideBySide?: number
}

/**
 * Judges pairs in parallel, because some clients wait for an answer that never comes. Does not begin a pair after
 * `mostMs`. If a check does not find its mistake, the function judges the pair again, without other pairs: on a busy
 * machine, a client may reach a time limit before its mistake has an effect.
 */
export async function judgePairs(
  pairs: Pair[],
  { mostMs = Number.POSITIVE_INFINITY, sideBySide = 8, ...stage }: StageSettings & Bounds = {},
) {
  const end = performance.now() + mostMs
  const first = await judgeAtOnce(pairs, end, sideBySide, stage)
  const again = await judgeAtOnce(
    first.filter(({ isFound }) => !isFound),
    end + 60_000,
    1,
    stage,
  )
  return [...first.filter(({ isFound }) => isFound), ...again]
}

async function judgeAtOnce(pairs: Pair[], end: number, sideBySide: number, settings: StageSettings): Promise<Judged[]> {
  const judged: Judged[] = []
  const waiting = [...pairs]
  await Promise.all(
    Array.from({ length: Math.min(sideBySide, pairs.length) }, async () => {
      const stage = await openStage([], settings)
      try {
        for (let pair = waiting.shift(); pair && performance.now() < end; pair = waiting.shift())
          judged.push(await judgePair(stage, pair))
      } finally {
        await stage.close()
      }
    }),
  )
  return judged
}

async function judgePair(stage: Stage, { mistake, check }: Pair): Promise<Judged> {
  const { verdict, reason } = await stage
    .judgeOnce(settings => buildFaultyClient(settings, mistake.name), check)
    // If a client does not start, its check counts as not finding the mistake, and the other pairs are still judged.
    .catch((error: Error) => ({ verdict: 'not run' as const, reason: error.message }))
  const isFound = isBlamed({ verdict })
  return { mistake, check, isFound, said: `${mistake.name}: ${check.id} ${verdict}: ${reason}` }
}

/** Shuffles the items. The new order depends only on the seed. */
export function shuffle<Item>(items: Item[], seed: number): Item[] {
  let state = seed >>> 0
  const next = () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  return items
    .map(item => ({ item, key: next() }))
    .sort((one, other) => one.key - other.key)
    .map(({ item }) => item)
}
