// Records that clients have made on a user's behalf. After the user has withdrawn consent for a client, the client may
// still know a secret or a token of these records.
import { sql } from 'kysely'
import { selectApplicationsOf } from './applications.ts'
import { selectApplications } from './present-applications.ts'
import type { Db } from './schema.ts'

export interface MadeId {
  applicationId: string
  /** Empty if the record is from an earlier version of the sandbox that did not store the client. */
  clientId: string
}

/** An application that a client has made, or another application for which the client has made a secret. */
export interface MadeByClient extends MadeId {
  applicationName: string
  /** Null if the client was removed, or if the store does not know which client made the record. */
  clientName: string | null
  what: 'application' | 'secret'
  /** Whether the client knows a valid secret or a valid token of the application. */
  isKnown: boolean
  /** Whether the application has a valid secret that the client did not make. */
  hasOtherSecret: boolean
}

/**
 * Lists applications and secrets that clients have made with this user's tokens. The list contains only records that
 * the user has the right to change, and only clients that the user no longer allows. The list begins with the records
 * whose client still knows a valid secret or token of the application. In both parts of the list, the newest
 * application comes first. If `id` is set, the list contains only this record.
 */
export async function listMadeByClients(
  db: Db,
  userId: string,
  { now, limit, id }: { now: Date; limit: number; id?: MadeId },
): Promise<MadeByClient[]> {
  const one = id ? sql`and made.application_id = ${id.applicationId} and made.client_id = ${id.clientId}` : sql``
  const { rows } = await sql<
    Omit<MadeByClient, 'what' | 'isKnown' | 'hasOtherSecret'> & Record<'isMaker' | 'known' | 'others', number>
  >`
    with own as ${selectApplicationsOf(db, userId)},
    made as (
      select id as application_id, made_by_client as client_id from own
      where created_by = ${userId} and made_by_client is not null
      union
      select own.id, secret.made_by_client from own join client_secrets as secret on secret.application_id = own.id
      where secret.made_by_client is not null
        and (secret.created_by = ${userId} or (secret.created_by = '' and own.created_by = ${userId}))
    ),
    described as (
      select made.application_id as "applicationId", made.client_id as "clientId", own.name as "applicationName",
        client.name as "clientName", own.created_at as "createdAt",
        case when own.created_by = ${userId} and own.made_by_client = made.client_id then 1 else 0 end as "isMaker",
        (select count(*) from client_secrets as secret
          where secret.application_id = own.id and secret.made_by_client = made.client_id) as secrets,
        (select count(*) from app_access_tokens as token
          where token.application_id = own.id and token.expires_at > ${now.getTime()}) as tokens,
        (select count(*) from client_secrets as secret
          where secret.application_id = own.id and secret.made_by_client is distinct from made.client_id) as others
      from made
      join own on own.id = made.application_id
      left join (${selectApplications(db).select(['id', 'name'])}) as client on client.id = made.client_id
      where (client.id is null or not exists (
        select 1 from consents where consents.user_id = ${userId} and consents.application_id = made.client_id
      )) ${one}
    )
    select "applicationId", "clientId", "applicationName", "clientName", "isMaker", others,
      case when secrets > 0 or ("isMaker" = 1 and tokens > 0) then 1 else 0 end as known
    from described order by known desc, "createdAt" desc, "applicationId", "clientId" limit ${limit}
  `.execute(db)
  return rows.map(({ isMaker, known, others, ...row }) => ({
    ...row,
    what: isMaker ? 'application' : 'secret',
    isKnown: Number(known) > 0,
    hasOtherSecret: Number(others) > 0,
  }))
}

/**
 * Ends every secret that the client has made. If the client has made the application itself, it has also received the
 * application's tokens, so the function also ends these tokens. Call this in a transaction that has locked the
 * application. If the application then has no secret, add a secret in the same transaction.
 */
export async function endMadeByClient(db: Db, { applicationId, clientId, what }: MadeByClient): Promise<void> {
  await db
    .deleteFrom('client_secrets')
    .where('application_id', '=', applicationId)
    .where('made_by_client', '=', clientId)
    .execute()
  if (what === 'application')
    await db.deleteFrom('app_access_tokens').where('application_id', '=', applicationId).execute()
}
