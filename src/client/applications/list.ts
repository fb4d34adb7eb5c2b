// GET /applications: lists the visitor's applications, fifty on each page. The visitor can search and sort the list.
import type { FastifyPluginAsyncJsonSchemaToTs } from '@fastify/type-provider-json-schema-to-ts'
import { PublicError } from '../errors.ts'
import type { Visitor } from '../sign-in/visitor.ts'
import { type Application, byNewest, hasApplicationId, readApplication } from './application.ts'
import type { ApplicationsOptions } from './applications.ts'
import { collectionSchema, listQuerySchema } from './schemas.ts'

const pageSize = 50
/** If the list has at most this many applications, the page does not offer a search or sort orders. */
const maxWithoutTools = 7
const maxSearchLength = 200

type Compare = (a: Application, b: Application) => number

const orders: Record<'newest' | 'oldest' | 'name', (lang: string) => Compare> = {
  newest: () => byNewest,
  oldest: () => (a, b) => byNewest(b, a),
  name(lang) {
    const { compare } = new Intl.Collator(lang, { numeric: true, sensitivity: 'base' })
    return (a, b) => compare(a.name, b.name)
  },
}

export const list: FastifyPluginAsyncJsonSchemaToTs<{ Options: ApplicationsOptions }> = async (app, { config }) => {
  app.get('/applications', { schema: { querystring: listQuerySchema } }, (request, reply) =>
    app.notices.take(request, reply, async notice => {
      const { q = '', page = '1', sort } = request.query
      const search = q.trim().slice(0, maxSearchLength)
      const order = sort === 'oldest' || sort === 'name' ? sort : 'newest'

      const all = await loadApplications(request.visitor)

      const words = search.toLowerCase()
      const matches = (text: string) => text.toLowerCase().includes(words)
      const found = words ? all.filter(({ id, name }) => matches(name) || matches(id)) : all
      const pages = Math.max(1, Math.ceil(found.length / pageSize))
      const current = Math.min(Math.max(1, Math.trunc(Number(page)) || 1), pages)
      return reply.page('applications/list', {
        title: request.texts.applications.list.title,
        applications: found.sort(orders[order](request.texts.lang)).slice((current - 1) * pageSize, current * pageSize),
        clientId: config.clientId,
        search,
        maxSearchLength,
        order,
        found: found.length,
        total: all.length,
        hasTools: all.length > maxWithoutTools || search !== '' || order !== 'newest',
        page: current,
        /** The number of the first application on this page, counted from 1. */
        first: (current - 1) * pageSize + 1,
        pages,
        notice,
      })
    }),
  )
}

/**
 * Reads all applications of the visitor. If the API answers 404, no application is missing, but API_URL may be wrong. So
 * this function then throws PublicError 502, as for any other answer that the client does not understand.
 */
async function loadApplications({ api }: Visitor): Promise<Application[]> {
  try {
    const { ItemList } = await api.get('/apps/v1', collectionSchema)
    return ItemList.filter(hasApplicationId).map(readApplication)
  } catch (error) {
    const isNotFound = error instanceof PublicError && error.code === 'api_not_found'
    if (!isNotFound) throw error
    throw new PublicError('api_unexpected', 502, texts => texts.upstream.api.unexpected, { cause: error })
  }
}
