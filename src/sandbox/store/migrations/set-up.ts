// Marks what the laboratory made, so that it ends and removes nothing else, and lets access tokens expire early.
import type { Migration } from '../migration.ts'

const marked = ['users', 'groups', 'applications']

export const setUp: Migration = {
  name: 'set-up',
  statements: [
    ...marked.flatMap(table => [
      `alter table ${table} add column suite text`,
      `create index ${table}_suite on ${table} (suite) where suite is not null`,
    ]),
    'alter table grants add column expired_generation bigint',
    'alter table app_access_tokens add column expired_at bigint',
  ],
}
