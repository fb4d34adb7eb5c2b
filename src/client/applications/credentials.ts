// Shows new credentials once: on a page, and in a file that the visitor can download.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import type { Credentials } from './application.ts'
import { toOneLine } from './fields.ts'
import { listLink } from './requested-application.ts'

/** The data for the page that shows credentials once. */
export type NewCredentials = Credentials & {
  /** The name of the application. */
  name: string
  /** True if the application is new. False if only the client secret is new. */
  isNew: boolean
}

/**
 * Redirects to the application's page, which shows the credentials once. After a reload, that page no longer shows the
 * credentials. If the credentials do not fit into a cookie, the client does not redirect, and the response to this
 * request shows the credentials.
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

/** Renders the page that shows the credentials. */
export function renderCredentials(config: Config, reply: FastifyReply, id: string, credentials: NewCredentials) {
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

/** Returns the settings of a client in the format that `node --env-file` and Docker read. */
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
  // If the name contained a line break, the text after the line break would become a setting.
  const comment = toOneLine(name)
  return `# ${comment}
LOGIN_URL=${loginUrl}
API_URL=${apiUrl}
CLIENT_ID=${clientId}
CLIENT_SECRET=${clientSecret}
${tokens.join('')}`
}
