// Invitations, and what an application counts for towards the bounds of its group.
import type { Migration } from '../migration.ts'

// As the API names them, because their JSON is what is counted; see sizeOfFields.
const fields = [
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

export const invitations: Migration = {
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
          octet_length(json_object(${fields.map(([name, column]) => `'${name}', ${column}`).join(', ')}))`,
      ],
      postgres: [
        `update applications set fields_bytes = (select octet_length(row_to_json(fields)::text)
          from (select ${fields.map(([name, column]) => `${column} as "${name}"`).join(', ')}) as fields)`,
      ],
    },
  ],
}
