// Notices about the code: how it is bound to its login, and how often it is sent.
import { firstOf, identityOf } from '../recorded.ts'
import { challengeOf, type Notice, stepsOf } from './notice.ts'

export const codeSentTwice: Notice = {
  id: 'code-sent-twice',
  wrong: 'One code was sent to the portal more than once.',
  why: 'A code is good once; a second use looks like theft and ends what the first one gave.',
  mend: 'Exchange a code once for each state, and give the answer of the first exchange to whoever asks again meanwhile; never repeat the call by itself.',
  source: 'RFC 6749 4.1.2',
  find(login) {
    const seen = new Set<string>()
    return stepsOf(login, 'exchange').filter(({ request }) => {
      const code = identityOf(firstOf(request.body, 'code'))
      if (code === undefined) return false
      const isAgain = seen.has(code)
      seen.add(code)
      return isAgain
    })
  },
}

export const noPkce: Notice = {
  id: 'no-pkce',
  wrong: 'The login was begun without PKCE, which the portal offers.',
  why: 'A stolen code can then be redeemed in another login of the same client.',
  mend: 'Send code_challenge with code_challenge_method=S256 at the start, and code_verifier at the exchange.',
  source: 'RFC 7636; RFC 9700 2.1.1',
  find: login => stepsOf(login, 'authorize').filter(({ request }) => !firstOf(request.query, 'code_challenge')),
}

export const repeatedVerifier: Notice = {
  id: 'repeated-verifier',
  wrong: 'Two logins have the same PKCE verifier.',
  why: 'A verifier binds a code to one login only if no other login has it.',
  mend: 'Make 32 new random bytes for each login.',
  source: 'RFC 7636 4.1; RFC 9700 2.1.1',
  find: (login, others) =>
    stepsOf(login, 'authorize').filter(step => {
      const challenge = challengeOf(step)
      return challenge !== undefined && others.haveChallenge(challenge)
    }),
}

export const otherRedirectUri: Notice = {
  id: 'other-redirect-uri',
  wrong: 'The redirect URI is not, character for character, the registered one, or not the one of the start.',
  why: 'The portal compares the two byte by byte, so a slash, a port or a letter in another case is another address.',
  mend: 'Keep the redirect URI in one setting, register it as it stands there, and send it as it stands there both times.',
  source: 'specification 4.2; RFC 6749 3.1.2.3 and 4.1.3',
  find: login =>
    login.steps.filter(({ reason }) => reason === 'redirect-uri-unregistered' || reason === 'redirect-uri-differs'),
}

export const exchangeAfterRefusal: Notice = {
  id: 'exchange-after-refusal',
  wrong: 'The visitor declined, and the client called the portal for tokens all the same.',
  why: 'An answer with an error is the end of its login; whatever code stands beside it is not to be trusted.',
  mend: 'Look for error in the answer first, show that the login did not happen, and send nothing.',
  source: 'RFC 6749 4.1.2.1',
  find(login) {
    const declined = login.steps.findIndex(({ reason }) => reason === 'consent-declined')
    return declined === -1 ? [] : login.steps.slice(declined).filter(({ kind }) => kind === 'exchange')
  },
}
