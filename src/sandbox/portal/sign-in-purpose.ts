// What somebody signs in for: it travels in the forms of the page, sealed, so that nothing is stored until they have.
import type { FastifyRequest } from 'fastify'
import { noteAbout } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'
import { PageError } from './error-pages.ts'

/** Where a visitor goes after signing in. It travels in the form, so only what was checked before goes in. */
export interface SignInPurpose {
  /** A path of the portal's own. */
  returnTo: string
  /** The application they are signing in to, if it is one. */
  applicationName: string | undefined
  /** Origins that the path may redirect to. */
  formTargets: string[]
}

const formLifetimeMs = 30 * 60_000

export function makePurposeToken(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  purpose: SignInPurpose,
): string {
  return makeFormToken(keyRing.sealingKey, 'sign-in', purpose, new Date(clock().getTime() + formLifetimeMs))
}

/** The purpose that a form was made for. Throws PageError. */
export function readPurpose(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  formToken: unknown,
  request: FastifyRequest,
): SignInPurpose {
  const purpose = readFormToken<SignInPurpose>(keyRing.sealingKey, 'sign-in', formToken, clock())
  if (!purpose) throw new PageError(400, 'This page was open for too long.', { reason: 'form-expired' })
  // Any other path is one of the portal's own pages.
  if (purpose.returnTo.startsWith('/?')) noteAbout(request, { startPath: purpose.returnTo })
  return purpose
}
