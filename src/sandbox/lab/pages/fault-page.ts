// The page of faults: the faults of each place, with a form for each fault, and a list of the faults that developers
// have ordered.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FieldProblems } from '../../observe/refusal.ts'
import type { NamesOf } from '../explain/find-logins.ts'
import { catalogue, type Fault } from '../faults/catalogue.ts'
import { describeOrdered, type OrderedFault, type OrderedFaults } from '../faults/orders.ts'
import { type Place, type PlaceWords, places } from '../faults/places.ts'
import { filledTextsIn } from '../filled-texts.ts'
import { LabError } from '../lab-error.ts'
import type { Logins } from '../record/logins.ts'
import { formFieldsOf, readForm, type Sent } from './fault-fields.ts'
import { offeredClients } from './offered-clients.ts'

/** How many faults a search lists. */
const mostFound = 100
const longestSearch = 200

interface Sources {
  logins: Logins
  orderedFaults: OrderedFaults
  namesOf: NamesOf
}

/**
 * What the page shows. The address contains these values, so that the page looks the same after a visitor has sent a
 * form.
 */
interface View {
  clientId: string | undefined
  place: Place
  words: string
}

/** The result of the form that was sent last. */
interface FormResult {
  /** The fault whose form is open. */
  open?: string | undefined
  ordered?: OrderedFault | undefined
  cancelled?: string | undefined
  sent?: Sent
  problems?: FieldProblems
  /** A problem that does not belong to a field. */
  problem?: string | undefined
}

const placeNames = Object.keys(places) as Place[]

/** The text of each fault in lower case. A search looks through this text. */
const texts = new Map(
  [...catalogue.values()].map(fault => {
    const { title, about }: PlaceWords = places[fault.place]
    return [fault.name, [fault.name, title, about, fault.does, fault.goodClient].join(' ').toLowerCase()]
  }),
)

export function faultPage({ logins, orderedFaults, namesOf }: Sources) {
  return {
    async show(request: FastifyRequest, reply: FastifyReply) {
      const given = filledTextsIn(request.query)
      const { open, ordered, cancelled } = given
      return render(reply, readView(given), {
        open,
        ordered: ordered === undefined ? undefined : orderedFaults.find(ordered),
        cancelled,
      })
    },

    /**
     * Orders the fault of a form, and redirects back to that form. If a field is wrong, the page shows the form as it
     * was sent.
     */
    async order(request: FastifyRequest, reply: FastifyReply) {
      const sent = readSent(request.body)
      const view = readView(sent)
      const open = sent.fault ?? ''
      try {
        const { id } = orderedFaults.order(readForm(catalogue.get(open), sent))
        return reply.redirect(`${addressOf(view, { open, ordered: id })}#fault-${open}`, 303)
      } catch (error) {
        if (!(error instanceof LabError)) throw error
        const { statusCode, explanation } = error
        reply.code(statusCode)
        const isText = typeof explanation === 'string'
        return render(reply, view, {
          open,
          sent,
          problems: isText ? {} : explanation,
          problem: isText ? explanation : otherProblem(explanation),
        })
      }
    },

    async cancel(request: FastifyRequest, reply: FastifyReply) {
      const sent = readSent(request.body)
      const view = readView(sent)
      const isShown = shownTo(view)
      // A fault that has ended cannot be cancelled, so it stays in the list.
      const removed = orderedFaults.remove(
        one => one.status === 'waiting' && (sent.id === undefined ? isShown(one) : one.id === sent.id),
      )
      return reply.redirect(`${addressOf(view, { cancelled: String(removed) })}#ordered`, 303)
    },
  }

  async function render(reply: FastifyReply, view: View, result: FormResult) {
    const { words, place } = view
    const all = [...catalogue.values()]
    const found = words === '' ? all.filter(fault => fault.place === place) : search(all, words)
    const ordered = orderedFaults.list().filter(shownTo(view))
    const clientIds = offeredClients(view.clientId, [...logins.list({}), ...orderedFaults.list()])
    const names = await namesOf(clientIds)
    const shown = words === '' ? found : found.slice(0, mostFound)
    return reply.viewAsync('lab/fault-page', {
      title: 'Faults',
      path: '/faults',
      view,
      result,
      longestSearch,
      clientIds,
      nameOf: (id: string) => names.get(id) ?? id,
      places: placeNames.map(name => ({
        name,
        title: places[name].title,
        href: `${addressOf({ ...view, place: name, words: '' })}`,
      })),
      found: found.length,
      mostFound,
      isCut: shown.length < found.length,
      groups: placeNames
        .map(name => ({
          ...(places[name] as PlaceWords),
          name,
          faults: shown.filter(fault => fault.place === name).map(fault => describeEntry(fault, result)),
        }))
        .filter(({ faults }) => faults.length > 0),
      ordered: ordered.map(describeOrdered).toReversed(),
      waiting: ordered.filter(({ status }) => status === 'waiting').length,
      stepOf: stepsWith(ordered.flatMap(({ stepIds }) => stepIds)),
    })
  }

  /** Returns a function that finds the address of a step, if the laboratory still keeps the step. */
  function stepsWith(ids: string[]) {
    const wanted = new Set(ids)
    const found = new Map<string, { href: string; number: number }>()
    if (wanted.size > 0)
      for (const { id, steps } of logins.list({}))
        for (const [index, step] of steps.entries())
          if (wanted.has(step.id)) found.set(step.id, { href: `/logins/${id}#step-${index + 1}`, number: index + 1 })
    return (id: string) => found.get(id)
  }
}

/** If the page is for one client, it lists the faults of this client and the faults for all clients. */
function shownTo({ clientId }: View) {
  return (one: OrderedFault) => clientId === undefined || one.clientId === undefined || one.clientId === clientId
}

function describeEntry(fault: Fault, { open, sent, problems, problem, ordered }: FormResult) {
  const { isWrite }: PlaceWords = places[fault.place]
  const isSent = open === fault.name
  return {
    name: fault.name,
    does: fault.does,
    goodClient: fault.goodClient,
    when: isWrite ? fault.when : undefined,
    isForAll: fault.place === 'metadata' || fault.place === 'keys',
    fields: formFieldsOf(fault, isSent ? sent : undefined, isSent ? problems : undefined),
    isAlways: isSent && sent?.always !== undefined,
    isOpen: isSent,
    problem: isSent ? problem : undefined,
    ordered: ordered?.fault.name === fault.name ? describeOrdered(ordered) : undefined,
  }
}

/** Returns the problem of an order field for which the form has no input. */
function otherProblem(problems: FieldProblems): string | undefined {
  const { fault, clientId, options } = problems
  return fault?.[0] ?? clientId?.[0] ?? options?.[0]
}

function search(all: Fault[], words: string): Fault[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean)
  return all.filter(({ name }) => wanted.every(word => texts.get(name)!.includes(word)))
}

function readView({ clientId, place, words = '' }: Record<string, string | undefined>): View {
  return {
    clientId,
    place: placeNames.find(name => name === place) ?? 'exchange',
    words: words.slice(0, longestSearch).trim(),
  }
}

function addressOf({ clientId, place, words }: View, more: Record<string, string> = {}): string {
  const given = Object.entries({ clientId, place: words === '' ? place : undefined, words, ...more })
  const query = given.filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '')
  return `/faults?${new URLSearchParams(query)}`
}

/** Reads a form. An empty value counts as missing, except the values of `skip`, `times` and the options. */
function readSent(form: unknown): Sent {
  return filledTextsIn(form, /^(options\.|skip$|times$)/)
}
