// What the pages say when something cannot be done with a group.
import { bounds } from '../../groups/bounds.ts'
import { GroupRefusal, type GroupRefusalReason } from '../../groups/group-refusal.ts'
import { PageError } from '../error-pages.ts'

/** Those that a page can show in place: its reader knows what to do. */
const problems: Partial<Record<GroupRefusalReason, string>> = {
  'no user': 'There is no account with this user ID. They find theirs on their account page.',
  'member already': 'This person is already a member.',
  'invited already': 'This person has already been invited.',
  'last member':
    'You are the only member, and the group has applications. Remove them, or invite somebody and wait until they accept.',
  'too many groups': `You are in ${bounds.groupsOfUser} groups, which is the limit. Leave one first.`,
  'too many invitations': `The group has ${bounds.openInvitations} open invitations, which is the limit. Cancel one first.`,
  'invited too often': `You have invited this person ${bounds.invitationsADay} times today, which is the limit. Try again tomorrow.`,
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
  return new PageError(404, 'This group does not exist, or you cannot do this in it. Nothing was changed.', {
    next: { href: '/account/groups', label: 'Your groups' },
  })
}
