// Notices about the exchange of a code, and about the secrets that go with it.
import { firstOf, identityOf, type RecordedStep, stateOf, stepsOf } from '../../record/recorded.ts'
import { isDeclined } from '../login-status.ts'
import { asFor, type Notice } from './notice.ts'

const secrets = ['client_secret', 'code', 'refresh_token', 'code_verifier', 'token']

export const exchangeNotices: Notice[] = [
  {
    id: 'exchange-after-refusal',
    severity: 'error',
    found: 'The visitor declined, but the client called the portal for tokens anyway.',
    why: 'An answer with an error ends the login. A code next to the error cannot be trusted.',
    fix: 'Look for error in the answer first. If it is there, show that the login did not happen, and send nothing.',
    reference: 'RFC 6749 4.1.2.1',
    find: ({ steps }) =>
      steps.filter((step, index) => {
        const before = steps.slice(0, index)
        const declined = before.findLastIndex(isDeclined)
        // If the visitor starts again after declining, ignore the earlier answer: the visitor may now allow the
        // application.
        return step.kind === 'exchange' && declined !== -1 && !before.slice(declined + 1).some(goesOnAtPortal)
      }),
  },
  {
    id: 'no-state-at-exchange',
    severity: 'error',
    found: 'The login was started with a state, but the code was exchanged without it.',
    ...asFor('state-missing'),
    find(login) {
      const hasState = stepsOf(login, 'authorize').some(step => stateOf(step) !== undefined)
      return hasState ? stepsOf(login, 'exchange').filter(step => !sentState(step)) : []
    },
  },
  {
    id: 'invented-state',
    severity: 'error',
    found: 'The code was exchanged with a state that did not start the login.',
    ...asFor('state-differs'),
    find(login) {
      const started = new Set(stepsOf(login, 'authorize').map(step => stateOf(step)?.hash))
      // An ordered fault may have sent the client another state. The notice state-not-compared is about that.
      const isOrdered = login.steps.some(({ fault }) => fault?.name.startsWith('redirect-'))
      if (started.size === 0 || isOrdered) return []
      return stepsOf(login, 'exchange').filter(step => {
        const state = sentState(step)
        return state !== undefined && !started.has(state)
      })
    },
  },
  {
    id: 'state-not-compared',
    severity: 'error',
    found: 'The client continued after an answer with another state, or without a state.',
    why: 'The visitor can then be signed in to somebody else’s account without noticing it.',
    fix: 'Compare the state twice: on the redirect before anything is sent, and in the token response before anything is kept.',
    reference: 'rules CL-04 and CL-17; RFC 6749 10.12',
    find: ({ steps }) =>
      steps.flatMap((step, index) => {
        const [, place] = /^(redirect|exchange)-state-(?!twice)/.exec(step.fault?.name ?? '') ?? []
        // A revocation is not a mistake: the client revokes tokens that it does not need.
        const continues = place === 'redirect' ? ['exchange'] : ['api', 'me', 'refresh']
        const later = steps.slice(index + 1)
        const again = later.findIndex(goesOnAtPortal)
        // If the browser starts the login again, an exchange after that belongs to the new redirect.
        return place
          ? later.slice(0, again === -1 ? undefined : again).filter(({ kind }) => continues.includes(kind))
          : []
      }),
  },
  {
    id: 'code-sent-twice',
    severity: 'warning',
    found: 'One code was sent to the portal more than once.',
    ...asFor('code-used'),
    find(login) {
      const seen = new Set<string>()
      return stepsOf(login, 'exchange').filter(step => {
        const code = identityOf(firstOf(step.request.body, 'code'))
        if (code === undefined) return false
        const isAgain = seen.has(code)
        if (!asksToRetry(step)) seen.add(code)
        return isAgain
      })
    },
  },
  {
    id: 'json-exchange',
    severity: 'info',
    found: 'The fields of a call were sent as JSON.',
    why: 'This portal accepts JSON, but OAuth prescribes forms here, and other portals refuse anything else.',
    fix: 'Send application/x-www-form-urlencoded, in JavaScript a URLSearchParams as the body.',
    reference: 'RFC 6749 4.1.3',
    find: login =>
      stepsOf(login, 'exchange', 'refresh', 'revoke').filter(({ request, reason }) => {
        const type = firstOf(request.headers, 'content-type')
        return !reason && typeof type === 'string' && /^application\/json\b/i.test(type)
      }),
  },
  {
    id: 'secret-in-address',
    severity: 'error',
    found: 'A client secret, a code or a token was sent in the address of a call.',
    ...asFor('field-misplaced'),
    find: login => [
      ...stepsOf(login, 'exchange', 'refresh', 'revoke').filter(({ request }) =>
        secrets.some(name => request.query[name] !== undefined),
      ),
      ...stepsOf(login, 'authorize').filter(({ request }) => request.query.client_secret !== undefined),
    ],
  },
  {
    id: 'secret-in-header',
    severity: 'error',
    found: 'The client secret was sent in an Authorization header.',
    why: 'This portal reads the secret only from the body, and refuses a request that names its sender in two places.',
    fix: 'Set your library to client_secret_post.',
    reference: 'rule one-authentication; RFC 6749 2.3.1',
    find: login =>
      stepsOf(login, 'exchange', 'refresh', 'revoke').filter(
        ({ request }) => request.headers.authorization !== undefined,
      ),
  },
]

/**
 * Whether the answer invites the same request again: the platform is busy, or an ordered fault says that it is busy.
 */
function asksToRetry({ response: { status } }: RecordedStep): boolean {
  return status === 429 || status === 503
}

function goesOnAtPortal({ kind, reason }: RecordedStep): boolean {
  return kind === 'authorize' && !reason
}

/** Do not report a state in the address here: another notice is about fields in the wrong place. */
function sentState({ request }: RecordedStep): string | undefined {
  const state = firstOf(request.body, 'state') ?? firstOf(request.query, 'state')
  return typeof state === 'object' && state.length === 0 ? undefined : identityOf(state)
}
