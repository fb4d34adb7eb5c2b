// Notices about the exchange of a code, and about the secrets that are sent with the code.
import { firstOf, identityOf, type RecordedStep, type StepFault, stateOf, stepsOf } from '../../record/recorded.ts'
import { isDeclined } from '../login-status.ts'
import { asFor, type Notice } from './notice.ts'

const secrets = ['client_secret', 'code', 'refresh_token', 'code_verifier', 'token']

export const exchangeNotices: Notice[] = [
  {
    id: 'exchange-after-refusal',
    severity: 'error',
    found: 'The visitor declined, but the client asked the portal for tokens anyway.',
    why: 'A redirect with an error ends the login. If the redirect also contains a code, this code cannot be trusted.',
    fix: 'First check whether the redirect contains the parameter “error”. If it does, tell the visitor that the login failed, and do not send anything to the portal.',
    reference: 'RFC 6749 4.1.2.1',
    find: ({ steps }) =>
      steps.filter((step, index) => {
        const before = steps.slice(0, index)
        const declined = before.findLastIndex(isDeclined)
        // If the visitor started another login after declining, the exchange is not a mistake: the visitor may now have
        // allowed the application.
        return step.kind === 'exchange' && declined !== -1 && !before.slice(declined + 1).some(goesOnAtPortal)
      }),
  },
  {
    id: 'no-state-at-exchange',
    severity: 'error',
    found: 'The login was started with a state, but the code was exchanged without this state.',
    ...asFor('state-missing'),
    find(login) {
      const hasState = stepsOf(login, 'authorize').some(step => stateOf(step) !== undefined)
      return hasState ? stepsOf(login, 'exchange').filter(step => !sentState(step)) : []
    },
  },
  {
    id: 'invented-state',
    severity: 'error',
    found: 'The state of the exchange is not the state that started the login.',
    ...asFor('state-differs'),
    find(login) {
      const started = new Set(stepsOf(login, 'authorize').map(step => stateOf(step)?.hash))
      // A fault may have sent the client a wrong state. The notice state-not-compared reports this mistake.
      const isOrdered = login.steps.some(({ fault }) => fault?.place === 'redirect')
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
    found: 'The client continued the login although an answer had a wrong state or no state.',
    why: 'An attacker can then sign the visitor in to another account without the visitor noticing.',
    fix: 'Compare the state twice: in the redirect before you send anything, and in the token response before you store anything.',
    reference: 'rules CL-04 and CL-17; RFC 6749 10.12',
    find: ({ steps }) =>
      steps.flatMap((step, index) => {
        if (!step.fault || !changesState(step.fault)) return []
        // A revocation after a wrong state is not a mistake: the client revokes tokens that it does not need.
        const continues = step.fault.place === 'redirect' ? ['exchange'] : ['api', 'me', 'refresh']
        const later = steps.slice(index + 1)
        const again = later.findIndex(goesOnAtPortal)
        // If the browser starts the login again, a later exchange belongs to the new redirect.
        return later.slice(0, again === -1 ? undefined : again).filter(({ kind }) => continues.includes(kind))
      }),
  },
  {
    id: 'code-sent-twice',
    severity: 'warning',
    found: 'The same code was sent to the portal more than once.',
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
    found: 'The fields of a call to the portal were sent as JSON.',
    why: 'This portal accepts JSON, but OAuth prescribes the form format, and other portals refuse JSON.',
    fix: 'Send application/x-www-form-urlencoded. In JavaScript, use a URLSearchParams object as the body.',
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
    why: 'This portal reads the secret only from the body. It refuses a request that identifies the client in two places.',
    fix: 'Set your library to client_secret_post.',
    reference: 'rule one-authentication; RFC 6749 2.3.1',
    find: login =>
      stepsOf(login, 'exchange', 'refresh', 'revoke').filter(
        // Some HTTP libraries add the access token to every call. The reason `field-misplaced` explains this mistake.
        ({ request }) => request.headers.authorization !== undefined && request.scheme !== 'Bearer',
      ),
  },
]

/**
 * Whether the fault gave the client a wrong state, or no state. If the state appears twice in the redirect, the first
 * one is correct.
 */
function changesState({ place, kind, field }: StepFault): boolean {
  if (place === 'redirect') return field === 'state' && kind !== 'parameter-twice'
  return place === 'exchange' && (field === 'state' || kind === 'state-other')
}

/**
 * Whether the answer says that the platform is busy. The client is then allowed to send the same request again. The
 * answer may come from a fault.
 */
function asksToRetry({ response: { status } }: RecordedStep): boolean {
  return status === 429 || status === 503
}

function goesOnAtPortal({ kind, reason }: RecordedStep): boolean {
  return kind === 'authorize' && !reason
}

/**
 * Returns the state of an exchange. A state in the address also counts, because another notice reports fields in the
 * wrong place.
 */
function sentState({ request }: RecordedStep): string | undefined {
  const state = firstOf(request.body, 'state') ?? firstOf(request.query, 'state')
  return typeof state === 'object' && state.length === 0 ? undefined : identityOf(state)
}
