// Writes many people, groups and applications directly into the store.
import { randomUUID } from 'node:crypto'
import { emptyFields } from '../../../src/sandbox/applications/fields.ts'
import { type ApplicationFields, insertApplication } from '../../../src/sandbox/store/applications.ts'
import { addClientSecret } from '../../../src/sandbox/store/client-secrets.ts'
import { createGroup } from '../../../src/sandbox/store/groups.ts'
import { createUser } from '../../../src/sandbox/store/users.ts'
import type { TestSandbox } from './build-test-sandbox.ts'

type Filled = Pick<TestSandbox, 'store' | 'now'>

const noFields: ApplicationFields = {
  ...emptyFields,
  name: 'Filler',
  redirectUris: ['https://filler.example.test/'],
  defaultRedirectUri: 'https://filler.example.test/',
}

/** Adds users without a password. Returns their ids. */
export async function addUsers({ store, now }: Filled, count: number, name = 'user'): Promise<string[]> {
  const fieldsOf = (index: number) => ({ email: `${name}-${index}@example.test`, lastName: `Last ${index}` })
  return store.transaction(async db => {
    const first = (await createUser(db, { ...fieldsOf(0), firstName: 'First', passwordHash: '' }, now())) ?? ''
    const row = await db.selectFrom('users').selectAll().where('id', '=', first).executeTakeFirstOrThrow()
    const others = Array.from({ length: count - 1 }, (_, index) => {
      const { email, lastName } = fieldsOf(index + 1)
      return { ...row, id: randomUUID(), email, last_name: lastName }
    })
    if (others.length > 0) await db.insertInto('users').values(others).execute()
    return [first, ...others.map(({ id }) => id)]
  })
}

/** Adds groups that this user has made. Returns the ids of the groups. */
export async function addGroups({ store, now }: Filled, userId: string, count: number): Promise<string[]> {
  return store.transaction(async db => {
    const ids: string[] = []
    for (let index = 0; index < count; index += 1) ids.push((await createGroup(db, `G${index}`, userId, now())).id)
    return ids
  })
}

/** Adds `count` applications (at most 1,000) with the same fields to one group. Resolves to their ids. */
export async function addApplications(
  { store, now }: Filled,
  {
    groupId,
    userId,
    count,
    fields = {},
  }: { groupId: string; userId: string; count: number; fields?: Partial<ApplicationFields> },
): Promise<string[]> {
  const dates = { createdAt: now(), createdBy: userId, updatedAt: now(), updatedBy: userId }
  const [first = '', ...others] = Array.from({ length: count }, () => randomUUID())
  const application = { ...noFields, ...fields, ...dates, id: first, groupId, linkId: randomUUID(), madeByClient: null }
  await store.transaction(async db => {
    await insertApplication(db, application)
    await addClientSecret(db, first, 'of no secret', { maker: { userId, clientId: null }, now: now() })
    if (others.length === 0) return
    const row = await db.selectFrom('applications').selectAll().where('id', '=', first).executeTakeFirstOrThrow()
    const copies = others.map(id => ({ ...row, id, link_id: randomUUID() }))
    await db.insertInto('applications').values(copies).execute()
    const secrets = db.selectFrom('client_secrets').selectAll().where('application_id', '=', first)
    const secret = await secrets.executeTakeFirstOrThrow()
    const theirs = others.map(id => ({ ...secret, application_id: id }))
    await db.insertInto('client_secrets').values(theirs).execute()
  })
  return [first, ...others]
}
