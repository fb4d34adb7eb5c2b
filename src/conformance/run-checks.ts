// Runs the checks: first, in parallel, the checks that do not disturb each other, and then the others one by one. A check
// that fails is repeated alone.
import { setTimeout as wait } from 'node:timers/promises'
import type { Browser as Chromium } from 'playwright-core'
import type { Exchange } from './browser/browser.ts'
import { type Check, Failed, NotApplicable, NotRun, type Obstacle, Undecided, type Verdict } from './check.ts'
import { type ClientWatch, type Watched, watchClient } from './client-watch.ts'
import { type CheckContext, createContext } from './context.ts'
import { createLimiter, type Slot } from './limiter.ts'
import { mustWait, nameCause, shortenWaits } from './obstacle.ts'
import type { Platform } from './platform.ts'
import { describeOutput } from './report/client-output.ts'
import { hide } from './report/hide.ts'
import type { Level } from './rules/rule.ts'
import { type RuleId, rules } from './rules/rules.ts'
import { type Settings, whyMissing } from './settings.ts'

export interface Result {
  id: string
  group: Check['group']
  title: string
  rule: RuleId
  level: Level
  verdict: Verdict
  why: string
  fix: string
  /** What the client did instead, or why the check is undecided. Empty after a pass. */
  reason: string
  evidence: string[]
  durationMs: number
  /**
   * The check crashed because of a mistake in this suite, so its result proves nothing about the client. Its verdict is
   * `undecided`.
   */
  isError?: boolean
  /** The client ended, broke a connection, or left a request without an answer. */
  isLost?: boolean
  /** A check of advice in a run without --strict. It is counted separately, and does not change the exit code. */
  isApart?: boolean
  /** A plain login does not work, and the check needs one. Its verdict is `undecided`. */
  isNotRun?: boolean
  /** The id of the check that reports the cause. */
  notRunBecause?: string
}

export interface RunParts extends Watched {
  settings: Settings
  platform: Platform
  /** A real browser, if --browser names one. */
  chromium?: Chromium | undefined
  /** The reason why a plain login does not work (obstacle.ts). */
  obstacle?: Obstacle | undefined
  /** How a check lets time pass and waits for answers. Without these functions, no other check runs while a check waits. */
  pause?: Slot['pause']
  waitFor?: Slot['waitFor']
  onResult?: (result: Result) => void
}

const sideBySide = 4
/** A check that takes longer than this spends most of its time waiting. */
const slowMs = 2000
const longestMs = 60_000

/** One run of a check. */
interface Attempt {
  result: Result
  /** The client ended, broke a connection, or left a request without an answer. */
  isLost: boolean
  /** The process of the client ended, or the client no longer answered. */
  isGone: boolean
  /** Ids of the checks that ran at the same time. */
  beside: Set<string>
}

/** Returns the results in the order of the checks. The promise never rejects because of the client. */
export async function runChecks(checks: Check[], given: RunParts): Promise<Result[]> {
  const parts = { ...given, settings: shortenWaits(given.settings, given.obstacle) }
  const results = new Map<Check, Result>()
  const { settings, obstacle, onResult } = parts
  const watch = watchClient(parts)
  const report = (check: Check, result: Result) => {
    results.set(check, result)
    onResult?.(result)
  }
  const possible = checks.filter(check => {
    const missing = check.needs?.map(need => whyMissing(settings, need)).find(why => why !== undefined)
    if (missing) report(check, resultOf(check, settings, 'not applicable', missing))
    else if (obstacle && mustWait(obstacle, check))
      report(check, { ...resultOf(check, settings, 'undecided', hide(obstacle.message)), isNotRun: true })
    return !results.has(check)
  })

  const together = possible.filter(({ isAlone }) => !isAlone)
  const suspects: { check: Check; first: Attempt }[] = []
  const { runInSlot } = createLimiter(sideBySide)
  const tryBesideOthers = (check: Check) => runInSlot(slot => attempt(check, { ...parts, ...slot }, watch, false))
  const look = async (check: Check) => {
    const first = await tryBesideOthers(check)
    const { verdict } = first.result
    if (verdict === 'passed' || verdict === 'not applicable' || first.result.isNotRun) report(check, first.result)
    else suspects.push({ check, first })
  }
  // Checks with a long time limit begin first, so that they do not delay the end.
  await Promise.all(together.toSorted((one, other) => (other.longestMs ?? 0) - (one.longestMs ?? 0)).map(look))

  // Each check that failed while other checks ran is repeated alone. Checks that mostly wait for the client are repeated in
  // parallel.
  const unclear: { check: Check; first: Attempt; second: Attempt }[] = []
  const culprits = new Set<string>()
  const isSlow = ({ first }: (typeof suspects)[number]) => first.result.durationMs > slowMs && !first.isGone
  const again = new Map<Check, Attempt>()
  const repeatSlow = async ({ check }: { check: Check }) => {
    const second = await tryBesideOthers(check)
    if (!second.isGone) again.set(check, second)
  }
  await Promise.all(suspects.filter(isSlow).map(repeatSlow))
  for (const { check, first } of suspects) {
    const second = again.get(check) ?? (await attempt(check, parts, watch, true))
    if (second.isLost) culprits.add(check.id)
    if (first.isLost && !second.isLost) unclear.push({ check, first, second })
    else report(check, choose(first.result, second.result))
  }
  // The client stopped answering during several parallel checks, and one of them is the cause. If the client does not stop
  // again when these checks are repeated, all of these checks fail.
  for (const { check, first, second } of unclear) {
    const isExplained = [...first.beside].some(id => culprits.has(id))
    report(check, isExplained ? choose(first.result, second.result) : first.result)
  }

  for (const check of possible.filter(({ isAlone }) => isAlone)) {
    const first = await attempt(check, parts, watch, true)
    // No other check was running, so this check caused the loss of the client.
    const isFinal = !isBlamed(first.result) || first.isLost
    report(check, isFinal ? first.result : choose(first.result, (await attempt(check, parts, watch, true)).result))
  }
  const inOrder = checks.map(check => results.get(check)!)
  return nameMixedVisitors(obstacle ? nameCause(inOrder, obstacle) : inOrder)
}

/**
 * If a check has shown that the client mixes its visitors, adds this to the failures of other checks, because their own
 * fixes would mislead. In these checks the visitor may be signed in, but the client made the call with the token of
 * another visitor.
 */
function nameMixedVisitors(results: Result[]): Result[] {
  const mixed = results.find(({ rule, verdict }) => rule === 'visitors-apart' && verdict === 'failed')
  if (!mixed) return results
  return results.map(result =>
    result !== mixed && isBlamed(result) && /nobody in|(not|no longer) signed in/i.test(result.reason)
      ? { ...result, reason: `${result.reason} Look at ${mixed.id} first: the client mixes the data of its visitors.` }
      : result,
  )
}

/** Runs the check once. `isAlone`: no other check is running on this platform. */
export async function runOnce(check: Check, parts: RunParts, isAlone: boolean): Promise<Result> {
  return (await attempt(check, parts, watchClient(parts), isAlone)).result
}

/**
 * Chooses between the result of a check and of its repetition: only a pass replaces a failure, and a crash never replaces
 * another result.
 */
function choose(first: Result, second: Result): Result {
  if (isBlamed(second)) return second
  if (isBlamed(first)) return second.verdict === 'passed' ? second : first
  return first.isError && !second.isError ? first : second
}

function isBlamed({ verdict }: Pick<Result, 'verdict'>): boolean {
  return verdict === 'failed' || verdict === 'warned' || verdict === 'not followed'
}

async function attempt(check: Check, parts: RunParts, watch: ClientWatch, isAlone: boolean): Promise<Attempt> {
  if (parts.clientProcess?.isStale && !check.restartsClient) {
    parts.clientProcess.isStale = false
    // If the client does not start, the next lines report this.
    await parts.clientProcess.restart().catch(() => undefined)
  }
  const whyGone = await watch.whyGone()
  if (whyGone !== undefined)
    return {
      result: resultOf(check, parts.settings, 'undecided', whyGone),
      isLost: false,
      isGone: true,
      beside: new Set(),
    }
  const watching = watch.begin(check.id)
  const printedBefore = parts.clientProcess?.output().length ?? 0
  const context = createContext({ ...parts, isAlone: isAlone || Boolean(check.isAlone) })
  const started = performance.now()
  const seen = await findOutcome(check, context)
  const durationMs = Math.round(performance.now() - started)
  // Prefers the end of the process as the reason, because it explains a broken connection.
  const goneWhy = await watching.end()
  const unanswered = context.lost()
  const lost = goneWhy ?? (unanswered && describeLost(unanswered))
  let result: Result = {
    ...resultOf(check, parts.settings, seen.verdict, seen.reason),
    ...(seen.isError && { isError: true }),
    ...(seen.isNotRun && { isNotRun: true }),
    ...(seen.fix && { fix: seen.fix }),
  }
  if (isBlamed(seen)) result.evidence = seen.evidence.length > 0 ? seen.evidence : context.evidence()
  if (seen.isError) result.evidence = seen.evidence
  if (lost !== undefined) {
    const reason = isBlamed(seen) ? `${lost} ${seen.reason}` : lost
    const evidence = context.evidence()
    // If several checks were running, the suite does not know which of them ended the client, and the fix of this check
    // may not help.
    const isCause = goneWhy === undefined || isAlone
    const fix = isCause ? `${seen.fix ?? check.fix} ${losingTheClient.fix}` : losingTheClient.fix
    result = { ...resultOf(check, parts.settings, 'failed', reason), ...losingTheClient, fix, evidence, isLost: true }
  }
  if (isBlamed(result)) {
    const output = parts.clientProcess?.output() ?? ''
    const own = output.slice(printedBefore)
    // Uses earlier output, too, because the client may have printed the reason just before the check began.
    const printed = describeOutput(own.trim() === '' && lost !== undefined ? output : own, context.secrets)
    if (printed !== undefined) result.evidence = [...result.evidence, printed]
  }
  result = { ...result, reason: hide(result.reason), evidence: result.evidence.map(hide), durationMs }
  return { result, isLost: lost !== undefined, isGone: goneWhy !== undefined, beside: watching.beside }
}

interface Seen {
  verdict: Verdict
  reason: string
  evidence: string[]
  fix?: string
  isError?: boolean
  isNotRun?: boolean
}

/** Runs the check and returns its result, without looking at the process of the client. */
async function findOutcome(check: Check, context: CheckContext): Promise<Seen> {
  const bound = new AbortController()
  const mostMs = check.longestMs ?? longestMs
  try {
    await Promise.race([
      check.run(context),
      wait(mostMs, undefined, { signal: bound.signal }).then(() => {
        throw new Undecided(`The check took longer than ${mostMs / 1000} seconds.`)
      }),
    ])
    return { verdict: 'passed', reason: '', evidence: [] }
  } catch (error) {
    return judge(error, check, context.settings)
  } finally {
    bound.abort()
    await context.end()
    await context.dropFaults()
  }
}

function judge(error: unknown, check: Check, settings: Settings): Seen {
  if (error instanceof NotRun) {
    if (error.obstacle.causes.includes(check.id)) return judge(error.failure, check, settings)
    return { verdict: 'undecided', reason: error.message, evidence: [], isNotRun: true }
  }
  const broken = { MUST: 'failed', SHOULD: 'warned', advice: 'not followed' } as const
  if (error instanceof Failed) {
    const verdict = settings.isStrict ? 'failed' : broken[rules[check.rule].level]
    return { verdict, reason: error.message, evidence: error.evidence, ...(error.fix && { fix: error.fix }) }
  }
  if (error instanceof NotApplicable) return { verdict: 'not applicable', reason: error.message, evidence: [] }
  if (error instanceof Undecided) return { verdict: 'undecided', reason: error.message, evidence: [] }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  const reason = `The check itself crashed: ${message}`
  return { verdict: 'undecided', reason, evidence: [stack ?? message], isError: true }
}

/** Replaces the rule and the level of the check, because no request may ever stop the client. */
const losingTheClient: Pick<Result, 'rule' | 'level' | 'isApart' | 'why' | 'fix'> = {
  rule: 'stays-up',
  isApart: false,
  level: 'MUST',
  why: 'If the client ends, hangs or breaks connections, visitors get no answer.',
  fix: 'Catch every error, give every call a deadline, answer with a page that says what to do, and keep running.',
}

function describeLost({ request: { method, url }, response }: Exchange): string {
  const fault = 'fault' in response ? response.fault : ''
  return `The client did not answer a request: ${method} ${url.replace(/\?.*$/s, '')} (${fault}).`
}

function resultOf(check: Check, settings: Settings, verdict: Verdict, reason = ''): Result {
  const { id, group, title, rule, why, fix } = check
  const { level } = rules[rule]
  const isApart = level === 'advice' && !settings.isStrict
  return {
    id,
    group,
    title,
    rule,
    level,
    verdict,
    why,
    fix,
    reason,
    evidence: [],
    durationMs: 0,
    ...(isApart && { isApart }),
  }
}
