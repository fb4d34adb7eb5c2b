// GET /applications/:id: one application. Right after it was created, or has a new secret, the page shows the credentials.
import type { FastifyPluginAsyncJsonSchemaToTs } from '@fastify/type-provider-json-schema-to-ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import type { Credentials } from './application.ts'
import type { ApplicationsOptions } from './applications.ts'
import { isWebUrl } from './fields.ts'
import { listGroups } from './groups.ts'
import { getApplication, idOf } from './this-application.ts'

/** Credentials for the page that shows them once. */
type NewCredentials = Credentials & {
  /** The name of the application. */
  name: string
  /** The application is new, not only its secret. */
  isNew: boolean
}

export const details: FastifyPluginAsyncJsonSchemaToTs<{ Options: ApplicationsOptions }> = async (app, { config }) => {
  app.get('/applications/:id', (request, reply) =>
    app.handovers.take(request, reply, credentials =>
      credentials
        ? renderCredentials(config, reply, idOf(request), credentials as NewCredentials)
        : app.notices.take(request, reply, notice => renderApplication(request, reply, notice)),
    ),
  )

  async function renderApplication(request: FastifyRequest, reply: FastifyReply, notice: string | undefined) {
    const { visitor } = request
    // The two calls run at the same time, so the id is checked before either of them.
    idOf(request)
    // This request has already waited for a renewal. The group's name is optional: without it the page shows the id.
    const [application, groups] = await Promise.all([
      getApplication(request),
      visitor.wasRenewalTried ? undefined : listGroups(visitor),
    ])
    const texts = request.texts.applications
    const name = application.name || texts.unnamed
    return reply.page('applications/details', {
      title: notice === 'saved' ? texts.details.titleAfterSaving(name) : name,
      name,
      application,
      groupName: groups?.find(group => group.id === application.groupId)?.name,
      isThisSite: application.id === config.clientId,
      isWebUrl,
      notice,
    })
  }
}

/**
 * Redirects to the application's page, which shows the credentials once: a reload neither makes nor shows them again. If
 * the credentials do not fit into a cookie, this answer shows them.
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

/** The text as it can be typed into a field of one line. */
export function toOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
