// Runs one check once, and turns its outcome into a result.
import { setTimeout as wait } from 'node:timers/promises'
import type { LostExchange } from './browser/browser.ts'
import { MissingChoice } from './browser/encode-form.ts'
import { type Check, Failed, NotApplicable, NotRun, ReportedElsewhere, Undecided, type Verdict } from './check.ts'
import type { ClientWatch } from './client-watch.ts'
import { type CheckContext, createContext } from './context.ts'
import { describeOutput } from './report/client-output.ts'
import { hide } from './report/hide.ts'
import { isBlamed, type Result, resultOf } from './result.ts'
import { rules } from './rules/rules.ts'
import type { ChecksOptions } from './run-checks.ts'
import type { Settings } from './settings.ts'
import type { Standstills } from './standstills.ts'

/** The time limit of a check that does not set its own. */
const longestMs = 60_000

/** One run of a check. */
export interface Attempt {
  result: Result
  /**
   * True if the client ended during the check. Also true if the client broke a connection, unless the suite itself
   * stood still during this time. In that case, a missing answer does not prove that the client made a mistake.
   */
  isProvenLost: boolean
  /**
   * True if the client kept running, but did not answer a request in time. If other checks were running, perhaps all
   * workers of the client were busy with their requests.
   */
  isLate: boolean
  /** When the client's process ended or stopped answering: before the check could begin, or during the check. */
  gone?: 'before' | 'during'
  /** The ids of the checks that ran at the same time. */
  beside: Set<string>
}

export interface Watches {
  clientWatch: ClientWatch
  standstills: Standstills
}

/**
 * Runs the check once, and finds out whether the client is still running. `isAlone` is true if no other check is
 * running on this platform.
 */
export async function attempt(
  check: Check,
  options: ChecksOptions,
  { clientWatch, standstills }: Watches,
  isAlone: boolean,
): Promise<Attempt> {
  if (options.clientProcess?.isStale && !check.restartsClient) {
    options.clientProcess.isStale = false
    // If the client does not start, the next lines report this.
    await options.clientProcess.restart().catch(() => undefined)
  }
  const whyNotReady = await clientWatch.makeReady()
  if (whyNotReady !== undefined)
    return {
      // If a plain login does not work, the report says why (nameCause).
      result: resultOf(check, options.settings, options.obstacle ? 'not run' : 'undecided', whyNotReady),
      isProvenLost: false,
      isLate: false,
      gone: 'before',
      beside: new Set(),
    }
  const watching = clientWatch.begin(check.id)
  const context = createContext({ ...options, isAlone: isAlone || Boolean(check.isAlone) })
  const started = performance.now()
  const outcome = await findOutcome(check, context)
  const durationMs = Math.round(performance.now() - started)
  // Set if the client's process has ended or stopped answering. This also explains why a request got no answer.
  const whyGone = await watching.end()
  const lost = whyGone === undefined ? context.firstLost() : undefined
  const loss = lost?.response.loss
  const whyLost = whyGone ?? (lost && describeLost(lost))
  // If several checks were running, the suite does not know which of them made the client end.
  const isCause = whyGone === undefined || isAlone
  // If the client is only too slow, a check of deadlines already reports this, and says how to set the deadline.
  const isReportedAsLate = loss === 'late' && check.rule === 'UP-03' && outcome.verdict === 'failed'
  const found =
    whyLost === undefined || isReportedAsLate
      ? resultOfOutcome(check, outcome, context)
      : resultOfLoss(check, outcome, context, whyLost, isCause)
  const printed = isBlamed(found) ? describePrinted(options, context, whyLost !== undefined) : []
  const evidence = [...found.evidence, ...printed]
  const result = { ...found, reason: hide(found.reason), evidence: evidence.map(hide), durationMs }
  // If the suite itself stood still, a missing answer proves nothing.
  const provenLoss = standstills.hasStoodStillSince(started) ? undefined : loss
  return {
    result,
    isProvenLost: whyGone !== undefined || provenLoss === 'broken',
    isLate: provenLoss === 'late',
    ...(whyGone !== undefined && { gone: 'during' as const }),
    beside: watching.beside,
  }
}

/** The result of a check during which the client answered each request, or was too slow for a check of deadlines. */
function resultOfOutcome(check: Check, outcome: CheckOutcome, context: CheckContext): Result {
  const { verdict, reason, evidence, fix = check.fix, isError, isReportedElsewhere } = outcome
  return {
    ...resultOf(check, context.settings, verdict, reason),
    fix,
    evidence: isBlamed(outcome) && evidence.length === 0 ? context.evidence() : evidence,
    ...(isError && { isError }),
    ...(isReportedElsewhere && { isReportedElsewhere }),
  }
}

/**
 * The result of a check during which the client ended, broke a connection, or left a request without an answer.
 * `whyLost` says which of these happened. If `isCause` is false, another check may be the cause, so the fix of this
 * check may not help.
 */
function resultOfLoss(
  check: Check,
  outcome: CheckOutcome,
  context: CheckContext,
  whyLost: string,
  isCause: boolean,
): Result {
  const reason = isBlamed(outcome) ? `${whyLost} ${outcome.reason}` : whyLost
  // If the check crashed, the loss of the client probably caused the crash, so the suite is not to blame.
  const ownFix = outcome.isError ? check.fix : (outcome.fix ?? check.fix)
  return {
    ...resultOf(check, context.settings, 'failed', reason),
    ...losingTheClient,
    fix: isCause ? `${ownFix} ${losingTheClient.fix}` : losingTheClient.fix,
    evidence: context.evidence(),
    isLost: true,
  }
}

/** How many lines of earlier output the evidence contains. An error in older output probably has another cause. */
const mostEarlierLines = 20

/**
 * Returns what the client printed during the check. If the client stopped answering and printed nothing, it may have
 * printed the reason just before the check began. In this case, the function returns the last lines of its output.
 */
function describePrinted({ clientProcess }: ChecksOptions, context: CheckContext, isLost: boolean): string[] {
  if (!clientProcess) return []
  const own = clientProcess.output(context.outputStart)
  const isEarlierNeeded = isLost && own.trim() === ''
  const printed = isEarlierNeeded
    ? describeOutput(
        clientProcess.output().trimEnd().split('\n').slice(-mostEarlierLines).join('\n'),
        () => context.secrets({ ofEarlierChecks: true }),
        'Before this check, the client printed',
      )
    : describeOutput(own, context.secrets)
  return printed === undefined ? [] : [printed]
}

/** The result of one run of a check, before the suite looks at the process of the client. */
interface CheckOutcome {
  verdict: Verdict
  reason: string
  evidence: string[]
  fix?: string
  isError?: boolean
  isReportedElsewhere?: boolean
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
    // `portal`, however, the check may know only that the portal refused the login, and another check reports the
    // cause.
    if (stage !== 'portal' && causes.includes(check.id)) return judge(error.failure, check, settings)
    return { verdict: 'not run', reason: error.message, evidence: [] }
  }
  const broken = { MUST: 'failed', SHOULD: 'warned', advice: 'not followed' } as const
  if (error instanceof Failed) {
    const verdict = settings.isStrict ? 'failed' : broken[rules[check.rule].level]
    return { verdict, reason: error.message, evidence: error.evidence, ...(error.fix && { fix: error.fix }) }
  }
  if (error instanceof ReportedElsewhere)
    return { verdict: 'not applicable', reason: error.message, evidence: [], isReportedElsewhere: true }
  if (error instanceof NotApplicable) return { verdict: 'not applicable', reason: error.message, evidence: [] }
  // For example, the form of a later page offers the groups of another visitor.
  if (error instanceof Undecided || error instanceof MissingChoice)
    return { verdict: 'undecided', reason: error.message, evidence: [] }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  const reason = `The check itself crashed: ${message}`
  const fix = 'This is a mistake in the suite, and not in your client. Please report it together with the evidence.'
  return { verdict: 'undecided', reason, fix, evidence: [stack ?? message], isError: true }
}

/**
 * These values replace the rule, the level and the texts of a check during which the client stopped answering. No
 * request may ever stop the client.
 */
export const losingTheClient: Pick<Result, 'rule' | 'level' | 'isUncounted' | 'why' | 'fix'> = {
  rule: 'stays-up',
  isUncounted: false,
  level: 'MUST',
  why: 'If the client ends, hangs or breaks connections, visitors get no answer.',
  fix: 'Catch every error, give every call a deadline, answer with a page that says what to do, and keep running.',
}

function describeLost({ request: { method, url }, response: { error } }: LostExchange): string {
  return `The client did not answer a request: ${method} ${url.replace(/\?.*$/s, '')} (${error}).`
}
