// One application: its page, a new client secret for it, and its end.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { logEvent } from '../operations/request-log.ts'
import { visitorOf } from '../sign-in/sign-in.ts'
import type { Forms } from '../web/forms.ts'
import { showPage } from '../web/views.ts'
import { type ApplicationApi, isApplicationId, noSuchApplication } from './application-api.ts'
import { handOverCredentials, showHandedOver } from './credentials.ts'
import { isWebUrl } from './fields.ts'

type Parts = Forms & { api: ApplicationApi }

export function createDetails({ api, defineForm, handovers }: Parts) {
  const secretForm = defineForm({ page: '/applications/:id' })
  const removalForm = defineForm({ page: '/applications/:id/delete' })

  return {
    secretForm,
    removalForm,

    async show(request: FastifyRequest, reply: FastifyReply) {
      const id = idOf(request)
      const credentials = await showHandedOver(handovers, request, reply, id)
      if (credentials) return credentials
      const application = await visitorOf(request).call(caller => api.get(caller, id))
      const { created, saved } = request.query as Record<string, unknown>
      return showPage(reply, 'applications/details', {
        title: application.name || 'Unnamed application',
        application,
        isWebUrl,
        formToken: secretForm.newToken(request),
        wasCreatedEarlier: created === 'earlier',
        wasSaved: saved === 'yes',
      })
    },

    refreshSecret: secretForm.submit(async (request, reply, { once }) => {
      const id = idOf(request)
      const { call } = visitorOf(request)
      const clientSecret = await once(() => call(caller => api.refreshSecret(caller, id)))
      logEvent(request, 'client_secret_renewed', { application: id })
      return handOverCredentials(handovers, request, reply, id, { clientSecret, isRenewed: true })
    }),

    async confirmRemoval(request: FastifyRequest, reply: FastifyReply) {
      const application = await visitorOf(request).call(caller => api.get(caller, idOf(request)))
      const title = `Remove ${application.name || 'application'}`
      const formToken = removalForm.newToken(request)
      return showPage(reply, 'applications/remove', { title, application, formToken })
    },

    remove: removalForm.submit(async (request, reply, { once }) => {
      const id = idOf(request)
      const { call } = visitorOf(request)
      await once(() => call(caller => api.remove(caller, id)))
      logEvent(request, 'application_removed', { application: id })
      return reply.redirect('/applications?removed=yes', 303)
    }),
  }
}

/** Only what can be an id goes into an address of the API: Fastify has decoded %2f by now. Throws PublicError 404. */
export async function checkId(request: FastifyRequest): Promise<void> {
  const { id } = request.params as { id?: string }
  if (id !== undefined && !isApplicationId(id)) throw noSuchApplication()
}

export function idOf(request: FastifyRequest): string {
  return (request.params as { id: string }).id
}
