// The faults that were ordered and wait for somebody, each consumed exactly as often as was asked.
import { randomUUID } from 'node:crypto'
import type { StepFault } from '../../observe/steps.ts'
import type { Fault } from './catalogue.ts'
import type { Acted } from './mishap.ts'
import type { Place } from './places.ts'

export const waitMinutes = 10
export const mostWaiting = 200
const waitMs = waitMinutes * 60_000
/** Of what is over, and of the requests of one that goes on and on. */
const mostRemembered = 200

export interface Order {
  fault: Fault
  clientId: string | undefined
  /** The hash of one. */
  state: string | undefined
  /** How many that match are let through first. */
  skip: number
  times: number | 'always'
  options: Record<string, unknown>
}

export interface Ordered extends Order {
  id: string
  status: 'waiting' | 'used up' | 'dropped'
  orderedAt: Date
  /** Since when nobody came, or it was over. */
  since: Date
  skipped: number
  consumed: number
  /** The last ones that it was consumed by. */
  requestIds: string[]
}

/** Who comes, as far as that is proven. */
export interface Comer {
  clientId: string | undefined
  isOfState(state: string): boolean
}

export type OrderedFaults = ReturnType<typeof createOrderedFaults>

export function createOrderedFaults(clock: () => Date) {
  /** Oldest first. */
  let all: Ordered[] = []

  /** Nobody waits for a timer: what is too old is dropped before anybody can see or consume it. */
  function dropOld(): Ordered[] {
    const now = clock()
    const isOld = ({ since }: Ordered) => now.getTime() - since.getTime() >= waitMs
    all = all.filter(one => one.status === 'waiting' || !isOld(one))
    for (const one of all) if (one.status === 'waiting' && isOld(one)) end(one, 'dropped')
    const over = all.filter(({ status }) => status !== 'waiting')
    const tooMany = new Set(over.slice(0, Math.max(0, over.length - mostRemembered)))
    if (tooMany.size > 0) all = all.filter(one => !tooMany.has(one))
    return all
  }

  function end(one: Ordered, status: 'used up' | 'dropped'): void {
    one.status = status
    one.since = clock()
  }

  const waiting = () => dropOld().filter(({ status }) => status === 'waiting')

  return {
    /** Undefined where too many wait already. */
    add(order: Order): Ordered | undefined {
      if (waiting().length >= mostWaiting) return undefined
      const now = clock()
      const begun = { status: 'waiting' as const, orderedAt: now, since: now, skipped: 0, consumed: 0, requestIds: [] }
      const ordered = { ...order, id: randomUUID(), ...begun }
      all.push(ordered)
      return ordered
    },

    /** Those that wait, and for ten minutes those that are over. */
    list: (): readonly Ordered[] => dropOld(),

    find: (id: string): Ordered | undefined => dropOld().find(one => one.id === id),

    /** Of one client, or of all. */
    remove(isMeant: (one: Ordered) => boolean): number {
      const before = dropOld().length
      all = all.filter(one => !isMeant(one))
      return before - all.length
    },

    /** Those that could be consumed there, whoever comes. */
    waitingAt: (places: readonly Place[], acted: Acted): Ordered[] =>
      all.length === 0 ? [] : waiting().filter(({ fault }) => fault.acted === acted && places.includes(fault.place)),

    /** The first of those that still waits for this comer. Nothing comes between looking and taking, so no two share one. */
    take(candidates: readonly Ordered[], comer: Comer, requestId: string): Ordered | undefined {
      for (const one of candidates) {
        // It may have been removed while somebody looked who comes.
        if (one.status !== 'waiting' || !all.includes(one) || !isMeant(one, comer)) continue
        if (one.skipped < one.skip) one.skipped++
        else {
          one.consumed++
          one.since = clock()
          one.requestIds = [...one.requestIds, requestId].slice(-20)
          if (one.consumed === one.times) end(one, 'used up')
          return one
        }
      }
      return undefined
    },
  }
}

/** As the step tells it that consumed the fault. */
export function stepFaultOf({ id, fault: { name, acted } }: Ordered): StepFault {
  return { id, name, acted }
}

function isMeant({ clientId, state }: Order, comer: Comer): boolean {
  return (clientId === undefined || clientId === comer.clientId) && (state === undefined || comer.isOfState(state))
}
