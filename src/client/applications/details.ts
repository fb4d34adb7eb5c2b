// One application: its page, a new client secret for it, and its end. Both of these ask first.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { FieldError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import { type Caller, visitorOf } from '../sign-in/sign-in.ts'
import type { Forms, Sent } from '../web/forms.ts'
import { showMessage, showPage } from '../web/views.ts'
import { type Application, type ApplicationApi, isApplicationId, noSuchApplication } from './application-api.ts'
import type { ShowCredentials } from './credentials.ts'
import { isWebUrl } from './fields.ts'

type Parts = Forms & {
  api: ApplicationApi
  credentials: ShowCredentials
  /** This site's own client id: it is an application, too, and ending it ends the site. */
  clientId: string
}

export function createDetails({ api, credentials, clientId, defineForm }: Parts) {
  const secretForm = defineQuestion('secret', name => `New client secret for ${name}`)
  const removalForm = defineQuestion('delete', name => `Remove ${name}`)

  /** A page that asks; for this site itself it wants the name typed. */
  function defineQuestion(action: 'secret' | 'delete', titleOf: (name: string) => string) {
    return defineForm({
      page: `/applications/:id/${action}`,
      template: `applications/${action}`,
      async data(request, { signInHref }) {
        if (signInHref) return { title: 'Your session has ended' }
        const application = await visitorOf(request).call(caller => api.get(caller, idOf(request)))
        const title = titleOf(application.name || 'application')
        return { title, application, isThisSite: application.id === clientId }
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

    async show(request: FastifyRequest, reply: FastifyReply) {
      const id = idOf(request)
      const shownOnce = await credentials.showHandedOver(request, reply, id)
      if (shownOnce) return shownOnce
      const { call } = visitorOf(request)
      const [application, groups] = await call(caller =>
        // A page makes two calls at most; its group has an id where there is no room for the name.
        Promise.all([api.get(caller, id), caller.hasRenewed ? undefined : api.listGroups(caller)]),
      )
      const { created, saved } = request.query as Record<string, unknown>
      const name = application.name || 'Unnamed application'
      return showPage(reply, 'applications/details', {
        title: saved === 'yes' ? `Saved: ${name}` : name,
        name,
        application,
        groupName: groups?.find(group => group.id === application.groupId)?.name,
        isThisSite: id === clientId,
        isWebUrl,
        wasCreatedEarlier: created === 'earlier',
        wasSaved: saved === 'yes',
      })
    },

    refreshSecret: secretForm.submit(async (request, reply, sent) => {
      const id = idOf(request)
      const made = await confirm(request, sent, async (caller, { name }) => {
        const clientSecret = await api.refreshSecret(caller, id)
        return { name, isNew: false, clientId: id, clientSecret, appAccessTokens: [] }
      })
      logEvent(request, 'client_secret_renewed', { application: id })
      return credentials.handOver(request, reply, id, made)
    }),

    remove: removalForm.submit(async (request, reply, sent) => {
      const id = idOf(request)
      await confirm(request, sent, caller => api.remove(caller, id))
      logEvent(request, 'application_removed', { application: id })
      if (id !== clientId) return reply.redirect('/applications?removed=yes', 303)
      // From here on the API refuses every token of this site.
      return showMessage(reply, {
        title: 'This site has been removed',
        message: 'Nobody can sign in here until its operator registers it again, and gives it the new credentials.',
        nextStep: { href: '/', text: 'Go to the start page' },
      })
    }),
  }
}

/** As it can be typed into a field. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** Only what can be an id goes into an address of the API: Fastify has decoded %2f by now. Throws PublicError 404. */
export function idOf(request: FastifyRequest): string {
  const { id } = request.params as { id: string }
  if (isApplicationId(id)) return id
  throw noSuchApplication()
}
