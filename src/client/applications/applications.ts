// Yours: the pages for applications. This is an ordinary Fastify plugin, which app.ts registers in the signed-in scope.
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '../config.ts'
import { PublicError } from '../errors.ts'
import type { Texts } from '../texts.ts'
import { create } from './create.ts'
import { details } from './details.ts'
import { edit } from './edit.ts'
import { list } from './list.ts'
import { newSecret } from './new-secret.ts'
import { remove } from './remove.ts'
import { listLink, noSuchApplication } from './requested-application.ts'
import { applicationsTexts } from './texts.ts'

export type ApplicationsOptions = { config: Config; clock: () => Date }

export const applications: FastifyPluginAsync<ApplicationsOptions> = async (app, options) => {
  app.addTexts({ applications: applicationsTexts })
  app.setErrorHandler(async (error, { texts }) => {
    throw toApplicationError(error, texts)
  })
  await app.register(list, options) //    GET  /applications
  await app.register(create, options) //  GET  /applications/new, POST /applications
  await app.register(details, options) // GET  /applications/:id
  await app.register(edit, options) //    GET and POST /applications/:id/edit
  await app.register(newSecret, options) // GET and POST /applications/:id/secret
  await app.register(remove, options) //  GET and POST /applications/:id/delete
}

/**
 * If the API answered with 404, returns an error with a message for these pages. If the API answered with 403, returns
 * the error with a link. Returns all other errors unchanged.
 */
function toApplicationError(error: unknown, texts: Texts): unknown {
  if (!(error instanceof PublicError)) return error
  if (error.code === 'api_not_found') return noSuchApplication(texts)
  if (error.code === 'api_forbidden') error.nextStep ??= listLink(texts)
  return error
}
