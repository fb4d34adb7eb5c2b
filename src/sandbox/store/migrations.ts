// The steps that bring an empty database to the current schema, in order. Add new steps at the end, and never change a
// step that exists.

import { firstSchema } from './first-schema.ts'
import type { Migration } from './migrate.ts'

/**
 * Adds the creators of records. For rows from earlier versions of the sandbox, the creator is unknown, and the column
 * contains an empty string. If `made_by_client` is null, the row was not created by a client.
 */
export const makers: Migration = {
  name: 'makers',
  statements: [
    "alter table applications add column made_by_client text default ''",
    "alter table client_secrets add column made_by_client text default ''",
    "alter table client_secrets add column created_by text not null default ''",
  ],
}

// Before this step, seeding made a user and the user's group in one transaction, with the same time of creation. For
// users who signed up themselves, the two times differ. A call to the API that creates an application also creates app
// access tokens for it. A seeded application has no such tokens.
const isSeededUser = `exists (select 1 from groups where groups.created_by = users.id
  and groups.created_at = users.created_at and groups.name = 'Sandbox developers')`
const isSeededClient = 'not exists (select 1 from app_access_tokens where application_id = applications.id)'

/**
 * Marks the settings from earlier seeding as applied, so that the first start with this schema does not apply them
 * again.
 */
const seeds: Migration = {
  name: 'seeds',
  statements: [
    `create table seeded_users (
      email text primary key,
      user_id text not null,
      password_hash text not null
    )`,
    `create table seeded_clients (
      id text primary key,
      secret_hash text,
      redirect_uris text
    )`,
    `insert into seeded_users select email, id, password_hash from users where ${isSeededUser}`,
    `insert into seeded_clients (id) select id from applications where ${isSeededClient}`,
  ],
}

// The names of the API's fields, with their columns. The stored size is the size of the JSON with these names: see
// sizeOfFields.
const sizedFields = [
  ['name', 'name'],
  ['description', 'description'],
  ['webPageUrl', 'web_page_url'],
  ['iconUrl', 'icon_url'],
  ['privacyPolicyUrl', 'privacy_policy_url'],
  ['redirectUris', 'redirect_uris'],
  ['defaultRedirectUri', 'default_redirect_uri'],
  ['scopes', 'scopes'],
  ['defaultScopes', 'default_scopes'],
]

/** Adds invitations, and the size of each application's fields. These sizes count towards the limit of the group. */
const invitations: Migration = {
  name: 'invitations',
  statements: [
    `create table invitations (
      id text primary key,
      user_id text not null references users (id) on delete cascade,
      group_id text not null references groups (id) on delete cascade,
      created_at bigint not null,
      created_by text not null references users (id) on delete cascade,
      unique (user_id, group_id)
    )`,
    'create index invitations_group on invitations (group_id, created_at, id)',
    'create index invitations_inviter on invitations (created_by)',

    'alter table applications add column fields_bytes bigint not null default 0',
    {
      sqlite: [
        `update applications set fields_bytes =
          octet_length(json_object(${sizedFields.map(([name, column]) => `'${name}', ${column}`).join(', ')}))`,
      ],
      postgres: [
        `update applications set fields_bytes = (select octet_length(row_to_json(fields)::text)
          from (select ${sizedFields.map(([name, column]) => `${column} as "${name}"`).join(', ')}) as fields)`,
      ],
    },
  ],
}

/**
 * Adds the time of an application's removal. After the removal, no query finds the application, and the sweep deletes
 * its rows portion by portion.
 */
const removedApplications: Migration = {
  name: 'removed applications',
  statements: [
    'alter table applications add column removed_at bigint',
    'create index applications_removed on applications (removed_at) where removed_at is not null',
  ],
}

/** Adds an index that lets the sweep find unredeemed codes without reading every grant. */
const unredeemedCodes: Migration = {
  name: 'unredeemed codes',
  statements: ['create index grants_unredeemed on grants (expires_at) where redeemed_at is null'],
}

const markedTables = ['users', 'groups', 'applications']

/**
 * Adds marks for the records that the laboratory has made, because the laboratory must not remove other records. Also
 * adds columns that make access tokens expire early.
 */
const setUp: Migration = {
  name: 'set-up',
  statements: [
    ...markedTables.flatMap(table => [
      `alter table ${table} add column suite text`,
      `create index ${table}_suite on ${table} (suite) where suite is not null`,
    ]),
    'alter table grants add column expired_generation bigint',
    'alter table app_access_tokens add column expired_at bigint',
  ],
}

/** Adds a version to each application, for its ETag. The version counts how many times the application was written. */
const applicationVersions: Migration = {
  name: 'application versions',
  statements: ['alter table applications add column version bigint not null default 1'],
}

/**
 * Limits what one client can store. Keeps only the newest 100 replaced tokens of a family. Adds a number to each grant,
 * so that the store can end a person's oldest grant first.
 */
export const boundsOfGrants: Migration = {
  name: 'bounds of grants',
  statements: [
    `delete from spent_refresh_tokens where generation <=
      (select grants.generation - 100 from grants where grants.id = spent_refresh_tokens.grant_id)`,
    'drop index spent_refresh_tokens_grant',
    'create index spent_refresh_tokens_grant on spent_refresh_tokens (grant_id, generation)',

    'alter table grants add column sequence bigint not null default 0',
    'drop index grants_user',
    'create index grants_user on grants (user_id, application_id, sequence)',
  ],
}

/**
 * Adds an index of the users who made applications. With this index, the laboratory's reset can find the applications
 * of a suite's people, and does not have to read every application.
 */
const applicationMakers: Migration = {
  name: 'application makers',
  statements: ['create index applications_maker on applications (created_by)'],
}

/**
 * Adds two columns for the access tokens that users create at the portal: the name and the last characters of the
 * token. Both columns are empty for tokens from earlier versions of the sandbox.
 */
const tokenNames: Migration = {
  name: 'names of access tokens',
  statements: [
    "alter table grants add column token_name text not null default ''",
    "alter table grants add column token_end text not null default ''",
  ],
}

/** The first step migrates version 0 to version 1, the second step migrates version 1 to version 2, and so on. */
export const migrations: readonly Migration[] = [
  firstSchema,
  makers,
  seeds,
  invitations,
  removedApplications,
  unredeemedCodes,
  setUp,
  applicationVersions,
  boundsOfGrants,
  applicationMakers,
  tokenNames,
]
