// Calls to the application API about groups and their members.
import type { LightMyRequestResponse } from 'fastify'
import { contexts } from '../../../src/sandbox/values/contexts.ts'
import type { TestSandbox } from './build-test-sandbox.ts'
import { type ApiCaller, callFromPortal } from './call-api.ts'
import { newcomer, openAsDeveloper, openAsNewcomer } from './forms.ts'

export const newMember = { context: contexts.MemberOf, type: 'MemberOf' }

export function makeGroupBody(name: unknown = 'Weather people') {
  return { context: contexts.Group, type: 'Group', data: { name } }
}

export async function createGroup({ call }: ApiCaller, name = 'Weather people'): Promise<string> {
  return (await call('POST', '/identities/v1', makeGroupBody(name))).json()['@id']
}

/** Invites the user to the group. If the caller is the user, the function accepts the invitation. */
export function link({ call }: ApiCaller, userId: string, groupId: string): Promise<LightMyRequestResponse> {
  return call('POST', `/identities/v1/${userId}/link/${groupId}`, newMember)
}

/** Removes the user from the group, or ends the user's invitation. The caller can be the user or another member. */
export function unlink({ call }: ApiCaller, userId: string, groupId: string): Promise<LightMyRequestResponse> {
  return call('DELETE', `/identities/v1/${userId}/link/${groupId}`)
}

/** Returns the caller's groups, as the API lists them. */
export async function listLinks({ call, userId }: ApiCaller) {
  const answer = await call('GET', `/identities/v1/${userId}/links?type=MemberOf`)
  return answer.json().ItemList as { '@id': string; to: string; data: { name: string; status: string } }[]
}

/**
 * Makes two users with tokens from the portal's own page. The user `maker` has created a group, and the user `friend`
 * is not in any group.
 */
export async function openTwo(sandbox: TestSandbox) {
  const maker = await callFromPortal(sandbox, await openAsDeveloper(sandbox))
  const friend = await callFromPortal(sandbox, await openAsNewcomer(sandbox))
  return { maker, friend, groupId: await createGroup(maker) }
}

/** Signs up another user. Resolves to a caller with a token that this user made on the portal's own page. */
export async function openAnother(sandbox: TestSandbox, email: string): Promise<ApiCaller> {
  return callFromPortal(sandbox, await openAsNewcomer(sandbox, { ...newcomer, email }))
}
