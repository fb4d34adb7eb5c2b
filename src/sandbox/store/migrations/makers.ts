import type { Migration } from '../migration.ts'

/** Rows of before have an unknown maker, written as ''; null is nobody's client. */
export const makers: Migration = {
  name: 'makers',
  statements: [
    "alter table applications add column made_by_client text default ''",
    "alter table client_secrets add column made_by_client text default ''",
    "alter table client_secrets add column created_by text not null default ''",
  ],
}
