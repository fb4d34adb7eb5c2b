// Each form has a hidden field `formToken`. The sealed token in this field contains the id of the form, the visitor who
// opened the form, and the time.
import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import type { VisitorInfo } from '../sign-in/visitor.ts'
import type { Sealer } from './seal.ts'

export type FormToken = {
  id: string
  /** The visitor who opened the form. */
  sessionOwner: string
  /**
   * True if `sessionOwner` is a random id of one login, because the access token contains no user id. After the next
   * login, the client cannot recognise this visitor.
   */
  isOwnerRandom?: boolean
  /** In milliseconds since 1970. */
  shownAt: number
  /**
   * What the client knew about the API's data when the client made this token, such as the time on the API's clock. The
   * work of the form can compare this text with the API's data, to find out whether an earlier submission has already
   * taken effect. The form's `data` returns this text.
   */
  seen?: string | undefined
  /** True if the form was sent before, and the client does not know whether the API has carried out the call. */
  mayHaveActed?: boolean
}

const purpose = 'form token'
const lifetimeMs = 24 * 60 * 60 * 1000
/** The code of the error for a form that was shown during an earlier login, perhaps to the same visitor. */
const otherLoginCode = 'other_login'

export type FormTokens = ReturnType<typeof createFormTokens>

export function createFormTokens(sealer: Sealer, clock: () => Date) {
  const seal = (token: FormToken): string => sealer.seal(purpose, token, new Date(token.shownAt + lifetimeMs))

  /** Returns undefined if the token is older than a day, or if this client did not make it. */
  const unseal = (text: string | undefined) => sealer.unseal(purpose, text)?.payload as FormToken | undefined

  const ownerOf = ({ sessionOwner, userId }: VisitorInfo) => ({ sessionOwner, isOwnerRandom: userId === undefined })

  return {
    seal,
    unseal,

    /** Makes the token of a form that this visitor opens now. */
    create(visitor: VisitorInfo, seen: string | undefined): string {
      return seal({ id: randomUUID(), ...ownerOf(visitor), shownAt: clock().getTime(), seen })
    },

    /**
     * Returns the token of a form that this visitor has sent. Throws PublicError 409 if the form is older than a day, or
     * was shown to another visitor or during another login. `path` is the address of the form's page.
     */
    check(text: string | undefined, { visitor, texts }: FastifyRequest, path: string): FormToken {
      const { openAgain, tooOld, otherVisitor, otherLogin } = texts.web.form
      const nextStep = { href: path, text: openAgain }
      const token = unseal(text)
      if (!token) throw new PublicError('form_too_old', 409, tooOld, { nextStep })
      if (token.sessionOwner === visitor.sessionOwner) return token
      if (token.isOwnerRandom) throw new PublicError(otherLoginCode, 409, otherLogin)
      throw new PublicError('other_visitor', 409, otherVisitor, { nextStep })
    },

    /**
     * Returns the token for a form that is shown again with this error. In most cases the form keeps its token, so that
     * the client does the work of the form only once. If the result is undefined, the form gets a new token.
     */
    after(error: PublicError, text: string | undefined, visitor: VisitorInfo): string | undefined {
      const token = unseal(text)
      if (!token) return undefined
      // The form may be from an earlier login of the same visitor. So the new token still says when the form was shown,
      // and whether the API may have acted. It gets a new id, because the result of the old id belongs to that login.
      if (error.code === otherLoginCode) return seal({ ...token, ...ownerOf(visitor), id: randomUUID() })
      // The API may have carried out the request, although the client got no usable answer. `mayHaveActed` is stored in
      // the form, so that every replica can read it.
      return error.statusCode >= 500 ? seal({ ...token, mayHaveActed: true }) : text
    },
  }
}
