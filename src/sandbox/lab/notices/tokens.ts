// Notices about tokens: how they are renewed, used and given back.
import { firstOf, identityOf } from '../recorded.ts'
import { firstSignIn, type Notice, stepsOf } from './notice.ts'

/** Requests of one page load that come together; a client that shares a renewal makes one of them. */
const togetherMs = 2_000

export const oldRefreshToken: Notice = {
  id: 'old-refresh-token',
  wrong: 'A refresh token was used after it had been replaced.',
  why: 'Seconds later it looks like theft: the portal then ends the login, and the visitor is signed out.',
  mend: 'Store the new refresh token before you use the new access token, where every process of yours reads it.',
  source: 'RFC 9700 4.14.2',
  find: login => stepsOf(login, 'refresh').filter(({ reason }) => reason === 'refresh-token-used'),
}

export const manyRenewals: Notice = {
  id: 'many-renewals',
  wrong: 'One refresh token was sent several times at once.',
  why: 'Only one of the answers is kept, and a portal without a time of grace would end the login.',
  mend: 'Let all requests that find the session due wait for one renewal.',
  source: 'RFC 9700 4.14.2',
  find(login) {
    const last = new Map<string, number>()
    return stepsOf(login, 'refresh').filter(({ request, at }) => {
      const token = identityOf(firstOf(request.body, 'refresh_token'))
      if (token === undefined) return false
      const before = last.get(token)
      last.set(token, at.getTime())
      return before !== undefined && at.getTime() - before < togetherMs
    })
  },
}

export const expiredToken: Notice = {
  id: 'expired-token',
  wrong: 'The application API was called with an access token that had expired.',
  why: 'The call is refused, and the visitor waits for an answer that could be foreseen.',
  mend: 'Renew the token, or ask to sign in, shortly before expires_in has passed.',
  source: 'specification part 2; RFC 6749 5.1',
  find: login => stepsOf(login, 'api', 'me').filter(({ reason }) => reason === 'token-expired'),
}

export const revokedToken: Notice = {
  id: 'revoked-token',
  wrong: 'The application API was called with an access token that had been revoked.',
  why: 'A visitor who has signed out, or taken the consent back, is still being acted for.',
  mend: 'Forget the tokens of a session when it ends, in every process and cache; on a 401 ask to sign in.',
  source: 'RFC 6750 3.1',
  find: login => stepsOf(login, 'api', 'me').filter(({ reason }) => reason === 'token-revoked'),
}

export const noRevocation: Notice = {
  id: 'no-revocation',
  wrong: 'The same person signed in again, and the tokens of the login before were never given back.',
  why: 'A refresh token that nobody needs any more is one that can still be stolen.',
  mend: 'Send the refresh token to the revocation endpoint when a visitor signs out.',
  source: 'RFC 7009; RFC 9700 4.14.2',
  find(login, others) {
    const given = firstSignIn(login)
    if (given?.about.userId === undefined || stepsOf(login, 'revoke').length > 0) return []
    const lastUse = login.steps.at(-1)!.at
    return others.signedInAfter(given.about.userId, lastUse) ? [given] : []
  },
}
