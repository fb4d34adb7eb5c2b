// Why something cannot be done with a group. The API and the portal's pages say it in words of their own.

export type GroupRefusalReason =
  | 'no group'
  | 'no user'
  | 'no link'
  | 'not allowed'
  | 'member already'
  | 'invited already'
  | 'last member'
  | 'too many groups'
  | 'too many invitations'
  | 'invited too often'
  | 'too many applications'
  | 'too many bytes'

/** Thrown inside a transaction: nothing that it began is kept. */
export class GroupRefusal extends Error {
  readonly reason: GroupRefusalReason

  constructor(reason: GroupRefusalReason) {
    super(reason)
    this.reason = reason
  }
}
