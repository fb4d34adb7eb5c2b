// Compares a login with the other logins of the same client. For example, it finds other logins with the same state.
//
// A summary of each login contains the values that are compared, and an index finds the summaries with a certain value.
// A page that shows many logins therefore does not read all logins for each of them.
import {
  challengeOf,
  firstSignIn,
  gaveTokens,
  type HiddenState,
  type RecordedLogin,
  type RecordedStep,
  stateOf,
  stepsOf,
} from './recorded.ts'

/** Whether the step can change the summary of its login. */
export function isCompared({ kind, about }: RecordedStep): boolean {
  return about.portalSession !== undefined || kind === 'authorize' || kind === 'exchange' || kind === 'metadata'
}

/** What the laboratory knows about the other logins of the same client. */
export interface OtherLogins {
  /**
   * Whether one of the other logins was started with the state that has this hash. A login in the same portal session
   * counts only if the client exchanged a code in both logins. Otherwise the visitor may have gone back in the browser,
   * and the browser then sent the same login request again.
   */
  haveState(hash: string): boolean
  /**
   * Whether one of the other logins was started with the PKCE challenge that has this hash. The exception of
   * `haveState` applies here too.
   */
  haveChallenge(hash: string): boolean
  /** Whether one of the other logins has a different state with the same beginning. */
  haveStateLike(state: { hash: string; beginning: string }): boolean
  /**
   * Whether the portal issued a refresh token for this user after this time, in another login of the same portal
   * session. The user may have other sessions on other devices.
   */
  signedInAfter(userId: string, time: Date): boolean
  /**
   * Whether a fault has changed an answer with the portal's metadata in the hour before this time. A client keeps the
   * metadata for about an hour. These answers belong to no client, so they count for all clients.
   */
  hadMetadataFault(time: Date): boolean
  /**
   * The number of logins in a row that were completed without a call by the client between them. This login counts too.
   * The result is 0 if this login is not one of three that were completed within a minute.
   */
  timesInLoop(): number
}

type Login = Pick<RecordedLogin, 'id' | 'clientId' | 'steps' | 'leftOut'>

/** The values of a login that are compared with the values of other logins. */
interface Summary {
  /** The login itself, which may get more steps later. */
  login: Login
  /** The client of the login when the summary was made. */
  clientId: string | undefined
  /** A hash of the portal's session cookie. Undefined if no step of the login contained this cookie. */
  portalSession: string | undefined
  states: HiddenState[]
  /** The hashes of the PKCE challenges. */
  challenges: string[]
  isExchanged: boolean
  /** The time at which the portal issued tokens. Undefined if it has issued none. */
  completedAt: Date | undefined
  /** The user for whom the portal issued a refresh token. Undefined if it has issued none. */
  signIn: { userId: string | undefined; at: Date } | undefined
  /** The times of the answers with metadata that a fault changed. */
  metadataFaults: Date[]
}

const fewestInLoop = 3
const loopMs = 60_000
/** How many earlier and how many later logins the search for a loop looks at. */
const mostNeighbours = 25
const metadataKeptMs = 60 * 60_000

export function createLoginComparison() {
  /** The summaries, keyed by the id of the login. */
  const summaries = new Map<string, Summary>()
  /** The summaries with a certain value. See keysOf. */
  const index = new Map<string, Set<Summary>>()
  /** The completed logins of a portal session, in chronological order. They are sorted when they are needed. */
  const sortedSessions = new Map<string, Summary[]>()
  const withMetadataFaults = new Set<Summary>()

  function completedInTime(key: string): Summary[] {
    const known = sortedSessions.get(key)
    if (known) return known
    const found = index.get(key)
    if (!found) return []
    const completed = [...found].filter(({ completedAt }) => completedAt !== undefined)
    const sorted = completed.sort((one, other) => timeOf(one) - timeOf(other))
    sortedSessions.set(key, sorted)
    return sorted
  }

  function forget({ id }: Pick<Login, 'id'>): void {
    const summary = summaries.get(id)
    if (!summary) return
    summaries.delete(id)
    withMetadataFaults.delete(summary)
    for (const key of keysOf(summary)) {
      sortedSessions.delete(key)
      const found = index.get(key)
      found?.delete(summary)
      if (found?.size === 0) index.delete(key)
    }
  }

  return {
    forget,

    /** Call this after the client of a login has changed, or after the login got a step that is compared. */
    update(login: Login): void {
      forget(login)
      const summary = summarise(login)
      summaries.set(login.id, summary)
      if (summary.metadataFaults.length > 0) withMetadataFaults.add(summary)
      for (const key of keysOf(summary)) {
        sortedSessions.delete(key)
        const found = index.get(key)
        if (found) found.add(summary)
        else index.set(key, new Set([summary]))
      }
    },

    othersOf(login: Login): OtherLogins {
      const own = summaries.get(login.id) ?? summarise(login)
      const { portalSession } = own
      const withValue = (kind: Kind, value: string) => index.get(keyOf(own, kind, value)) ?? new Set()
      /** Whether one of the other logins with this value matches. */
      function someOther(kind: Kind, value: string, matches: (other: Summary) => boolean): boolean {
        for (const one of withValue(kind, value)) if (one.login.id !== login.id && matches(one)) return true
        return false
      }
      /** Whether the other login may have the same values only because the browser sent a request again. */
      function isSentAgain(other: Summary): boolean {
        const isInSameSession = portalSession !== undefined && other.portalSession === portalSession
        return isInSameSession && !(own.isExchanged && other.isExchanged)
      }
      return {
        haveState: hash => someOther('state', hash, other => !isSentAgain(other)),
        haveChallenge: hash => someOther('challenge', hash, other => !isSentAgain(other)),
        haveStateLike: ({ hash, beginning }) =>
          someOther('beginning', beginning, ({ states }) => !states.some(state => state.hash === hash)),
        signedInAfter: (userId, time) =>
          portalSession !== undefined &&
          someOther('session', portalSession, ({ signIn }) => signIn?.userId === userId && signIn.at > time),
        hadMetadataFault: time =>
          [...withMetadataFaults].some(({ metadataFaults }) =>
            metadataFaults.some(at => at <= time && time.getTime() - at.getTime() < metadataKeptMs),
          ),
        timesInLoop() {
          if (portalSession === undefined) return 0
          return timesInLoop(login.id, completedInTime(keyOf(own, 'session', portalSession)))
        },
      }
    },
  }
}

/** The kinds of values that the index contains. */
type Kind = 'state' | 'beginning' | 'challenge' | 'session'

/** Logins without a client are not compared, so they have no keys. */
function keysOf(summary: Summary): string[] {
  if (summary.clientId === undefined) return []
  return [
    ...summary.states.map(({ hash }) => keyOf(summary, 'state', hash)),
    ...summary.states.flatMap(({ beginning }) => (beginning ? keyOf(summary, 'beginning', beginning) : [])),
    ...summary.challenges.map(hash => keyOf(summary, 'challenge', hash)),
    ...(summary.portalSession === undefined ? [] : [keyOf(summary, 'session', summary.portalSession)]),
  ]
}

function keyOf({ clientId }: Summary, kind: Kind, value: string): string {
  return `${kind} ${clientId} ${value}`
}

function summarise(login: Login): Summary {
  const starts = stepsOf(login, 'authorize')
  const exchanges = stepsOf(login, 'exchange')
  const signIn = firstSignIn(login)
  return {
    login,
    clientId: login.clientId,
    portalSession: login.steps.findLast(({ about }) => about.portalSession !== undefined)?.about.portalSession,
    states: starts.flatMap(step => stateOf(step) ?? []),
    challenges: starts.flatMap(step => challengeOf(step) ?? []),
    isExchanged: exchanges.length > 0,
    completedAt: exchanges.find(gaveTokens)?.at,
    signIn: signIn && { userId: signIn.about.userId, at: signIn.at },
    // Steps of the kind `metadata` can also be answers with the portal's keys.
    metadataFaults: stepsOf(login, 'metadata').flatMap(({ fault, at }) => (fault?.place === 'metadata' ? at : [])),
  }
}

/** `inTime`: the completed logins of a client in one portal session, in chronological order. */
function timesInLoop(id: string, inTime: Summary[]): number {
  const unused = unusedAround(id, inTime)
  const isInLoop = unused.some((one, first) => {
    const three = unused.slice(first, first + fewestInLoop)
    const isOneOf = three.length === fewestInLoop && three.some(each => each.login.id === id)
    return isOneOf && timeOf(three.at(-1)!) - timeOf(one) <= loopMs
  })
  return isInLoop ? unused.length : 0
}

/**
 * Returns the login and its neighbours in the same portal session. On each side, the list stops before the nearest
 * login after which the client made a call. If the client made a call after this login, the list is empty.
 */
function unusedAround(id: string, inTime: Summary[]): Summary[] {
  const position = inTime.findIndex(({ login }) => login.id === id)
  const own = inTime[position]
  if (!own || isUsed(own.login)) return []
  const before = inTime.slice(Math.max(0, position - mostNeighbours), position)
  const after = inTime.slice(position + 1, position + 1 + mostNeighbours)
  const lastUsed = before.findLastIndex(({ login }) => isUsed(login))
  const nextUsed = after.findIndex(({ login }) => isUsed(login))
  return [...before.slice(lastUsed + 1), own, ...after.slice(0, nextUsed === -1 ? undefined : nextUsed)]
}

function timeOf({ completedAt }: Summary): number {
  return completedAt?.getTime() ?? 0
}

/**
 * If a client calls the API, renews or signs out, the browser must have received the session. A step of the kind `me`
 * does not prove this, because the client asks who signed in during the callback, before the browser gets the session.
 * After a fault a client should start the login again, so a login with a fault does not count as part of a loop.
 */
function isUsed({ steps, leftOut }: Login): boolean {
  const uses: RecordedStep['kind'][] = ['api', 'refresh', 'revoke']
  return leftOut > 0 || steps.some(({ kind, fault }) => fault !== undefined || uses.includes(kind))
}
