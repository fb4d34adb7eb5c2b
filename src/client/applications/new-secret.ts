// GET and POST /applications/:id/secret: create a new client secret, after the visitor has confirmed this.
import type { FastifyPluginAsync } from 'fastify'
import { logEvent } from '../operations/request-log.ts'
import { type FormToken, FormUsed } from '../web/forms.ts'
import type { ApplicationsOptions } from './applications.ts'
import { checkConfirmation, loadConfirmation } from './confirmation.ts'
import { sendCredentials } from './credentials.ts'
import { apiPathOf, getApplication, idOf } from './requested-application.ts'
import { newSecretSchema } from './schemas.ts'

export const newSecret: FastifyPluginAsync<ApplicationsOptions> = async (app, { config }) => {
  const form = app.defineForm({
    page: '/applications/:id/secret',
    template: 'applications/secret',
    async data(request, page) {
      const confirmation = await loadConfirmation(config, request, page, request.texts.applications.secret.title)
      return { ...confirmation, seen: describeSecrets(confirmation.secretTimes) }
    },
  })

  app.get('/applications/:id/secret', form.show)

  app.post(
    '/applications/:id/secret',
    form.route,
    form.submit(async (request, reply, { fields, token, once }) => {
      const id = idOf(request)
      const credentials = await once(async () => {
        const application = await getApplication(request)
        checkConfirmation(config, application, fields)
        refuseSecondSecret(token, describeSecrets(application.secretTimes))
        const path = `${apiPathOf(request)}/refreshSecret`
        const { clientSecret } = await request.visitor.api.post(path, undefined, newSecretSchema)
        logEvent(request, 'client_secret_renewed', { application: id })
        const name = application.name || request.texts.applications.anApplication
        return { name, isNew: false, clientId: id, clientSecret, appAccessTokens: [] }
      })
      return sendCredentials(config, request, reply, id, credentials)
    }),
  )
}

/** Returns a string that changes when the API creates a secret. The string is empty if the API returns no times. */
function describeSecrets(times: Date[] = []): string {
  return times.map(time => time.toISOString()).join(' ')
}

/**
 * The same form can arrive twice, for example because the visitor sends it again after the answer was lost. The two
 * requests can reach different replicas. The API keeps only the two newest secrets. So if the client created two new
 * secrets, the secret that the application uses would stop working. `secrets` and `seen` contain times from the API's
 * clock, so the clocks of the replicas do not matter.
 */
function refuseSecondSecret({ seen = '', mayHaveActed }: FormToken, secrets: string): void {
  if (secrets !== seen) throw new FormUsed(texts => texts.applications.secret.createdMeanwhile)
  if (mayHaveActed && secrets === '') throw new FormUsed(texts => texts.applications.secret.inDoubt)
}
