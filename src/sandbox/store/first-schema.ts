// The schema of the first version of the sandbox.
import type { Migration } from './migrate.ts'

export const firstSchema: Migration = {
  name: 'first schema',
  statements: [
    `create table keys (
      id text primary key,
      kind text not null check (kind in ('signing', 'sealing')),
      material text not null,
      created_at bigint not null
    )`,

    `create table users (
      id text primary key,
      email text not null unique,
      first_name text not null,
      last_name text not null,
      password_hash text not null,
      created_at bigint not null
    )`,

    `create table portal_sessions (
      id_hash text primary key,
      user_id text not null references users (id) on delete cascade,
      created_at bigint not null,
      expires_at bigint not null
    )`,
    'create index portal_sessions_user on portal_sessions (user_id)',
    'create index portal_sessions_expiry on portal_sessions (expires_at)',

    `create table groups (
      id text primary key,
      name text not null,
      created_at bigint not null,
      created_by text not null references users (id)
    )`,
    'create index groups_creator on groups (created_by)',

    `create table memberships (
      id text primary key,
      user_id text not null references users (id) on delete cascade,
      group_id text not null references groups (id) on delete cascade,
      created_at bigint not null,
      created_by text not null,
      unique (user_id, group_id)
    )`,
    'create index memberships_group on memberships (group_id)',

    `create table applications (
      id text primary key,
      group_id text not null references groups (id),
      link_id text not null unique,
      name text not null,
      description text not null,
      web_page_url text not null,
      icon_url text not null,
      privacy_policy_url text not null,
      redirect_uris text not null,
      default_redirect_uri text not null,
      scopes text not null,
      default_scopes text not null,
      created_at bigint not null,
      created_by text not null,
      updated_at bigint not null,
      updated_by text not null
    )`,
    'create index applications_group on applications (group_id, created_at, id)',

    `create table client_secrets (
      application_id text not null references applications (id) on delete cascade,
      generation bigint not null,
      hash text not null,
      created_at bigint not null,
      primary key (application_id, generation)
    )`,

    `create table app_access_tokens (
      id text primary key,
      application_id text not null references applications (id) on delete cascade,
      created_at bigint not null,
      expires_at bigint not null
    )`,
    'create index app_access_tokens_application on app_access_tokens (application_id)',
    'create index app_access_tokens_expiry on app_access_tokens (expires_at)',

    `create table consents (
      user_id text not null references users (id) on delete cascade,
      application_id text not null references applications (id) on delete cascade,
      created_at bigint not null,
      primary key (user_id, application_id)
    )`,
    'create index consents_application on consents (application_id)',

    `create table finished_authorizations (
      id text primary key,
      expires_at bigint not null
    )`,
    'create index finished_authorizations_expiry on finished_authorizations (expires_at)',

    `create table grants (
      id text primary key,
      user_id text not null references users (id) on delete cascade,
      application_id text references applications (id) on delete cascade,
      created_at bigint not null,
      expires_at bigint not null,
      revoked_at bigint,
      code_hash text unique,
      redirect_uri text not null,
      state_hash text not null,
      code_challenge text not null,
      redeemed_at bigint,
      refresh_token_hash text unique,
      refresh_expires_at bigint,
      generation bigint not null
    )`,
    'create index grants_user on grants (user_id, application_id)',
    'create index grants_application on grants (application_id)',
    'create index grants_expiry on grants (expires_at)',

    `create table spent_refresh_tokens (
      hash text primary key,
      grant_id text not null references grants (id) on delete cascade,
      generation bigint not null,
      spent_at bigint not null
    )`,
    'create index spent_refresh_tokens_grant on spent_refresh_tokens (grant_id)',

    `create table failures (
      bucket text primary key,
      count bigint not null,
      window_ends_at bigint not null
    )`,
    'create index failures_expiry on failures (window_ends_at)',
  ],
}
