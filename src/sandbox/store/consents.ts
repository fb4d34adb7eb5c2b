// Which applications a user has allowed to sign them in: asked once, remembered until withdrawn.
import type { Db } from './schema.ts'

export async function hasConsent(db: Db, userId: string, applicationId: string): Promise<boolean> {
  const row = await db
    .selectFrom('consents')
    .select('created_at')
    .where('user_id', '=', userId)
    .where('application_id', '=', applicationId)
    .executeTakeFirst()
  return row !== undefined
}

export async function rememberConsent(db: Db, userId: string, applicationId: string, now: Date): Promise<void> {
  await db
    .insertInto('consents')
    .values({ user_id: userId, application_id: applicationId, created_at: now.getTime() })
    .onConflict(conflict => conflict.doNothing())
    .execute()
}

export interface AllowedApplication {
  id: string
  name: string
  description: string
  webPageUrl: string
  allowedAt: Date
}

/** The applications that a user has allowed, the newest first. */
export async function listConsents(db: Db, userId: string): Promise<AllowedApplication[]> {
  const rows = await db
    .selectFrom('consents')
    .innerJoin('applications', 'applications.id', 'consents.application_id')
    .select(['applications.id', 'applications.name', 'applications.description'])
    .select(['applications.web_page_url as webPageUrl', 'consents.created_at as allowedAt'])
    .where('consents.user_id', '=', userId)
    .orderBy('consents.created_at', 'desc')
    .orderBy('applications.id')
    .execute()
  return rows.map(row => ({ ...row, allowedAt: new Date(row.allowedAt) }))
}

/** The user is asked again next time. What the application was given is not ended by this. */
export async function withdrawConsent(db: Db, userId: string, applicationId: string): Promise<void> {
  await db.deleteFrom('consents').where('user_id', '=', userId).where('application_id', '=', applicationId).execute()
}
