// The tables as Kysely sees them. Times are milliseconds since 1970. Secrets, codes, tokens and session ids are stored as hashes.
import type { Generated, Kysely } from 'kysely'

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
  finished_authorizations: { id: string; expires_at: number }
  grants: GrantTable
  spent_refresh_tokens: { hash: string; grant_id: string; generation: number; spent_at: number }
  failures: { bucket: string; count: number; window_ends_at: number }
  /**
   * These two tables refer to no other table. A seeded record therefore stays marked after somebody has removed it.
   */
  seeded_users: { email: string; user_id: string; password_hash: string }
  seeded_clients: SeededClientTable
}

/** Only for-lab/ reads and writes this column. */
interface MarkedTable {
  /** The suite of tests that the laboratory made the row for. Empty for a suite without a name. Null for every other row. */
  suite: Generated<string | null>
}

interface UserTable extends MarkedTable {
  id: string
  /** Normalised; see normaliseEmail. */
  email: string
  first_name: string
  last_name: string
  password_hash: string
  created_at: number
}

/** The column of each field that a developer fills in. The types of the table and of the record are derived from it. */
export const fieldColumns = {
  name: 'name',
  description: 'description',
  webPageUrl: 'web_page_url',
  iconUrl: 'icon_url',
  privacyPolicyUrl: 'privacy_policy_url',
  /** Comma-separated, as on the wire: a redirect URI cannot hold a comma. */
  redirectUris: 'redirect_uris',
  defaultRedirectUri: 'default_redirect_uri',
  scopes: 'scopes',
  defaultScopes: 'default_scopes',
} as const

export type FieldName = keyof typeof fieldColumns

/** All of them are texts. */
type FieldColumns = Record<(typeof fieldColumns)[FieldName], string>

interface ApplicationTable extends MarkedTable, FieldColumns {
  /** Also the client id. */
  id: string
  group_id: string
  /** Id of the DeveloperOf link from the group to the application. */
  link_id: string
  /** The size of the fields that the developer fills in, as JSON; see sizeOfFields. */
  fields_bytes: number
  created_at: number
  created_by: string
  updated_at: number
  updated_by: string
  made_by_client: string | null
  /** Begins with 1. Every write that callers can see increases it. */
  version: Generated<number>
  /** See present-applications.ts: no other file names this column. */
  removed_at: Generated<number | null>
}

interface ClientSecretTable {
  application_id: string
  generation: number
  hash: string
  created_at: number
  /** Empty, like made_by_client, if an earlier version made the secret, because that version did not store the maker. */
  created_by: string
  made_by_client: string | null
}

interface AppAccessTokenTable {
  id: string
  application_id: string
  created_at: number
  expires_at: number
  /** Set if the token has expired early. The row stays, so that the answer can say that the token has expired. */
  expired_at: Generated<number | null>
}

interface SeededClientTable {
  /** Empty for a client that was removed before seeds were marked, because its id is unknown. */
  id: string
  /** As in client_secrets. Null, like the redirect URIs, if an earlier version applied the seed: that version did not mark seeds. */
  secret_hash: string | null
  redirect_uris: string | null
}

/** One login: first a code, then the family of tokens the code was redeemed for. */
interface GrantTable {
  id: string
  user_id: string
  /** Null for an access token from the portal's own page. */
  application_id: string | null
  created_at: number
  /** After this time the row has no effect, and the sweep may delete it. */
  expires_at: number
  revoked_at: number | null
  code_hash: string | null
  redirect_uri: string
  /** Empty if the login was started without a state, or without a PKCE challenge. */
  state_hash: string
  code_challenge: string
  redeemed_at: number | null
  refresh_token_hash: string | null
  refresh_expires_at: number | null
  /** How often the refresh token was replaced. */
  generation: number
  /**
   * Counts the grants of this user to this client, so that their order does not depend on a clock. 0 for grants of
   * earlier versions.
   */
  sequence: Generated<number>
  /** Access tokens of this and earlier generations count as expired, even if their claims name a later time. */
  expired_generation: Generated<number | null>
  /** What the person said the token is for, and the last characters of the token. Only for tokens from the portal's own page. */
  token_name: Generated<string>
  token_end: Generated<string>
}

/** A connection or a transaction: every function of the store takes one. */
export type Db = Kysely<Tables>
