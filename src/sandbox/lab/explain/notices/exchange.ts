// Notices about the exchange of a code, and about the secrets that go with it.
import { firstOf, identityOf, type RecordedStep, stateOf, stepsOf } from '../../record/recorded.ts'
import { asFor, type Notice } from './notice.ts'

const secrets = ['client_secret', 'code', 'refresh_token', 'code_verifier', 'token']

export const exchangeNotices: Notice[] = [
  {
    id: 'exchange-after-refusal',
    found: 'The visitor declined, but the client called the portal for tokens anyway.',
    why: 'An answer with an error ends the login. A code beside it cannot be trusted.',
    fix: 'Look for error in the answer first. If it is there, show that the login did not happen, and send nothing.',
    reference: 'RFC 6749 4.1.2.1',
    find({ steps }) {
      const declined = steps.findIndex(({ reason }) => reason === 'consent-declined')
      return declined === -1 ? [] : steps.slice(declined).filter(({ kind }) => kind === 'exchange')
    },
  },
  {
    id: 'no-state-at-exchange',
    found: 'The login was started with a state, but the code was exchanged without it.',
    ...asFor('state-missing'),
    find(login) {
      const hasState = stepsOf(login, 'authorize').some(step => stateOf(step) !== undefined)
      return hasState ? stepsOf(login, 'exchange').filter(step => !sentState(step)) : []
    },
  },
  {
    id: 'invented-state',
    found: 'The code was exchanged with a state that did not start the login.',
    ...asFor('state-differs'),
    find(login) {
      const started = new Set(stepsOf(login, 'authorize').map(step => stateOf(step)?.hash))
      if (started.size === 0) return []
      return stepsOf(login, 'exchange').filter(step => {
        const state = sentState(step)
        return state !== undefined && !started.has(state)
      })
    },
  },
  {
    id: 'state-not-compared',
    found: 'The client continued with an answer for another state, or for none.',
    why: 'The visitor is then signed in to somebody else’s account, and acts there without knowing.',
    fix: 'Compare the state twice: on the redirect before anything is sent, and in the token response before anything is kept.',
    reference: 'specification 4.3 and part 5; RFC 6749 10.12',
    find: ({ steps }) =>
      steps.flatMap((step, index) => {
        const [, place] = /^(redirect|exchange)-state-(?!twice)/.exec(step.fault?.name ?? '') ?? []
        // It is right to revoke tokens that are not needed.
        const continues = place === 'redirect' ? ['exchange'] : ['api', 'me', 'refresh']
        return place ? steps.slice(index + 1).filter(({ kind }) => continues.includes(kind)) : []
      }),
  },
  {
    id: 'code-sent-twice',
    found: 'One code was sent to the portal more than once.',
    ...asFor('code-used'),
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
  },
  {
    id: 'secret-in-address',
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
    found: 'The client secret was sent in an Authorization header.',
    why: 'This portal reads it only from the body, and refuses a request that says in two ways who sends it.',
    fix: 'Set your library to client_secret_post.',
    reference: 'specification 4.2; RFC 6749 2.3.1',
    find: login =>
      stepsOf(login, 'exchange', 'refresh', 'revoke').filter(
        ({ request }) => request.headers.authorization !== undefined,
      ),
  },
]

function sentState({ request }: RecordedStep): string | undefined {
  const state = firstOf(request.body, 'state')
  return typeof state === 'object' && state.length === 0 ? undefined : identityOf(state)
}
