// GET and POST /applications/:id/secret: create a new client secret, after the visitor has confirmed this.
import type { FastifyPluginAsync } from 'fastify'
import { logEvent } from '../operations/request-log.ts'
import type { ApplicationsOptions } from './applications.ts'
import { checkConfirmation, loadConfirmation } from './confirmation.ts'
import { sendCredentials } from './credentials.ts'
import { apiPathOf, idOf } from './requested-application.ts'
import { newSecretSchema } from './schemas.ts'

export const newSecret: FastifyPluginAsync<ApplicationsOptions> = async (app, { config }) => {
  const form = app.defineForm({
    page: '/applications/:id/secret',
    template: 'applications/secret',
    data: (request, page) => loadConfirmation(config, request, page, request.texts.applications.secret.title),
  })

  app.get('/applications/:id/secret', form.show)

  app.post(
    '/applications/:id/secret',
    form.route,
    form.submit(async (request, reply, { fields, once }) => {
      const id = idOf(request)
      const credentials = await once(async () => {
        const { name } = await checkConfirmation(config, request, fields)
        const path = `${apiPathOf(request)}/refreshSecret`
        const { clientSecret } = await request.visitor.api.post(path, undefined, newSecretSchema)
        logEvent(request, 'client_secret_renewed', { application: id })
        return { name, isNew: false, clientId: id, clientSecret, appAccessTokens: [] }
      })
      return sendCredentials(config, request, reply, id, credentials)
    }),
  )
}
