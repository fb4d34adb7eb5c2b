// The consents of users. A consent says that a user has allowed an application to sign them in. The store keeps a
// consent until the user withdraws it.
import { sql } from 'kysely'
import { isPresent } from './present-applications.ts'
import { type Db, unchanged } from './schema.ts'

export async function hasConsent(db: Db, userId: string, applicationId: string): Promise<boolean> {
  return (await findAllowedName(db, userId, applicationId)) !== undefined
}

/**
 * Does the same as hasConsent, and locks the consent until the transaction ends. If the user withdraws the consent at
 * the same time, the withdrawal waits for the transaction, and then ends all tokens that the transaction has issued.
 */
export async function lockConsent(db: Db, userId: string, applicationId: string): Promise<boolean> {
  const row = await db
    .updateTable('consents')
    .set(unchanged)
    .where('user_id', '=', userId)
    .where('application_id', '=', applicationId)
    .returning('user_id')
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Stores a consent. If the consent already exists, its time does not change. If the application was removed, the
 * function stores nothing and returns false.
 */
export async function rememberConsent(db: Db, userId: string, applicationId: string, now: Date): Promise<boolean> {
  const { rows } = await sql`
    insert into consents (user_id, application_id, created_at)
    select ${userId}, id, cast(${now.getTime()} as bigint) from applications
    where id = ${applicationId} and ${isPresent}
    on conflict (user_id, application_id) do update set created_at = consents.created_at
    returning created_at
  `.execute(db)
  return rows.length > 0
}

interface AllowedApplication {
  id: string
  name: string
  description: string
  webPageUrl: string
  allowedAt: Date
}

/** Lists at most `limit` applications that a user has allowed, latest consent first. */
export async function listConsents(db: Db, userId: string, limit: number): Promise<AllowedApplication[]> {
  const rows = await db
    .selectFrom('consents')
    .innerJoin('applications', 'applications.id', 'consents.application_id')
    .select(['applications.id', 'applications.name', 'applications.description'])
    .select(['applications.web_page_url as webPageUrl', 'consents.created_at as allowedAt'])
    .where('consents.user_id', '=', userId)
    .where(isPresent)
    .orderBy('consents.created_at', 'desc')
    .orderBy('applications.id')
    .limit(limit)
    .execute()
  return rows.map(row => ({ ...row, allowedAt: new Date(row.allowedAt) }))
}

/** Returns the name of an application that the user has allowed. Returns undefined for any other id. */
export async function findAllowedName(db: Db, userId: string, applicationId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('consents')
    .innerJoin('applications', 'applications.id', 'consents.application_id')
    .select('applications.name')
    .where('consents.user_id', '=', userId)
    .where('consents.application_id', '=', applicationId)
    .where(isPresent)
    .executeTakeFirst()
  return row?.name
}

/**
 * Deletes a consent, so that the portal asks the user again at the next login. This does not end the application's
 * tokens. Returns false if there was no consent.
 */
export async function deleteConsent(db: Db, userId: string, applicationId: string): Promise<boolean> {
  const row = await db
    .deleteFrom('consents')
    .where('user_id', '=', userId)
    .where('application_id', '=', applicationId)
    .returning('user_id')
    .executeTakeFirst()
  return row !== undefined
}
