// The page of one login, with its sequence diagram. The list of logins is in list.ts.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { describeNotices, describeSummary, type LoginReader } from '../explain/describe-login.ts'
import type { NamesOf } from '../explain/find-logins.ts'
import { countNotices } from '../explain/notices/group-notices.ts'
import { nearestOf, splitAtDifference } from '../explain/value-difference.ts'
import { onlyLatestLogins } from '../record/logins.ts'
import { cursorText } from './change-stream.ts'
import { diagramOf } from './diagram.ts'
import { statusColor } from './status-color.ts'

interface PageSources extends LoginReader {
  namesOf: NamesOf
}

export function loginPage({ namesOf, ...reader }: PageSources) {
  const { logins, addresses } = reader
  return {
    /**
     * The portal's error pages, and its answers to refused calls, contain a link to this address. The address contains
     * the id of a step, because the portal does not know the id of the login.
     */
    async showRequest(request: FastifyRequest, reply: FastifyReply) {
      const found = logins.findStep((request.params as { id: string }).id)
      if (found)
        return reply.redirect(`/logins/${found.login.id}#step-${found.login.steps.indexOf(found.step) + 1}`, 303)
      return showNone(reply, 'There is no such request')
    },

    async show(request: FastifyRequest, reply: FastifyReply) {
      const login = logins.find((request.params as { id: string }).id)
      if (!login) return showNone(reply, 'There is no such login')
      const { clientId } = login
      const { status, outcome, isLoop, verdict } = describeSummary(login, reader)
      const noticed = describeNotices(login, logins)
      const name = clientId && (await namesOf([clientId])).get(clientId)
      return reply.viewAsync('lab/login', {
        live: { after: cursorText(logins.cursor()), loginId: login.id },
        title: clientId ? `Login of ${name ?? clientId}` : 'A request without a client ID',
        name,
        splitAtDifference,
        nearestOf,
        numberOf: (id: string) => login.steps.findIndex(step => step.id === id) + 1,
        diagram: diagramOf(login, addresses),
        login: {
          id: login.id,
          clientId,
          startedAt: login.steps[0]?.at,
          status,
          color: statusColor(outcome, isLoop),
          verdict,
          noticed,
          noticedWords: countNotices(noticed),
        },
      })
    },
  }
}

function showNone(reply: FastifyReply, title: string) {
  return reply.code(404).viewAsync('lab/message', { title, message: onlyLatestLogins })
}
