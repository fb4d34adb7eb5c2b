// The laboratory's pages: the last logins, and one login as a picture of four lanes.
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  describeNotices,
  describeStep,
  describeSummary,
  faultsOf,
  type LoginReader,
} from '../explain/describe-login.ts'
import type { LoginOutcome } from '../explain/login-status.ts'
import { countNotices, groupNotices } from '../explain/notices/group.ts'
import { findNotices } from '../explain/notices/notices.ts'
import { catalogue, describeFault } from '../faults/catalogue.ts'
import { describeOrdered, type OrderedFaults } from '../faults/orders.ts'
import type { RecordedStep, Values } from '../record/recorded.ts'
import { labPageHeaders } from '../security-headers.ts'
import { markDifference, nearestOf } from './marked-value.ts'

const mostListed = 100

/** Names by client id. Clients that were never registered, or were removed, are left out. */
export type NamesOf = (clientIds: string[]) => Promise<Map<string, string>>

interface PageSources extends LoginReader {
  orderedFaults: OrderedFaults
  namesOf: NamesOf
}

/** These faults have a button, one for each kind. The others are typed into a field. */
const usualFaults = [
  'exchange-reset',
  'exchange-503',
  'exchange-500-after',
  'exchange-state-other',
  'exchange-html',
  'redirect-state-other',
  'redirect-error-access-denied',
  'refresh-503',
  'list-401',
  'list-hostile-texts',
  'create-reset-after',
  'api-redirect-307',
]

export function pageRoutes({ orderedFaults, namesOf, ...reader }: PageSources) {
  const { logins, addresses } = reader
  return {
    async list(request: FastifyRequest, reply: FastifyReply) {
      const { clientId: asked } = request.query as { clientId?: unknown }
      const clientId = typeof asked === 'string' && asked !== '' ? asked : undefined
      const all = logins.list({})
      const found = clientId === undefined ? all : logins.list({ clientId })
      const clientIds = [...new Set(all.flatMap(login => login.clientId ?? []))].slice(0, mostListed)
      const noticed = found
        .slice(0, mostListed)
        .map(login => ({ login, notices: findNotices(login, logins.othersOf(login)) }))
      const names = await namesOf(clientId === undefined ? clientIds : [...clientIds, clientId])
      return reply.headers(labPageHeaders).viewAsync('lab/logins', {
        title: 'Logins',
        path: '/',
        ...addresses,
        faults: clientId !== undefined && {
          usual: usualFaults.map(name => ({ name, does: describeFault(catalogue.get(name)!).does })),
          names: [...catalogue.keys()],
          ordered: orderedFaults
            .list()
            .filter(one => [clientId, undefined].includes(one.clientId))
            .map(describeOrdered),
        },
        clientId,
        nameOf: (id: string) => names.get(id) ?? id,
        clientIds,
        more: found.length > mostListed,
        noticed: groupNotices(noticed),
        logins: noticed.map(({ login, notices }) => {
          const { status, outcome, isLoop, verdict, steps } = describeSummary(login, reader)
          return {
            id: login.id,
            clientId: login.clientId,
            mark: markOf(outcome, isLoop),
            status,
            verdict,
            startedAt: login.steps[0]?.at,
            steps,
            faults: faultsOf(login),
            noticed: countNotices(notices),
          }
        }),
      })
    },

    /** The portal's error pages and refused calls link here by step: when they are sent, their login is not known yet. */
    async showRequest(request: FastifyRequest, reply: FastifyReply) {
      const found = logins.findStep((request.params as { id: string }).id)
      if (found)
        return reply.redirect(`/logins/${found.login.id}#step-${found.login.steps.indexOf(found.step) + 1}`, 303)
      reply.headers(labPageHeaders)
      return showNone(reply, 'There is no such request')
    },

    async show(request: FastifyRequest, reply: FastifyReply) {
      const login = logins.find((request.params as { id: string }).id)
      reply.headers(labPageHeaders)
      if (!login) return showNone(reply, 'There is no such login')
      const { clientId } = login
      const { status, outcome, isLoop, verdict } = describeSummary(login, reader)
      const noticed = describeNotices(login, logins)
      const name = clientId && (await namesOf([clientId])).get(clientId)
      return reply.viewAsync('lab/login', {
        title: clientId ? `Login of ${name ?? clientId}` : 'A request without a client ID',
        name,
        markDifference,
        nearestOf,
        numberOf: (id: string) => login.steps.findIndex(step => step.id === id) + 1,
        login: {
          id: login.id,
          clientId,
          leftOut: login.leftOut,
          startedAt: login.steps[0]?.at,
          status,
          mark: markOf(outcome, isLoop),
          verdict,
          noticed,
          noticedWords: countNotices(noticed),
          steps: login.steps.map(step => ({
            ...describeStep(step, addresses),
            ...lanesOf(step),
            words: wordsOf(step),
            back: backOf(step),
            tables: tablesOf(step),
          })),
        },
      })
    },
  }
}

/** How the status of a login looks: green only if nothing is wrong. */
function markOf(outcome: LoginOutcome, isLoop: boolean): 'good' | 'bad' | 'open' {
  if (outcome === 'signed in' && !isLoop) return 'good'
  return outcome === 'refused' || isLoop ? 'bad' : 'open'
}

function showNone(reply: FastifyReply, title: string) {
  const message = 'The last thousand logins are remembered, until the sandbox stops.'
  return reply.code(404).viewAsync('lab/message', { title, message })
}

const laneNames = { browser: 'Browser', client: 'Client', portal: 'Portal', api: 'API' }

/** A request for a page comes from a browser. Every other request is a call from the client's server. */
function lanesOf({ kind, listener }: RecordedStep) {
  const byBrowser = ['authorize', 'sign-in', 'sign-up', 'consent', 'page'].includes(kind)
  const from: keyof typeof laneNames = byBrowser ? 'browser' : 'client'
  return { from, to: listener, fromName: laneNames[from], toName: laneNames[listener] }
}

/** What the request was, in words for the picture. */
const kindWords: Record<RecordedStep['kind'], string> = {
  authorize: 'Begins the login',
  'sign-in': 'Signs in',
  'sign-up': 'Creates an account',
  consent: 'Answers whether to allow the application',
  exchange: 'Exchanges the code',
  refresh: 'Renews the tokens',
  revoke: 'Gives a token back',
  metadata: 'Reads what the portal offers',
  api: 'Calls the API',
  me: 'Asks who signed in',
  trap: 'Follows a redirect to a trap',
  page: 'Opens a page',
}

function wordsOf({ kind, request, route }: RecordedStep): string {
  return kind === 'api' ? `${request.method} ${route}` : kindWords[kind]
}

/** What the browser brings to the client, if the portal sends it there. */
function backOf({ response: { location } }: RecordedStep): string | undefined {
  if (location.error) return 'Comes back with an error'
  return location.code ? 'Comes back with a code' : undefined
}

/** Tables of names and values. Empty ones are left out. */
function tablesOf({ request, response }: RecordedStep) {
  const rows = (values: Values) =>
    Object.entries(values).flatMap(([name, value]) => [value].flat().map(one => [name, one] as const))
  const tables = [
    ['Parameters in the address', rows(request.query)],
    ['Fields in the body', rows(request.body)],
    ['Headers', rows(request.headers)],
    ['Answer', rows(response.body)],
    ['Where the answer leads', rows(response.location)],
    ['Headers of the answer', rows(response.headers)],
  ] as const
  return tables.filter(([, values]) => values.length > 0)
}
