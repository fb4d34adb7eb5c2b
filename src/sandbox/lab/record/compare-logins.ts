// Counts what the logins of a client have in common, as steps are recorded. So no notice has to read all other logins.

import { challengeOf, firstSignIn, type RecordedLogin, type RecordedStep, stateOf, stepsOf } from './recorded.ts'

/** Whether the step can change what its login has in common with others. */
export function isCompared({ kind }: RecordedStep): boolean {
  return kind === 'authorize' || kind === 'exchange'
}

export type LoginComparison = ReturnType<typeof createLoginComparison>

/** What is known about the other logins of the same client. */
export interface OtherLogins {
  /** Whether one was started with this state, or PKCE challenge; both are hashes. */
  haveState(hash: string): boolean
  haveChallenge(hash: string): boolean
  /** Whether one has a different state with the same beginning. */
  haveStateLike(state: { hash: string; beginning: string }): boolean
  /** Whether one gave this user a refresh token after that time. */
  signedInAfter(userId: string, time: Date): boolean
}

type Login = Pick<RecordedLogin, 'id' | 'clientId' | 'steps'>

interface SignIn {
  loginId: string
  at: number
}

export function createLoginComparison() {
  /** The marks of each login, such as its state; `counts` says how many logins have each mark. */
  const marksOfLogin = new Map<string, Set<string>>()
  const counts = new Map<string, number>()
  /** By client and user. `newest` holds the newest two sign-ins, or undefined when they must be found again. */
  const signIns = new Map<string, { byLogin: Map<string, SignIn>; newest?: SignIn[] | undefined }>()
  const userOfLogin = new Map<string, string>()

  function forget({ id }: Login): void {
    for (const mark of marksOfLogin.get(id) ?? []) {
      const count = (counts.get(mark) ?? 0) - 1
      if (count > 0) counts.set(mark, count)
      else counts.delete(mark)
    }
    marksOfLogin.delete(id)
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

  return {
    forget,

    /** Call this whenever the client of a login or one of its compared steps has changed. */
    update(login: Login): void {
      forget(login)
      if (login.clientId === undefined) return
      const marks = marksOf(login)
      marksOfLogin.set(login.id, marks)
      for (const mark of marks) counts.set(mark, (counts.get(mark) ?? 0) + 1)
      const signIn = firstSignIn(login)
      if (signIn?.about.userId === undefined) return
      const user = markOf(login, 'user', signIn.about.userId)
      userOfLogin.set(login.id, user)
      const ofUser = signIns.get(user) ?? { byLogin: new Map<string, SignIn>() }
      ofUser.byLogin.set(login.id, { loginId: login.id, at: signIn.at.getTime() })
      ofUser.newest = undefined
      signIns.set(user, ofUser)
    },

    othersOf(login: Login): OtherLogins {
      const own = marksOfLogin.get(login.id)
      const count = (kind: string, value: string) => counts.get(markOf(login, kind, value)) ?? 0
      const others = (kind: string, value: string) =>
        count(kind, value) - (own?.has(markOf(login, kind, value)) ? 1 : 0)
      return {
        haveState: hash => others('state', hash) > 0,
        haveChallenge: hash => others('challenge', hash) > 0,
        // Each login with this state has this beginning, too; if more have the beginning, they have other states.
        haveStateLike: ({ hash, beginning }) => count('beginning', beginning) > count('state', hash),
        signedInAfter: (userId, time) =>
          newestSignIns(markOf(login, 'user', userId)).some(
            ({ loginId, at }) => loginId !== login.id && at > time.getTime(),
          ),
      }
    },
  }
}

function marksOf(login: Login): Set<string> {
  const marks = new Set<string>()
  for (const step of stepsOf(login, 'authorize')) {
    const [state, challenge] = [stateOf(step), challengeOf(step)]
    if (state) marks.add(markOf(login, 'state', state.hash))
    if (state?.beginning) marks.add(markOf(login, 'beginning', state.beginning))
    if (challenge !== undefined) marks.add(markOf(login, 'challenge', challenge))
  }
  return marks
}

function markOf({ clientId }: Login, kind: string, value: string): string {
  return `${kind} ${clientId} ${value}`
}
