// Every notice, in the order in which a login goes, and what they find in one.
import type { RecordedLogin } from '../recorded.ts'
import { codeSentTwice, exchangeAfterRefusal, noPkce, otherRedirectUri, repeatedVerifier } from './code.ts'
import type { Notice, OtherLogins, Words } from './notice.ts'
import { browserHeaders, followedRedirect, secretInAddress, secretInHeader, tokenInQuery } from './secrets.ts'
import {
  guessableState,
  inventedState,
  noState,
  noStateAtExchange,
  repeatedState,
  shortState,
  stateNotCompared,
} from './state.ts'
import { expiredToken, manyRenewals, noRevocation, oldRefreshToken, revokedToken } from './tokens.ts'

export const notices: readonly Notice[] = [
  noState,
  shortState,
  guessableState,
  repeatedState,
  noPkce,
  repeatedVerifier,
  otherRedirectUri,
  exchangeAfterRefusal,
  noStateAtExchange,
  inventedState,
  stateNotCompared,
  codeSentTwice,
  secretInAddress,
  secretInHeader,
  oldRefreshToken,
  manyRenewals,
  expiredToken,
  revokedToken,
  tokenInQuery,
  noRevocation,
  followedRedirect,
  browserHeaders,
]

/** What was noticed, as it is told: the words of the notice and the ids of the steps that show it. */
export type Noticed = Words & { steps: string[] }

/** Everything that was noticed about a login. Its time does not grow with the number of the other logins. */
export function findNotices(login: Pick<RecordedLogin, 'steps'>, others: OtherLogins): Noticed[] {
  return notices.flatMap(({ find, ...words }) => {
    const steps = find(login, others)
    return steps.length > 0 ? [{ ...words, steps: steps.map(({ id }) => id) }] : []
  })
}
