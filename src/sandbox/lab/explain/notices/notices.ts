// All notices, in the order in which the mistakes can happen in a login, and the function that finds the notices of one
// login.
import type { OtherLogins } from '../../record/compare-logins.ts'
import type { RecordedLogin } from '../../record/recorded.ts'
import { exchangeNotices } from './exchange.ts'
import { type Notice, severities } from './notice.ts'
import { startNotices } from './start.ts'
import { tokenNotices } from './tokens.ts'

export const notices: readonly Notice[] = [...startNotices, ...exchangeNotices, ...tokenNotices]

/** A notice of one login, with the ids of the steps that show it. */
export type Noticed = Omit<Notice, 'find'> & { steps: string[] }

/**
 * Finds the notices about a login, errors first. The time that this takes does not depend on the number of other
 * logins.
 */
export function findNotices(login: Pick<RecordedLogin, 'steps'>, others: OtherLogins): Noticed[] {
  const found = notices.flatMap(({ find, ...words }) => {
    const steps = find(login, others)
    return steps.length > 0 ? [{ ...words, steps: steps.map(({ id }) => id) }] : []
  })
  return found.sort((one, other) => severities.indexOf(one.severity) - severities.indexOf(other.severity))
}
