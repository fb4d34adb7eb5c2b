// Notices about the state, which binds the answer of a login to the browser that began it.
import { firstOf, identityOf, type RecordedLogin, type RecordedStep } from '../recorded.ts'
import { type Notice, stateOf, stepsOf } from './notice.ts'

const source = 'specification 4.2; RFC 6749 10.12; RFC 9700 4.7'

/** RFC 6749 10.10. */
const enoughBits = 128

export const noState: Notice = {
  id: 'no-state',
  wrong: 'The login was begun without a state.',
  why: 'Whoever makes a visitor open a link can sign him in to an account that is not his.',
  mend: 'Make a random state for each login, keep it in a cookie of that browser, and compare it when the browser comes back.',
  source,
  find: login => stepsOf(login, 'authorize').filter(step => !stateOf(step)),
}

export const noStateAtExchange: Notice = {
  id: 'no-state-at-exchange',
  wrong: 'The login was begun with a state, and the code was exchanged without it.',
  why: 'The portal refuses the exchange, because it cannot tell that the code belongs to this login.',
  mend: 'Send the state of the login as a field of the exchange; generic OAuth libraries have to be told to.',
  source: 'specification 4.2 and part 5',
  find: login => (hasState(login) ? stepsOf(login, 'exchange').filter(step => !stateOfExchange(step)) : []),
}

export const inventedState: Notice = {
  id: 'invented-state',
  wrong: 'The code was exchanged with a state that the login was not begun with.',
  why: 'A state that is made up at the exchange was never in the browser, so it protects nobody.',
  mend: 'Begin the login with the state, and exchange the code with that same one.',
  source,
  find(login) {
    const begun = new Set(stepsOf(login, 'authorize').map(step => stateOf(step)?.hash))
    if (begun.size === 0) return []
    return stepsOf(login, 'exchange').filter(step => {
      const state = stateOfExchange(step)
      return state !== undefined && !begun.has(state)
    })
  },
}

export const stateNotCompared: Notice = {
  id: 'state-not-compared',
  wrong: 'The client went on with an answer for another state, or for none.',
  why: 'Somebody else’s login is then taken for the visitor’s own, and what the visitor does next happens in a foreign account.',
  mend: 'Compare the state twice: on the redirect before anything is sent, and in the token response before anything is kept.',
  source: 'specification 4.3 and part 5; RFC 6749 10.12',
  find: ({ steps }) =>
    steps.flatMap((step, index) => {
      const [, place] = /^(redirect|exchange)-state-(?!twice)/.exec(step.fault?.name ?? '') ?? []
      // Giving back what was not wanted is right.
      const goesOn = place === 'redirect' ? ['exchange'] : ['api', 'me', 'refresh']
      return place ? steps.slice(index + 1).filter(({ kind }) => goesOn.includes(kind)) : []
    }),
}

export const shortState: Notice = {
  id: 'short-state',
  wrong: 'The state is too short to be unguessable.',
  why: 'Who can guess the state of a login can finish it in the place of the visitor; it takes 128 random bits (a UUID has 122).',
  mend: 'Take 16 or more bytes from the random source of the operating system, in base64url.',
  source: 'RFC 6749 10.10',
  find: login =>
    stepsOf(login, 'authorize').filter(({ request }) => {
      const state = firstOf(request.query, 'state')
      return typeof state === 'object' && state.length > 0 && !state.isTime && state.bits < enoughBits
    }),
}

export const guessableState: Notice = {
  id: 'guessable-state',
  wrong: 'The state can be guessed: it is the time, or it begins like the state of another login.',
  why: 'Who can guess the state of a login can finish it in the place of the visitor.',
  mend: 'Take the whole state from the random source of the operating system; put nothing else into it.',
  source: 'RFC 6749 10.10',
  find: (login, others) =>
    stepsOf(login, 'authorize').filter(step => {
      const state = stateOf(step)
      if (!state) return false
      // A long state may begin with what is no secret: its other half has enough for itself.
      const isLong = state.bits / 2 >= enoughBits
      return state.isTime || (!isLong && state.beginning !== '' && others.haveStateLike(state))
    }),
}

export const repeatedState: Notice = {
  id: 'repeated-state',
  wrong: 'Two logins were begun with the same state.',
  why: 'A state that stays the same is known to everybody who has seen one login, and so protects none.',
  mend: 'Make a new state for each login, also for a second tab of the same browser.',
  source: 'RFC 6749 10.12; CVE-2023-31999',
  find: (login, others) =>
    stepsOf(login, 'authorize').filter(step => {
      const state = stateOf(step)
      return state !== undefined && others.haveState(state.hash)
    }),
}

function hasState(login: Pick<RecordedLogin, 'steps'>): boolean {
  return stepsOf(login, 'authorize').some(step => stateOf(step) !== undefined)
}

function stateOfExchange({ request }: RecordedStep): string | undefined {
  const state = firstOf(request.body, 'state')
  return typeof state === 'object' && state.length === 0 ? undefined : identityOf(state)
}
