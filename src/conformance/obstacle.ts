// Looks once, before the checks, for a reason why a plain login does not work. If there is one, checks that need a login do not
// run, and refer to the one check that reports the cause.
import { type Check, Failed, NotRun, type Obstacle, Undecided } from './check.ts'
import { createContext } from './context.ts'
import { describePage } from './findings.ts'
import { hide } from './report/hide.ts'
import type { Result, RunParts } from './run-checks.ts'
import type { Settings } from './settings.ts'
import { describeScript, mayGoOnByScript } from './steps/page-content.ts'

/** For each stage the checks that can report the cause. The first one that fails is the cause of all others. */
const causes: Record<Obstacle['stage'], string[]> = {
  start: ['start-leads-to-portal'],
  portal: [
    'start-parameters-once',
    'start-grant-type',
    'start-response-type',
    'start-client-id',
    'start-redirect-uri',
    'start-cancel-url',
    'start-cancel-url-own',
    'pkce-s256',
  ],
  login: ['login-works'],
}

/** Undefined if a plain login works, or if the result is unclear. A login that fails by chance is tried again. */
export async function findObstacle(parts: RunParts): Promise<Obstacle | undefined> {
  const endsBefore = countEnds(parts)
  const obstacle = await tryLogin(parts)
  // A connection may break a moment before the end of the process is known.
  const isAnswering = await parts.isAnswering()
  if (!isAnswering && countEnds(parts) > endsBefore) {
    const end = parts.clientProcess?.unexpectedEnds().at(-1)
    const message = `During a plain login the process of the client ended ${end}.`
    return {
      stage: 'login',
      causes: causes.login,
      message,
      evidence: obstacle?.evidence ?? [],
      isOpen: false,
      isUnanswered: false,
    }
  }
  return obstacle && (await tryLogin({ ...parts, settings: withPatience(parts.settings, obstacle) }))
}

function countEnds({ clientProcess }: RunParts): number {
  return clientProcess?.unexpectedEnds().length ?? 0
}

async function tryLogin(parts: RunParts): Promise<Obstacle | undefined> {
  const context = createContext({ ...parts, isAlone: true })
  let stage: Obstacle['stage'] = 'start'
  try {
    const browser = context.browser()
    const start = await context.startLogin(browser)
    stage = 'portal'
    await context.authorize(start)
    stage = 'login'
    if (!parts.settings.page) return undefined
    const visitor = context.browser()
    const page = await context.signIn(visitor)
    if (await context.isSignedIn(visitor)) return undefined
    const behind = await visitor.visit(context.url(parts.settings.page))
    for (const one of [page, behind]) if (mayGoOnByScript(one)) throw new Undecided(describeScript(one, parts.settings))
    throw new Failed(`A plain login, which ended with ${describePage(page)}, signs nobody in.`)
  } catch (error) {
    const isOpen = error instanceof Undecided
    if (!isOpen && !(error instanceof Failed)) return undefined
    const evidence = isOpen || error.evidence.length === 0 ? context.evidence() : error.evidence
    const isUnanswered = context.lost() !== undefined
    return { stage, causes: isOpen ? [] : causes[stage], message: error.message, evidence, isOpen, isUnanswered }
  } finally {
    await context.end()
  }
}

/**
 * If the client leaves a plain login unanswered, the checks wait five seconds for each further answer instead of twenty.
 * Otherwise a run against a client that hangs takes minutes, and says nothing more.
 */
export function withPatience(settings: Settings, obstacle: Obstacle | undefined): Settings {
  return obstacle?.isUnanswered ? { ...settings, patienceMs: Math.min(settings.patienceMs, 5000) } : settings
}

/** Groups whose checks can pass although the client never answers the callback. */
const groupsWithoutCallback = ['starting-a-login', 'raw-requests']

/** Whether a check has to wait until a plain login works, because its result would prove nothing. */
export function isInTheWay(obstacle: Obstacle, { id, group, needs }: Check): boolean {
  // Each of these checks would wait for an answer of the callback that never comes.
  if (obstacle.isUnanswered && obstacle.stage === 'login')
    return !groupsWithoutCallback.includes(group) && !obstacle.causes.includes(id)
  // A client that goes on by JavaScript may work in a browser that runs it.
  if (obstacle.isOpen && needs?.includes('browser')) return false
  return Boolean(needs?.includes('page')) && !obstacle.causes.includes(id)
}

/** Whether a pass proves nothing, because the check looks at a later step of a login than the obstacle. */
function provesNothing({ stage }: Obstacle, { verdict, group }: Result): boolean {
  if (verdict !== 'passed') return false
  return stage === 'start' || (stage === 'portal' && group !== 'starting-a-login')
}

/**
 * One cause, one failure: what was not run refers to the check that failed for it. Where none did, such as with --only,
 * the first of those that were not run has failed.
 */
export function nameCause(results: Result[], obstacle: Obstacle): Result[] {
  const waiting = results.filter(({ isNotRun }) => isNotRun)
  if (waiting.length === 0 || obstacle.isOpen) return results
  const failed = (id: string) => results.find(one => one.id === id && one.verdict === 'failed')
  const found = obstacle.causes.map(failed).find(one => one !== undefined)
  const cause = found ?? waiting.find(({ id }) => id === 'login-works') ?? waiting[0]!
  const message = hide(obstacle.message)
  return results.map(result => {
    if (!result.isNotRun && !provesNothing(obstacle, result)) return result
    if (result !== cause) {
      const reason = `Not run, because of ${cause.id}: ${message}`
      return { ...result, verdict: 'undecided', isNotRun: true, reason, notRunBecause: cause.id }
    }
    const { isNotRun, isApart, ...own } = result
    return {
      ...own,
      rule: 'login-works',
      level: 'MUST',
      verdict: 'failed',
      reason: message,
      evidence: obstacle.evidence.map(hide),
    }
  })
}

/** The obstacle, if a plain login has the same failure. */
export function orNotRun(failure: Failed, obstacle: Obstacle | undefined, ...stages: Obstacle['stage'][]): Error {
  if (!obstacle || !stages.includes(obstacle.stage)) return failure
  // It is unclear who is at fault for the failure of the plain login, and so for this one.
  return obstacle.isOpen ? new Undecided(obstacle.message) : new NotRun(failure, obstacle)
}
