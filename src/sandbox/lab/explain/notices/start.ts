// Notices about the request that starts a login: its state, its PKCE challenge and its redirect URI.
import type { OtherLogins } from '../../record/compare-logins.ts'
import { challengeOf, firstOf, type HiddenState, stateOf, stepsOf } from '../../record/recorded.ts'
import { asFor, type Notice, refusedFor } from './notice.ts'

/** RFC 6749 10.10. */
const enoughBits = 128

/**
 * Makes the `find` function of a notice about the state. It finds each step that starts a login with a wrong state.
 * `isWrong` decides which states are wrong.
 */
function startsWithState(isWrong: (state: HiddenState, others: OtherLogins) => boolean): Notice['find'] {
  return (login, others) =>
    stepsOf(login, 'authorize').filter(step => {
      const state = stateOf(step)
      return state !== undefined && isWrong(state, others)
    })
}

export const startNotices: Notice[] = [
  {
    id: 'no-state',
    severity: 'error',
    found: 'The login was started without a state.',
    why: 'Without a state, an attacker can sign a visitor in to somebody else’s account. The visitor only has to open a link.',
    fix: 'Create a random state for each login, store it in a cookie in the visitor’s browser, and compare it when the browser comes back.',
    reference: 'rules state-per-login and CL-03; RFC 6749 10.12; RFC 9700 4.7',
    find: login => stepsOf(login, 'authorize').filter(step => !stateOf(step)),
  },
  {
    id: 'short-state',
    severity: 'warning',
    found: 'The state is short enough to be guessed.',
    why: 'An attacker who guesses the state of a login can complete this login in the visitor’s place. A state needs 128 random bits, but a UUID has only 122.',
    fix: 'Use 16 or more bytes from a cryptographically secure random number generator, in base64url.',
    reference: 'RFC 6749 10.10',
    find: startsWithState(state => !state.isTime && state.bits < enoughBits),
  },
  {
    id: 'guessable-state',
    severity: 'error',
    found: 'The state can be guessed: it is a timestamp, or it begins like the state of another login.',
    why: 'An attacker who guesses the state of a login can complete this login in the visitor’s place.',
    fix: 'Take the whole state from a cryptographically secure random number generator, and do not add anything else to the state.',
    reference: 'RFC 6749 10.10',
    find: startsWithState((state, others) => {
      // The first half of a long state does not have to be secret, because the second half is long enough.
      const isLong = state.bits / 2 >= enoughBits
      return state.isTime || (!isLong && state.beginning !== '' && others.haveStateLike(state))
    }),
  },
  {
    id: 'repeated-state',
    severity: 'error',
    found: 'Two logins were started with the same state.',
    why: 'A state that never changes does not protect any login, because anyone who has seen one login knows the state.',
    fix: 'Create a new state for each login. A login in a second tab of the same browser also needs its own state.',
    reference: 'RFC 6749 10.12; CVE-2023-31999',
    find: startsWithState((state, others) => others.haveState(state.hash)),
  },
  {
    id: 'no-pkce',
    severity: 'warning',
    found: 'The portal offers PKCE, but the login was started without PKCE.',
    why: 'Without PKCE, an attacker can use a stolen code in another login of the same client.',
    fix: 'Send code_challenge with code_challenge_method=S256 in the login request, and code_verifier in the exchange.',
    reference: 'RFC 7636; RFC 9700 2.1.1',
    // A fault may have hidden from the client that the portal offers PKCE.
    find: (login, others) =>
      stepsOf(login, 'authorize').filter(
        ({ request, at }) => !firstOf(request.query, 'code_challenge') && !others.hadMetadataFault(at),
      ),
  },
  {
    id: 'repeated-verifier',
    severity: 'warning',
    found: 'Two logins have the same PKCE verifier.',
    why: 'A verifier binds a code to one login only if no other login has the same verifier.',
    fix: 'For each login, create a new verifier from 32 random bytes.',
    reference: 'RFC 7636 4.1; RFC 9700 2.1.1',
    find: (login, others) =>
      stepsOf(login, 'authorize').filter(step => {
        const challenge = challengeOf(step)
        return challenge !== undefined && others.haveChallenge(challenge)
      }),
  },
  {
    id: 'other-redirect-uri',
    severity: 'error',
    found:
      'The redirect URI differs from the registered redirect URI, or from the redirect URI that started the login.',
    ...asFor('redirect-uri-unregistered'),
    find: refusedFor('redirect-uri-unregistered', 'redirect-uri-differs'),
  },
]
