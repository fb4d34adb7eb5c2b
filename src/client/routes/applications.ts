// The visitor's applications: all of them, one of them, a new client secret for it, and its end.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ApplicationApi, byNewest, isApplicationId, noSuchApplication } from '../application-api.ts'
import { Once } from '../once.ts'
import { logEvent } from '../operations/request-log.ts'
import { type Forms, showCredentials } from '../web/forms.ts'
import { visitorOf } from '../web/require-session.ts'
import { showPage } from '../web/views.ts'

type Parts = { api: ApplicationApi; forms: Forms; clock: () => Date }
type Query = Record<string, unknown>

const pageSize = 50
const doneMs = 10 * 60 * 1000

export function applicationRoutes({ api, forms, clock }: Parts) {
  /** Once for each form and application, since browsers send one again by themselves when its answer does not come. */
  const newSecrets = new Once<string>(clock, { keepMs: doneMs })
  const removals = new Once<void>(clock, { keepMs: doneMs })

  return {
    async list(request: FastifyRequest, reply: FastifyReply) {
      const { q, page, removed } = request.query as Query
      const search = typeof q === 'string' ? q.trim().slice(0, 200) : ''
      const applications = await visitorOf(request).call(api.list)
      const found = applications.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()))
      found.sort(byNewest)
      const pages = Math.max(1, Math.ceil(found.length / pageSize))
      const current = Math.min(Math.max(1, Math.trunc(Number(page)) || 1), pages)
      return showPage(reply, 'applications', {
        title: 'Your applications',
        applications: found.slice((current - 1) * pageSize, current * pageSize),
        search,
        found: found.length,
        total: applications.length,
        page: current,
        pages,
        wasRemoved: removed === 'yes',
      })
    },

    async show(request: FastifyRequest, reply: FastifyReply) {
      const id = idOf(request)
      const handover = forms.takeHandover(request, reply)
      if (handover?.credentials) return showCredentials(reply, id, handover.credentials)
      const application = await visitorOf(request).call(caller => api.get(caller, id))
      const { created, saved } = request.query as Query
      return showPage(reply, 'application', {
        title: application.name || 'Unnamed application',
        application,
        formToken: forms.newToken(request),
        wasCreatedEarlier: created === 'earlier',
        wasSaved: saved === 'yes',
      })
    },

    async refreshSecret(request: FastifyRequest, reply: FastifyReply) {
      const id = idOf(request)
      const token = forms.requireToken(request, `/applications/${id}`)
      const { call } = visitorOf(request)
      const clientSecret = await newSecrets.do(`${token.id} ${id}`, () => call(caller => api.refreshSecret(caller, id)))
      logEvent(request, 'client_secret_renewed', { application: id })
      return forms.handOverCredentials(request, reply, id, { clientSecret, isRenewed: true })
    },

    async confirmRemoval(request: FastifyRequest, reply: FastifyReply) {
      const application = await visitorOf(request).call(caller => api.get(caller, idOf(request)))
      const title = `Remove ${application.name || 'application'}`
      return showPage(reply, 'remove', { title, application, formToken: forms.newToken(request) })
    },

    async remove(request: FastifyRequest, reply: FastifyReply) {
      const id = idOf(request)
      const token = forms.requireToken(request, `/applications/${id}/delete`)
      const { call } = visitorOf(request)
      await removals.do(`${token.id} ${id}`, () => call(caller => api.remove(caller, id)))
      logEvent(request, 'application_removed', { application: id })
      return reply.redirect('/applications?removed=yes', 303)
    },
  }
}

/** Only what can be an id goes into an address of the API: Fastify has decoded %2f by now. Throws PublicError 404. */
export function idOf(request: FastifyRequest): string {
  const { id } = request.params as { id: string }
  if (isApplicationId(id)) return id
  throw noSuchApplication()
}
