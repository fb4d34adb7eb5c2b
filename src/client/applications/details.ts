// GET /applications/:id: one application. Right after an application was created or got a new secret, its page shows the
// credentials.
import type { FastifyPluginAsyncJsonSchemaToTs } from '@fastify/type-provider-json-schema-to-ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { ExpiringMap } from '../expiring-map.ts'
import type { Application, Credentials } from './application.ts'
import type { ApplicationsOptions } from './applications.ts'
import { isWebUrl } from './fields.ts'
import { loadGroups } from './groups.ts'
import { getApplication, idOf, listLink } from './this-application.ts'

const rememberGroupNameMs = 24 * 60 * 60 * 1000

/** Credentials for the page that shows them once. */
type NewCredentials = Credentials & {
  /** The name of the application. */
  name: string
  /** True if the application is new, and false if only its secret is new. */
  isNew: boolean
}

export const details: FastifyPluginAsyncJsonSchemaToTs<{ Options: ApplicationsOptions }> = async (
  app,
  { config, clock },
) => {
  /** The last known name of a group, by visitor and group. */
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
    // Checks the id now, because both calls below start at the same time.
    idOf(request)
    // A page makes at most two calls, including a renewal. Without the groups the page shows the last known name.
    const [application, groups = []] = await Promise.all([
      getApplication(request),
      visitor.wasRenewalTried ? undefined : loadGroups(visitor).then(loaded => loaded.groups),
    ])
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
      redirectUris: application.client?.redirectUris.split(',').filter(uri => uri.trim()),
      isThisSite: application.id === config.clientId,
      isWebUrl,
      notice,
      envFile: toSettings(config, application),
      curlLine: `curl -H "Authorization: Bearer $TOKEN" ${config.apiUrl}/apps/v1/${application.id}`,
      // Where developers read about the calls of the application API.
      guideUrl: `${config.apiUrl}/apps/v1/docs`,
    })
  }
}

/** The settings of a client. The API does not return a stored client secret, so the developer must fill it in. */
function toSettings({ loginUrl, apiUrl }: Config, { id, client }: Application): string {
  const redirectUri = client?.defaultRedirectUri
  const lines = [`LOGIN_URL=${loginUrl}`, `API_URL=${apiUrl}`, `CLIENT_ID=${id}`, 'CLIENT_SECRET=']
  if (redirectUri) lines.push(`REDIRECT_URI=${redirectUri}`)
  return `${lines.join('\n')}\n`
}

/**
 * Redirects to the application's page, which shows the credentials once. A reload of that page creates no credentials and
 * shows none. If the credentials do not fit into a cookie, the response to this request shows them.
 */
export async function sendCredentials(
  config: Config,
  request: FastifyRequest,
  reply: FastifyReply,
  id: string,
  credentials: NewCredentials,
) {
  const path = `/applications/${id}`
  const { sessionOwner } = request.visitor
  if (request.server.handovers.leave(reply, { path, sessionOwner, value: credentials }))
    return reply.redirect(path, 303)
  return renderCredentials(config, reply.code(201), id, credentials)
}

function renderCredentials(config: Config, reply: FastifyReply, id: string, credentials: NewCredentials) {
  const { name, isNew } = credentials
  const texts = reply.request.texts.applications.credentials
  return reply.page('applications/credentials', {
    ...credentials,
    title: isNew ? texts.registered(name) : texts.newSecret(name),
    crumbs: [listLink(reply.request.texts)],
    id,
    isThisSite: id === config.clientId,
    envFile: toEnvFile(config, credentials, texts.validUntilInFile),
  })
}

/** The settings of a client, in the form that `node --env-file` and Docker read. */
function toEnvFile(
  { loginUrl, apiUrl }: Config,
  credentials: NewCredentials,
  validUntil: (time: string) => string,
): string {
  const { name, clientId, clientSecret, appAccessTokens } = credentials
  const tokens = appAccessTokens.map(({ token, endsAt }, index) => {
    const comment = endsAt ? `# ${validUntil(endsAt)}\n` : ''
    return `${comment}APP_ACCESS_TOKEN_${index + 1}=${token}\n`
  })
  // Without this, a line break in the name would make the rest of the name a setting.
  const comment = toOneLine(name)
  return `# ${comment}
LOGIN_URL=${loginUrl}
API_URL=${apiUrl}
CLIENT_ID=${clientId}
CLIENT_SECRET=${clientSecret}
${tokens.join('')}`
}

/** Replaces line breaks and repeated spaces with one space, because a visitor cannot type them into a field of one line. */
export function toOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
