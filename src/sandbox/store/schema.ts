// The tables as Kysely sees them. Times are milliseconds since 1970. Secrets, codes, tokens and session ids are stored
// as hashes.
import { type Generated, type Kysely, sql } from 'kysely'

export interface Tables {
  sandbox_schema: { version: number }
  keys: { id: string; kind: 'signing' | 'sealing'; material: string; created_at: number }
  users: UserTable
  portal_sessions: { id_hash: string; user_id: string; created_at: number; expires_at: number }
  groups: { id: string; name: string; created_at: number; created_by: string } & MarkedTable
  memberships: { id: string; user_id: string; group_id: string; created_at: number; created_by: string }
  invitations: { id: string; user_id: string; group_id: string; created_at: number; created_by: string }
  applications: ApplicationTable
  client_secrets: ClientSecretTable
  app_access_tokens: AppAccessTokenTable
  consents: { user_id: string; application_id: string; created_at: number }
  /** The ids of forms that were sent already (used-forms.ts). The health probe also writes rows here. */
  finished_authorizations: { id: string; expires_at: number }
  grants: GrantTable
  /** The hashes of refresh tokens that a renewal has replaced. */
  spent_refresh_tokens: { hash: string; grant_id: string; generation: number; spent_at: number }
  /** Counts of failed sign-ins, wrong client secrets, sign-ups, invitations and reset links in a period. */
  failures: { bucket: string; count: number; window_ends_at: number }
  /**
   * This table and the next have no foreign keys. Therefore a seeded record stays marked as seeded even after somebody
   * has removed it.
   */
  seeded_users: { email: string; user_id: string; password_hash: string }
  seeded_clients: SeededClientTable
}

/** A table with marked rows. Only the files in for-lab/ read and write the column `suite`. */
interface MarkedTable {
  /**
   * The name of the test suite for which the laboratory made this row. Empty if the suite has no name. Null if the
   * laboratory did not make the row.
   */
  suite: Generated<string | null>
}

interface UserTable extends MarkedTable {
  id: string
  /** The e-mail address, as normaliseEmail returns it. */
  email: string
  first_name: string
  last_name: string
  password_hash: string
  created_at: number
}

/**
 * The column of each field that a developer fills in. The types of the table and of the record are derived from this
 * object.
 */
export const fieldColumns = {
  name: 'name',
  description: 'description',
  webPageUrl: 'web_page_url',
  iconUrl: 'icon_url',
  privacyPolicyUrl: 'privacy_policy_url',
  /** Comma-separated, as in the API. This is safe, because a redirect URI cannot contain a comma. */
  redirectUris: 'redirect_uris',
  defaultRedirectUri: 'default_redirect_uri',
  scopes: 'scopes',
  defaultScopes: 'default_scopes',
} as const

export type FieldName = keyof typeof fieldColumns

/** All columns of these fields contain text. */
type FieldColumns = Record<(typeof fieldColumns)[FieldName], string>

interface ApplicationTable extends MarkedTable, FieldColumns {
  /** This id is also the client id. */
  id: string
  group_id: string
  /** The id of the DeveloperOf link from the group to the application. */
  link_id: string
  /** The size of the fields that the developer fills in, as JSON, in bytes: see sizeOfFields. */
  fields_bytes: number
  created_at: number
  created_by: string
  updated_at: number
  updated_by: string
  made_by_client: string | null
  /** Starts at 1. Every change that callers can see increases this number. */
  version: Generated<number>
  /** The time of the application's removal. Only present-applications.ts uses this column. */
  removed_at: Generated<number | null>
}

interface ClientSecretTable {
  application_id: string
  generation: number
  hash: string
  created_at: number
  /**
   * This column and made_by_client are empty if the secret is from an earlier version of the sandbox that did not store
   * the creator.
   */
  created_by: string
  made_by_client: string | null
}

interface AppAccessTokenTable {
  id: string
  application_id: string
  created_at: number
  expires_at: number
  /**
   * The time at which the laboratory made the token expire early. The row stays, so that the answer to a request can
   * say that the token has expired.
   */
  expired_at: Generated<number | null>
}

interface SeededClientTable {
  id: string
  /**
   * The same hash as in client_secrets. This column and redirect_uris are null if the settings were applied by an
   * earlier version of the sandbox that did not store these values.
   */
  secret_hash: string | null
  redirect_uris: string | null
}

/** A row is one login: first a code, and then the family of tokens that the client gets for the code. */
interface GrantTable {
  id: string
  user_id: string
  /** Null for an access token from the portal's own page. */
  application_id: string | null
  created_at: number
  /** The end of the code or of the family. The sweep deletes the row later. */
  expires_at: number
  revoked_at: number | null
  code_hash: string | null
  redirect_uri: string
  /**
   * Empty if the login was started without a state. In the same way, code_challenge is empty if the login had no PKCE
   * challenge.
   */
  state_hash: string
  code_challenge: string
  redeemed_at: number | null
  refresh_token_hash: string | null
  refresh_expires_at: number | null
  /** How many times the refresh token of the family was replaced. */
  generation: number
  /**
   * The number of this grant among the user's grants for this client. Because of this number, the order of the grants
   * does not depend on a clock. The number is 0 if an earlier version of the sandbox made the grant.
   */
  sequence: Generated<number>
  /**
   * Access tokens of this generation and of all earlier generations count as expired, even if the time in their claims
   * has not passed.
   */
  expired_generation: Generated<number | null>
  /**
   * The purpose of the token, as the person has entered it. This column and token_end, the last characters of the
   * token, are used only for tokens from the portal's own page.
   */
  token_name: Generated<string>
  token_end: Generated<string>
}

/** A connection or a transaction. Every function of the store takes one of the two as its first parameter. */
export type Db = Kysely<Tables>

/**
 * The new values of a statement that locks a row until the transaction ends: the column gets the value that it already
 * has. PostgreSQL then locks the row. The clause `for update` would be clearer, but SQLite does not have this clause,
 * and all queries must run on both databases. SQLite does not need this lock, because it runs only one writing
 * transaction at a time.
 */
export const unchanged = { created_at: sql.ref<number>('created_at') }
