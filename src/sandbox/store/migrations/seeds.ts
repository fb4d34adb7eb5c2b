import type { Migration } from '../migration.ts'

// Before this, a start made the seeded user, his group and his membership in one transaction, with one time: nobody who
// signed up has that. Whoever makes an application by a call gets tokens with it, which no seeded application has.
const isSeededUser = `exists (select 1 from groups where groups.created_by = users.id
  and groups.created_at = users.created_at and groups.name = 'Sandbox developers')`
const isSeededClient = 'not exists (select 1 from app_access_tokens where application_id = applications.id)'

/** What was seeded before is marked as applied, so that the first start with this schema applies nothing again. */
export const seeds: Migration = {
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
    `insert into seeded_clients (id) select '' from users
      where ${isSeededUser} and not exists (select 1 from seeded_clients) limit 1`,
  ],
}
