// Bounds on what one client can store: the newest 100 replaced tokens of a family, and the order of a person's grants.
import type { Migration } from '../migration.ts'

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
