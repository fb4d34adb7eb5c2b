// What the pages say when something cannot be done with a group.
import { bounds } from '../../groups/bounds.ts'
import { GroupRefusal, type GroupRefusalReason } from '../../groups/group-refusal.ts'
import { PageError } from '../error-pages.ts'

/** Those that a page can show in place: its reader knows what to do. */
const problems: Partial<Record<GroupRefusalReason, string>> = {
  'no user': 'Nobody has this user id. They find theirs on their account page.',
  'member already': 'This person is a member already.',
  'invited already': 'This person is invited already.',
  'last member':
    'You are the last member of a group that has applications. Remove them, or invite somebody and wait until they accept.',
  'too many groups': `You are in ${bounds.groupsOfUser} groups, which is the most. Leave one first.`,
  'too many invitations': `The group has ${bounds.openInvitations} open invitations, which is the most. Take one back first.`,
}

/**
 * The sentence, and nothing done; or undefined, and done. `enough` are refusals that say it was done before, by a form
 * that was sent twice. Throws PageError, and whatever else the work throws.
 */
export async function findProblem(
  work: () => Promise<unknown>,
  enough: GroupRefusalReason[] = [],
): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    if (!(error instanceof GroupRefusal)) throw error
    if (enough.includes(error.reason)) return undefined
    const problem = problems[error.reason]
    if (problem !== undefined) return problem
    throw noSuchGroup()
  }
}

/** One that is not there, or none of theirs, or no longer. */
export function noSuchGroup(): PageError {
  return new PageError(404, 'There is no such group, or you may not do that in it. Nothing was changed.', {
    next: { href: '/account/groups', label: 'Your groups' },
  })
}
