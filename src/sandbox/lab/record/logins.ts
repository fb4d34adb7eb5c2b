// Keeps the latest logins in memory, each with its steps, and finds the login that a step belongs to.
import { randomUUID } from 'node:crypto'
import { createLoginComparison, isCompared } from './compare-logins.ts'
import { hiddenId } from './hide.ts'
import { firstOf, identityOf, type RecordedLogin, type RecordedStep, type Values } from './recorded.ts'

export type Logins = ReturnType<typeof createLogins>

/** Selects logins. `state` is the hash of a state. `after` is the number of the last step that the caller knows. */
interface LoginFilter {
  clientId?: string | undefined
  state?: string | undefined
  after?: number | undefined
}

/** How many steps and how many logins there have been so far. */
export interface Cursor {
  steps: number
  logins: number
}

export interface Bounds {
  logins: number
  /** The maximum number of steps of one login. */
  steps: number
  /** The largest size of one login in bytes: its steps as JSON, and the keys by which later steps find it. */
  bytes: number
}

export const usualBounds: Bounds = { logins: 1_000, steps: 50, bytes: 16 * 1024 }

/** For the pages and answers about a login that does not exist. The number is `usualBounds.logins`. */
export const onlyLatestLogins =
  'The laboratory keeps only the last thousand logins, and forgets them when the sandbox stops.'

type Kept = RecordedLogin & {
  /**
   * The client for which this login is counted. All clients that the portal does not know are counted as one client.
   */
  countedFor: string
  /**
   * Later steps find the login by these keys: hashes of values that the client sent in the login request or received
   * from the portal.
   */
  keys: Set<string>
  bytes: number
  /** The number of the last step of the login. */
  lastStep: number
  /** The number of the login. Logins are counted when they begin. */
  number: number
  /**
   * Whether a code was exchanged. After the exchange, a login request with the same parameters begins another login.
   */
  isExchanged: boolean
}

/**
 * The maximum number of keys of a login. A login keeps the key of its login request and its newest keys, which are
 * enough for about 25 renewals.
 */
const mostKeys = 50

/** Anyone can make up client ids, so all clients that the portal does not know are counted as one client. */
const unknownClients = ''

export function createLogins({ logins: mostLogins, steps: mostSteps, bytes: mostBytes }: Bounds = usualBounds) {
  /** The kept logins, keyed by id, oldest first. */
  const all = new Map<string, Kept>()
  /** The logins that are counted for each client, oldest first. */
  const byClient = new Map<string, Set<Kept>>()
  const byKey = new Map<string, Kept>()
  const listeners = new Set<(login: RecordedLogin, step: RecordedStep, number: number) => void>()
  const comparison = createLoginComparison()
  let stepsSoFar = 0
  let loginsSoFar = 0

  function record(step: RecordedStep): RecordedLogin {
    const login = findLogin(step) ?? begin()
    const { provenClientId, claimedClientId } = step.about
    const knownBefore = login.clientId
    login.clientId ??= provenClientId ?? claimedClientId
    // The portal refuses a login request if there is no client with its client id. So if the request was not refused,
    // the client exists.
    const known = provenClientId ?? (step.start && !step.reason ? claimedClientId : undefined)
    if (known && known !== login.countedFor) countFor(login, known)
    step.leftOutBefore = login.leftOut - leftOutSoFar(login)
    login.steps.push(step)
    login.bytes += step.bytes
    login.lastStep = ++stepsSoFar
    login.isExchanged ||= step.kind === 'exchange'
    for (const key of keysOf(step)) addKey(login, key)
    const changed = [step, ...leaveOutSteps(login)]
    if (login.clientId !== knownBefore || changed.some(isCompared)) comparison.update(login)
    for (const listener of listeners) listener(login, step, stepsSoFar)
    return login
  }

  function addKey(login: Kept, key: string): void {
    byKey.set(key, login)
    if (login.keys.has(key)) return
    login.keys.add(key)
    login.bytes += key.length
    if (login.keys.size > mostKeys) removeKey(login, [...login.keys][1]!)
  }

  function removeKey(login: Kept, key: string): void {
    login.keys.delete(key)
    login.bytes -= key.length
    if (byKey.get(key) === login) byKey.delete(key)
  }

  function findLogin(step: RecordedStep): Kept | undefined {
    for (const key of cluesOf(step)) {
      const login = byKey.get(key)
      if (!login || isOfAnotherClient(step, login)) continue
      // The browser sends the same login request again after the visitor has signed in, or if the visitor reloads the
      // page. After the exchange, the same request begins a new login.
      if (!(step.kind === 'authorize' && login.isExchanged)) return login
    }
    return undefined
  }

  function begin(): Kept {
    while (all.size >= mostLogins) forget(oldestOfTheMost())
    const login: Kept = {
      id: randomUUID(),
      clientId: undefined,
      countedFor: unknownClients,
      steps: [],
      leftOut: 0,
      keys: new Set(),
      bytes: 0,
      lastStep: 0,
      number: ++loginsSoFar,
      isExchanged: false,
    }
    all.set(login.id, login)
    countFor(login, unknownClients)
    return login
  }

  /**
   * Returns the oldest login of the client that has the most logins. A client with many logins therefore loses only its
   * own logins.
   */
  function oldestOfTheMost(): Kept {
    let most = new Set<Kept>()
    for (const counted of byClient.values()) if (counted.size > most.size) most = counted
    const [oldest] = most
    return oldest!
  }

  function countFor(login: Kept, client: string): void {
    stopCounting(login)
    login.countedFor = client
    const counted = byClient.get(client)
    if (counted) counted.add(login)
    else byClient.set(client, new Set([login]))
  }

  function stopCounting(login: Kept): void {
    const counted = byClient.get(login.countedFor)
    counted?.delete(login)
    if (counted?.size === 0) byClient.delete(login.countedFor)
  }

  function forget(login: Kept): void {
    all.delete(login.id)
    stopCounting(login)
    comparison.forget(login)
    for (const key of [...login.keys]) removeKey(login, key)
  }

  /** Removes steps until the login is within its limits: successful API calls first, then steps from the middle. */
  function leaveOutSteps(login: Kept): RecordedStep[] {
    const leftOut: RecordedStep[] = []
    while (login.steps.length > 1 && (login.steps.length > mostSteps || login.bytes > mostBytes)) {
      const dull = login.steps.findIndex(({ kind, reason }) => (kind === 'api' || kind === 'me') && !reason)
      const index = dull === -1 ? Math.floor(login.steps.length / 2) : dull
      const [step] = login.steps.splice(index, 1)
      login.bytes -= step!.bytes
      login.leftOut++
      const next = login.steps[index]
      if (next) next.leftOutBefore += step!.leftOutBefore + 1
      leftOut.push(step!)
    }
    return leftOut
  }

  function isSelected(login: Kept, { clientId, state, after = 0 }: LoginFilter): boolean {
    if (clientId !== undefined && login.clientId !== clientId) return false
    if (state !== undefined && !login.keys.has(stateKey(login.clientId, state))) return false
    return login.lastStep > after
  }

  /** Returns the logins that the filter selects, newest first. */
  function list(filter: LoginFilter): RecordedLogin[] {
    const found = [...all.values()].filter(login => isSelected(login, filter))
    return found.sort((one, other) => other.lastStep - one.lastStep)
  }

  return {
    record,
    list,

    find: (id: string): RecordedLogin | undefined => all.get(id),

    /**
     * Finds a step and its login, by the id of the step or of its request. If several requests have this id, it finds
     * the latest request.
     */
    findStep(id: string): { login: RecordedLogin; step: RecordedStep } | undefined {
      let found: { login: RecordedLogin; step: RecordedStep } | undefined
      for (const login of all.values())
        for (const step of login.steps) {
          if (step.id === id) return { login, step }
          if (step.requestId === id && !(found && found.step.at > step.at)) found = { login, step }
        }
      return found
    },

    othersOf: comparison.othersOf,

    /** Whether the filter selects the login. */
    isSelected: (login: RecordedLogin, filter: LoginFilter): boolean => {
      const kept = all.get(login.id)
      return kept !== undefined && isSelected(kept, filter)
    },

    /** Whether the token belongs to a login that began with this state. The token and the state are given as hashes. */
    isOfState(token: string, state: string): boolean {
      const key = `token ${token}`
      const login = byKey.get(key)
      return login !== undefined && isSelected(login, { state })
    },

    /** The number of the newest step of all logins. */
    newest: () => stepsSoFar,

    cursor: (): Cursor => ({ steps: stepsSoFar, logins: loginsSoFar }),

    /**
     * Returns the changes since the cursor: the ids of the logins with a new step, and how many logins have begun and
     * were dropped since the cursor. If the cursor is from an earlier run of the sandbox, everything is new.
     */
    changesSince(cursor: Cursor): { changed: string[]; dropped: number; isRestarted: boolean; cursor: Cursor } {
      const isRestarted = cursor.steps > stepsSoFar || cursor.logins > loginsSoFar
      const since = isRestarted ? { steps: 0, logins: 0 } : cursor
      const kept = [...all.values()]
      const begunSince = kept.filter(({ number }) => number > since.logins).length
      return {
        changed: kept.filter(({ lastStep }) => lastStep > since.steps).map(({ id }) => id),
        dropped: loginsSoFar - since.logins - begunSince,
        isRestarted,
        cursor: { steps: stepsSoFar, logins: loginsSoFar },
      }
    },

    /** Returns a function that removes the listener. */
    listen(listener: (login: RecordedLogin, step: RecordedStep, number: number) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Returns the number of steps that were left out before the last kept step. */
export function leftOutSoFar({ steps }: Pick<RecordedLogin, 'steps'>): number {
  return steps.reduce((sum, { leftOutBefore }) => sum + leftOutBefore, 0)
}

/**
 * A step belongs to the client that the platform has identified, even if the step contains a code, token or state of
 * another client.
 */
function isOfAnotherClient({ about: { provenClientId } }: RecordedStep, { clientId }: RecordedLogin): boolean {
  return provenClientId !== undefined && clientId !== undefined && provenClientId !== clientId
}

/**
 * Returns the keys by which later steps find this login: values that the platform issued in this step, and a token that
 * the platform accepted.
 */
function keysOf(step: RecordedStep): string[] {
  const { about, request, response } = step
  return [
    ...(about.provenClientId === undefined ? [] : hiddenKeys('token', request.headers, ['authorization'])),
    ...startKeys(step),
    ...hiddenKeys('code', response.location, ['code']),
    ...hiddenKeys('token', response.body, ['access_token', 'refresh_token']),
    ...trapKeys(step),
  ]
}

/** Returns the keys that can find the login of this step, the most reliable first. */
function cluesOf(step: RecordedStep): string[] {
  const { request } = step
  return [
    ...trapKeys(step),
    ...hiddenKeys('code', request.body, ['code']),
    ...(step.kind === 'exchange' ? hiddenKeys('code', request.query, ['code']) : []),
    ...hiddenKeys('token', request.body, ['refresh_token', 'token']),
    ...hiddenKeys('token', request.headers, ['authorization']),
    ...hiddenKeys('token', request.query, ['access_token']),
    ...startKeys(step),
    ...(step.kind === 'exchange' ? stateKeys(request.body) : []),
  ]
}

/**
 * Returns the key by which a later step finds this login request. The key contains the state of the request. If the
 * request has no state, the key contains the client and the challenge.
 */
function startKeys({ start }: RecordedStep): string[] {
  if (!start) return []
  const byState = stateKeys(start)
  if (byState.length > 0) return byState
  return [keyOf('start', clientIdOf(start), identityOf(firstOf(start, 'code_challenge')) ?? '')]
}

function stateKeys(values: Values): string[] {
  const state = firstOf(values, 'state')
  const isThere = typeof state === 'object' && state.length > 0
  return isThere ? [stateKey(clientIdOf(values), state.hash)] : []
}

function stateKey(clientId: string | undefined, hash: string): string {
  return keyOf('state', clientId, hash)
}

/** The key contains only the first 64 characters of the client id. Real client ids are not longer. */
function keyOf(kind: string, clientId = '', hash: string): string {
  return `${kind} ${clientId.slice(0, 64)} ${hash}`
}

function clientIdOf(values: Values): string | undefined {
  const id = firstOf(values, 'client_id')
  return typeof id === 'object' ? hiddenId(id) : id
}

/** A request to a trap can lack a code and a token, so the trap itself identifies the login. */
function trapKeys({ fault }: RecordedStep): string[] {
  return fault?.trap ? [`trap ${fault.trap}`] : []
}

function hiddenKeys(kind: string, values: Values, names: string[]): string[] {
  const found = names.map(name => firstOf(values, name))
  return found.flatMap(value => (typeof value === 'object' && value.length > 0 ? [`${kind} ${value.hash}`] : []))
}
