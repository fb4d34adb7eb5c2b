// The page of all reasons and notices. For each reason or notice, the page says what it means, how to fix the mistake,
// and which checks of the conformance suite look for the mistake.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { checksFor } from '../explain/checks.ts'
import { allReasons } from '../explain/find-logins.ts'
import { guidanceOf } from '../explain/guidance.ts'
import { notices } from '../explain/notices/notices.ts'

export function referenceRoutes() {
  // Nothing on this page changes while the sandbox runs.
  const page = {
    title: 'Reasons and notices',
    path: '/reference',
    reasons: allReasons.map(id => ({ id, ...guidanceOf(id), checks: checksFor[id] ?? [] })),
    notices: notices.map(({ id, severity, found, why, fix, reference }) => {
      return { id, severity, found, why, fix, reference, checks: checksFor[id] ?? [] }
    }),
  }
  return {
    async show(_request: FastifyRequest, reply: FastifyReply) {
      return reply.viewAsync('lab/reference', page)
    },
  }
}
