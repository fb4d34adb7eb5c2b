// Makes a plain login before the checks: a login without faults and without unusual requests. If this login does not
// work, checks that need a login do not run. Their results refer to the check that reports the cause.
import { setTimeout as wait } from 'node:timers/promises'
import type { Browser } from './browser/browser.ts'
import { type Check, Failed, type Obstacle, Undecided } from './check.ts'
import type { ClientProcess } from './client-process.ts'
import { type CheckContext, createContext } from './context.ts'
import { describePage } from './findings.ts'
import { isCallOfUser } from './platform-calls.ts'
import { describeOutput } from './report/client-output.ts'
import { describeHttpExchange } from './report/describe.ts'
import { hide } from './report/hide.ts'
import type { Result } from './result.ts'
import type { ChecksOptions } from './run-checks.ts'
import type { Settings } from './settings.ts'
import { makeApplication } from './steps/applications.ts'
import { endIfScripted } from './steps/page-content.ts'

/**
 * The ids of the checks that can report the cause, keyed by the stage at which the login stopped. If several of these
 * checks fail, the report names the first as the cause of the others.
 */
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

/**
 * Tries a plain login, and tries it again if it fails. Returns undefined if one of the two logins works, or if the
 * suite itself failed.
 */
export async function findObstacle(parts: ChecksOptions): Promise<Obstacle | undefined> {
  const { clientProcess } = parts
  // The client has answered, but may have ended since then.
  const hadEnded = clientProcess?.isRunning() === false
  const context = createContext({ ...parts, isAlone: true })
  const obstacle = await tryLogin(context)
  if (clientProcess && !(await parts.isAnswering()) && (await endsSoon(clientProcess))) {
    const when = hadEnded ? 'Soon after its start' : 'During a plain login'
    const printed = describeOutput(clientProcess.output(parts.outputStart), context.secrets)
    return {
      stage: 'login',
      causes: causes.login,
      message: `${when}, the process of the client ended ${clientProcess.unexpectedEnds().at(-1)}.`,
      evidence: [...(obstacle?.evidence ?? []), ...(printed === undefined ? [] : [printed])],
      fix: 'Find out why the process ended. The evidence may contain output of the client that shows the error.',
      isCauseUnclear: false,
      isUnanswered: false,
      isProven: false,
    }
  }
  // A second login would not show again that visitors share an answer, because the client may still keep this answer.
  if (obstacle?.isProven) return obstacle
  const settings = shortenWaits(parts.settings, obstacle)
  return obstacle && (await tryLogin(createContext({ ...parts, settings, isAlone: true })))
}

/** How long a process may take to end after its connections have closed. A crash can write a long report. */
const endingMs = 2000

/**
 * Whether the process has ended, or ends soon, although the suite was not stopping it. The connections of a process
 * close before the suite sees that the process has ended.
 */
async function endsSoon(clientProcess: ClientProcess): Promise<boolean> {
  const end = performance.now() + endingMs
  while (clientProcess.isRunning()) {
    if (performance.now() > end) return false
    await wait(50)
  }
  // The last output may arrive a moment after the end of the process.
  await wait(100)
  return clientProcess.unexpectedEnds().length > 0
}

async function tryLogin(context: CheckContext): Promise<Obstacle | undefined> {
  const { settings } = context
  let stage: Obstacle['stage'] = 'start'
  let shared: Failed | undefined
  try {
    const browser = context.browser()
    const start = await context.startLogin(browser)
    stage = 'portal'
    await context.authorize(start)
    stage = 'login'
    if (!settings.page) return undefined
    await makeApplication(context, await context.person(), { name: nameOfFirst })
    const visitor = context.browser()
    const page = await context.signIn(visitor)
    if ((await context.isSignedIn(visitor)) && !(await keepsTheList(context, visitor))) return undefined
    shared = await findSharedAnswer(context, visitor)
    if (shared) throw shared
    const behind = await visitor.visit(context.url(settings.page))
    for (const one of [page, behind]) endIfScripted(one, settings)
    throw new Failed(`Nobody is signed in after a plain login, which ended with ${describePage(page)}.`)
  } catch (error) {
    const isCauseUnclear = error instanceof Undecided
    if (!isCauseUnclear && !(error instanceof Failed)) return undefined
    const evidence = isCauseUnclear || error.evidence.length === 0 ? context.evidence() : error.evidence
    const isUnanswered = context.firstLost() !== undefined
    return {
      stage,
      causes: findCauses(error, stage),
      message: error.message,
      evidence,
      ...(!isCauseUnclear && error.fix && { fix: error.fix }),
      isCauseUnclear,
      isUnanswered,
      isProven: error === shared,
    }
  } finally {
    await context.end()
  }
}

/** The suite cannot tell who is signed in. The check `list-current` reports what the client should change. */
class KeepsTheList extends Undecided {}

function findCauses(error: Failed | Undecided, stage: Obstacle['stage']): string[] {
  if (error instanceof KeepsTheList) return ['list-current']
  return error instanceof Undecided ? [] : causes[stage]
}

/** The name of an application that belongs only to the visitor of the plain login. */
const nameOfFirst = 'Application of the first visitor'

/**
 * Whether the client shows the list to a signed-in visitor again without a call to the API. Tries this several times,
 * because a client with several processes may keep the list in each process.
 */
async function keepsTheList(context: CheckContext, visitor: Browser): Promise<boolean> {
  const { id } = await context.person()
  for (let visits = 0; visits < 3; visits++) {
    const { result: shown, steps } = await context.during(() =>
      context.visitUntilPortal(visitor.newTab(), context.settings.page),
    )
    if (shown.body.includes(nameOfFirst) && !steps.some(step => isCallOfUser(step, id))) return true
  }
  return false
}

/**
 * The suite knows that a visitor is signed in because the client calls the API for each page. Some clients keep the
 * API's answer instead, and show it again. This function returns a failure if the client shows the answer of one
 * visitor to another visitor. If the client shows the answer only to the same visitor, the suite cannot judge the
 * client, and the function throws KeepsTheList.
 */
async function findSharedAnswer(context: CheckContext, visitor: Browser): Promise<Failed | undefined> {
  const { page } = context.settings
  const kept = await context.visitUntilPortal(visitor.newTab(), page)
  if (!kept.body.includes(nameOfFirst)) return undefined
  const browser = context.browser()
  await context.signIn(browser, { person: await context.otherPerson() })
  const shown = await context.visitUntilPortal(browser, page)
  if (!shown.body.includes(nameOfFirst))
    throw new KeepsTheList(
      `The client shows ${page} again without a call to the API, so the suite cannot tell who is signed in. Start the client without its cache, or name another page with --page.`,
    )
  return new Failed(
    `Two visitors signed in, one after the other, and opened ${page}. The second visitor saw an application of the first visitor.`,
    shown.trail.slice(-1).map(describeHttpExchange),
    'Call the API for each visitor, with the token of this visitor. If you keep answers from the API, keep them with the session, and not for all visitors.',
  )
}

/**
 * If the client does not answer a plain login, the checks wait only five seconds for each answer, instead of twenty.
 * With twenty seconds, a run against a client that hangs would take many minutes.
 */
export function shortenWaits(settings: Settings, obstacle: Obstacle | undefined): Settings {
  return obstacle?.isUnanswered ? { ...settings, patienceMs: Math.min(settings.patienceMs, 5000) } : settings
}

/** If the client never answers the callback, checks in these groups can still pass. */
const groupsWithoutCallback = ['starting-a-login', 'raw-requests']

/**
 * Whether the check must be skipped after a plain login has failed, because the result of the check would prove
 * nothing.
 */
export function mustWait(obstacle: Obstacle, { id, group, needs }: Check): boolean {
  // Any check in the other groups would wait for an answer to the callback until the check reaches its time limit.
  if (obstacle.isUnanswered && obstacle.stage === 'login')
    return !groupsWithoutCallback.includes(group) && !obstacle.causes.includes(id)
  // A client whose pages redirect by a script may work in a real browser.
  if (obstacle.isCauseUnclear && needs?.includes('browser')) return false
  return Boolean(needs?.includes('page')) && !obstacle.causes.includes(id)
}

/** True if the check has passed but proves nothing, because the login stops before the step that the check judges. */
function provesNothing({ stage }: Obstacle, { verdict, group }: Result): boolean {
  if (verdict !== 'passed') return false
  return stage === 'start' || (stage === 'portal' && group !== 'starting-a-login')
}

/**
 * Reports only one failure for the obstacle. Checks that did not run refer to the check that reports the cause. If no
 * such check failed, for example because of --only, the first check that did not run counts as failed.
 */
export function nameCause(results: Result[], obstacle: Obstacle): Result[] {
  const notRun = results.filter(({ verdict }) => verdict === 'not run')
  if (obstacle.isCauseUnclear || (notRun.length === 0 && !obstacle.isProven)) return results
  const loginWorks = results.find(({ id }) => id === 'login-works')
  const failed = (id: string) => results.find(one => one.id === id && one.verdict === 'failed')
  const found = obstacle.causes.map(failed).find(one => one !== undefined)
  const proven = obstacle.isProven ? loginWorks : undefined
  const notBegun = loginWorks?.verdict === 'not run' ? loginWorks : notRun[0]
  const cause = proven ?? found ?? notBegun
  if (!cause) return results
  const message = hide(obstacle.message)
  return results.map(result => {
    if (result.verdict !== 'not run' && result !== proven && !provesNothing(obstacle, result)) return result
    if (result !== cause) {
      const reason = `Not run, because of the check ${cause.id}: ${message}`
      return { ...result, verdict: 'not run', reason, notRunBecause: cause.id }
    }
    const { isUncounted, ...own } = result
    return {
      ...own,
      rule: 'login-works',
      level: 'MUST',
      verdict: 'failed',
      reason: message,
      evidence: obstacle.evidence.map(hide),
      ...(obstacle.fix && { fix: obstacle.fix }),
    }
  })
}
