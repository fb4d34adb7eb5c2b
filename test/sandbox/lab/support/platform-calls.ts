// For each place of a fault: a call to this place, and a function that checks in the store whether the platform has
// acted.
import { randomUUID } from 'node:crypto'
import { findApplication } from '../../../../src/sandbox/store/applications.ts'
import { listSecretHashes } from '../../../../src/sandbox/store/client-secrets.ts'
import { findGrantByCode } from '../../../../src/sandbox/store/grants.ts'
import { endGroup } from '../../../../src/sandbox/store/groups.ts'
import { findFamilyId, findTokenOwner } from '../../../../src/sandbox/store/refresh-tokens.ts'
import { hashToken } from '../../../../src/sandbox/tokens/opaque-token.ts'
import { exchange, locationOf, openBrowser, signIn, startUrl } from '../../support/browser.ts'
import { seeded, type TestSandbox } from '../../support/build-test-sandbox.ts'
import { callAsStranger, callFromPortal, callWith, makeCreateBody } from '../../support/call-api.ts'

export interface PlatformCall {
  listener: 'portal' | 'api'
  method: string
  url: string
  headers: Record<string, string>
  body: string
  /** Only calls that change something have this function. */
  hasActed?: () => Promise<boolean>
}

const credentials = { client_id: seeded.clientId, client_secret: seeded.clientSecret }
const groupContext = 'https://standards.oftrust.net/v2/Context/Identity/Group/'
const memberContext = 'https://standards.oftrust.net/v2/Context/Link/Role/MemberOf/'

/**
 * Returns one function for each place of a fault. The function prepares and returns a new call that the platform would
 * accept.
 */
export async function platformCalls(sandbox: TestSandbox) {
  const { store } = sandbox
  const browser = openBrowser(sandbox)
  await browser.submit(await signIn(browser), { decision: 'allow' })

  const makeCode = async () => new URL(locationOf(await browser.get(startUrl()))).searchParams.get('code') ?? ''
  const makeTokens = async () => (await exchange(sandbox, { code: await makeCode() })).json()
  const { access_token: token } = await makeTokens()
  const { call } = await callWith(sandbox, token)
  const { userId, accessToken: portalToken } = await callFromPortal(sandbox, browser)
  const stranger = await callAsStranger(sandbox)
  const groupId = (await call('GET', `/identities/v1/${userId}/links?type=MemberOf`)).json().ItemList[0].to
  const createApplication = async () =>
    (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()['@id'] as string
  const appId = await createApplication()

  const form = (url: string, fields: Record<string, string>, hasActed: () => Promise<boolean>): PlatformCall => ({
    listener: 'portal',
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
    hasActed,
  })
  const read = (listener: 'portal' | 'api', url: string): PlatformCall => ({
    listener,
    method: 'GET',
    url,
    headers: { authorization: `Bearer ${token}` },
    body: '',
  })
  const write = (
    method: string,
    url: string,
    body: object | undefined,
    hasActed: () => Promise<boolean>,
    bearer: string = token,
  ): PlatformCall => ({
    listener: 'api',
    method,
    url,
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: body === undefined ? '' : JSON.stringify(body),
    hasActed,
  })
  const hasRow = async (table: 'applications' | 'groups', name: string) =>
    (await store.read.selectFrom(table).select('id').where('name', '=', name).execute()).length > 0
  const invitations = () =>
    store.read.selectFrom('invitations').select('id').where('user_id', '=', stranger.userId).execute()
  const link = `/identities/v1/${stranger.userId}/link/${groupId}`
  const invite = { context: memberContext, type: 'MemberOf' }
  /** Deletes the stranger's open invitations, and all counted failures. */
  const forgetInvitations = () =>
    store.transaction(async db => {
      await db.deleteFrom('invitations').where('user_id', '=', stranger.userId).execute()
      await db.deleteFrom('failures').execute()
    })

  return {
    async exchange() {
      const code = await makeCode()
      const fields = { ...credentials, grant_type: 'authorization_code', code, state: 'a-state' }
      return form('/api/exchangeToken', { ...fields, redirect_uri: seeded.redirectUri }, async () => {
        const grant = await findGrantByCode(store.read, hashToken(code))
        return grant?.redeemedAt !== undefined
      })
    },
    async refresh() {
      const { refresh_token: refreshToken } = await makeTokens()
      const fields = { ...credentials, grant_type: 'refresh_token', refresh_token: refreshToken }
      return form(
        '/api/exchangeToken',
        fields,
        async () => (await findTokenOwner(store.read, hashToken(refreshToken)))?.isReplaced === true,
      )
    },
    async revoke() {
      const { refresh_token: refreshToken } = await makeTokens()
      const family = { tokenHash: hashToken(refreshToken), clientId: seeded.clientId }
      const grantId = (await findFamilyId(store.read, family)) ?? ''
      return form('/api/revokeToken', { ...credentials, token: refreshToken }, async () => {
        const grants = store.read.selectFrom('grants').select('revoked_at').where('id', '=', grantId)
        return (await grants.executeTakeFirst())?.revoked_at != null
      })
    },
    metadata: async () => read('portal', '/.well-known/oauth-authorization-server'),
    keys: async () => read('portal', '/.well-known/jwks.json'),
    me: async () => read('portal', '/api/me'),
    list: async () => read('api', '/apps/v1'),
    get: async () => read('api', `/apps/v1/${appId}`),
    groups: async () => read('api', `/identities/v1/${userId}/links?type=MemberOf`),
    async create() {
      const name = randomUUID()
      return write('POST', '/apps/v1', makeCreateBody(groupId, { name }), () => hasRow('applications', name))
    },
    async update() {
      const name = randomUUID()
      const { groupId: _, ...data } = makeCreateBody('', { name }).data
      return write('PUT', `/apps/v1/${appId}`, data, () => hasRow('applications', name))
    },
    async remove() {
      const id = await createApplication()
      return write('DELETE', `/apps/v1/${id}`, undefined, async () => !(await findApplication(store.read, id)))
    },
    async secret() {
      const [before] = await listSecretHashes(store.read, appId)
      return write('POST', `/apps/v1/${appId}/refreshSecret`, undefined, async () => {
        const hashes = await listSecretHashes(store.read, appId)
        return hashes[0] !== before || hashes.length > 2
      })
    },
    async 'make-group'() {
      const name = randomUUID()
      const body = { context: groupContext, type: 'Group', data: { name } }
      return write('POST', '/identities/v1', body, async () => {
        const made = await store.read.selectFrom('groups').select('id').where('name', '=', name).execute()
        // Remove the group again, because a person may have only a limited number of groups.
        for (const { id } of made) await store.write(db => endGroup(db, id))
        return made.length > 0
      })
    },
    async link() {
      await forgetInvitations()
      return write('POST', link, invite, async () => (await invitations()).length > 0, portalToken)
    },
    async unlink() {
      await forgetInvitations()
      await sandbox.api.inject({
        method: 'POST',
        url: link,
        headers: { authorization: `Bearer ${portalToken}` },
        payload: invite,
      })
      return write('DELETE', link, undefined, async () => (await invitations()).length === 0, portalToken)
    },
  } satisfies Record<string, () => Promise<PlatformCall>>
}
