// The list of the visitor's applications, newest first, and a search in it.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitorOf } from '../sign-in/sign-in.ts'
import { showPage } from '../web/views.ts'
import { type ApplicationApi, byNewest } from './application-api.ts'

const pageSize = 50

export function createList({ api }: { api: ApplicationApi }) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { q, page, removed } = request.query as Record<string, unknown>
    const search = typeof q === 'string' ? q.trim().slice(0, 200) : ''
    const all = await visitorOf(request).call(api.list)
    const found = all.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase())).sort(byNewest)
    const pages = Math.max(1, Math.ceil(found.length / pageSize))
    const current = Math.min(Math.max(1, Math.trunc(Number(page)) || 1), pages)
    return showPage(reply, 'applications/list', {
      title: 'Your applications',
      applications: found.slice((current - 1) * pageSize, current * pageSize),
      search,
      found: found.length,
      total: all.length,
      page: current,
      pages,
      wasRemoved: removed === 'yes',
    })
  }
}
