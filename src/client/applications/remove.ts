// GET and POST /applications/:id/delete: remove an application, after the visitor has confirmed this.
import type { FastifyPluginAsync } from 'fastify'
import { logEvent } from '../operations/request-log.ts'
import type { ApplicationsOptions } from './applications.ts'
import { checkConfirmation, loadConfirmation } from './confirmation.ts'
import { apiPathOf, idOf } from './requested-application.ts'

export const remove: FastifyPluginAsync<ApplicationsOptions> = async (app, { config }) => {
  const form = app.defineForm({
    page: '/applications/:id/delete',
    template: 'applications/delete',
    data: (request, page) => loadConfirmation(config, request, page, request.texts.applications.remove.title),
  })

  app.get('/applications/:id/delete', form.show)

  app.post(
    '/applications/:id/delete',
    form.route,
    form.submit(async (request, reply, { fields, once }) => {
      const id = idOf(request)
      await once(async () => {
        await checkConfirmation(config, request, fields)
        await request.visitor.api.delete(apiPathOf(request))
        logEvent(request, 'application_removed', { application: id })
      })
      if (id !== config.clientId) {
        app.notices.leave(reply, '/applications', 'removed')
        return reply.redirect('/applications', 303)
      }
      // The removed application is this site. From now on, the API refuses all tokens of this site, so the visitor is
      // no longer signed in.
      const { title, message, link } = request.texts.applications.remove.done
      return reply.message({ title, message, nextStep: { href: '/', text: link } })
    }),
  )
}
