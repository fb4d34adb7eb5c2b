// Runs checks: first those that disturb nobody, side by side; then the others one by one. What fails is repeated alone.
import { setTimeout as wait } from 'node:timers/promises'
import { type Check, Failed, groups, type Level, NotApplicable, Undecided, type Verdict } from './check.ts'
import type { ClientProcess } from './client-process.ts'
import { createContext } from './context.ts'
import { createPlaces } from './places.ts'
import type { Platform } from './platform.ts'
import { hide } from './report/hide.ts'
import { type Settings, whyMissing } from './settings.ts'

export interface Result {
  id: string
  group: Check['group']
  title: string
  level: Level
  verdict: Verdict
  why: string
  mend: string
  /** What was seen instead, or why nothing can be said; empty where it passed. */
  reason: string
  evidence: string[]
  durationMs: number
}

export interface RunParts {
  settings: Settings
  platform: Platform
  clientProcess: ClientProcess | undefined
  /** Whether anything answers at the client's address. */
  isAnswering: () => Promise<boolean>
  /** How a check lets time pass; without it nobody else goes on meanwhile. */
  pause?: (ms: number) => Promise<unknown>
  onResult?: (result: Result) => void
}

const sideBySide = 4
const longestMs = 60_000

/** The results, in the order of the checks. Never rejects for what a client does. */
export async function runChecks(checks: Check[], parts: RunParts): Promise<Result[]> {
  const results = new Map<Check, Result>()
  const { settings, onResult } = parts
  const tell = (check: Check, result: Result) => {
    results.set(check, result)
    onResult?.(result)
  }
  const possible = checks.filter(check => {
    const missing = check.needs?.map(need => whyMissing(settings, need)).find(why => why !== undefined)
    if (missing) tell(check, resultOf(check, 'not applicable', missing))
    return missing === undefined
  })

  const together = possible.filter(({ isAlone }) => !isAlone)
  const suspects: Check[] = []
  const { taking, pause } = createPlaces(sideBySide)
  const look = async (check: Check) => {
    const result = await taking(() => runOnce(check, { ...parts, pause }, false))
    if (result.verdict === 'passed' || result.verdict === 'not applicable') tell(check, result)
    else suspects.push(check)
  }
  await Promise.all(together.map(look))
  // One that is to be called failed has failed with nothing beside it.
  for (const check of suspects) tell(check, await runOnce(check, parts, true))

  for (const check of possible.filter(({ isAlone }) => isAlone)) {
    const first = await runOnce(check, parts, true)
    const isSuspect = first.verdict === 'failed' || first.verdict === 'warned'
    tell(check, isSuspect ? await runOnce(check, parts, true) : first)
  }
  return checks.map(check => results.get(check)!)
}

/** Once, whatever comes of it. `isAlone`: nothing else is under way on this platform. */
export async function runOnce(check: Check, parts: RunParts, isAlone: boolean): Promise<Result> {
  const { clientProcess } = parts
  if (!(await isThere(parts))) return resultOf(check, 'undecided', 'The client does not answer any more.')
  const context = createContext({ ...parts, isAlone: isAlone || Boolean(check.isAlone) })
  const started = performance.now()
  const took = () => Math.round(performance.now() - started)
  const bound = new AbortController()
  try {
    await Promise.race([
      check.run(context),
      wait(check.longestMs ?? longestMs, undefined, { signal: bound.signal }).then(() => {
        throw new Undecided(`This took longer than ${(check.longestMs ?? longestMs) / 1000} seconds.`)
      }),
    ])
    if (clientProcess && !clientProcess.isRunning()) throw new Failed('The process of the client has ended.')
    return { ...resultOf(check, 'passed'), durationMs: took() }
  } catch (error) {
    const { verdict, reason, evidence = [] } = judge(error, check.level)
    const shown =
      verdict === 'failed' || verdict === 'warned'
        ? [...evidence, ...(evidence.length > 0 ? [] : context.evidence())]
        : []
    return { ...resultOf(check, verdict, hide(reason)), evidence: shown.map(hide), durationMs: took() }
  } finally {
    bound.abort()
    context.end()
    await context.dropFaults()
  }
}

function judge(error: unknown, level: Level): { verdict: Verdict; reason: string; evidence?: string[] } {
  const { message } = error as Error
  if (error instanceof Failed)
    return { verdict: level === 'MUST' ? 'failed' : 'warned', reason: message, evidence: error.evidence }
  if (error instanceof NotApplicable) return { verdict: 'not applicable', reason: message }
  if (error instanceof Undecided) return { verdict: 'undecided', reason: message }
  return { verdict: 'undecided', reason: `The check itself went wrong: ${message}` }
}

/** Also brings back a client that this command has started, and not one that is only slow. */
async function isThere({ clientProcess, isAnswering }: RunParts): Promise<boolean> {
  for (let tries = 0; tries < 3; tries++) {
    if (await isAnswering()) return true
    if (clientProcess && !clientProcess.isRunning()) break
  }
  await clientProcess?.restart().catch(() => undefined)
  return isAnswering()
}

function resultOf(check: Check, verdict: Verdict, reason = ''): Result {
  const { id, group, title, level, why, mend } = check
  return { id, group, title, level, verdict, why, mend, reason, evidence: [], durationMs: 0 }
}

/** The checks that a pattern picks by id, group or the group's title. */
export function pickChecks(checks: Check[], only: RegExp | undefined): Check[] {
  return only ? checks.filter(({ id, group }) => [id, group, groups[group]].some(text => only.test(text))) : checks
}
