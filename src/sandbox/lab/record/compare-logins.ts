// Counts how many logins of a client have the same value, such as the same state. The counts are updated while the
// laboratory records steps, so a notice does not have to read all other logins.

import {
  challengeOf,
  firstSignIn,
  gaveTokens,
  type RecordedLogin,
  type RecordedStep,
  stateOf,
  stepsOf,
} from './recorded.ts'

/** Whether the step can say something about other logins. */
export function isCompared({ kind }: RecordedStep): boolean {
  return kind === 'authorize' || kind === 'exchange' || kind === 'metadata'
}

export type LoginComparison = ReturnType<typeof createLoginComparison>

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

const fewestInLoop = 3
const loopMs = 60_000
/** How many earlier and how many later logins each login is compared with. */
const mostNeighbours = 25
const metadataKeptMs = 60 * 60_000

interface Completed {
  login: Login
  at: number
}

interface SignIn {
  loginId: string
  at: number
}

export function createLoginComparison() {
  /** The compared values of each login, such as its state. `counts` says how many logins have each value. */
  const keysOfLogin = new Map<string, Set<string>>()
  const counts = new Map<string, number>()
  /**
   * All sign-ins. The key names the client and the user. `newest` contains the two newest sign-ins. If `newest` is
   * undefined, the code must find the two newest sign-ins again.
   */
  const signIns = new Map<string, { byLogin: Map<string, SignIn>; newest?: SignIn[] | undefined }>()
  const userOfLogin = new Map<string, string>()
  /**
   * All logins in which the portal issued tokens. The key names the client and the portal session. The map contains the
   * login objects themselves, so it also shows the steps that a login gets later.
   */
  const completed = new Map<string, { byLogin: Map<string, Completed>; inTime?: Completed[] | undefined }>()
  const sessionOfLogin = new Map<string, string>()
  /** The answers with metadata that a fault changed. The keys are the ids of the logins that contain these steps. */
  const metadataFaults = new Map<string, RecordedStep[]>()

  function forget({ id }: Login): void {
    metadataFaults.delete(id)
    const session = sessionOfLogin.get(id) ?? ''
    const ofSession = completed.get(session)
    sessionOfLogin.delete(id)
    ofSession?.byLogin.delete(id)
    if (ofSession?.byLogin.size === 0) completed.delete(session)
    else if (ofSession) ofSession.inTime = undefined
    for (const key of keysOfLogin.get(id) ?? []) {
      const count = (counts.get(key) ?? 0) - 1
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    }
    keysOfLogin.delete(id)
    const user = userOfLogin.get(id)
    if (user === undefined) return
    userOfLogin.delete(id)
    const ofUser = signIns.get(user)
    ofUser?.byLogin.delete(id)
    if (ofUser?.byLogin.size === 0) signIns.delete(user)
    else if (ofUser) ofUser.newest = undefined
  }

  function newestSignIns(user: string): SignIn[] {
    const ofUser = signIns.get(user)
    if (!ofUser) return []
    ofUser.newest ??= [...ofUser.byLogin.values()].sort((one, other) => other.at - one.at).slice(0, 2)
    return ofUser.newest
  }

  function addToSession(login: Login): void {
    const session = portalSessionOf(login)
    const exchange = stepsOf(login, 'exchange').find(gaveTokens)
    if (session === undefined || exchange === undefined) return
    const key = keyOf(login, 'session', session)
    sessionOfLogin.set(login.id, key)
    const ofSession = completed.get(key) ?? { byLogin: new Map<string, Completed>() }
    ofSession.byLogin.set(login.id, { login, at: exchange.at.getTime() })
    ofSession.inTime = undefined
    completed.set(key, ofSession)
  }

  /**
   * Returns the login and its neighbours in the same portal session, in chronological order. On each side, the list
   * stops before the nearest login after which the client made a call. If the client made a call after this login, the
   * list is empty.
   */
  function unusedAround(login: Login): Completed[] {
    const ofSession = completed.get(sessionOfLogin.get(login.id) ?? '')
    const own = ofSession?.byLogin.get(login.id)
    if (!ofSession || !own || ofSession.byLogin.size < fewestInLoop || isUsed(login)) return []
    ofSession.inTime ??= [...ofSession.byLogin.values()].sort((one, other) => one.at - other.at)
    const index = ofSession.inTime.indexOf(own)
    const before = ofSession.inTime.slice(Math.max(0, index - mostNeighbours), index)
    const after = ofSession.inTime.slice(index + 1, index + 1 + mostNeighbours)
    const lastUsed = before.findLastIndex(one => isUsed(one.login))
    const nextUsed = after.findIndex(one => isUsed(one.login))
    return [...before.slice(lastUsed + 1), own, ...after.slice(0, nextUsed === -1 ? undefined : nextUsed)]
  }

  function timesInLoop(login: Login): number {
    const unused = unusedAround(login)
    const isInLoop = unused.some((one, first) => {
      const three = unused.slice(first, first + fewestInLoop)
      const isOneOf = three.length === fewestInLoop && three.some(each => each.login.id === login.id)
      return isOneOf && three.at(-1)!.at - one.at <= loopMs
    })
    return isInLoop ? unused.length : 0
  }

  return {
    forget,

    /** Call this after the client of a login has changed, or after the login got a step that is compared. */
    update(login: Login): void {
      forget(login)
      // Steps of the kind `metadata` can also be answers with the portal's keys.
      const faults = stepsOf(login, 'metadata').filter(({ fault }) => fault?.place === 'metadata')
      if (faults.length > 0) metadataFaults.set(login.id, faults)
      if (login.clientId === undefined) return
      const keys = keysOf(login)
      keysOfLogin.set(login.id, keys)
      for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
      addToSession(login)
      const signIn = firstSignIn(login)
      const user = userIn(login, signIn?.about.userId)
      if (!signIn || user === undefined) return
      userOfLogin.set(login.id, user)
      const ofUser = signIns.get(user) ?? { byLogin: new Map<string, SignIn>() }
      ofUser.byLogin.set(login.id, { loginId: login.id, at: signIn.at.getTime() })
      ofUser.newest = undefined
      signIns.set(user, ofUser)
    },

    othersOf(login: Login): OtherLogins {
      const own = keysOfLogin.get(login.id)
      const count = (kind: string, value: string) => counts.get(keyOf(login, kind, value)) ?? 0
      const others = (kind: string, value: string) => count(kind, value) - (own?.has(keyOf(login, kind, value)) ? 1 : 0)
      const isExchanged = stepsOf(login, 'exchange').length > 0
      /** Counts the other logins that may have the value only because the browser sent a request again. */
      const sentAgain = (kind: string, value: string) => {
        const inSession = `${value} ${portalSessionOf(login)}`
        return others(`${kind} in`, inSession) - (isExchanged ? others(`exchanged ${kind} in`, inSession) : 0)
      }
      const have = (kind: string, value: string) => others(kind, value) > sentAgain(kind, value)
      return {
        haveState: hash => have('state', hash),
        haveChallenge: hash => have('challenge', hash),
        // Every login with this state also counts for the beginning of this state. If the beginning occurs in more
        // logins than the state, some logins have another state with the same beginning.
        haveStateLike: ({ hash, beginning }) => count('beginning', beginning) > count('state', hash),
        signedInAfter: (userId, time) =>
          newestSignIns(userIn(login, userId) ?? '').some(
            ({ loginId, at }) => loginId !== login.id && at > time.getTime(),
          ),
        hadMetadataFault: time =>
          [...metadataFaults.values()].flat().some(({ at }) => {
            const ageMs = time.getTime() - at.getTime()
            return ageMs >= 0 && ageMs < metadataKeptMs
          }),
        timesInLoop: () => timesInLoop(login),
      }
    },
  }
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

function keysOf(login: Login): Set<string> {
  const keys = new Set<string>()
  const session = portalSessionOf(login)
  const isExchanged = stepsOf(login, 'exchange').length > 0
  const add = (kind: string, value: string) => {
    keys.add(keyOf(login, kind, value))
    if (session === undefined) return
    keys.add(keyOf(login, `${kind} in`, `${value} ${session}`))
    if (isExchanged) keys.add(keyOf(login, `exchanged ${kind} in`, `${value} ${session}`))
  }
  for (const step of stepsOf(login, 'authorize')) {
    const [state, challenge] = [stateOf(step), challengeOf(step)]
    if (state) add('state', state.hash)
    if (state?.beginning) keys.add(keyOf(login, 'beginning', state.beginning))
    if (challenge !== undefined) add('challenge', challenge)
  }
  return keys
}

function portalSessionOf({ steps }: Login): string | undefined {
  return steps.findLast(({ about }) => about.portalSession !== undefined)?.about.portalSession
}

/** Returns the key of this user in this portal session. Undefined if the user or the session is unknown. */
function userIn(login: Login, userId: string | undefined): string | undefined {
  const session = portalSessionOf(login)
  return userId === undefined || session === undefined ? undefined : keyOf(login, 'user', `${userId} ${session}`)
}

function keyOf({ clientId }: Login, kind: string, value: string): string {
  return `${kind} ${clientId} ${value}`
}
