// Simulates an application API that remembers changes: its list contains new applications, but no longer contains
// removed applications.
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { type Received, type Script, send } from '../../support/scripted-platform.ts'
import { applicationRecord, collection } from './application-record.ts'

type Answer = Parameters<typeof send>[1]
type Stored = ReturnType<typeof applicationRecord>

/**
 * Returns the scripts of this API. `clock` is the API's clock. `ids` are the ids of the applications that have routes.
 * `records` contains the stored applications. `secrets` contains all client secrets, oldest first. If `secretTimes`
 * contains a list for an application, the API returns when the valid secrets of this application were created. If
 * `losesAnswers` is true, the API carries out every change, but breaks the connection before its answer.
 */
export function rememberingApi(clock: { read: () => Date }, ids = ['app-1', 'app-2', 'app-3']) {
  const records = new Map<string, Stored>()
  const secrets: string[] = []
  const secretTimes = new Map<string, string[]>()
  const api = { records, secrets, secretTimes, losesAnswers: false, scripts: {} as Record<string, Script> }
  const newSecret = () => {
    const secret = randomBytes(32).toString('base64url')
    secrets.push(secret)
    return secret
  }

  const respond =
    (work: (request: Received) => Answer): Script =>
    (request: Received, response: ServerResponse) => {
      const answer = work(request)
      if (api.losesAnswers && request.method !== 'GET') response.destroy()
      else send(response, answer)
    }

  const create = respond(request => {
    const { groupId, redirectUris, defaultRedirectUri, scopes, defaultScopes, ...data } = JSON.parse(request.body).data
    const id = `app-${records.size + 1}`
    const createdAt = clock
      .read()
      .toISOString()
      .replace(/\.\d+Z$/, '+00:00')
    const record = applicationRecord(id, data, {
      metadata: { createdAt, createdBy: 'visitor-1', updatedAt: createdAt, updatedBy: 'visitor-1' },
      inLinks: [{ '@type': 'DeveloperOf', '@id': `link-${id}`, from: groupId, to: id, data: {}, metadata: {} }],
    })
    records.set(id, record)
    const client = { clientId: id, redirectUris, defaultRedirectUri, scopes, defaultScopes }
    const tokens = [1, 2].map(number => ({
      id: `token-${number}`,
      token: `app-access-token-${number}-of-${id}`,
      expires_in: 63_072_000,
    }))
    return { status: 201, body: { ...record, client: { ...client, clientSecrets: [newSecret()] }, tokens } }
  })

  const { scripts } = api
  scripts['GET /apps/v1'] = respond(() => ({ body: collection([...records.values()]) }))
  scripts['POST /apps/v1'] = create
  scripts['GET /identities/v1/visitor-1/links'] = respond(() => ({
    headers: { date: clock.read().toUTCString() },
    body: collection([{ to: 'group-1' }]),
  }))
  /** Adds the routes of one application, even if the application does not exist yet. */
  for (const id of ids) {
    const notFound = { status: 404, body: { error: { status: 404, message: 'App not found.' } } }
    scripts[`GET /apps/v1/${id}`] = respond(() => {
      const times = secretTimes.get(id)
      const headers: Record<string, string> = times ? { 'client-secrets-created': times.join(', ') } : {}
      return records.has(id) ? { headers, body: records.get(id) } : notFound
    })
    scripts[`DELETE /apps/v1/${id}`] = respond(() => (records.delete(id) ? { status: 204, body: '' } : notFound))
    scripts[`POST /apps/v1/${id}/refreshSecret`] = respond(() => {
      const times = secretTimes.get(id)
      if (times) secretTimes.set(id, [clock.read().toISOString(), ...times].slice(0, 2))
      return { status: 201, body: { clientSecret: newSecret() } }
    })
  }
  return api
}
