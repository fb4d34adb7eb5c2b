// Groups the notices about several logins by client, and counts the notices of each severity.
import type { RecordedLogin } from '../../record/recorded.ts'
import { type Severity, severities } from './notice.ts'
import type { Noticed } from './notices.ts'

interface ClientNotices {
  clientId: string | undefined
  /** The number of notices of each severity, such as `2 errors, 1 warning`. */
  words: string
  notices: (Omit<Noticed, 'steps'> & { count: number; loginId: string })[]
}

/**
 * Lists each notice once for each client. The entry says how many logins have the notice, and contains the id of the
 * newest of these logins. `logins` must begin with the newest login.
 */
export function groupNotices(
  logins: { login: Pick<RecordedLogin, 'id' | 'clientId'>; notices: Noticed[] }[],
): ClientNotices[] {
  const byClient = new Map<string | undefined, Map<string, ClientNotices['notices'][number]>>()
  for (const { login, notices } of logins)
    for (const { steps: _, ...notice } of notices) {
      const ofClient = byClient.get(login.clientId) ?? new Map()
      byClient.set(login.clientId, ofClient)
      const known = ofClient.get(notice.id)
      if (known) known.count++
      else ofClient.set(notice.id, { ...notice, count: 1, loginId: login.id })
    }
  return [...byClient].map(([clientId, ofClient]) => {
    const notices = [...ofClient.values()].sort(bySeverity)
    return { clientId, words: countNotices(notices), notices }
  })
}

function bySeverity(one: { severity: Severity }, other: { severity: Severity }): number {
  return severities.indexOf(one.severity) - severities.indexOf(other.severity)
}

const plurals = { error: 'errors', warning: 'warnings', info: 'hints' }
const singulars = { error: 'error', warning: 'warning', info: 'hint' }

/**
 * Counts the notices of each severity. The result is a string such as `2 errors, 1 warning`. If there are no notices,
 * the string is empty.
 */
export function countNotices(notices: { severity: Severity }[]): string {
  return severities
    .map(severity => [severity, notices.filter(notice => notice.severity === severity).length] as const)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => `${count} ${count === 1 ? singulars[severity] : plurals[severity]}`)
    .join(', ')
}
