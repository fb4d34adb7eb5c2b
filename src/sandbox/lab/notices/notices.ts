// Every notice, in the order in which a login goes, and what they find in one.
import type { RecordedLogin, RecordedStep } from '../recorded.ts'
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

/** Whatever a login shows by itself: the ids of the steps, by the id of the notice. To be called when a step is recorded. */
export function findOwnNotices(login: Pick<RecordedLogin, 'steps'>): RecordedLogin['noticed'] {
  const noticed: RecordedLogin['noticed'] = new Map()
  for (const notice of notices) {
    const steps = 'find' in notice ? notice.find(login) : []
    if (steps.length > 0) noticed.set(notice.id, idsOf(steps))
  }
  return noticed
}

/** Everything that was noticed about a login. Its time does not grow with the number of the other logins. */
export function findNotices(login: RecordedLogin, others: OtherLogins): Noticed[] {
  return notices.flatMap(notice => {
    const { id, wrong, why, mend, source } = notice
    const steps = 'find' in notice ? (login.noticed.get(id) ?? []) : idsOf(notice.findAmong(login, others))
    return steps.length > 0 ? [{ id, wrong, why, mend, source, steps }] : []
  })
}

function idsOf(steps: RecordedStep[]): string[] {
  return steps.map(({ id }) => id)
}
