// Finds, before the first visitor does, a form that would lose what somebody types.
import type { FastifyInstance } from 'fastify'
import type { Form } from './forms.ts'
import { hasTemplate } from './views.ts'

/**
 * Stops the start where a POST of this scope has no form, or a form no page or no template. Call it before the routes are registered, and what it returns after.
 */
export function checkForms(scope: FastifyInstance): () => void {
  const forms: { post: string; form: Form }[] = []
  scope.addHook('onRoute', ({ method, url, config }) => {
    if (method === 'GET') return
    const { form } = (config ?? {}) as { form?: Form }
    if (!form) throw new Error(`${method} ${url} belongs to no form: register it with the route of one (defineForm).`)
    forms.push({ post: `${method} ${url}`, form })
  })
  return () => {
    for (const { post, form } of forms) {
      if (!scope.hasRoute({ method: 'GET', url: form.page }))
        throw new Error(`The form of ${post} stands on ${form.page}, and there is no GET ${form.page}.`)
      if (form.template && !hasTemplate(scope, form.template))
        throw new Error(`The form of ${post} is shown by the template ${form.template}, and there is none.`)
    }
  }
}
