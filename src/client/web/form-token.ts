// The sealed token in every form: it names the form and whom it was shown to, so that each form acts once and for that visitor.
import { randomUUID } from 'node:crypto'
import { PublicError } from '../errors.ts'
import type { Sealer } from './seal.ts'

/** `mayHaveActed`: the form was sent before, and nobody knows what became of it. */
export type FormToken = { id: string; visitorId: string; shownAt: Date; mayHaveActed?: boolean }

export type FormTokens = ReturnType<typeof createFormTokens>

const purpose = 'form'
const lifetimeMs = 24 * 60 * 60 * 1000

export function createFormTokens(sealer: Sealer, clock: () => Date) {
  function seal({ id, visitorId, shownAt, mayHaveActed = false }: FormToken): string {
    const payload = JSON.stringify([id, visitorId, shownAt.getTime(), mayHaveActed])
    return sealer.seal(purpose, payload, new Date(shownAt.getTime() + lifetimeMs))
  }

  /** Undefined where it is older than a day, or no token of ours. */
  function open(text: string | undefined): FormToken | undefined {
    const opened = sealer.open(purpose, text)
    if (!opened) return undefined
    const [id, visitorId, shownAt, mayHaveActed] = JSON.parse(opened.payload.toString())
    return { id, visitorId, shownAt: new Date(shownAt), mayHaveActed }
  }

  return {
    seal,
    open,

    create(visitorId: string): string {
      return seal({ id: randomUUID(), visitorId, shownAt: clock() })
    },

    /** Throws PublicError 409 where the form is older than a day, or was shown to another visitor. */
    check(text: string | undefined, visitorId: string, formPage: string): FormToken {
      const nextStep = { href: formPage, text: 'Open it again' }
      const token = open(text)
      if (token?.visitorId === visitorId) return token
      const tooOld = 'This page was open for too long. Please look it over and send it again.'
      if (!token) throw new PublicError('form_too_old', 409, tooOld, { nextStep })
      const message = 'You are now signed in as someone else than when this form was opened, so nothing was done.'
      throw new PublicError('other_visitor', 409, message, { nextStep })
    },
  }
}
