// Adds people, their groups and their applications to the sandbox, for tests that are not about creating them.
import { randomUUID } from 'node:crypto'
import {
  type ApplicationFields,
  insertApplication,
  lockApplicationForChange,
  setApplicationFields,
} from '../../../src/sandbox/store/applications.ts'
import { createGroup } from '../../../src/sandbox/store/groups.ts'
import { listMemberships } from '../../../src/sandbox/store/memberships.ts'
import { createUser, findCredentials } from '../../../src/sandbox/store/users.ts'
import { quickPasswords } from '../../sandbox/support/quick-passwords.ts'
import type { Both, Person } from './start-both.ts'

/** Adds a person with an account at the portal and with `groups` groups. */
export async function addPerson({ sandbox, clock }: Both, email: string, { groups = 1 } = {}): Promise<Person> {
  const password = 'another correct horse'
  const passwordHash = await quickPasswords().hash(password)
  await sandbox.store.transaction(async db => {
    const userId = await createUser(db, { email, passwordHash, firstName: 'Another', lastName: 'Person' }, clock())
    if (!userId) throw new Error(`${email} is taken.`)
    for (let index = 1; index <= groups; index++) await createGroup(db, `Group ${index}`, userId, clock())
  })
  return { email, password }
}

/** Adds another group of this person. */
export async function addGroup({ sandbox, clock, person }: Both): Promise<void> {
  await sandbox.store.transaction(async db => {
    const { userId = '' } = (await findCredentials(db, person.email)) ?? {}
    await createGroup(db, 'One more group', userId, clock())
  })
}

/** Adds an application to the first group of this person. Returns its id. */
export async function addApplication(
  { sandbox, clock, person }: Both,
  fields: Partial<ApplicationFields> & { name: string },
): Promise<string> {
  const id = randomUUID()
  await sandbox.store.transaction(async db => {
    const { userId = '' } = (await findCredentials(db, person.email)) ?? {}
    const [membership] = await listMemberships(db, userId)
    if (!membership) throw new Error(`${person.email} is in no group.`)
    await insertApplication(db, {
      id,
      groupId: membership.groupId,
      linkId: randomUUID(),
      description: '',
      webPageUrl: '',
      iconUrl: '',
      privacyPolicyUrl: '',
      redirectUris: ['http://localhost:5000/exchangeToken'],
      defaultRedirectUri: 'http://localhost:5000/exchangeToken',
      scopes: '',
      defaultScopes: '',
      createdAt: clock(),
      createdBy: userId,
      madeByClient: null,
      updatedAt: clock(),
      updatedBy: userId,
      ...fields,
    })
  })
  return id
}

/** Changes an application of this person as another member of the group. */
export async function changeApplication(
  { sandbox, clock, person }: Both,
  id: string,
  changes: Partial<ApplicationFields>,
): Promise<void> {
  await sandbox.store.transaction(async db => {
    const { userId = '' } = (await findCredentials(db, person.email)) ?? {}
    const application = await lockApplicationForChange(db, id, { userId, now: clock() })
    if (!application) throw new Error(`${person.email} has no application ${id}.`)
    await setApplicationFields(db, id, { ...application, ...changes })
  })
}
