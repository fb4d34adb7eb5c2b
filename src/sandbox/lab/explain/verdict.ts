// The sentence at the top of a login: what happened, at which step, and what to do.
import { isLoopback } from '../../values/redirect-uri.ts'
import type { Place } from '../faults/places.ts'
import type { OtherLogins } from '../record/compare-logins.ts'
import { firstOf, gaveTokens, type RecordedLogin, type RecordedStep } from '../record/recorded.ts'
import { explainRefusal } from './explain-refusal.ts'
import { hasCode, isAskedAgain, type LoginStatus, statusOf, wordsFor } from './login-status.ts'
import { causesOfLoop, type LoopCause } from './loop-causes.ts'

interface Verdict extends Pick<LoginStatus, 'outcome'> {
  /** The outcome, and how many later calls were refused. */
  status: string
  refusedCalls: number
  isLoop: boolean
  /** What happened, and at which step. Steps are counted from 1. */
  sentence: string
  /** What to do. Undefined if there is nothing to do. */
  fix: string | undefined
  /** The step that the sentence is about. */
  step: RecordedStep | undefined
  /** The step with the fault that the sentence mentions. */
  faulted: RecordedStep | undefined
  /** Possible causes of a loop, the most likely first. Empty if the login is not part of a loop. */
  causes: LoopCause[]
}

type Said = Pick<Verdict, 'sentence' | 'fix' | 'step' | 'faulted'>

export function verdictOf(login: Pick<RecordedLogin, 'steps'>, others: OtherLogins, now: Date): Verdict {
  const status = statusOf(login, now)
  const timesInLoop = others.timesInLoop()
  return {
    outcome: status.outcome,
    status: wordsFor(status, timesInLoop),
    refusedCalls: status.refusedCalls.length,
    isLoop: timesInLoop > 0,
    causes: timesInLoop > 0 ? causesOfLoop(login) : [],
    ...(timesInLoop > 0 ? sayLoop(timesInLoop, status, login) : say(status, login)),
  }
}

function say(status: LoginStatus, login: Pick<RecordedLogin, 'steps'>): Said {
  const { outcome, step } = status
  switch (outcome) {
    case 'signed in':
      return saySignedIn(status, login)
    case 'refused': {
      const said = sayRefused('Refused', step, login)
      return hasSuccessAfter(step, login) ? addLaterSuccess(said) : said
    }
    case 'declined':
      return sayRefused('Declined', step, login)
    case 'no login':
      return {
        sentence: 'These requests do not belong to a login, and none of them was refused.',
        fix: undefined,
        step,
        faulted: undefined,
      }
    default:
      return sayUnfinished(status, login)
  }
}

function sayRefused(how: string, step: RecordedStep, login: Pick<RecordedLogin, 'steps'>): Said {
  const { found, fix } = explainRefusal(step, login)
  const faulted = causeOf(step, login)
  const sentence = `${how} at step ${numberOf(step, login)}: ${found}`
  if (!faulted) return { sentence, fix, step, faulted }
  return {
    sentence: `${sentence} The cause is ${nameFault(faulted, login)}.`,
    fix: fixAfter(faulted, fix),
    step,
    faulted,
  }
}

function saySignedIn({ step, refusedCalls }: LoginStatus, login: Pick<RecordedLogin, 'steps'>): Said {
  const signedIn = `${step.kind === 'refresh' ? 'Renewed' : 'Signed in'} at step ${numberOf(step, login)}`
  // Look at the calls after the last success. The first refused call among them usually explains the other refusals.
  const firstSinceSuccess = refusedCalls.find(call => !hasSuccessAfter(call, login))
  const refused = firstSinceSuccess ?? refusedCalls.at(-1)
  if (!refused) {
    const faulted = login.steps.findLast(({ fault }) => fault !== undefined)
    const sentence = faulted ? `${signedIn}. There was ${nameFault(faulted, login)}.` : `${signedIn}.`
    return { sentence, fix: undefined, step, faulted }
  }
  const count = `${refusedCalls.length} ${refusedCalls.length === 1 ? 'call was' : 'calls were'} refused`
  const said = sayRefused(`${signedIn}, then ${count}. Refused`, refused, login)
  return firstSinceSuccess ? said : addLaterSuccess(said)
}

function hasSuccessAfter(step: RecordedStep, { steps }: Pick<RecordedLogin, 'steps'>): boolean {
  return steps.slice(steps.indexOf(step) + 1).some(isSuccess)
}

/** Whether a renewal gave tokens, or the API accepted a call. After a fault, the API may not have read the call. */
function isSuccess(step: RecordedStep): boolean {
  const { kind, reason, fault, response } = step
  if (kind === 'refresh') return gaveTokens(step)
  return kind === 'api' && !reason && !fault && response.status >= 200 && response.status < 300
}

function addLaterSuccess(said: Said): Said {
  return { ...said, sentence: `${said.sentence} Later calls succeeded.` }
}

function sayUnfinished({ outcome, step }: LoginStatus, login: Pick<RecordedLogin, 'steps'>): Said {
  const at = `step ${numberOf(step, login)}`
  const isOver = outcome !== 'under way'
  const name = `${outcome[0]!.toUpperCase()}${outcome.slice(1)}`
  const since = isOver ? ' Nothing has happened for two minutes.' : ''
  const faulted = login.steps.slice(login.steps.indexOf(step)).findLast(({ fault }) => fault !== undefined)
  if (faulted)
    return {
      sentence: `${name}: the ${isAtStart(faulted) ? 'browser' : 'client'} has not continued after ${nameFault(faulted, login)}.${since}`,
      fix: fixAfter(faulted, 'After an answer like this, a client should show an error or try again.'),
      step: faulted,
      faulted,
    }
  if (hasCode(step)) {
    const { found, fix } = explainUnusedCode(step, login)
    return {
      sentence: `${name}: the portal issued a code at ${at}, and no client has exchanged it.${found}${since}`,
      fix,
      step,
      faulted,
    }
  }
  if (step.kind === 'exchange')
    return {
      sentence: `${name}: the exchange at ${at} got ${step.response.status ? `status ${step.response.status}` : 'no answer'} and no tokens.${since}`,
      fix: 'Look at the answer in this step.',
      step,
      faulted,
    }
  const doing = isAskedAgain(step)
    ? `at ${at} the portal showed the visitor the form again. ${explainRefusal(step, login).found}`
    : `the visitor was at the portal at ${at}, and has not finished there.`
  const fix = isOver ? 'If the page of the portal appeared, nothing is wrong with your client.' : undefined
  return { sentence: `${name}: ${doing}${since}`, fix, step, faulted }
}

/** Gives the probable reason why no client has used the code, and says what to do. */
function explainUnusedCode(
  { response }: RecordedStep,
  { steps }: Pick<RecordedLogin, 'steps'>,
): { found: string; fix: string } {
  const address = firstOf(response.location, 'redirect_uri')
  const callback = typeof address === 'string' ? address : 'the redirect URI'
  const look = `Check which program answers at ${callback}: this program must send the code to /api/exchangeToken.`
  const begun = firstOf(steps.find(({ kind }) => kind === 'authorize')?.request.headers ?? {}, 'referer')
  if (typeof begun !== 'string' || !isOnLoopback(begun) || !isOnLoopback(callback)) return { found: '', fix: look }
  const { origin, hostname } = new URL(callback)
  if (new URL(begun).hostname === hostname) return { found: '', fix: look }
  return {
    found: ` The login began at ${begun}, and came back to ${origin}.`,
    fix: `Open the client at ${origin}, or register a redirect URI at ${begun}. A browser stores the cookies of the two hosts separately, so the client does not find the login that it began.`,
  }
}

function isOnLoopback(address: string): boolean {
  return URL.canParse(address) && isLoopback(new URL(address).hostname)
}

function sayLoop(times: number, { step }: LoginStatus, login: Pick<RecordedLogin, 'steps'>): Said {
  return {
    sentence: `Signed in at step ${numberOf(step, login)}. This login is one of ${times} logins in one browser, and the client made no call between them. This may be a loop.`,
    fix: 'Your client probably does not receive its session cookie, so it starts a new login each time. Check the causes that are listed for this login, one after the other.',
    step,
    faulted: undefined,
  }
}

/**
 * Which refusals a fault in an earlier step can cause. Each pair has the places of the fault, and a pattern for the
 * names of the reasons. For example, after a redirect with a wrong state, the client may send this state to the portal.
 * But a fault in the redirect never causes a wrong client secret.
 */
const causedBy: [places: Place[], reasons: RegExp][] = [
  [['redirect'], /^(state-|code-|consent-|field-missing|verifier-|client-unknown)/],
  [['exchange'], /^(code-(used|revoked)|token-(missing|malformed|expired|revoked)|refresh-token-|field-missing)/],
  [['refresh'], /^(token-(missing|malformed|expired|revoked)|refresh-token-|renewed-too-often)/],
  [
    ['create', 'update', 'remove', 'secret', 'link', 'unlink', 'make-group', 'api'],
    /^(changed-meanwhile|not-found|member-already|invited-already|link-unknown)$/,
  ],
]

/** A delay before the platform acts can cause a refusal for one of these reasons. */
const causedByDelay =
  /^(code-(expired|used|revoked)|token-(expired|revoked)|refresh-token-(used|expired)|changed-meanwhile)$/

/** Returns the step whose fault caused the refusal of this step. */
function causeOf(step: RecordedStep, { steps }: Pick<RecordedLogin, 'steps'>): RecordedStep | undefined {
  const isLate = step.fault?.kind === 'late' && step.fault.acted === 'before'
  const isDelayed = isLate && causedByDelay.test(step.reason ?? '')
  if (step.kind === 'trap' || isDelayed) return step
  return steps
    .slice(0, steps.indexOf(step))
    .findLast(({ fault }) =>
      causedBy.some(([places, reasons]) => fault && places.includes(fault.place) && reasons.test(step.reason ?? '')),
    )
}

function nameFault(step: RecordedStep, login: Pick<RecordedLogin, 'steps'>): string {
  return `the fault ${step.fault!.name} at step ${numberOf(step, login)}`
}

/** Whether the fault happened on the portal's first page. In this case, only the browser sees the fault. */
function isAtStart({ fault }: RecordedStep): boolean {
  return fault?.place === 'start'
}

function fixAfter(step: RecordedStep, fix: string): string {
  if (step.kind === 'trap') return fix
  if (isAtStart(step)) return 'Reload the page of the portal, or start the login again.'
  const { place, kind, field } = step.fault!
  if (place !== 'redirect') return fix
  if (kind === 'parameter-other' && field === 'code')
    return 'A client cannot know that the code of a redirect is wrong. After the refusal, show the visitor that the login has failed, and offer to start again.'
  if (kind !== 'error' && !['state', 'iss', 'client_id'].includes(field ?? '')) return fix
  return 'Check error, state, iss and client_id of the redirect before you send anything, and show the visitor that the login has failed.'
}

function numberOf(step: RecordedStep, { steps }: Pick<RecordedLogin, 'steps'>): number {
  return steps.indexOf(step) + 1
}
