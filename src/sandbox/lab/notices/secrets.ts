// Notices about where a client puts its secrets, and what it passes on of its visitors.
import { firstOf, type RecordedStep, type Value } from '../recorded.ts'
import { isServerCall, type Notice, stepsOf } from './notice.ts'

export const secretInAddress: Notice = {
  id: 'secret-in-address',
  wrong: 'A client secret, a code or a token stood in the address of a call.',
  why: 'Addresses are written into logs, histories and Referer headers by everything that they pass.',
  mend: 'Send the fields of a call to the portal in the body of the POST, and nowhere else.',
  source: 'specification 4.2; RFC 6749 2.3.1',
  find(login) {
    const secrets = ['client_secret', 'code', 'refresh_token', 'code_verifier', 'token']
    const calls = stepsOf(login, 'exchange', 'refresh', 'revoke')
    return [
      ...calls.filter(({ request }) => secrets.some(name => request.query[name] !== undefined)),
      ...stepsOf(login, 'authorize').filter(({ request }) => request.query.client_secret !== undefined),
    ]
  },
}

export const secretInHeader: Notice = {
  id: 'secret-in-header',
  wrong: 'The client secret was sent in an Authorization header.',
  why: 'This portal takes it from the body alone, and refuses a request that says in two ways who asks.',
  mend: 'Set your library to client_secret_post.',
  source: 'specification 4.2; RFC 6749 2.3.1',
  find: login =>
    stepsOf(login, 'exchange', 'refresh', 'revoke').filter(
      ({ request }) => request.headers.authorization !== undefined,
    ),
}

export const tokenInQuery: Notice = {
  id: 'token-in-query',
  wrong: 'An access token stood in the address of a call.',
  why: 'Whoever reads a log or a history can then act for the visitor.',
  mend: 'Send it as Authorization: Bearer.',
  source: 'RFC 6750 2.3 and 5.3',
  find: login => login.steps.filter(({ request }) => request.query.access_token !== undefined),
}

export const browserHeaders: Notice = {
  id: 'browser-headers',
  wrong: 'A call from the server carried headers of the visitor’s browser.',
  why: 'Cookies, addresses and languages of a visitor are no business of the other side, and a Referer may hold a code.',
  mend: 'Make the call with headers of its own, and copy none from the request that caused it.',
  source: 'RFC 9700 4.2.4',
  find: login => login.steps.filter(step => isServerCall(step) && hasBrowserHeaders(step)),
}

function hasBrowserHeaders({ request: { headers } }: RecordedStep): boolean {
  const text = (name: string) => textOf(firstOf(headers, name))
  return (
    headers.cookie !== undefined ||
    headers.referer !== undefined ||
    headers['sec-fetch-site'] !== undefined ||
    text('user-agent').startsWith('Mozilla/') ||
    // The fetch of Node sends a star, which says nothing of anybody.
    !['', '*'].includes(text('accept-language'))
  )
}

function textOf(value: Value | undefined): string {
  return typeof value === 'string' ? value : ''
}

export const followedRedirect: Notice = {
  id: 'followed-redirect',
  wrong: 'A redirect was followed that answered a call of the server.',
  why: 'A redirect names any address, and what was sent goes there: with 307 the client secret, the code or the token.',
  mend: 'Turn redirects off for every call of your server, and treat one as an error.',
  source: 'RFC 9700 4.12; RFC 9110 15.4.8',
  find: login => stepsOf(login, 'trap'),
}
