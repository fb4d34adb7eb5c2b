// The messages about refused changes of groups. The pages for groups share them.
import { limits } from '../../groups/limits.ts'
import type { Reason } from '../../observe/reasons.ts'
import { type AnswerTable, answerIn, Refusal } from '../../observe/refusal.ts'

/**
 * The messages for the refusals that the page shows next to its form. For all other refusals, the visitor gets an error
 * page.
 */
export const problemsOfGroups: AnswerTable<string | undefined> = {
  'fields-invalid': ({ problems }) => problems?.name?.join(' '),
  'user-unknown': 'There is no account with this user ID. A person can find their user ID on their account page.',
  'member-already': 'This person is already a member.',
  'invited-already': 'This person has already been invited.',
  'last-member':
    'You are the only member, and the group has applications. Remove the applications first, or invite another person and wait until they accept.',
  'too-many-groups': `You are in ${limits.groupsOfUser} groups, which is the limit. Leave a group first.`,
  'too-many-invitations': `The group has ${limits.openInvitations} open invitations, which is the limit. Cancel an invitation first.`,
  'invited-too-often': `You have invited this person ${limits.invitationsADay} times today, which is the limit. Try again tomorrow.`,
}

/**
 * Runs `work`. If a Refusal is thrown, the function resolves to a sentence for the page. Otherwise, it resolves to
 * undefined. A reason in `alreadyDone` does not count as a refusal: an earlier request with the same form has already
 * made the change.
 */
export async function findProblem(
  work: () => Promise<unknown>,
  {
    alreadyDone = [],
    problems = problemsOfGroups,
  }: { alreadyDone?: Reason[]; problems?: typeof problemsOfGroups } = {},
): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (alreadyDone.includes(error.reason)) return undefined
    const problem = answerIn(problems, error)
    if (problem === undefined) throw error
    return problem
  }
}
