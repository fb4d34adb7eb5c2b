// Says what a good client does after each fault. The catalogue and the page of faults show these texts.
import type { When } from './kind.ts'
import { type Place, type PlaceWords, places } from './places.ts'

interface Happening {
  place: Place
  kind: string
  when: When
  fixed: Record<string, unknown>
}

export function adviceFor(happening: Happening): string {
  const { kind, place } = happening
  const advice = byKind[kind]
  if (advice === undefined) throw new Error(`There is no advice for the fault kind ${kind}.`)
  if (place === 'start') return atStart
  const own = typeof advice === 'string' ? advice : advice(happening)
  // If the answer to an exchange cannot be used, the login ends. If the answer to a renewal cannot be used,
  // the session continues.
  return [own, place === 'refresh' && unusable.has(kind) ? keepSession : ''].filter(Boolean).join(' ')
}

/** Advice for faults in steps between the browser and the portal. The client does not see these steps. */
const atStart =
  'The client does not notice this fault, because the browser is at the portal. The client keeps the login for ten minutes, so that the visitor can reload the page or start again.'

const keepSession = 'The client keeps the session and the refresh token, and offers to try again.'

/**
 * After a fault of these kinds, the client cannot use the answer, and cannot know whether the renewal was carried out.
 * The advice for a renewal therefore also says that the client keeps the session.
 */
const unusable = new Set(
  `
    cut drip half empty html not-an-object gzip gzip-bomb endless-body endless-header slow-header large
    member member-missing state-other tokens-with-status
  `
    .trim()
    .split(/\s+/),
)

/**
 * Advice for a request without a usable answer. The platform may have carried out the request, even if the answer is
 * 5xx.
 */
function afterLoss({ place, when }: Happening): string {
  const { isWrite }: PlaceWords = places[place]
  if (place === 'exchange')
    return 'The client does not send the code again. It says that signing in failed, and offers to start again.'
  if (place === 'refresh') return keepSession
  if (place === 'revoke') return 'The client signs the visitor out anyway, and waits only a short time for the answer.'
  if (place === 'metadata' || place === 'keys')
    return 'The client continues with the document that it read before, or tries again later.'
  if (place === 'me') return 'The client shows the id of the user instead of the name. The visitor stays signed in.'
  if (place === 'api')
    return 'The client repeats a GET at most once. It does not automatically repeat a request with another method, because the platform may already have carried out this request.'
  if (!isWrite) return 'The client tries again at most once. If this fails, it says that it cannot show the page now.'
  return when === 'after'
    ? 'The client does not automatically send the request again, because the platform has carried it out. Instead, the client reads the current data from the platform.'
    : 'The client does not automatically send the request again, because it cannot know whether the platform has carried it out. Instead, the client reads the current data from the platform.'
}

/** After some answers, no later renewal with the same refresh token can succeed (refused-for-good, no-renewals). */
const endsIfFinal =
  'The client ends the session if the status is 404, 405 or 501, or if the error is invalid_grant, unsupported_grant_type or unauthorized_client. After any other answer, it keeps the session and logs the error.'

function afterStatus(happening: Happening): string {
  const { place, fixed } = happening
  const status = Number(fixed.status)
  if (place === 'revoke' || place === 'metadata' || place === 'keys' || place === 'me') return afterLoss(happening)
  const isTemporary = status === 408 || status === 429 || (status >= 500 && status !== 501)
  if (place === 'refresh' && !isTemporary) return endsIfFinal
  if (status === 429) return 'The client waits as long as Retry-After says, or tells the visitor when to try again.'
  if (status === 503) return `${afterLoss(happening)} It respects Retry-After.`
  if (status >= 500 || status === 408) return afterLoss(happening)
  if (place === 'exchange')
    return `${afterLoss(happening)} It logs the error for its operator, because its own settings may be wrong.`
  if (status === 401)
    return 'The client renews the access token once and tries once more. If the API also refuses the new token, the visitor signs in again.'
  if (status === 403)
    return 'The client says that the visitor does not have the right to do this, and does not try again.'
  if (status === 404 || status === 410)
    return 'The client says that the record no longer exists, and links back to the list.'
  if (status === 409 || status === 412)
    return 'The client reads the newest version, shows it, and keeps the visitor’s input.'
  if (status === 422 || status === 413)
    return 'The client shows each problem next to its field, and keeps the visitor’s input.'
  if (Number.isNaN(status))
    return 'The client trusts the status: it never treats an error as a success, and never automatically repeats a write.'
  return 'The client logs the status and the error code, tells the visitor that the action failed, and does not send the same request again.'
}

const readsChecked = 'The client checks the answer before using it, and says that the platform’s answer is unexpected.'
const limitsSize =
  'The client has a size limit for answers. At this limit it stops reading, closes the connection, and says that the request failed.'
const limitsTime =
  'The client has a deadline for the whole answer. After the deadline, it says that the platform took too long.'
const refusesRedirectBack =
  'The client does not send anything to the portal, and does not sign anybody in. It offers to start again.'

function afterParameter({ kind, fixed: { name } }: Happening): string {
  if (name === 'redirect_uri') return 'The client signs the visitor in, because it does not use this parameter.'
  if (kind === 'parameter-other' && name === 'subject')
    return 'The client signs the visitor in, and never uses the subject of the redirect as the identity of the user.'
  if (kind === 'parameter-other' && name === 'code')
    return 'The client sends the code to the portal, because it cannot know that the code is wrong. After the refusal, it does not sign anybody in, and offers to start again.'
  if (name !== undefined || kind === 'parameter-twice') return refusesRedirectBack
  return kind === 'parameter-other'
    ? `${refusesRedirectBack} If only the code or the subject is wrong, the client continues, because it cannot know this.`
    : `${refusesRedirectBack} If the parameter is redirect_uri, the client continues, because it does not use redirect_uri.`
}

const byKind: Record<string, string | ((happening: Happening) => string)> = {
  reset: afterLoss,
  cut: happening => `The client does not use any part of the answer. ${afterLoss(happening)}`,
  late: limitsTime,
  never: happening => `${limitsTime} ${afterLoss(happening)}`,
  drip: limitsTime,
  half: readsChecked,
  empty: readsChecked,
  html: readsChecked,
  'not-an-object': readsChecked,
  gzip: 'The client decompresses the answer, or treats it as unreadable.',
  'gzip-bomb': 'The client limits the size after decompression, and says that the request failed.',
  headers: 'The client ignores headers that it does not know.',
  'endless-body': limitsSize,
  'endless-header': limitsSize,
  'slow-header': limitsTime,
  redirect:
    'The client does not follow the redirect. Otherwise it would send its secret or its token to another address.',
  status: afterStatus,
  answer: 'The client trusts the status, but checks the body. It does not trust the content type.',

  member:
    'The client checks the types of all fields before it stores any of them. If a type is wrong, the client does not sign anybody in.',
  'member-missing':
    'The client signs a visitor in only with an access token and the right state. Without a refresh token, the session ends when the access token expires.',
  'state-other':
    'The client compares the state with the state of the login, and does not store any token if they differ.',
  'unknown-member': 'The client ignores fields that it does not know.',
  'tokens-with-status': 'The client trusts the status, and never stores tokens from an error answer.',
  'large-access-token':
    'The client stores the token in a place that is large enough, or says why the visitor cannot sign in.',
  'early-end-of-access-token':
    'The client renews the access token after the first 401, and does not rely only on expires_in.',
  'short-session': 'The client ends the session when expires_in has passed, and asks the visitor to sign in again.',
  'opaque-access-token': 'The client sends the access token unchanged, and never parses it.',

  members:
    'The client compares the issuer and the addresses with its settings, and uses only the features that the portal offers.',

  'parameter-missing': afterParameter,
  'parameter-other': afterParameter,
  'parameter-twice': afterParameter,
  'parameter-empty': afterParameter,
  error:
    'The client checks the state, says that the login ended, and offers to start again. It escapes all text from the address.',

  '422-body':
    'The client shows the problems of a known field next to that field, and all other problems above the form. It keeps the visitor’s input.',
  'hostile-texts':
    'The client shows every string as plain text. Markup has no effect, no script runs, and the layout does not break.',
  id: 'The client checks every id before it puts the id into an address.',
  'unknown-members': 'The client ignores fields that it does not know.',
  'members-missing':
    'The client checks that fields exist before it uses them. It shows the fields that are present, or says that the platform’s answer is unexpected.',
  deep: limitsSize,
  'long-list': 'The client shows the list in pages, and limits how much it reads.',
  large: limitsSize,
  'not-a-list': readsChecked,
}
