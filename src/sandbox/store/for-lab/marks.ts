// Marks records that the laboratory has made. The laboratory's calls change and remove only two kinds of records:
// marked records, and records that seeding has made.
import { type RawBuilder, sql } from 'kysely'
import { normaliseEmail } from '../../values/email-address.ts'
import { selectApplications } from '../present-applications.ts'
import type { Db } from '../schema.ts'
import { type User, userColumns } from '../users.ts'

/** Marks a record. The comment of MarkedTable explains `suite`. */
export async function markAsMade(
  db: Db,
  table: 'users' | 'groups' | 'applications',
  id: string,
  suite: string,
): Promise<void> {
  await db.updateTable(table).set({ suite }).where('id', '=', id).execute()
}

export interface MadePerson extends User {
  /** Null if seeding has made the person. */
  suite: string | null
}

export async function findMadePerson(
  db: Db,
  person: { userId: string } | { email: string },
): Promise<MadePerson | undefined> {
  const query = db
    .selectFrom('users')
    .select([...userColumns, 'users.suite'])
    .where(isMade('users.id'))
  return 'userId' in person
    ? query.where('id', '=', person.userId).executeTakeFirst()
    : query.where('email', '=', normaliseEmail(person.email)).executeTakeFirst()
}

/** Returns whether the laboratory or the seeding has made the application. */
export async function isMadeApplication(db: Db, id: string): Promise<boolean> {
  const row = await selectApplications(db)
    .select('id')
    .where('id', '=', id)
    .where(
      sql<boolean>`(
        applications.suite is not null or
        exists (select 1 from seeded_clients where seeded_clients.id = applications.id)
      )`,
    )
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Returns a condition for `where`, which is true if the column contains the id of a person whom the laboratory or the
 * seeding has made.
 */
export function isMade(column: string): RawBuilder<boolean> {
  return sql`exists (
    select 1 from users as made where made.id = ${sql.ref(column)} and (made.suite is not null or exists (
      select 1 from seeded_users where seeded_users.email = made.email and seeded_users.user_id = made.id
    ))
  )`
}
