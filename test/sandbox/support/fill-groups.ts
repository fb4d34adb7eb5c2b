// People, groups and applications in number, put where they are without asking anybody.
import { randomUUID } from 'node:crypto'
import { type ApplicationFields, insertApplication } from '../../../src/sandbox/store/applications.ts'
import { addClientSecret } from '../../../src/sandbox/store/client-secrets.ts'
import { createGroup } from '../../../src/sandbox/store/groups.ts'
import { createUser } from '../../../src/sandbox/store/users.ts'
import type { TestSandbox } from './build-test-sandbox.ts'

type Filled = Pick<TestSandbox, 'store' | 'now'>

const noFields: ApplicationFields = {
  name: 'Filler',
  description: '',
  webPageUrl: '',
  iconUrl: '',
  privacyPolicyUrl: '',
  redirectUris: ['https://filler.example.test/'],
  defaultRedirectUri: 'https://filler.example.test/',
  scopes: '',
  defaultScopes: '',
}

/** Ids of new users, who have no password. */
export async function addUsers({ store, now }: Filled, count: number, name = 'user'): Promise<string[]> {
  return store.transaction(async db => {
    const ids: string[] = []
    for (let index = 0; index < count; index += 1) {
      const person = { email: `${name}-${index}@example.test`, firstName: 'First', lastName: `Last ${index}` }
      ids.push((await createUser(db, { ...person, passwordHash: '' }, now())) ?? '')
    }
    return ids
  })
}

/** Ids of new groups, made by this user. */
export async function addGroups({ store, now }: Filled, userId: string, count: number): Promise<string[]> {
  return store.transaction(async db => {
    const ids: string[] = []
    for (let index = 0; index < count; index += 1) ids.push((await createGroup(db, `G${index}`, userId, now())).id)
    return ids
  })
}

/** So many applications of one group, all with the same fields; their ids. */
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
  const ids = Array.from({ length: count }, () => randomUUID())
  await store.transaction(async db => {
    for (const id of ids) {
      await insertApplication(db, {
        ...noFields,
        ...fields,
        ...dates,
        id,
        groupId,
        linkId: randomUUID(),
        madeByClient: null,
      })
      await addClientSecret(db, id, 'of no secret', { maker: { userId, clientId: null }, now: now() })
    }
  })
  return ids
}
