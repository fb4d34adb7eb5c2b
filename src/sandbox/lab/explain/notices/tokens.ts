// Notices about what a client does with its tokens, and about the calls that a client makes with its tokens.

import {
  endOf,
  firstOf,
  firstSignIn,
  gaveTokens,
  identityOf,
  type RecordedStep,
  stepsOf,
} from '../../record/recorded.ts'
import { guidanceOf } from '../guidance.ts'
import { asFor, isServerCall, type Notice, refusedFor } from './notice.ts'

/**
 * If two renewals with the same token arrive within this time, the client sent them together. A client that restarted
 * between the two renewals would need longer.
 */
const togetherMs = 1_000

/**
 * The sandbox notes the end of a step a little after the client has received the answer. If the sandbox is busy, the
 * client may already have sent its next request by then.
 */
const endToleranceMs = 300

export const tokenNotices: Notice[] = [
  {
    id: 'old-refresh-token',
    severity: 'warning',
    found: 'A refresh token was used after it had been replaced.',
    ...asFor('refresh-token-used'),
    find: login =>
      stepsOf(login, 'refresh').filter(step => {
        const before = stepsOf(login, 'refresh').filter(other => other.at < step.at && isSameToken(other, step))
        // A client that never received the answer to a renewal does not know the new token.
        return step.reason === 'refresh-token-used' && !before.some(isAnswerLost)
      }),
  },
  {
    id: 'many-renewals',
    severity: 'warning',
    found: 'One refresh token was sent several times at once.',
    why: 'The client keeps only one of the answers. A stricter portal would treat the second renewal as theft and end the login.',
    fix: 'Renew once, and let all requests that need a new token wait for this renewal.',
    reference: 'RFC 9700 4.14.2',
    find(login) {
      const renewals = stepsOf(login, 'refresh')
      return renewals.filter((step, index) => {
        const before = renewals.slice(0, index).findLast(other => isSameToken(other, step))
        return before !== undefined && isTogether(before, step)
      })
    },
  },
  {
    id: 'expired-token',
    severity: 'warning',
    found: 'The application API was called with an access token that had expired.',
    ...asFor('token-expired'),
    find: login =>
      refusedFor('token-expired')(login).filter(step => {
        const given = login.steps.findLast(other => other.at < step.at && gaveTokens(other))
        const seconds = Number(given && firstOf(given.response.body, 'expires_in'))
        // Report the call only if the client could know that the token had expired: the time in expires_in had passed.
        // A fault or a test can make a token expire earlier, or remove expires_in from the answer.
        return given !== undefined && seconds > 0 && step.at.getTime() - given.at.getTime() >= seconds * 1000
      }),
  },
  {
    id: 'revoked-token',
    severity: 'warning',
    found: 'The application API was called with an access token that had been revoked.',
    ...asFor('token-revoked'),
    find: login =>
      refusedFor('token-revoked')(login).filter(step => {
        // A client knows that a token was revoked in two cases: the client has revoked the token itself, or the API has
        // already refused the token once.
        const knew = (other: RecordedStep) => other.kind === 'revoke' || other.reason === 'token-revoked'
        return login.steps.some(other => knew(other) && endOf(other) <= step.at.getTime() && other !== step)
      }),
  },
  {
    id: 'token-in-query',
    severity: 'error',
    found: 'An access token was sent in the address of a call.',
    why: 'Logs and browser histories contain addresses. Anyone who finds the token there can act as the visitor.',
    fix: 'Send the access token in the header Authorization: Bearer.',
    reference: 'RFC 6750 2.3 and 5.3',
    find: ({ steps }) => steps.filter(({ request }) => request.query.access_token !== undefined),
  },
  {
    id: 'no-revocation',
    severity: 'warning',
    found: 'The same person signed in again, but the tokens of the previous login were never revoked.',
    why: 'If a refresh token is not revoked, a thief can still use it.',
    fix: 'Send the refresh token to the revocation endpoint when a visitor signs out.',
    reference: 'RFC 7009; RFC 9700 4.14.2',
    find(login, others) {
      const given = firstSignIn(login)
      // In a loop, the client has probably lost its session. Then it no longer has the tokens, so it cannot revoke
      // them.
      if (others.timesInLoop() > 0) return []
      if (given?.about.userId === undefined || stepsOf(login, 'revoke').length > 0) return []
      // After these refusals, the tokens no longer work, so the client does not have to revoke them.
      const lastRenewal = stepsOf(login, 'refresh').at(-1)?.reason
      if (lastRenewal === 'refresh-token-expired' || lastRenewal === 'refresh-token-used') return []
      const lastUse = login.steps.at(-1)!.at
      // A fault may have hidden the address of the revocation endpoint from the client.
      if (others.hadMetadataFault(lastUse)) return []
      return others.signedInAfter(given.about.userId, lastUse) ? [given] : []
    },
  },
  {
    id: 'followed-redirect',
    severity: 'error',
    ...guidanceOf('redirect-followed'),
    find: login => stepsOf(login, 'trap'),
  },
  {
    id: 'flat-body',
    severity: 'info',
    found: 'The fields of an application were sent without the envelope.',
    why: 'The API accepts fields with and without the envelope. But the description of the API uses the envelope, and only the envelope names the data model of the fields.',
    fix: 'Send {"context": …, "type": "App", "data": { … }} with the fields in “data”.',
    reference: 'rule create-envelope',
    find: login =>
      stepsOf(login, 'api').filter(
        ({ request, route, reason }) =>
          !reason &&
          /^(POST \/apps\/v1|PUT \/apps\/v1\/:app_id)$/.test(`${request.method} ${route}`) &&
          request.body.name !== undefined,
      ),
  },
  {
    id: 'browser-headers',
    severity: 'warning',
    found: 'A call from the client’s server contained headers of the visitor’s browser.',
    why: 'The portal and the API do not need the visitor’s cookies, address or language, and a Referer may contain a code.',
    fix: 'Set the headers of the call yourself, and do not copy any header from the visitor’s request.',
    reference: 'RFC 9700 4.2.4',
    find: ({ steps }) => steps.filter(step => isServerCall(step) && hasBrowserHeaders(step)),
  },
]

function isSameToken(one: RecordedStep, other: RecordedStep): boolean {
  const [token, same] = [one, other].map(({ request }) => identityOf(firstOf(request.body, 'refresh_token')))
  return token !== undefined && token === same
}

/**
 * True if two renewals with the same token came at the same time, and the second is not a retry after a lost answer.
 */
function isTogether(first: RecordedStep, second: RecordedStep): boolean {
  // Steps are recorded in the order of their answers, so the second request may have started before the first.
  const isSoon = Math.abs(second.at.getTime() - first.at.getTime()) < togetherMs
  const isRetry = isAnswerLost(first) && second.at.getTime() >= endOf(first) - endToleranceMs
  return isSoon && !isRetry
}

/** True if the client has probably received no answer with tokens. */
function isAnswerLost({ response: { status }, fault }: RecordedStep): boolean {
  return status !== 200 || fault !== undefined
}

function hasBrowserHeaders({ request: { headers } }: RecordedStep): boolean {
  const text = (name: string) => {
    const value = firstOf(headers, name)
    return typeof value === 'string' ? value : ''
  }
  return (
    headers.cookie !== undefined ||
    headers.referer !== undefined ||
    headers['sec-fetch-site'] !== undefined ||
    text('user-agent').startsWith('Mozilla/') ||
    // Node's fetch sends `*`, which says nothing about the visitor.
    !['', '*'].includes(text('accept-language'))
  )
}
