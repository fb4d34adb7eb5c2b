// The page of one application. Right after something was made, it shows the credentials, once; they are stored nowhere here.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitorOf } from '../sign-in/sign-in.ts'
import type { Handovers, Notices } from '../web/hand-over.ts'
import { showPage } from '../web/views.ts'
import { type ApplicationApi, type Credentials, isApplicationId, noSuchApplication } from './application-api.ts'
import { isWebUrl } from './fields.ts'

/** `name`: of the application; `isNew` as opposed to its secret alone. */
type Made = Credentials & { name: string; isNew: boolean }

/** `clientId`: this site's own. It is an application, too, and any other has the same portal and API. */
type Site = { clientId: string; loginUrl: string; apiUrl: string }

export type Details = ReturnType<typeof createDetails>

type Parts = { api: ApplicationApi; handovers: Handovers; notices: Notices; site: Site }

export function createDetails({ api, handovers, notices, site }: Parts) {
  async function showApplication(request: FastifyRequest, reply: FastifyReply, id: string, notice?: string) {
    const [application, groups] = await visitorOf(request).call(caller =>
      // A page makes two calls at most; its group has an id where there is no room for the name.
      Promise.all([api.get(caller, id), caller.hasRenewed ? undefined : api.listGroups(caller)]),
    )
    const name = application.name || 'Unnamed application'
    return showPage(reply, 'applications/details', {
      title: notice === 'saved' ? `Saved: ${name}` : name,
      name,
      application,
      groupName: groups?.find(group => group.id === application.groupId)?.name,
      isThisSite: id === site.clientId,
      isWebUrl,
      wasCreatedEarlier: notice === 'created-earlier',
      wasSaved: notice === 'saved',
    })
  }

  function showCredentials(reply: FastifyReply, id: string, made: Made) {
    const title = made.isNew ? `${made.name} is registered` : `New client secret for ${made.name}`
    const shown = { ...made, title, id, isThisSite: id === site.clientId, file: writeEnvFile(site, made) }
    return showPage(reply, 'applications/credentials', shown)
  }

  return {
    show(request: FastifyRequest, reply: FastifyReply) {
      const id = idOf(request)
      return handovers.take<Made>(request, reply, made =>
        made
          ? showCredentials(reply, id, made)
          : notices.take(request, reply, notice => showApplication(request, reply, id, notice)),
      )
    },

    /** To the page of the application, which shows them and takes them away: a reload neither makes nor shows them again. */
    handOver(request: FastifyRequest, reply: FastifyReply, id: string, made: Made) {
      const path = `/applications/${id}`
      const { visitorId } = visitorOf(request)
      if (handovers.leave(reply, { path, visitorId, value: made })) return reply.redirect(path, 303)
      return showCredentials(reply.code(201), id, made)
    },
  }
}

/** The settings of a client, as `node --env-file` and docker read them. */
function writeEnvFile({ loginUrl, apiUrl }: Site, { name, clientId, clientSecret, appAccessTokens }: Made): string {
  const tokens = appAccessTokens.map(({ token, endsAt }, index) => {
    const comment = endsAt ? `# Valid until ${endsAt}\n` : ''
    return `${comment}APP_ACCESS_TOKEN_${index + 1}=${token}\n`
  })
  // A name may hold line breaks, and what follows one would be a setting.
  return `# ${oneLine(name)}
LOGIN_URL=${loginUrl}
API_URL=${apiUrl}
CLIENT_ID=${clientId}
CLIENT_SECRET=${clientSecret}
${tokens.join('')}`
}

/** As it can be typed into a field. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** Only what can be an id goes into an address of the API: Fastify has decoded %2f by now. Throws PublicError 404. */
export function idOf(request: FastifyRequest): string {
  const { id } = request.params as { id: string }
  if (isApplicationId(id)) return id
  throw noSuchApplication()
}
