// Applications. The record of an application also has the settings of its OAuth client. The id of the application is
// also the client id.
import { setImmediate } from 'node:timers/promises'
import { type Selectable, sql } from 'kysely'
import { deleteEmptyGroup } from './groups.ts'
import { isPresent, removeApplications, selectApplications, updateApplications } from './present-applications.ts'
import { type Db, type FieldName, fieldColumns, type Tables, unchanged } from './schema.ts'

// The limits of a portion of a list. Reading 20 applications takes a few milliseconds. If the applications are large, a
// portion contains fewer applications.
const portionSize = 20
const portionBytes = 32 * 1024

/** The fields that a developer fills in. */
export type ApplicationFields = Record<Exclude<FieldName, 'redirectUris'>, string> & { redirectUris: string[] }

/**
 * The user who made a record, and the client whose token the request contained. If `clientId` is null, the user made
 * the record without a client: with a token from the portal's own page, or without a token.
 */
export interface Maker {
  userId: string
  clientId: string | null
}

export interface Application extends ApplicationFields {
  id: string
  groupId: string
  /** The id of the DeveloperOf link from the group to the application. */
  linkId: string
  createdAt: Date
  createdBy: string
  /**
   * The same as `clientId` of Maker. Empty if the application is from an earlier version of the sandbox that did not
   * store the client.
   */
  madeByClient: string | null
  updatedAt: Date
  updatedBy: string
  /** Every write increases this number, so that two callers can find out whether they have read the same version. */
  version: number
}

/** Stores a new application, and returns it with its version. */
export async function insertApplication(db: Db, application: Omit<Application, 'version'>): Promise<Application> {
  const version = 1
  await db
    .insertInto('applications')
    .values({
      id: application.id,
      group_id: application.groupId,
      link_id: application.linkId,
      ...toColumns(application),
      created_at: application.createdAt.getTime(),
      created_by: application.createdBy,
      updated_at: application.updatedAt.getTime(),
      updated_by: application.updatedBy,
      made_by_client: application.madeByClient,
      version,
    })
    .execute()
  return { ...application, version }
}

export async function findApplication(db: Db, id: string): Promise<Application | undefined> {
  const row = await selectApplications(db).selectAll().where('id', '=', id).executeTakeFirst()
  return row && toApplication(row)
}

/** Returns the names of the applications, keyed by id. Unknown ids are left out. */
export async function findApplicationNames(db: Db, ids: string[]): Promise<Map<string, string>> {
  const query = selectApplications(db).select(['id', 'name']).where('id', 'in', ids)
  return new Map(ids.length === 0 ? [] : (await query.execute()).map(({ id, name }) => [id, name]))
}

/** Finds an application and locks its row until the transaction ends. */
export async function lockApplication(db: Db, id: string): Promise<Application | undefined> {
  const row = await updateApplications(db).set(unchanged).where('id', '=', id).returningAll().executeTakeFirst()
  return row && toApplication(row)
}

/**
 * Finds an application that the user develops. Returns undefined if the user is not a member of the application's
 * group.
 */
export async function findApplicationOf(db: Db, id: string, userId: string): Promise<Application | undefined> {
  const row = await selectApplicationsOf(db, userId).where('applications.id', '=', id).executeTakeFirst()
  return row && toApplication(row)
}

/**
 * Lists the applications that the user develops, portion by portion, oldest first. node:sqlite blocks the event loop
 * while it reads a portion. Between two portions, other requests can run.
 */
export async function* listApplicationsOf(db: Db, userId: string): AsyncGenerator<Application[]> {
  let portion = await readPortion(db, userId)
  yield portion.applications
  while (portion.isFull) {
    await setImmediate()
    portion = await readPortion(db, userId, portion.applications.at(-1))
    yield portion.applications
  }
}

/** If `isFull` is true, more applications can follow this portion. */
type Portion = { applications: Application[]; isFull: boolean }

async function readPortion(db: Db, userId: string, last?: Application): Promise<Portion> {
  // Read only the ids first, because the index contains the ids in order. If the query read whole rows, the database
  // would sort all rows for every portion.
  let ids = db
    .selectFrom('memberships')
    .innerJoin('applications', 'applications.group_id', 'memberships.group_id')
    .select('applications.id')
    .where('memberships.user_id', '=', userId)
    .where(isPresent)
    .orderBy('applications.created_at')
    .orderBy('applications.id')
    .limit(portionSize)
  if (last)
    ids = ids.where(eb =>
      eb(eb.refTuple('applications.created_at', 'applications.id'), '>', eb.tuple(last.createdAt.getTime(), last.id)),
    )
  const portion = db
    .selectFrom('applications')
    .selectAll()
    .select(sql<number>`sum(fields_bytes) over (order by created_at, id)`.as('bytes'))
    .where('id', 'in', ids)
  const rows = await db
    .selectFrom(portion.as('portion'))
    .selectAll()
    .where(eb => eb('bytes', '-', eb.ref('fields_bytes')), '<', portionBytes)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const isFull = rows.length === portionSize || Number(rows.at(-1)?.bytes ?? 0) >= portionBytes
  return { applications: rows.map(toApplication), isFull }
}

/**
 * Stores the time and the user of a change, and locks the row of the application until the transaction ends. The result
 * has the new version, which is one more than the version that callers have read. If the user is not a developer of the
 * application, the function changes nothing and returns undefined.
 */
export async function lockApplicationForChange(
  db: Db,
  id: string,
  { userId, now }: { userId: string; now: Date },
): Promise<Application | undefined> {
  const row = await updateApplications(db)
    .set(eb => ({ updated_at: now.getTime(), updated_by: userId, version: eb('version', '+', 1) }))
    .where('id', '=', id)
    .where('group_id', 'in', selectGroupsOf(db, userId))
    .returningAll()
    .executeTakeFirst()
  return row && toApplication(row)
}

export async function setApplicationFields(db: Db, id: string, fields: ApplicationFields): Promise<void> {
  await db.updateTable('applications').set(toColumns(fields)).where('id', '=', id).execute()
}

/**
 * Removes an application. After the removal, no query finds the application, or the secrets, codes, tokens and consents
 * of its client. An application can have a very large number of these rows, so the sweep deletes the rows later. If the
 * user is not a developer of the application, the function changes nothing and returns false.
 */
export async function removeApplicationOf(
  db: Db,
  id: string,
  { userId, now }: { userId: string; now: Date },
): Promise<boolean> {
  const row = await removeApplications(db, now)
    .where('id', '=', id)
    .where('group_id', 'in', selectGroupsOf(db, userId))
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Deletes the row of a removed application, and the rows of its secrets. Also deletes the group, if it has no members
 * and no other applications. Returns false if the application was already deleted. Call this in a transaction, because
 * it runs two statements.
 */
export async function deleteApplication(db: Db, id: string): Promise<boolean> {
  const row = await db.deleteFrom('applications').where('id', '=', id).returning('group_id').executeTakeFirst()
  if (row) await deleteEmptyGroup(db, row.group_id)
  return row !== undefined
}

/** Call this in a transaction, because it runs two statements. */
export async function setRedirectUris(db: Db, id: string, redirectUris: string[], now: Date): Promise<void> {
  const present = await findApplication(db, id)
  if (!present) return
  const fields = { ...present, redirectUris, defaultRedirectUri: redirectUris[0] ?? '' }
  await db
    .updateTable('applications')
    .set(eb => ({ ...toColumns(fields), updated_at: now.getTime(), version: eb('version', '+', 1) }))
    .where('id', '=', id)
    .execute()
}

export function selectApplicationsOf(db: Db, userId: string) {
  return selectApplications(db)
    .innerJoin('memberships', 'memberships.group_id', 'applications.group_id')
    .where('memberships.user_id', '=', userId)
    .selectAll('applications')
}

function selectGroupsOf(db: Db, userId: string) {
  return db.selectFrom('memberships').select('group_id').where('user_id', '=', userId)
}

/** Lists at most `limit` applications of a group, sorted by name. */
export async function listApplicationNamesIn(
  db: Db,
  groupId: string,
  limit: number,
): Promise<{ id: string; name: string }[]> {
  return selectApplications(db)
    .select(['id', 'name'])
    .where('group_id', '=', groupId)
    .orderBy('name')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Returns the number of applications in a group, and the size of their fields as JSON, in bytes. */
export async function countApplicationsIn(db: Db, groupId: string): Promise<{ count: number; bytes: number }> {
  const { count, bytes } = await selectApplications(db)
    .select(eb => [eb.fn.countAll<number>().as('count'), eb.fn.sum<number | null>('fields_bytes').as('bytes')])
    .where('group_id', '=', groupId)
    .executeTakeFirstOrThrow()
  return { count: Number(count), bytes: Number(bytes ?? 0) }
}

/** Returns the size of the fields as JSON, in bytes. This size is limited for all applications of a group together. */
export function sizeOfFields(fields: ApplicationFields): number {
  return Buffer.byteLength(JSON.stringify(toTexts(fields)))
}

const fieldNames = Object.keys(fieldColumns) as FieldName[]

function toTexts(fields: ApplicationFields): Record<FieldName, string> {
  const texts = { ...fields, redirectUris: fields.redirectUris.join(',') }
  return mapNames(fieldNames, name => [name, texts[name]])
}

function toColumns(fields: ApplicationFields) {
  const texts = toTexts(fields)
  return { ...mapNames(fieldNames, name => [fieldColumns[name], texts[name]]), fields_bytes: sizeOfFields(fields) }
}

function toApplication(row: Selectable<Tables['applications']>): Application {
  return {
    ...mapNames(fieldNames, name => [name, row[fieldColumns[name]]]),
    redirectUris: row.redirect_uris.split(','),
    id: row.id,
    groupId: row.group_id,
    linkId: row.link_id,
    createdAt: new Date(row.created_at),
    createdBy: row.created_by,
    updatedAt: new Date(row.updated_at),
    updatedBy: row.updated_by,
    madeByClient: row.made_by_client,
    version: row.version,
  }
}

function mapNames<Key extends string>(
  names: FieldName[],
  map: (name: FieldName) => [Key, string],
): Record<Key, string> {
  return Object.fromEntries(names.map(map)) as Record<Key, string>
}
