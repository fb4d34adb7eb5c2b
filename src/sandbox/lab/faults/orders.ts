// The faults that developers have ordered. Each fault happens exactly as often as its order says.
import { randomUUID } from 'node:crypto'
import { LabError } from '../lab-error.ts'
import type { StepFault } from '../record/recorded.ts'
import type { When } from './kind.ts'
import type { Place } from './places.ts'
import { type Order, readOrder } from './read-order.ts'

export const waitMinutes = 10
const mostWaiting = 200
const waitMs = waitMinutes * 60_000
/** How many ended faults are kept. */
const mostRemembered = 200

export interface OrderedFault extends Order {
  id: string
  status: 'waiting' | 'used up' | 'dropped'
  orderedAt: Date
  /** The time of the last matching request. If no request has matched yet, this is the time of the order. */
  idleSince: Date
  /** Undefined while the fault waits. */
  endedAt: Date | undefined
  skipped: number
  consumed: number
  /** The ids of the latest steps that the fault affected. */
  stepIds: string[]
}

/**
 * The client whose secret or token a request contains, and the login that the request belongs to. An order can limit a
 * fault to one client or one login.
 */
export interface RequestSource {
  clientId: string | undefined
  isOfState(stateHash: string): boolean
}

export type OrderedFaults = ReturnType<typeof createOrderedFaults>

/**
 * `hashState` hashes the state of the login. The order keeps only this hash. The laboratory uses the hash to recognise
 * the requests of the login.
 */
export function createOrderedFaults({ clock, hashState }: { clock: () => Date; hashState: (state: string) => string }) {
  /** The kept faults, oldest first. */
  let all: OrderedFault[] = []

  /**
   * Drops and removes old faults. There is no timer: this function runs when somebody reads the list, or when a request
   * looks for a fault.
   */
  function dropOld(): OrderedFault[] {
    const now = clock()
    const isOld = ({ idleSince, endedAt = idleSince }: OrderedFault) => now.getTime() - endedAt.getTime() >= waitMs
    for (const one of all) if (one.status === 'waiting' && isOld(one)) end(one, 'dropped', dropTimeOf(one))
    all = all.filter(one => one.status === 'waiting' || !isOld(one))
    const ended = all.filter(({ status }) => status !== 'waiting')
    const tooMany = new Set(ended.slice(0, Math.max(0, ended.length - mostRemembered)))
    if (tooMany.size > 0) all = all.filter(one => !tooMany.has(one))
    return all
  }

  function end(one: OrderedFault, status: 'used up' | 'dropped', at: Date): void {
    one.status = status
    one.endedAt = at
  }

  const waiting = () => dropOld().filter(({ status }) => status === 'waiting')

  return {
    /** Throws LabError 422, which names every wrong field, or LabError 429 if too many faults are waiting. */
    order(body: unknown): OrderedFault {
      const order = readOrder(body)
      if (waiting().length >= mostWaiting)
        throw new LabError(429, `${mostWaiting} faults are waiting already. Remove some of them first.`)
      const now = clock()
      const ordered: OrderedFault = {
        ...order,
        state: order.state === undefined ? undefined : hashState(order.state),
        id: randomUUID(),
        status: 'waiting',
        orderedAt: now,
        idleSince: now,
        endedAt: undefined,
        skipped: 0,
        consumed: 0,
        stepIds: [],
      }
      all.push(ordered)
      return ordered
    },

    /** The faults that are still waiting, and the faults that ended in the last ten minutes. */
    list: (): readonly OrderedFault[] => dropOld(),

    find: (id: string): OrderedFault | undefined => dropOld().find(one => one.id === id),

    /** Returns the number of removed faults. */
    remove(isMeant: (one: OrderedFault) => boolean): number {
      const before = dropOld().length
      all = all.filter(one => !isMeant(one))
      return before - all.length
    },

    /** Returns all faults that wait at these places. Some of these faults can be limited to one client or one login. */
    waitingAt: (places: readonly Place[], when: When): OrderedFault[] =>
      waiting().filter(({ fault }) => fault.when === when && places.includes(fault.place)),

    /** True if there are no faults. The hooks call this function for every request, so it must be fast. */
    isEmpty: (): boolean => all.length === 0,

    /**
     * Returns the first candidate that matches this client and login. If a matching candidate still has to skip
     * requests, it skips this request, and the function tries the next candidate. The function is synchronous, so that
     * two requests never get the same fault.
     */
    take(candidates: readonly OrderedFault[], source: RequestSource, stepId: string): OrderedFault | undefined {
      for (const one of candidates) {
        // Check again, because somebody may have removed the fault after waitingAt was called.
        if (one.status !== 'waiting' || !all.includes(one) || !isMeant(one, source)) continue
        one.idleSince = clock()
        if (one.skipped < one.skip) one.skipped++
        else {
          one.consumed++
          one.stepIds = [...one.stepIds, stepId].slice(-20)
          if (one.consumed === one.times) end(one, 'used up', clock())
          return one
        }
      }
      return undefined
    },
  }
}

/** Returns the time at which a waiting fault is dropped if no further request matches. */
function dropTimeOf({ idleSince }: Pick<OrderedFault, 'idleSince'>): Date {
  return new Date(idleSince.getTime() + waitMs)
}

/** Describes the fault as the laboratory records it in the step of the affected request. */
export function stepFaultOf({ id, fault, options }: Pick<OrderedFault, 'id' | 'fault' | 'options'>): StepFault {
  const { name, place, kind, when } = fault
  const field = options.name ?? options.member
  return { id, name, place, kind, field: typeof field === 'string' ? field : undefined, acted: when }
}

function isMeant({ clientId, state }: Order, source: RequestSource): boolean {
  return (clientId === undefined || clientId === source.clientId) && (state === undefined || source.isOfState(state))
}

/** Describes a fault as JSON. The JSON says whether the order has a state, but does not contain the state. */
export function describeOrdered({ id, fault, clientId, state, skip, times, options, status, ...rest }: OrderedFault) {
  const { orderedAt, idleSince, endedAt, skipped, consumed, stepIds } = rest
  return {
    id,
    fault: fault.name,
    place: fault.place,
    kind: fault.kind,
    when: fault.when,
    clientId: clientId ?? null,
    hasState: state !== undefined,
    skip,
    times,
    options,
    status,
    skipped,
    consumed,
    // The JSON of the laboratory keeps this name, because programs read it. The values are ids of steps.
    requestIds: stepIds,
    orderedAt,
    ...(endedAt === undefined ? { dropsAt: dropTimeOf({ idleSince }) } : { overAt: endedAt }),
    ...(status === 'dropped' && { message: `Dropped: no request matched for ${waitMinutes} minutes.` }),
  }
}
