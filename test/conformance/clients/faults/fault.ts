// What a fault is, and the changes that several of them make.
import { type Parts, right } from '../parts.ts'
import type { Visit } from '../visit.ts'

/** `check`: the id of the one that has to find it. */
export type Fault = { name: string; check: string; parts: Partial<Parts> }

export const fault = (name: string, check: string, parts: Partial<Parts>): Fault => ({ name, check, parts })

/** Another address to start a login at. */
export function startWith(change: (query: URLSearchParams, visit: Visit) => void): Partial<Parts> {
  return {
    startQuery(visit, state, verifier) {
      const query = right.startQuery(visit, state, verifier)
      change(query, visit)
      return query
    },
  }
}

/** Other fields in the exchange. */
export function exchangeWith(change: (form: URLSearchParams, visit: Visit) => void): Partial<Parts> {
  return {
    exchangeForm(visit, callback, login) {
      const form = right.exchangeForm(visit, callback, login)
      change(form, visit)
      return form
    },
  }
}

/** Other headers on every answer; an undefined one is left out. */
export function headersWith(change: (visit: Visit) => Record<string, string | undefined>): Partial<Parts> {
  return {
    headers(visit) {
      const headers = Object.entries({ ...right.headers(visit), ...change(visit) })
      return Object.fromEntries(headers.filter(([, value]) => value !== undefined)) as Record<string, string>
    },
  }
}

/** Both cookies of the session with other attributes. */
export function sessionWith(change: (attributes: string) => string): Partial<Parts> {
  return {
    sessionAttributes: seconds => change(right.sessionAttributes(seconds)),
    refreshAttributes: seconds => change(right.refreshAttributes(seconds)),
  }
}

/** Readable, and writable, by anybody. */
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
