// Shows credentials once: what the API has just made is stored nowhere here.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitorOf } from '../sign-in/sign-in.ts'
import { expireHandover, type Handovers } from '../web/hand-over.ts'
import { setCookies } from '../web/seal.ts'
import { showPage } from '../web/views.ts'
import type { Credentials } from './application-api.ts'

/** `name`: of the application; `isNew` as opposed to its secret alone. `madeAt` in milliseconds since 1970. */
type Made = Credentials & { name: string; isNew: boolean; madeAt: number }

/** Of this site: an application has the same portal and API. */
type Settings = { clientId: string; loginUrl: string; apiUrl: string }

export type ShowCredentials = ReturnType<typeof createCredentials>

export function createCredentials(site: Settings & { handovers: Handovers; clock: () => Date }) {
  const { handovers, clock } = site

  function show(reply: FastifyReply, id: string, made: Made) {
    const { name, isNew, madeAt, appAccessTokens, ...client } = made
    const tokens = appAccessTokens.map(({ id, token, expiresIn }) => {
      return { id, token, endsAt: expiresIn === undefined ? undefined : new Date(madeAt + expiresIn * 1000) }
    })
    return showPage(reply, 'applications/credentials', {
      title: isNew ? `${name} is registered` : `New client secret for ${name}`,
      name,
      isNew,
      isThisSite: id === site.clientId,
      id,
      ...client,
      tokens,
      file: writeEnvFile({ ...site, ...client }, name, tokens),
    })
  }

  return {
    /** To the page of the application, which shows them and takes them away: a reload neither makes nor shows them again. */
    handOver(request: FastifyRequest, reply: FastifyReply, id: string, credentials: Omit<Made, 'madeAt'>) {
      const path = `/applications/${id}`
      const { visitorId } = visitorOf(request)
      const made = { ...credentials, madeAt: clock().getTime() }
      const fits = handovers.leave(reply, { path, visitorId, kind: 'secret', value: made })
      return fits ? reply.redirect(path, 303) : show(reply.code(201), id, made)
    },

    /** Undefined where there are none to show. */
    async showHandedOver(request: FastifyRequest, reply: FastifyReply, id: string) {
      const made = handovers.find(request, visitorOf(request).visitorId, 'secret') as Made | undefined
      if (!made) return undefined
      const page = await show(reply, id, made)
      setCookies(reply, expireHandover(request.cookies))
      return page
    },
  }
}

/** The settings of a client, as `node --env-file` and docker read them. */
function writeEnvFile(
  { loginUrl, apiUrl, clientId, clientSecret }: Settings & { clientSecret: string },
  name: string,
  tokens: { token: string; endsAt: Date | undefined }[],
): string {
  const lines = [
    // A name may hold line breaks, and what follows one would be a setting.
    `# ${name.replace(/\s+/g, ' ')}`,
    `LOGIN_URL=${loginUrl}`,
    `API_URL=${apiUrl}`,
    `CLIENT_ID=${clientId}`,
    `CLIENT_SECRET=${clientSecret}`,
    ...tokens.flatMap(({ token, endsAt }, index) => [
      ...(endsAt ? [`# Valid until ${endsAt.toISOString()}`] : []),
      `APP_ACCESS_TOKEN_${index + 1}=${token}`,
    ]),
  ]
  return `${lines.join('\n')}\n`
}
