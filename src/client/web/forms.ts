// What forms have in common: the sealed token that names one, and what one page hands over to the next, once.
import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Credentials } from '../application-api.ts'
import { PublicError } from '../errors.ts'
import { type Cookies, expire } from '../session/cookies.ts'
import type { Sealer } from '../session/seal.ts'
import { visitorOf } from './require-session.ts'
import { setCookies } from './set-cookies.ts'
import { showPage } from './views.ts'

/**
 * Whom a form was shown to and when, and a name under which it is acted on once. `mayHaveCreated`: it was sent before,
 * and what became of it is not known.
 */
export type FormToken = { id: string; visitorId: string; shownAt: Date; mayHaveCreated?: boolean }
export type ShownCredentials = Partial<Credentials> & { clientSecret: string; name?: string; isRenewed?: boolean }
/** For the page at `path`, and for nobody but this visitor: credentials to show, or a form that was not sent. */
export type Handover = { path: string; visitorId: string } & (
  | { credentials: ShownCredentials; fields?: never }
  | { fields: Record<string, string>; credentials?: never }
)
export type Forms = ReturnType<typeof createForms>

const tokenPurpose = 'form'
const tokenLifetimeMs = 24 * 60 * 60 * 1000
const handoverName = '__Host-handover'
const handoverLifetimeMs = 10 * 60 * 1000
const longestHandover = 3_500
/** Of all cookies of this client together (docs/decisions/003): Node takes 16 KiB for all headers. */
const mostOwnBytes = 8 * 1024

export function createForms(sealer: Sealer, clock: () => Date) {
  const after = (ms: number) => new Date(clock().getTime() + ms)

  function openToken(body: unknown): FormToken | undefined {
    const opened = sealer.open(tokenPurpose, readFields(body).formToken)
    if (!opened) return undefined
    const [id, visitorId, shownAt, mayHaveCreated] = JSON.parse(opened.payload.toString())
    return { id, visitorId, shownAt: new Date(shownAt), mayHaveCreated }
  }

  function sealToken({ id, visitorId, shownAt, mayHaveCreated = false }: FormToken): string {
    const payload = JSON.stringify([id, visitorId, shownAt.getTime(), mayHaveCreated])
    return sealer.seal(tokenPurpose, payload, new Date(shownAt.getTime() + tokenLifetimeMs))
  }

  /** Whether it fits into a cookie, beside those that there are; if not, the answer itself must show it. */
  function handOver(reply: FastifyReply, handover: Handover): boolean {
    // A form is read after signing in, which begins on another site.
    const sameSite = handover.fields ? 'lax' : 'strict'
    const cookie = sealer.sealCookie(handoverName, JSON.stringify(handover), after(handoverLifetimeMs), sameSite)
    const { [handoverName]: _, ...others } = reply.request.cookies
    const room = Math.min(longestHandover, mostOwnBytes - ownBytes(others))
    if (cookie.name.length + cookie.value.length > room) return false
    setCookies(reply, [cookie])
    return true
  }

  return {
    openToken,
    handOver,

    newToken(request: FastifyRequest): string {
      return sealToken({ id: randomUUID(), visitorId: visitorOf(request).visitorId, shownAt: clock() })
    },

    /** The same token, for a form that is shown again after it may have created something; any replica reads it. */
    doubtToken(token: FormToken): string {
      return sealToken({ ...token, mayHaveCreated: true })
    },

    /** Throws PublicError 409 where the form is older than a day, or was shown to someone who was signed in before. */
    requireToken(request: FastifyRequest, formPage: string): FormToken {
      const nextStep = { href: formPage, text: 'Open it again' }
      const token = openToken(request.body)
      if (token?.visitorId === visitorOf(request).visitorId) return token
      const tooOld = 'This page was open for too long. Please look it over and send it again.'
      if (!token) throw new PublicError('form_too_old', 409, tooOld, { nextStep })
      const message = 'You are now signed in as someone else than when this form was opened, so nothing was done.'
      throw new PublicError('other_visitor', 409, message, { nextStep })
    },

    /** What the page before left for this one, once. */
    takeHandover(request: FastifyRequest, reply: FastifyReply): Handover | undefined {
      const opened = sealer.openCookie(handoverName, request.cookies)
      if (!opened) return undefined
      const handover = JSON.parse(opened.payload.toString()) as Handover
      const isForHere = handover.path === request.url.split('?', 1)[0]
      if (!isForHere || handover.visitorId !== visitorOf(request).visitorId) return undefined
      setCookies(reply, endHandover(request.cookies))
      return handover
    },

    /** To the page of the application, which shows them and takes them away: a reload neither makes nor shows them again. */
    handOverCredentials(request: FastifyRequest, reply: FastifyReply, id: string, credentials: ShownCredentials) {
      const path = `/applications/${id}`
      const fits = handOver(reply, { path, visitorId: visitorOf(request).visitorId, credentials })
      return fits ? reply.redirect(path, 303) : showCredentials(reply.code(201), id, credentials)
    },
  }
}

function ownBytes(cookies: Cookies): number {
  const own = Object.entries(cookies).filter(([name]) => name.startsWith('__Host-'))
  return own.reduce((sum, [name, value = '']) => sum + name.length + value.length, 0)
}

/** The text fields of a form; a field that stands twice is left out. */
export function readFields(body: unknown): Record<string, string> {
  const entries = Object.entries(typeof body === 'object' && body !== null ? body : {})
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

export function endHandover(cookies: Cookies) {
  return handoverName in cookies ? [expire(handoverName)] : []
}

export function showCredentials(reply: FastifyReply, id: string, credentials: ShownCredentials) {
  return showPage(reply, 'credentials', { title: 'Credentials', id, credentials })
}
