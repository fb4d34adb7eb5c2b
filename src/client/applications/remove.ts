// GET and POST /applications/:id/delete: remove an application, after the visitor has confirmed this.
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import type { FormToken } from '../web/forms.ts'
import type { ApplicationsOptions } from './applications.ts'
import { checkConfirmation, loadConfirmation } from './confirmation.ts'
import { apiPathOf, getApplication, idOf } from './requested-application.ts'

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
    form.submit(async (request, reply, { fields, token, once }) => {
      const id = idOf(request)
      await once(async () => {
        // Only the removal of this site needs the application's name. For other applications, the client does not read
        // the application, so that the form makes at most two calls (DO-14).
        if (id === config.clientId) checkConfirmation(config, await getApplication(request), fields)
        await removeApplication(request, token)
        logEvent(request, 'application_removed', { application: id })
      })
      if (id !== config.clientId) {
        app.notices.leave(reply, '/applications', 'removed')
        return reply.redirect('/applications', 303)
      }
      // The visitor has removed the application of this site. From now on, the platform refuses all tokens of this
      // site.
      app.signIn.endSession(request)
      app.notices.leave(reply, '/', 'site-removed')
      return reply.redirect('/', 303)
    }),
  )
}

async function removeApplication(request: FastifyRequest, token: FormToken): Promise<void> {
  try {
    await request.visitor.api.delete(apiPathOf(request))
  } catch (error) {
    if (!(error instanceof PublicError)) throw error
    // An earlier submission of this form may have removed the application.
    if (error.statusCode === 404 && token.mayHaveActed) return
    // The API may have removed the application, although the client got no usable answer.
    if (error.statusCode >= 500 && (await isRemoved(request))) return
    throw error
  }
}

/** Returns false if the client cannot find out whether the application was removed. */
async function isRemoved(request: FastifyRequest): Promise<boolean> {
  try {
    await getApplication(request)
    return false
  } catch (error) {
    return error instanceof PublicError && error.statusCode === 404
  }
}
