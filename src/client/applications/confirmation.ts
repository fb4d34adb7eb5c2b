// The page that asks the visitor to confirm a new client secret or the removal of an application. If the application is
// this site itself, the visitor must type the application's name.
import type { FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { FieldError } from '../errors.ts'
import type { FormFields, FormPage } from '../web/forms.ts'
import type { Application } from './application.ts'
import { toOneLine } from './fields.ts'
import { getApplication, idOf, listLink } from './requested-application.ts'

/** Returns the data for the template of the page. */
export async function loadConfirmation(
  { clientId }: Config,
  request: FastifyRequest,
  { fields, hasNoVisitor }: Pick<FormPage, 'fields' | 'hasNoVisitor'>,
  titleOf: (name: string) => string,
) {
  const texts = request.texts.applications
  const back = `/applications/${idOf(request)}`
  const crumbs = [listLink(request.texts)]
  const { label, hint } = texts.confirmation
  const input = { name: 'confirmation', label, required: true, code: true }
  // Without a visitor, the client cannot read the application's name from the API.
  if (hasNoVisitor)
    return {
      name: texts.anApplication,
      title: titleOf(texts.anApplication),
      crumbs,
      back,
      backText: texts.application,
      inputs: fields.confirmation === undefined ? [] : [input],
    }
  const { id, name, secretTimes } = await getApplication(request)
  const isThisSite = id === clientId
  return {
    name: name || texts.anApplication,
    title: titleOf(name || texts.anApplication),
    crumbs,
    back,
    backText: name || texts.application,
    isThisSite,
    secretTimes,
    inputs: isThisSite ? [{ ...input, hint: hint(toOneLine(name)) }] : [],
  }
}

/** If the application is this site itself, throws FieldError unless the visitor has typed the application's name. */
export function checkConfirmation({ clientId }: Config, { id, name }: Application, { confirmation = '' }: FormFields) {
  if (id !== clientId || toOneLine(confirmation) === toOneLine(name)) return
  throw new FieldError(
    { confirmation: [texts => texts.applications.confirmation.differs] },
    texts => texts.applications.confirmation.nothingDone,
  )
}
