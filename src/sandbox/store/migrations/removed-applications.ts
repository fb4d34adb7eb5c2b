// An application that is removed is gone at once for everybody; the sweep takes its rows in portions.
import type { Migration } from '../migration.ts'

export const removedApplications: Migration = {
  name: 'removed applications',
  statements: [
    'alter table applications add column removed_at bigint',
    'create index applications_removed on applications (removed_at) where removed_at is not null',
  ],
}
