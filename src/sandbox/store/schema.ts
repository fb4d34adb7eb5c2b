// The tables as Kysely sees them: times are milliseconds since 1970, and nothing that opens a door is stored in clear.
import type { Generated, Kysely } from 'kysely'

export interface Schema {
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
  /** Neither belongs to a row of another table: what was seeded stays marked when it is removed. */
  seeded_users: { email: string; user_id: string; password_hash: string }
  seeded_clients: SeededClientTable
}

/** What the laboratory may have made. */
interface MarkedTable {
  /** The suite of tests that it was made for, empty for none of a name. Null where the laboratory did not make it. */
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

interface ApplicationTable extends MarkedTable {
  /** Also the client id. */
  id: string
  group_id: string
  /** Id of the DeveloperOf link from the group to the application. */
  link_id: string
  name: string
  description: string
  web_page_url: string
  icon_url: string
  privacy_policy_url: string
  /** Comma-separated, as on the wire; a redirect URI cannot hold a comma. */
  redirect_uris: string
  default_redirect_uri: string
  scopes: string
  default_scopes: string
  /** Of the fields above as JSON; see sizeOfFields. */
  fields_bytes: number
  created_at: number
  created_by: string
  updated_at: number
  updated_by: string
  made_by_client: string | null
  /** 1 at first; every write that callers can see increases it. */
  version: Generated<number>
  /** See present-applications.ts: no other file names it. */
  removed_at: Generated<number | null>
}

interface ClientSecretTable {
  application_id: string
  generation: number
  hash: string
  created_at: number
  /** Empty like its client where it was made before this was noted. */
  created_by: string
  made_by_client: string | null
}

interface AppAccessTokenTable {
  id: string
  application_id: string
  created_at: number
  expires_at: number
  /** When it expired before its time; the row stays, so that the token is known to be an expired one. */
  expired_at: Generated<number | null>
}

interface SeededClientTable {
  /** Empty for one that was removed before seeds were marked: nobody knows its id any more. */
  id: string
  /** As in client_secrets. Null, like the redirect URIs, where it was applied before seeds were marked. */
  secret_hash: string | null
  redirect_uris: string | null
}

/** One login: first a code, then the family of tokens the code was redeemed for. */
interface GrantTable {
  id: string
  user_id: string
  /** Null for the access tokens that the portal gives to its own users. */
  application_id: string | null
  created_at: number
  /** When the row means nothing any more, and may be swept. */
  expires_at: number
  revoked_at: number | null
  code_hash: string | null
  redirect_uri: string
  /** Empty when the login was started without a state, or without a PKCE challenge. */
  state_hash: string
  code_challenge: string
  redeemed_at: number | null
  refresh_token_hash: string | null
  refresh_expires_at: number | null
  /** How often the refresh token was rotated. */
  generation: number
  /** Grows with each grant of this user to this client, whatever the clock says. 0 for those of before this was noted. */
  sequence: Generated<number>
  /** Access tokens given with this generation or before have expired, whatever they say themselves. */
  expired_generation: Generated<number | null>
}

/** A connection or a transaction: every function of the store takes one. */
export type Db = Kysely<Schema>
