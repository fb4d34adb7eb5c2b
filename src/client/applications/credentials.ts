// Shows credentials once: what the API has just made is stored nowhere here.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitorOf } from '../sign-in/sign-in.ts'
import { expireHandover, type Handovers } from '../web/hand-over.ts'
import { setCookies } from '../web/seal.ts'
import { showPage } from '../web/views.ts'
import type { Credentials } from './application-api.ts'

type Shown = Partial<Credentials> & { clientSecret: string; name?: string; isRenewed?: boolean }

/** To the page of the application, which shows them and takes them away: a reload neither makes nor shows them again. */
export function handOverCredentials(
  handovers: Handovers,
  request: FastifyRequest,
  reply: FastifyReply,
  id: string,
  credentials: Shown,
) {
  const path = `/applications/${id}`
  const { visitorId } = visitorOf(request)
  const fits = handovers.leave(reply, { path, visitorId, kind: 'secret', value: credentials })
  return fits ? reply.redirect(path, 303) : show(reply.code(201), id, credentials)
}

/** Undefined where there are none to show. */
export async function showHandedOver(handovers: Handovers, request: FastifyRequest, reply: FastifyReply, id: string) {
  const credentials = handovers.find(request, visitorOf(request).visitorId, 'secret') as Shown | undefined
  if (!credentials) return undefined
  const page = await show(reply, id, credentials)
  setCookies(reply, expireHandover(request.cookies))
  return page
}

function show(reply: FastifyReply, id: string, credentials: Shown) {
  return showPage(reply, 'applications/credentials', { title: 'Credentials', id, credentials })
}
