// What asks first: a new client secret for an application, and its end.
import type { FastifyRequest } from 'fastify'
import { FieldError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import { type Caller, visitorOf } from '../sign-in/sign-in.ts'
import type { Forms, Sent } from '../web/forms.ts'
import { showMessage } from '../web/views.ts'
import type { Application, ApplicationApi } from './application-api.ts'
import { type Details, idOf, oneLine } from './details.ts'

/** `clientId`: this site's own. It is an application, too, and ending it ends the site: that wants its name typed. */
type Parts = Pick<Forms, 'defineForm' | 'notices'> & { api: ApplicationApi; details: Details; clientId: string }

export function createQuestions({ api, details, notices, clientId, defineForm }: Parts) {
  const secretForm = defineQuestion('secret', name => `New client secret for ${name}`)
  const removalForm = defineQuestion('delete', name => `Remove ${name}`)

  function defineQuestion(action: 'secret' | 'delete', titleOf: (name: string) => string) {
    return defineForm({
      page: `/applications/:id/${action}`,
      template: `applications/${action}`,
      async data(request, { signInHref }) {
        const back = `/applications/${idOf(request)}`
        if (signInHref) return { back, backText: 'Application' }
        const { id, name } = await visitorOf(request).call(caller => api.get(caller, idOf(request)))
        const backText = name || 'Application'
        const isThisSite = id === clientId
        const hint = `Type “${oneLine(name)}” to confirm.`
        const inputs = isThisSite ? [{ name: 'confirmation', label: 'Name', hint, required: true, code: true }] : []
        return { title: titleOf(name || 'application'), back, backText, isThisSite, inputs }
      },
    })
  }

  /** Does it once for the form, however often that is delivered. Throws FieldError where the name is not as asked. */
  function confirm<T>(request: FastifyRequest, { fields, once }: Sent, act: (caller: Caller, one: Application) => T) {
    return once(() =>
      visitorOf(request).call(async caller => {
        const application = await api.get(caller, idOf(request))
        if (application.id === clientId && oneLine(fields.confirmation ?? '') !== oneLine(application.name))
          throw new FieldError({ confirmation: ['This is not the name of the application.'] })
        return await act(caller, application)
      }),
    )
  }

  return {
    secretForm,
    removalForm,

    refreshSecret: secretForm.submit(async (request, reply, sent) => {
      const id = idOf(request)
      const made = await confirm(request, sent, async (caller, { name }) => {
        const clientSecret = await api.refreshSecret(caller, id)
        return { name, isNew: false, clientId: id, clientSecret, appAccessTokens: [] }
      })
      logEvent(request, 'client_secret_renewed', { application: id })
      return details.handOver(request, reply, id, made)
    }),

    remove: removalForm.submit(async (request, reply, sent) => {
      const id = idOf(request)
      await confirm(request, sent, caller => api.remove(caller, id))
      logEvent(request, 'application_removed', { application: id })
      if (id !== clientId) {
        notices.leave(reply, '/applications', 'removed')
        return reply.redirect('/applications', 303)
      }
      // From here on the API refuses every token of this site.
      return showMessage(reply, {
        title: 'This site has been removed',
        message: 'Nobody can sign in here until its operator registers it again, and gives it the new credentials.',
        nextStep: { href: '/', text: 'Go to the start page' },
      })
    }),
  }
}
