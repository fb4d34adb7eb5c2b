// Notices about what a client does with its tokens, and about the calls it makes with them.

import { firstOf, firstSignIn, identityOf, type RecordedStep, stepsOf } from '../../record/recorded.ts'
import { guidanceOf } from '../guidance.ts'
import { asFor, isServerCall, type Notice, refusedFor } from './notice.ts'

/** Requests of one page load arrive together. A client that shares a renewal makes one of them. */
const togetherMs = 2_000

export const tokenNotices: Notice[] = [
  {
    id: 'old-refresh-token',
    found: 'A refresh token was used after it had been replaced.',
    ...asFor('refresh-token-used'),
    find: refusedFor('refresh-token-used'),
  },
  {
    id: 'many-renewals',
    found: 'One refresh token was sent several times at once.',
    why: 'Only one of the answers is kept. A portal that allows no repetition would end the login.',
    fix: 'Let all requests that need a renewal wait for the same one.',
    reference: 'RFC 9700 4.14.2',
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
  },
  {
    id: 'expired-token',
    found: 'The application API was called with an access token that had expired.',
    ...asFor('token-expired'),
    find: refusedFor('token-expired'),
  },
  {
    id: 'revoked-token',
    found: 'The application API was called with an access token that had been revoked.',
    ...asFor('token-revoked'),
    find: refusedFor('token-revoked'),
  },
  {
    id: 'token-in-query',
    found: 'An access token was sent in the address of a call.',
    why: 'Anybody who reads a log or a history can then act for the visitor.',
    fix: 'Send it as Authorization: Bearer.',
    reference: 'RFC 6750 2.3 and 5.3',
    find: ({ steps }) => steps.filter(({ request }) => request.query.access_token !== undefined),
  },
  {
    id: 'no-revocation',
    found: 'The same person signed in again, but the tokens of the previous login were never revoked.',
    why: 'A refresh token that nobody needs any more can still be stolen.',
    fix: 'Send the refresh token to the revocation endpoint when a visitor signs out.',
    reference: 'RFC 7009; RFC 9700 4.14.2',
    find(login, others) {
      const given = firstSignIn(login)
      if (given?.about.userId === undefined || stepsOf(login, 'revoke').length > 0) return []
      const lastUse = login.steps.at(-1)!.at
      return others.signedInAfter(given.about.userId, lastUse) ? [given] : []
    },
  },
  { id: 'followed-redirect', ...guidanceOf('redirect-followed'), find: login => stepsOf(login, 'trap') },
  {
    id: 'browser-headers',
    found: 'A call from the server had headers of the visitor’s browser.',
    why: 'Cookies, addresses and languages of a visitor are no business of the other side, and a Referer may hold a code.',
    fix: 'Give the call headers of its own, and copy none from the visitor’s request.',
    reference: 'RFC 9700 4.2.4',
    find: ({ steps }) => steps.filter(step => isServerCall(step) && hasBrowserHeaders(step)),
  },
]

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
