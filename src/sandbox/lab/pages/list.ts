// The list of logins: filters, search and pages. The address of the list contains the filters, the id of the search and
// the number of the page. It does not contain the text of the search, because this text may be a secret.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { describeSummary, faultsOf, type LoginReader } from '../explain/describe-login.ts'
import {
  allReasons,
  isFoundBy,
  type LoginQuery,
  type NamesOf,
  readLoginQuery,
  searchLogins,
} from '../explain/find-logins.ts'
import { outcomes } from '../explain/login-status.ts'
import { countNotices, groupNotices } from '../explain/notices/group-notices.ts'
import { findNotices, type Noticed } from '../explain/notices/notices.ts'
import { filledTextsIn } from '../filled-texts.ts'
import type { Hide } from '../record/hide.ts'
import type { RecordedLogin } from '../record/recorded.ts'
import { formatAge } from './age.ts'
import { cursorText } from './change-stream.ts'
import { offeredClients } from './offered-clients.ts'
import { createSearches } from './searches.ts'
import { statusColor } from './status-color.ts'

/** The maximum number of logins on a page. The same limit applies to the requests without a client. */
const mostListed = 50
const longestSearch = 8192

interface ListSources extends LoginReader {
  hide: Hide
  namesOf: NamesOf
}

export function listRoutes({ hide, namesOf, ...reader }: ListSources) {
  const { logins, addresses, clock } = reader
  const searches = createSearches()

  return {
    async show(request: FastifyRequest, reply: FastifyReply) {
      const given = filledTextsIn(request.query)
      const query = readLoginQuery(given)
      const search = given.search === undefined ? undefined : { id: given.search, found: searches.find(given.search) }
      const now = clock()
      const live = { after: cursorText(logins.cursor()) }
      const all = logins.list({})
      const found = all.filter(
        login => (!search || search.found?.has(login.id) === true) && isFoundBy(query, login, now),
      )
      const ofClients = query.noClient ? found : found.filter(({ clientId }) => clientId !== undefined)
      const ofNobody = query.noClient ? [] : found.filter(({ clientId }) => clientId === undefined)
      const pages = Math.max(1, Math.ceil(ofClients.length / mostListed))
      const page = Math.min(readPage(given.page), pages)
      const shown = ofClients.slice((page - 1) * mostListed, page * mostListed).map(notice)
      const clientIds = offeredClients(query.clientId, all)
      const names = await namesOf(clientIds)
      const addressOf = (changes: Record<string, string | undefined>) =>
        addressFor({ ...query, search: given.search }, changes)
      // `clientId` does not count as a filter, because developers open the page of their client before its first login.
      const isFiltered = search !== undefined || addressFor(query, { clientId: undefined }) !== '/'
      if (search && !search.found) reply.code(404)
      return reply.viewAsync('lab/logins', {
        title: 'Logins',
        path: '/',
        live,
        ...addresses,
        query,
        search,
        isFiltered,
        filters: { clientIds, outcomes, reasons: reasonsIn(all, query), times: timesWith(query.minutes) },
        longestSearch,
        clientId: query.clientId,
        nameOf: (id: string) => names.get(id) ?? id,
        addressOf,
        page,
        pages,
        total: ofClients.length,
        noticed: groupNotices(shown),
        logins: shown.map(one => describeRow(one, now)),
        ofNobody: {
          count: ofNobody.length,
          logins: ofNobody
            .slice(0, mostListed)
            .map(notice)
            .map(one => describeRow(one, now)),
        },
      })
    },

    /** Finds logins, and redirects to the page that lists them. The laboratory does not keep the text of the search. */
    async search(request: FastifyRequest, reply: FastifyReply) {
      const given = filledTextsIn(request.body)
      const query = readLoginQuery(given)
      const text = given.text?.slice(0, longestSearch).trim() ?? ''
      if (text === '') return reply.redirect(addressFor(query, {}), 303)
      const found = await searchLogins(text, { ...reader, hide, namesOf })
      return reply.redirect(addressFor(query, { search: searches.keep(found.map(({ id }) => id)) }), 303)
    },
  }

  function notice(login: RecordedLogin): { login: RecordedLogin; notices: Noticed[] } {
    return { login, notices: findNotices(login, logins.othersOf(login)) }
  }

  function describeRow({ login, notices }: { login: RecordedLogin; notices: Noticed[] }, now: Date) {
    const { status, outcome, isLoop, verdict, steps } = describeSummary(login, reader)
    const step = login.steps.find(({ id }) => id === verdict.step?.id) ?? login.steps.at(-1)!
    const at = login.steps.at(-1)!.at
    return {
      id: login.id,
      clientId: login.clientId,
      color: statusColor(outcome, isLoop),
      status,
      verdict,
      steps,
      step: {
        number: login.steps.indexOf(step) + 1,
        method: step.request.method,
        path: step.request.path,
        status: step.response.status,
        reason: step.reason,
        durationMs: step.durationMs,
      },
      at,
      age: formatAge(at, now),
      faults: faultsOf(login),
      noticed: countNotices(notices),
    }
  }
}

function readPage(text: string | undefined): number {
  return text !== undefined && /^[1-9]\d{0,3}$/.test(text) ? Number(text) : 1
}

/** Returns the address of a list. `changes` override the query. A change to undefined removes the parameter. */
function addressFor(
  { clientId, noClient, outcome, reason, minutes, search }: LoginQuery & { search?: string | undefined },
  changes: Record<string, string | undefined>,
): string {
  const asked = { clientId, noClient: noClient ? 'true' : undefined, outcome, reason, minutes: minutes?.toString() }
  const given = Object.entries({ ...asked, search, ...changes }).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  )
  const parameters = new URLSearchParams(given).toString()
  return parameters === '' ? '/' : `/?${parameters}`
}

/**
 * Returns the reasons that the filter offers: the reasons for all refusals and the selected reason, in the order of the
 * catalogue.
 */
function reasonsIn(all: RecordedLogin[], { reason }: LoginQuery): string[] {
  const found = new Set<string | undefined>(all.flatMap(({ steps }) => steps.map(step => step.reason)))
  return allReasons.filter(one => found.has(one) || one === reason)
}

const usualTimes = new Map([
  [1, 'the last minute'],
  [5, 'the last 5 minutes'],
  [60, 'the last hour'],
  [1440, 'the last 24 hours'],
])

function timesWith(minutes: number | undefined): { minutes: number; words: string }[] {
  const times = minutes === undefined ? usualTimes : new Map([[minutes, `the last ${minutes} minutes`], ...usualTimes])
  return [...times].map(([minutes, words]) => ({ minutes, words })).sort((one, other) => one.minutes - other.minutes)
}
