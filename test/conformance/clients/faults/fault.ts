// The type of a fault, and functions with which several faults change the small client.
import { type Parts, right } from '../parts.ts'
import type { Answer, Visit } from '../visit.ts'

/**
 * A small client with a mistake. `checks`: the ids of the checks that must find the mistake. `parts`: the faulty parts.
 */
export type Fault = { name: string; checks: string[]; parts: Partial<Parts> }

export const fault = (name: string, checks: string | string[], parts: Partial<Parts>): Fault => ({
  name,
  checks: [checks].flat(),
  parts,
})

/** Throws an error before the client answers, so that the connection breaks. */
export function crashIf(isMet: (visit: Visit) => boolean): Partial<Parts> {
  return {
    async around(visit, next) {
      if (isMet(visit)) throw new Error('not caught')
      return next()
    },
  }
}

/** Changes every answer. */
export function answerWith(change: (answer: Answer, visit: Visit) => Answer): Partial<Parts> {
  return { around: async (visit, next) => change(await next(), visit) }
}

/** Changes the HTML of every page. */
export function bodyWith(change: (body: string, visit: Visit) => string): Partial<Parts> {
  return answerWith((answer, visit) => ({ ...answer, ...(answer.body && { body: change(answer.body, visit) }) }))
}

const memories = new WeakMap<Visit['memory'], Map<string, unknown>>()

/**
 * Returns the data in the memory of one client process. Another instance does not have this data, and a restart deletes
 * it.
 */
export function memoryOf({ memory }: Visit): Map<string, unknown> {
  const found = memories.get(memory) ?? new Map()
  memories.set(memory, found)
  return found
}

/** Changes the query of the redirect to the portal. */
export function startWith(change: (query: URLSearchParams, visit: Visit) => void): Partial<Parts> {
  return {
    startQuery(visit, state, verifier) {
      const query = right.startQuery(visit, state, verifier)
      change(query, visit)
      return query
    },
  }
}

/** Changes the fields of the exchange. */
export function exchangeWith(change: (form: URLSearchParams, visit: Visit) => void): Partial<Parts> {
  return {
    exchangeForm(visit, callback, login) {
      const form = right.exchangeForm(visit, callback, login)
      change(form, visit)
      return form
    },
  }
}

/** Changes the headers of every answer. Leaves out a header whose value is undefined. */
export function headersWith(change: (visit: Visit) => Record<string, string | undefined>): Partial<Parts> {
  return {
    headers(visit) {
      const headers = Object.entries({ ...right.headers(visit), ...change(visit) })
      return Object.fromEntries(headers.filter(([, value]) => value !== undefined)) as Record<string, string>
    },
  }
}

/** Changes the headers of the answers that `isMeant` selects. Leaves out a header whose value is undefined. */
export function headersWhere(
  isMeant: (answer: Answer, visit: Visit) => boolean,
  change: Record<string, string | undefined>,
): Partial<Parts> {
  const meant = new WeakSet<Visit>()
  return {
    ...answerWith((answer, visit) => {
      if (isMeant(answer, visit)) meant.add(visit)
      return answer
    }),
    ...headersWith(visit => (meant.has(visit) ? change : {})),
  }
}

/** Changes the attributes of both session cookies. */
export function sessionWith(change: (attributes: string) => string): Partial<Parts> {
  return {
    sessionAttributes: seconds => change(right.sessionAttributes(seconds)),
    refreshAttributes: seconds => change(right.refreshAttributes(seconds)),
  }
}

/** An encoding without a key, so that anyone can read and write the value. */
export const readable = {
  write: (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url'),
  read(text: string): unknown {
    try {
      return JSON.parse(Buffer.from(text, 'base64url').toString())
    } catch {
      return undefined
    }
  },
}
