// What keeps a plain login from working. It is looked for once, before the checks: those that need a login are then not run,
// and refer to the one check that says what is wrong.
import { type Check, Failed, NotRun, type Obstacle, Undecided } from './check.ts'
import { createContext } from './context.ts'
import { describePage } from './findings.ts'
import { hide } from './report/hide.ts'
import type { Result, RunParts } from './run-checks.ts'
import { describeScript, mayGoOnByScript } from './steps/page-content.ts'

/** Of each stage, the checks that can tell what is wrong. The first that fails is the reason of all others. */
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

/** Undefined where a plain login works, or where nothing can be said of that. One that fails by chance is tried again. */
export async function findObstacle(parts: RunParts): Promise<Obstacle | undefined> {
  const endsBefore = countEnds(parts)
  const obstacle = await tryLogin(parts)
  // A connection may break a moment before the end of the process is known.
  const isAnswering = await parts.isAnswering()
  if (!isAnswering && countEnds(parts) > endsBefore) {
    const end = parts.clientProcess?.unexpectedEnds().at(-1)
    const message = `During a plain login the process of the client ended ${end}.`
    return { stage: 'login', causes: causes.login, message, evidence: obstacle?.evidence ?? [], isOpen: false }
  }
  return obstacle && (await tryLogin(parts))
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
    for (const one of [page, behind]) if (mayGoOnByScript(one)) throw new Undecided(describeScript(one))
    throw new Failed(`A plain login, which ended with ${describePage(page)}, signs nobody in.`)
  } catch (error) {
    const isOpen = error instanceof Undecided
    if (!isOpen && !(error instanceof Failed)) return undefined
    const evidence = isOpen || error.evidence.length === 0 ? context.evidence() : error.evidence
    return { stage, causes: isOpen ? [] : causes[stage], message: error.message, evidence, isOpen }
  } finally {
    context.end()
  }
}

/** Whether a check has to wait until a plain login works: what it sees otherwise says nothing. */
export function isInTheWay(obstacle: Obstacle, { id, needs }: Check): boolean {
  return Boolean(needs?.includes('page')) && !obstacle.causes.includes(id)
}

/** Whether a pass says nothing: the check asked something that comes later in a login than the obstacle. */
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

/** Of a failure that a plain login has as well, the obstacle of that. */
export function orNotRun(failure: Failed, obstacle: Obstacle | undefined, ...stages: Obstacle['stage'][]): Error {
  return obstacle && !obstacle.isOpen && stages.includes(obstacle.stage) ? new NotRun(failure, obstacle) : failure
}
