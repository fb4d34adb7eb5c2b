// Forms of the account pages: made for one user and one purpose, with an id for what sending it makes.
import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Services } from '../../services.ts'
import { makeFormToken, readFormToken } from '../../tokens/form-token.ts'
import { PageError } from '../error-pages.ts'
import { pathOf, visitorOf } from './require-visitor.ts'

interface AccountForm {
  userId: string
  /** Sent twice, a form names the same id twice, and what is there already is not made again. */
  id: string
}

export const accountFormLifetimeMs = 8 * 3_600_000

export function makeAccountForm(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  request: FastifyRequest,
  purpose: string,
): string {
  const form: AccountForm = { userId: visitorOf(request).id, id: randomUUID() }
  return makeFormToken(
    keyRing.sealingKey,
    `account ${purpose}`,
    form,
    new Date(clock().getTime() + accountFormLifetimeMs),
  )
}

/** The id, and the fields that are text. Throws PageError when the form was not made by us, for this user and purpose. */
export function readAccountForm(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  request: FastifyRequest,
  purpose: string,
): { id: string; fields: Record<string, string | undefined> } {
  const body = (request.body ?? {}) as Record<string, unknown>
  const form = readFormToken<AccountForm>(keyRing.sealingKey, `account ${purpose}`, body.formToken, clock())
  if (form?.userId !== visitorOf(request).id)
    throw new PageError(
      400,
      'This page was open for too long, or somebody else signed in in the meantime. Nothing was changed.',
      { next: { href: pathOf(request), label: 'Open the page again' }, reason: 'form-expired' },
    )
  const texts = Object.entries(body).filter((pair): pair is [string, string] => typeof pair[1] === 'string')
  return { id: form.id, fields: Object.fromEntries(texts) }
}
