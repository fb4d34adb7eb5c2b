import type { Migration } from '../migration.ts'

/** Counts the writes of each application, for its entity tag. */
export const applicationVersions: Migration = {
  name: 'application versions',
  statements: ['alter table applications add column version bigint not null default 1'],
}
