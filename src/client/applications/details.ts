// GET /applications/:id: shows one application. Right after the application was created or got a new secret, the page
// shows only the credentials (credentials.ts).
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { ExpiringMap } from '../expiring-map.ts'
import type { Application } from './application.ts'
import type { ApplicationsOptions } from './applications.ts'
import { type NewCredentials, renderCredentials } from './credentials.ts'
import { isWebUrl } from './fields.ts'
import { loadGroups } from './groups.ts'
import { getApplication, idOf, listLink } from './requested-application.ts'

const rememberGroupNameMs = 24 * 60 * 60 * 1000

export const details: FastifyPluginAsync<ApplicationsOptions> = async (app, { config, clock }) => {
  /** The last known names of groups. Each key consists of the visitor and the group. */
  const groupNames = new ExpiringMap<string>(clock)

  app.get('/applications/:id', (request, reply) =>
    app.handovers.take(request, reply, credentials =>
      credentials
        ? renderCredentials(config, reply, idOf(request), credentials as NewCredentials)
        : app.notices.take(request, reply, notice => renderApplication(request, reply, notice)),
    ),
  )

  async function renderApplication(request: FastifyRequest, reply: FastifyReply, notice: string | undefined) {
    const { visitor } = request
    // The two calls run one after the other. If they ran at the same time and the API refused the access token, the
    // client would have to repeat both calls (UP-14).
    const application = await getApplication(request)
    // A page makes at most two calls (DO-14), and the renewal of an expired access token counts as a call. So after a
    // renewal, the client does not load the groups, and the page shows the last known name of the group.
    const { groups = [] } = visitor.wasRenewalTried ? {} : await loadGroups(visitor)
    const { groupId } = application
    const groupKey = `${visitor.sessionOwner} ${groupId}`
    const group = groups.find(({ id }) => id === groupId)
    if (group) groupNames.set(groupKey, group.name, rememberGroupNameMs)
    const texts = request.texts.applications
    const name = application.name || texts.unnamed
    return reply.page('applications/details', {
      title: notice === 'saved' ? texts.details.titleAfterSaving(name) : name,
      crumbs: [listLink(request.texts)],
      name,
      application,
      groupName: groupNames.get(groupKey),
      redirectUris: textsIn(application.client?.redirectUris),
      isThisSite: application.id === config.clientId,
      isWebUrl,
      notice,
      envFile: toSettings(config, application),
      curlLine: `curl -H "Authorization: Bearer $TOKEN" ${config.apiUrl}/apps/v1/${application.id}`,
      // On this page, developers can read about all calls to the application API.
      guideUrl: `${config.apiUrl}/apps/v1/docs`,
    })
  }
}

/** Splits a comma-separated list. */
function textsIn(list = ''): string[] {
  return list
    .split(',')
    .map(text => text.trim())
    .filter(Boolean)
}

/**
 * Returns the settings of a client, without the client secret. The API does not return a stored client secret, so the
 * developer must fill it in.
 */
function toSettings({ loginUrl, apiUrl }: Config, { id, client }: Application): string {
  const redirectUri = client?.defaultRedirectUri
  const lines = [`LOGIN_URL=${loginUrl}`, `API_URL=${apiUrl}`, `CLIENT_ID=${id}`, 'CLIENT_SECRET=']
  if (redirectUri) lines.push(`REDIRECT_URI=${redirectUri}`)
  return `${lines.join('\n')}\n`
}
