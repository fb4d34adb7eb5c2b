// The log lines about changes of groups. The API and the pages of the portal write the same lines.
import type { FastifyBaseLogger } from 'fastify'

interface GroupChange {
  code:
    | 'group-created'
    | 'group-renamed'
    | 'group-invited'
    | 'group-invitation-accepted'
    | 'group-invitation-declined'
    | 'group-invitation-cancelled'
    | 'group-left'
    | 'group-member-removed'
  groupId: string
  /** The id of the user who has made the change. */
  caller: string
  /** The id of the user whose membership or invitation has changed. */
  user?: string
}

/** Call this only after a change: if a form is sent twice, the log then contains the change once. */
export function logGroupChange({ log }: { log: FastifyBaseLogger }, change: GroupChange): void {
  log.info(change, 'a group was changed')
}
