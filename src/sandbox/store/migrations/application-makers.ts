// Lets the laboratory's reset find what the people of a suite made without reading every application.
import type { Migration } from '../migration.ts'

export const applicationMakers: Migration = {
  name: 'application makers',
  statements: ['create index applications_maker on applications (created_by)'],
}
