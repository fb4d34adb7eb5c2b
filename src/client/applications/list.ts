// The list of the visitor's applications: searched, sorted, and fifty on a page.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitorOf } from '../sign-in/sign-in.ts'
import type { Notices } from '../web/hand-over.ts'
import { showPage } from '../web/views.ts'
import { type Application, type ApplicationApi, byNewest } from './application-api.ts'

const pageSize = 50

const { compare } = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

const orders = {
  newest: { text: 'Newest first', compare: byNewest },
  oldest: { text: 'Oldest first', compare: (one, other) => byNewest(other, one) },
  name: { text: 'By name', compare: (one, other) => compare(one.name, other.name) },
} satisfies Record<string, { text: string; compare: (one: Application, other: Application) => number }>

/** `clientId`: this site's own, which is marked. */
export function createList({ api, notices, clientId }: { api: ApplicationApi; notices: Notices; clientId: string }) {
  return (request: FastifyRequest, reply: FastifyReply) =>
    notices.take(request, reply, notice => showList(request, reply, notice))

  async function showList(request: FastifyRequest, reply: FastifyReply, notice: string | undefined) {
    const { q, page, sort } = request.query as Record<string, unknown>
    const search = typeof q === 'string' ? q.trim().slice(0, 200) : ''
    const order = sort === 'oldest' || sort === 'name' ? sort : 'newest'
    const words = search.toLowerCase()
    const all = await visitorOf(request).call(api.list)
    const has = (text: string) => text.toLowerCase().includes(words)
    const found = words ? all.filter(({ id, name }) => has(name) || has(id)) : all
    const pages = Math.max(1, Math.ceil(found.length / pageSize))
    const current = Math.min(Math.max(1, Math.trunc(Number(page)) || 1), pages)
    return showPage(reply, 'applications/list', {
      title: 'Your applications',
      applications: found.sort(orders[order].compare).slice((current - 1) * pageSize, current * pageSize),
      clientId,
      search,
      orders,
      order,
      found: found.length,
      total: all.length,
      page: current,
      pages,
      wasRemoved: notice === 'removed',
    })
  }
}
