// Runs the checks. Checks that do not disturb each other run first and in parallel. The other checks then run one by
// one. A check that fails is repeated, in most cases alone.
import { setTimeout as wait } from 'node:timers/promises'
import type { Browser as Chromium } from 'playwright-core'
import type { HttpExchange } from './browser/browser.ts'
import { type Check, Failed, NotApplicable, NotRun, type Obstacle, Undecided, type Verdict } from './check.ts'
import { type ClientWatch, type WatchOptions, watchClient } from './client-watch.ts'
import { type CheckContext, createContext } from './context.ts'
import { createLimiter, type Slot } from './limiter.ts'
import { mustWait, nameCause, shortenWaits } from './obstacle.ts'
import type { Platform } from './platform.ts'
import { describeOutput } from './report/client-output.ts'
import { hide } from './report/hide.ts'
import type { Level } from './rules/rule.ts'
import { type RuleId, rules } from './rules/rules.ts'
import { type Settings, whyMissing } from './settings.ts'
import { type Standstills, watchStandstills } from './standstills.ts'

export interface Result {
  id: string
  group: Check['group']
  title: string
  rule: RuleId
  level: Level
  verdict: Verdict
  why: string
  fix: string
  /** If the check failed: what the client did. If the check is undecided: why. Empty after a pass. */
  reason: string
  evidence: string[]
  durationMs: number
  /**
   * True if the check crashed because of a mistake in this suite. The result then proves nothing about the client, and
   * the verdict is `undecided`.
   */
  isError?: boolean
  /** True if the client ended, broke a connection, or left a request without an answer. */
  isLost?: boolean
  /**
   * True for a check of advice in a run without --strict. This result is counted separately, and does not change the
   * exit code.
   */
  isApart?: boolean
  /** If the check was not run: the id of the check that reports the cause. */
  notRunBecause?: string
}

export interface ChecksOptions extends WatchOptions {
  settings: Settings
  platform: Platform
  /** A real browser, if --browser names one. */
  chromium?: Chromium | undefined
  /** The reason why a plain login does not work (obstacle.ts). */
  obstacle?: Obstacle | undefined
  /** With these functions, other checks can run while a check pauses or waits for an answer. */
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
  /** True if the client ended, broke a connection, or left a request without an answer. */
  isLost: boolean
  /** True if the process of the client ended, or if the client no longer answered. */
  isGone: boolean
  /** The ids of the checks that ran at the same time. */
  beside: Set<string>
}

/** A check that did not pass while other checks were running. `first` is its first attempt. */
interface Suspect {
  check: Check
  first: Attempt
}

/** Returns the results in the order of the checks. The promise never rejects because of the client. */
export async function runChecks(checks: Check[], given: ChecksOptions): Promise<Result[]> {
  const options = { ...given, settings: shortenWaits(given.settings, given.obstacle) }
  options.platform.beginRound(options.clientProcess?.outputEnd() ?? 0)
  const { settings, obstacle, onResult } = options
  const watch = watchClient(options)
  const standstills = watchStandstills()
  const { runInSlot } = createLimiter(sideBySide)
  const results = new Map<Check, Result>()
  const report = (check: Check, result: Result) => {
    results.set(check, result)
    onResult?.(result)
  }
  const tryAlone = (check: Check) => attempt(check, options, { watch, standstills }, true)
  /**
   * Runs the check alone, and once more if the client ended. The client may also have ended because of a call that an
   * earlier check left behind. If the client keeps running the second time, the result says so.
   */
  const tryAloneAndConfirmEnd = async (check: Check): Promise<Attempt> => {
    const first = await tryAlone(check)
    if (!first.isGone || !first.isLost) return first
    const second = await tryAlone(check)
    return second.isLost || second.isGone ? first : { ...first, result: blameEarlierCheck(first.result) }
  }
  const tryBesideOthers = (check: Check) =>
    runInSlot(slot => attempt(check, { ...options, ...slot }, { watch, standstills }, false))

  /** Returns the checks that can run. Reports a result for each of the other checks. */
  function pickPossible(): Check[] {
    return checks.filter(check => {
      const missing = check.needs?.map(need => whyMissing(settings, need)).find(why => why !== undefined)
      if (missing) report(check, resultOf(check, settings, 'not applicable', missing))
      else if (obstacle && mustWait(obstacle, check))
        report(check, resultOf(check, settings, 'not run', hide(obstacle.message)))
      return !results.has(check)
    })
  }

  /** Runs the checks in parallel. Reports clear results, and returns the checks whose result is not clear. */
  async function runTogether(together: Check[]): Promise<Suspect[]> {
    const suspects: Suspect[] = []
    const runOne = async (check: Check) => {
      const first = await tryBesideOthers(check)
      const { verdict } = first.result
      if (verdict === 'passed' || verdict === 'not applicable' || verdict === 'not run') report(check, first.result)
      else suspects.push({ check, first })
    }
    // Checks with a long time limit begin first, so that they do not delay the end.
    await Promise.all(together.toSorted((one, other) => (other.longestMs ?? 0) - (one.longestMs ?? 0)).map(runOne))
    return suspects
  }

  /** Repeats each check alone. Only checks that mostly wait for the client are repeated in parallel. */
  async function repeatSuspects(suspects: Suspect[]): Promise<void> {
    const repeated = new Map<Check, Attempt>()
    const isSlow = ({ first }: Suspect) => first.result.durationMs > slowMs && !first.isGone
    const repeatSlow = async ({ check }: Suspect) => {
      const second = await tryBesideOthers(check)
      if (!second.isGone) repeated.set(check, second)
    }
    await Promise.all(suspects.filter(isSlow).map(repeatSlow))

    const culprits = new Set<string>()
    const unclear: (Suspect & { second: Attempt })[] = []
    for (const { check, first } of suspects) {
      const second = repeated.get(check) ?? (await tryAloneAndConfirmEnd(check))
      if (second.isLost) culprits.add(check.id)
      if (first.isLost && !second.isLost) unclear.push({ check, first, second })
      else report(check, choose(first.result, second.result))
    }
    // While these checks ran in parallel, the client stopped answering, so at least one of them is the cause. If the
    // client stopped again when one of them was repeated alone, that check is the cause. Otherwise all of them fail.
    for (const { check, first, second } of unclear) {
      const isExplained = [...first.beside].some(id => culprits.has(id))
      report(check, isExplained ? choose(first.result, second.result) : first.result)
    }
  }

  /** Runs a check while no other check is running, and repeats the check if it fails. */
  async function runAlone(check: Check): Promise<void> {
    const first = await tryAloneAndConfirmEnd(check)
    // No other check was running. If the client stopped answering, this check is the cause.
    const isFinal = !isBlamed(first.result) || first.isLost
    report(check, isFinal ? first.result : choose(first.result, (await tryAlone(check)).result))
  }

  const possible = pickPossible()
  await repeatSuspects(await runTogether(possible.filter(({ isAlone }) => !isAlone)))
  for (const check of possible.filter(({ isAlone }) => isAlone)) await runAlone(check)
  standstills.stop()
  const inOrder = checks.map(check => results.get(check)!)
  return nameMixedVisitors(obstacle ? nameCause(inOrder, obstacle) : inOrder)
}

/**
 * If a check has shown that the client mixes the data of its visitors, this function adds a hint to the failures of
 * checks that found nobody signed in. The fixes of these checks may be wrong: perhaps the visitor was signed in, but
 * the client made the call with the token of another visitor.
 */
function nameMixedVisitors(results: Result[]): Result[] {
  const isSignedOut = ({ reason }: Result) => /nobody (is signed )?in|(not|no longer) signed in/i.test(reason)
  // A check of the rule `visitors-apart` may have failed only because a visitor was signed out. Such a failure does not
  // show that the client mixes visitors.
  const mixed = results.find(
    result => result.rule === 'visitors-apart' && result.verdict === 'failed' && !isSignedOut(result),
  )
  if (!mixed) return results
  return results.map(result =>
    result !== mixed && isBlamed(result) && isSignedOut(result)
      ? { ...result, reason: `${result.reason} Look at ${mixed.id} first: the client mixes the data of its visitors.` }
      : result,
  )
}

/** Runs the check once. `isAlone`: no other check is running on this platform. */
export async function runOnce(check: Check, options: ChecksOptions, isAlone: boolean): Promise<Result> {
  options.platform.beginRound(options.clientProcess?.outputEnd() ?? 0)
  const standstills = watchStandstills()
  const { result } = await attempt(check, options, { watch: watchClient(options), standstills }, isAlone)
  standstills.stop()
  return result
}

/**
 * Chooses between the first and the second result of a check. Only a pass replaces a failure. A crash never replaces
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

/** The result of a check if the client ended during the first run of the check, but not during the second run. */
function blameEarlierCheck(result: Result): Result {
  const reason = `${result.reason} When this check was repeated, the client kept running, so a request or call of an earlier check may be the cause.`
  return { ...result, reason, fix: losingTheClient.fix }
}

interface Watches {
  watch: ClientWatch
  standstills: Standstills
}

async function attempt(
  check: Check,
  options: ChecksOptions,
  { watch, standstills }: Watches,
  isAlone: boolean,
): Promise<Attempt> {
  if (options.clientProcess?.isStale && !check.restartsClient) {
    options.clientProcess.isStale = false
    // If the client does not start, the next lines report this.
    await options.clientProcess.restart().catch(() => undefined)
  }
  const whyNotReady = await watch.makeReady()
  if (whyNotReady !== undefined)
    return {
      // If a plain login does not work, the report says why (nameCause).
      result: resultOf(check, options.settings, options.obstacle ? 'not run' : 'undecided', whyNotReady),
      isLost: false,
      isGone: true,
      beside: new Set(),
    }
  const watching = watch.begin(check.id)
  const context = createContext({ ...options, isAlone: isAlone || Boolean(check.isAlone) })
  const started = performance.now()
  const outcome = await findOutcome(check, context)
  const durationMs = Math.round(performance.now() - started)
  // If the process has ended, `goneWhy` is the better reason, because it explains why a connection broke.
  const goneWhy = await watching.end()
  const unanswered = context.lost()
  const lost = goneWhy ?? (unanswered && describeLost(unanswered))
  let result: Result = {
    ...resultOf(check, options.settings, outcome.verdict, outcome.reason),
    ...(outcome.isError && { isError: true }),
    ...(outcome.fix && { fix: outcome.fix }),
  }
  if (isBlamed(outcome)) result.evidence = outcome.evidence.length > 0 ? outcome.evidence : context.evidence()
  if (outcome.isError) result.evidence = outcome.evidence
  if (lost !== undefined) {
    const reason = isBlamed(outcome) ? `${lost} ${outcome.reason}` : lost
    const evidence = context.evidence()
    // If several checks were running, the suite does not know which of them made the client end, so the fix of this
    // check may not help.
    const isCause = goneWhy === undefined || isAlone
    const fix = isCause ? `${outcome.fix ?? check.fix} ${losingTheClient.fix}` : losingTheClient.fix
    result = { ...resultOf(check, options.settings, 'failed', reason), ...losingTheClient, fix, evidence, isLost: true }
  }
  if (isBlamed(result)) {
    const own = options.clientProcess?.output(context.outputStart) ?? ''
    // Also uses earlier output, because the client may have printed the reason just before the check began.
    const isEarlierNeeded = own.trim() === '' && lost !== undefined
    const printed = describeOutput(isEarlierNeeded ? (options.clientProcess?.output() ?? '') : own, context.secrets)
    if (printed !== undefined) result.evidence = [...result.evidence, printed]
  }
  result = { ...result, reason: hide(result.reason), evidence: result.evidence.map(hide), durationMs }
  // If this process has stood still, a missing answer does not prove a mistake of the client. The check is then
  // repeated like any other failed check.
  const isLost = goneWhy !== undefined || (unanswered !== undefined && !standstills.hasStoodStillSince(started))
  return { result, isLost, isGone: goneWhy !== undefined, beside: watching.beside }
}

/** The result of one run of a check, before the suite looks at the process of the client. */
interface CheckOutcome {
  verdict: Verdict
  reason: string
  evidence: string[]
  fix?: string
  isError?: boolean
}

async function findOutcome(check: Check, context: CheckContext): Promise<CheckOutcome> {
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

/** Turns an error that a check threw into a result. */
function judge(error: unknown, check: Check, settings: Settings): CheckOutcome {
  if (error instanceof NotRun) {
    const { stage, causes } = error.obstacle
    // If the check can report the cause of the obstacle, the check fails, instead of counting as not run. At the stage
    // `portal`, however, the check may only have seen that the portal refused the login. Then another check reports the
    // cause.
    if (stage !== 'portal' && causes.includes(check.id)) return judge(error.failure, check, settings)
    return { verdict: 'not run', reason: error.message, evidence: [] }
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

/**
 * These values replace the rule, the level and the texts of a check during which the client stopped answering. No
 * request may ever stop the client.
 */
const losingTheClient: Pick<Result, 'rule' | 'level' | 'isApart' | 'why' | 'fix'> = {
  rule: 'stays-up',
  isApart: false,
  level: 'MUST',
  why: 'If the client ends, hangs or breaks connections, visitors get no answer.',
  fix: 'Catch every error, give every call a deadline, answer with a page that says what to do, and keep running.',
}

function describeLost({ request: { method, url }, response }: HttpExchange): string {
  const error = 'error' in response ? response.error : ''
  return `The client did not answer a request: ${method} ${url.replace(/\?.*$/s, '')} (${error}).`
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
