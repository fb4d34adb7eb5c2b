// Runs the checks. Checks that do not interfere with each other run first and in parallel. The other checks then run
// one by one. A check that fails is repeated, in most cases alone.
import type { Browser as Chromium } from 'playwright-core'
import { type Attempt, attempt, losingTheClient } from './attempt.ts'
import type { Check, Obstacle } from './check.ts'
import { type WatchOptions, watchClient } from './client-watch.ts'
import { createLimiter, type Slot } from './limiter.ts'
import { mustWait, nameCause, shortenWaits } from './obstacle.ts'
import type { Platform } from './platform.ts'
import { hide } from './report/hide.ts'
import { isBlamed, type Result, resultOf } from './result.ts'
import { type Settings, whyMissing } from './settings.ts'
import { watchStandstills } from './standstills.ts'

export interface ChecksOptions extends WatchOptions {
  settings: Settings
  platform: Platform
  /** A real browser, if --browser names one. */
  chromium?: Chromium | undefined
  /** The position in the client's output at which this round begins. The default is the end of the output so far. */
  outputStart?: number | undefined
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

/**
 * If a check waited too long for an answer while other checks were running, the suite repeats it alone. If this many
 * checks in a row wait too long again, the client is probably slow without other checks, too. To save time, the suite
 * then no longer repeats such checks.
 */
const mostLateAlone = 3

/** A check that did not pass while other checks were running. `first` is its first attempt. */
interface Suspect {
  check: Check
  first: Attempt
}

/** Returns the results in the order of the checks. The promise never rejects because of the client. */
export async function runChecks(checks: Check[], given: ChecksOptions): Promise<Result[]> {
  const options = { ...given, settings: shortenWaits(given.settings, given.obstacle) }
  options.platform.beginRound(options.outputStart ?? options.clientProcess?.outputEnd() ?? 0)
  const { settings, obstacle, onResult } = options
  const clientWatch = watchClient(options)
  const standstills = watchStandstills()
  const { runInSlot } = createLimiter(sideBySide)
  const results = new Map<Check, Result>()
  const report = (check: Check, result: Result) => {
    results.set(check, result)
    onResult?.(result)
  }
  const tryAlone = (check: Check) => attempt(check, options, { clientWatch, standstills }, true)
  /**
   * Runs the check alone, and once more if the client ended. The cause may also be a call that an earlier check left
   * open. If the client keeps running the second time, the result says so.
   */
  const tryAloneAndConfirmEnd = async (check: Check): Promise<Attempt> => {
    const first = await tryAlone(check)
    if (first.gone !== 'during') return first
    const second = await tryAlone(check)
    return second.isProvenLost || second.gone ? first : { ...first, result: blameEarlierCheck(first.result) }
  }
  const tryBesideOthers = (check: Check) =>
    runInSlot(slot => attempt(check, { ...options, ...slot }, { clientWatch, standstills }, false))

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

  /**
   * Repeats in parallel the checks that mostly wait for the client, and repeats every other check alone. If a check is
   * undecided after the parallel repetition, or if an answer was late, other checks may be the reason, so it also runs
   * alone.
   */
  async function repeatSuspects(suspects: Suspect[]): Promise<void> {
    const repeated = new Map<Check, Attempt>()
    const lateAgain = new Map<Check, Attempt>()
    const isSlow = ({ first }: Suspect) => first.result.durationMs > slowMs && !first.gone
    const repeatSlow = async ({ check }: Suspect) => {
      const second = await tryBesideOthers(check)
      if (second.gone || second.result.verdict === 'undecided') return
      if (second.isLate) lateAgain.set(check, second)
      else repeated.set(check, second)
    }
    await Promise.all(suspects.filter(isSlow).map(repeatSlow))

    const culprits = new Set<string>()
    const unclear: (Suspect & { second: Attempt })[] = []
    let lateAlone = 0
    const repeatLate = async (check: Check, late: Attempt): Promise<Attempt> => {
      if (lateAlone >= mostLateAlone) return late
      const third = await tryAloneAndConfirmEnd(check)
      lateAlone = third.isLate ? lateAlone + 1 : 0
      return third
    }
    for (const { check, first } of suspects) {
      const late = lateAgain.get(check)
      const second = late
        ? await repeatLate(check, late)
        : (repeated.get(check) ?? (await tryAloneAndConfirmEnd(check)))
      if (second.isProvenLost) culprits.add(check.id)
      if (first.isProvenLost && !second.isProvenLost) unclear.push({ check, first, second })
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
    // No other check was running. If the client stopped answering or was late, this check is the cause.
    const isFinal = !isBlamed(first.result) || first.isProvenLost || first.isLate
    report(check, isFinal ? first.result : choose(first.result, (await tryAlone(check)).result))
  }

  const possible = pickPossible()
  await repeatSuspects(await runTogether(possible.filter(({ isAlone }) => !isAlone)))
  for (const check of possible.filter(({ isAlone }) => isAlone)) await runAlone(check)
  standstills.stop()
  const inOrder = checks.map(check => results.get(check)!)
  const withCauses = obstacle ? nameCause(inOrder, obstacle) : inOrder
  const withDoubts = doubtUnreported(withCauses)
  return nameSharedRenewals(nameMixedVisitors(withDoubts))
}

/**
 * Some checks cannot run because something else does not work, and rely on another check to report this. If no check
 * has reported anything (except advice), the verdict of these checks is `undecided`.
 */
function doubtUnreported(results: Result[]): Result[] {
  const isReported = results.some(result => isBlamed(result) && !result.isUncounted)
  return results.map(result => {
    if (!result.isReportedElsewhere) return result
    if (isReported) return { ...result, reason: `${result.reason}. Another check reports this` }
    const reason = `The check could not run: ${result.reason}. No check of this run reports why. Run all checks.`
    return { ...result, verdict: 'undecided', reason }
  })
}

/**
 * If a check has shown that the client mixes the data of its visitors, this function adds a hint to the failures of
 * checks that found nobody signed in. The fixes of these checks may be wrong: perhaps the visitor was signed in, but
 * the client made the call with the token of another visitor.
 */
function nameMixedVisitors(results: Result[]): Result[] {
  const signedOut =
    /nobody (is signed )?in|(not|no longer) signed in|signed the visitor out\.|login (did|does) not work/i
  const isSignedOut = ({ reason }: Result) => signedOut.test(reason)
  // A check of the rule `visitors-apart` may have failed only because a visitor was signed out. Such a failure does not
  // show that the client mixes visitors.
  const mixed = results.find(
    result => result.rule === 'visitors-apart' && result.verdict === 'failed' && !isSignedOut(result),
  )
  return addHint(mixed, 'the client mixes the data of its visitors', results, isSignedOut)
}

/**
 * If the client makes one renewal for several sessions of a person, this function adds a hint to the failures of checks
 * that found no renewal: the renewal of an earlier session may have been enough for the client.
 */
function nameSharedRenewals(results: Result[]): Result[] {
  const foundNoRenewal = ({ reason }: Result) => /did not renew|made no renewal/.test(reason)
  const shared = results.find(
    result => result.rule === 'renewal-of-one-session' && isBlamed(result) && !foundNoRenewal(result),
  )
  return addHint(shared, 'the client makes one renewal for several sessions', results, foundNoRenewal)
}

/** Adds a hint to the failures that `cause` may explain. */
function addHint(
  cause: Result | undefined,
  why: string,
  results: Result[],
  isExplained: (result: Result) => boolean,
): Result[] {
  if (!cause) return results
  return results.map(result =>
    result !== cause && isBlamed(result) && isExplained(result)
      ? { ...result, reason: `${result.reason} Look at ${cause.id} first: ${why}.` }
      : result,
  )
}

/**
 * Chooses between the first and the second result of a check. Only a pass or another failure replaces a failure. A pass
 * never replaces a crash.
 */
function choose(first: Result, second: Result): Result {
  if (isBlamed(second)) return second
  if (isBlamed(first)) return second.verdict === 'passed' ? second : first
  return first.isError && !second.isError ? first : second
}

/** The result of a check if the client ended during the first run of the check, but not during the second run. */
function blameEarlierCheck(result: Result): Result {
  const reason = `${result.reason} When this check was repeated, the client kept running, so a request or call of an earlier check may be the cause.`
  return { ...result, reason, fix: losingTheClient.fix }
}
