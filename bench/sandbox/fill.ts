// Fills the sandbox's database with applications of many users, and with codes that are not exchanged yet.
import { type RawBuilder, sql } from 'kysely'
import { createGrant } from '../../src/sandbox/store/grants.ts'
import type { Store } from '../../src/sandbox/store/store.ts'
import { hashToken, makeAlphanumericToken } from '../../src/sandbox/tokens/opaque-token.ts'
import { client, codeChallenge, state } from './login.ts'

/** The number of applications of each user. These applications belong to a group of this user. */
const listSize = 20

/** Adds applications until there are `count`, including the seeded application. Each user has 20 applications. */
export async function addApplications(store: Store, userId: string, count: number): Promise<void> {
  // These numbers are literals in the SQL text, because SQLite treats a number in a parameter as a float.
  const now = sql.lit(Date.now())
  const owners = sql.lit(count / listSize)
  // The numbers from 1 to `last`. Owner 1 is the user of the bench.
  const numbers = (last: RawBuilder<number>) =>
    sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${last})`
  const uuid = sql`lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2)
    || '-8' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))`
  const owner = sql`case when n = 1 then ${userId} else 'owner-' || n end`
  await store.transaction(async db => {
    await sql`insert into users (id, email, first_name, last_name, password_hash, created_at)
      ${numbers(owners)} select 'owner-' || n, 'owner-' || n || '@sandbox.example', 'O', 'Wner',
      '', ${now} from numbers where n > 1`.execute(db)
    await sql`insert into groups (id, name, created_at, created_by) ${numbers(owners)} select 'group-' || n, 'Owners', ${now}, ${owner} from numbers`.execute(
      db,
    )
    await sql`insert into memberships (id, user_id, group_id, created_at, created_by) ${numbers(owners)} select ${uuid}, ${owner}, 'group-' || n, ${now}, ${owner}
      from numbers`.execute(db)
    await sql`insert into applications (id, group_id, link_id, name, description, web_page_url, icon_url,
      privacy_policy_url, redirect_uris, default_redirect_uri, scopes, default_scopes, created_at, created_by, updated_at,
      updated_by) ${numbers(sql.lit(count - 1))} select ${uuid}, 'group-' || (n % ${owners} + 1), ${uuid},
      'Weather ' || n, 'Shows the weather of tomorrow.', 'https://weather.example/', 'https://weather.example/icon.png',
      'https://weather.example/privacy', 'https://weather.example/exchangeToken', 'https://weather.example/exchangeToken',
      '', '', ${now} + n, ${userId}, ${now} + n, ${userId} from numbers`.execute(db)
  })
}

/** Creates codes for the bench's client, as logins do. */
export async function issueCodes(store: Store, userId: string, count: number): Promise<string[]> {
  const now = new Date()
  const codes = Array.from({ length: count }, makeAlphanumericToken)
  await store.transaction(async db => {
    for (const code of codes)
      await createGrant(
        db,
        userId,
        {
          codeHash: hashToken(code),
          clientId: client.id,
          redirectUri: client.redirectUri,
          stateHash: hashToken(state),
          codeChallenge,
        },
        { now, expiresAt: new Date(now.getTime() + 60_000) },
      )
  })
  return codes
}
