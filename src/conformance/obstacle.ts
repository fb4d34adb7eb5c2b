// Makes a plain login before the checks: a login without faults and without unusual requests. If this login does not
// work, checks that need a login do not run. Their results refer to the check that reports the cause.
import { setTimeout as wait } from 'node:timers/promises'
import type { Page } from './browser/browser.ts'
import { type Check, Failed, type Obstacle, Undecided } from './check.ts'
import type { ClientProcess } from './client-process.ts'
import { type CheckContext, createContext } from './context.ts'
import { describePage, failWithFix, isCallFor } from './findings.ts'
import type { Person } from './platform.ts'
import { describeOutput } from './report/client-output.ts'
import { hide } from './report/hide.ts'
import type { Result } from './result.ts'
import type { ChecksOptions } from './run-checks.ts'
import type { Settings } from './settings.ts'
import { endIfScripted } from './steps/page-content.ts'
import { offersLogin } from './steps/sessions.ts'

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
  const secrets: string[] = []
  const obstacle = await tryLogin(parts, secrets)
  if (clientProcess && !(await parts.isAnswering()) && (await endsSoon(clientProcess))) {
    const when = hadEnded ? 'Soon after its start' : 'During a plain login'
    const printed = describeOutput(clientProcess.output(), () => secrets)
    return {
      stage: 'login',
      causes: causes.login,
      message: `${when}, the process of the client ended ${clientProcess.unexpectedEnds().at(-1)}.`,
      evidence: [...(obstacle?.evidence ?? []), ...(printed === undefined ? [] : [printed])],
      fix: 'Find out why the process ended. The evidence may contain output of the client that shows the error.',
      isCauseUnclear: false,
      isUnanswered: false,
    }
  }
  const again = obstacle && (await tryLogin({ ...parts, settings: shortenWaits(parts.settings, obstacle) }))
  return again?.isCauseUnclear && obstacle && !obstacle.isCauseUnclear ? obstacle : again
}

/** How long a process may take to end after its connections have closed. A crash can write a long report. */
const endingMs = 2000

/**
 * Whether the process has ended, or ends soon, although the suite was not stopping it. The connections of a process
 * close before the suite sees that the process has ended.
 */
async function endsSoon(clientProcess: ClientProcess): Promise<boolean> {
  for (const end = performance.now() + endingMs; clientProcess.isRunning(); await wait(50))
    if (performance.now() > end) return false
  // The last output may arrive a moment after the end of the process.
  await wait(100)
  return clientProcess.unexpectedEnds().length > 0
}

/** `secrets`: receives the secret values of this login. */
async function tryLogin(parts: ChecksOptions, secrets: string[] = []): Promise<Obstacle | undefined> {
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
    await endIfAnswersAreKept(context, page, behind)
    for (const one of [page, behind]) endIfScripted(one, parts.settings)
    throw new Failed(`Nobody is signed in after a plain login, which ended with ${describePage(page)}.`)
  } catch (error) {
    const isCauseUnclear = error instanceof Undecided
    if (!isCauseUnclear && !(error instanceof Failed)) return undefined
    const evidence = isCauseUnclear || error.evidence.length === 0 ? context.evidence() : error.evidence
    const isUnanswered = context.lost() !== undefined
    return {
      stage,
      causes: isCauseUnclear ? [] : causes[stage],
      message: error.message,
      evidence,
      ...(!isCauseUnclear && error.fix && { fix: error.fix }),
      isCauseUnclear,
      isUnanswered,
    }
  } finally {
    secrets.push(...context.secrets())
    await context.end()
  }
}

/**
 * The suite knows that a visitor is signed in because the client calls the API for each page. Some clients keep the
 * API's answer instead, and show it again. If the client shows the answer of one visitor to another visitor, this
 * function fails. If the client shows the answer only to the same visitor, the suite cannot judge the client.
 * `landed`: the page after the login. `behind`: the page at --page, for which the client made no call.
 */
async function endIfAnswersAreKept(context: CheckContext, landed: Page, behind: Page): Promise<void> {
  const { page } = context.settings
  const isShown = (shown: Page) => shown.status === 200 && !offersLogin(context, shown)
  if (!isShown(behind) || !callsForPage(context, landed, await context.person())) return
  const other = { person: await context.otherPerson(), browser: context.browser() }
  const landedOther = await context.signIn(other.browser, other)
  const behindOther = await other.browser.visit(context.url(page))
  await context.platform.settle()
  if (!isShown(behindOther)) return
  if (callsForPage(context, landedOther, other.person))
    throw new Undecided(
      `The client shows ${page} again without a call to the API, so the suite cannot tell who is signed in. Start the client without its cache, or name another page with --page.`,
    )
  failWithFix(
    'Call the API for each visitor, with the token of this visitor. If you keep answers from the API, keep them with the session, and not for all visitors.',
    `Two visitors opened ${page} one after the other. The client called the API only for the first visitor, and showed the second visitor a page with the first answer.`,
    behindOther,
  )
}

/** Whether the client called the API with this person's token when the browser opened the page at --page. */
function callsForPage({ platform, settings, url }: CheckContext, landed: Page, { id }: Person): boolean {
  const { pathname } = new URL(url(settings.page))
  const opened = landed.trail.find(({ request }) => new URL(request.url).pathname === pathname)
  return platform.steps.some(
    step =>
      step.kind === 'api' &&
      isCallFor(step, id) &&
      step.response.status < 400 &&
      opened !== undefined &&
      step.at.getTime() >= opened.startedAt,
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
  if (notRun.length === 0 || obstacle.isCauseUnclear) return results
  const failed = (id: string) => results.find(one => one.id === id && one.verdict === 'failed')
  const found = obstacle.causes.map(failed).find(one => one !== undefined)
  // If the client keeps answers from the API, the check `login-works` can be undecided. The obstacle is then clearer.
  const undecided = results.find(({ id, verdict }) => id === 'login-works' && verdict === 'undecided')
  const cause = found ?? undecided ?? notRun.find(({ id }) => id === 'login-works') ?? notRun[0]!
  const message = hide(obstacle.message)
  return results.map(result => {
    const isReplaced = result.verdict === 'not run' || result === undecided || provesNothing(obstacle, result)
    if (!isReplaced) return result
    if (result !== cause) {
      const reason = `Not run, because of the check ${cause.id}: ${message}`
      return { ...result, verdict: 'not run', reason, notRunBecause: cause.id }
    }
    const { isApart, ...own } = result
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
