// My groups: their ids and members, and a form for a new one.
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Parts } from '../../app.ts'
import { createGroup } from '../../store/groups.ts'
import { listGroupsOf } from '../../store/groups-of-user.ts'
import { makeAccountForm, readAccountForm } from './account-form.ts'
import { showAccountPage, visitorOf } from './require-visitor.ts'

const longestName = 200

export function groupsPage(scope: FastifyInstance, parts: Parts): void {
  const { store, clock } = parts

  async function showGroups(reply: FastifyReply, shown: { createdId?: unknown; name?: string; problem?: string }) {
    const { request } = reply
    const groups = await listGroupsOf(store.read, visitorOf(request).id)
    return showAccountPage(reply, 'account/groups', {
      title: 'Your groups',
      groups,
      created: groups.find(group => group.id === shown.createdId),
      name: shown.name,
      problem: shown.problem,
      longestName,
      formToken: makeAccountForm(parts, request, 'create group'),
    })
  }

  scope.get('/account/groups', async (request, reply) => {
    const { created } = request.query as Record<string, unknown>
    return showGroups(reply, { createdId: created })
  })

  scope.post('/account/groups', async (request, reply) => {
    const { id, fields } = readAccountForm(parts, request, 'create group')
    const name = (fields.name ?? '').trim()
    const problem = findNameProblem(name)
    if (problem) {
      reply.status(422)
      return showGroups(reply, { name, problem })
    }
    await store.transaction(db => createGroup(db, name, visitorOf(request).id, clock(), id))
    return reply.redirect(`/account/groups?created=${id}`, 303)
  })
}

function findNameProblem(name: string): string | undefined {
  if (name === '') return 'Enter a name.'
  if ([...name].length > longestName) return `Use at most ${longestName} characters.`
  return /\p{Cc}/u.test(name) ? 'Use letters, digits and signs only.' : undefined
}
