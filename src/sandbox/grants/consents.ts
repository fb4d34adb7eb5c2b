// Carries out what a user decides about an application: the user allows the application to sign them in, declines, or
// withdraws the consent.
import { Refusal } from '../observe/refusal.ts'
import { type ProvenUser, requireProof } from '../people/sessions.ts'
import type { Services } from '../services.ts'
import { findApplication } from '../store/applications.ts'
import { deleteConsent, rememberConsent } from '../store/consents.ts'
import { revokeGrantsOf } from '../store/grants.ts'
import { markFormUsed } from '../store/used-forms.ts'
import { isId } from '../values/is-id.ts'
import { issueCode } from './codes.ts'
import type { LoginRequest } from './login-request.ts'

/**
 * A consent page that the visitor has answered. The portal accepts only the first answer to a page. `expiresAt` is the
 * time at which the page itself expires.
 */
interface Question {
  id: string
  expiresAt: Date
}

/** Remembers the consent, and issues a code. Throws Refusal. */
export async function allowAndIssueCode(
  services: Pick<Services, 'lifetimes' | 'store' | 'clock'>,
  question: Question,
  login: LoginRequest,
  user: ProvenUser,
): Promise<string> {
  const { store, clock } = services
  return store.transaction(async db => {
    if (!(await markFormUsed(db, question.id, question.expiresAt))) throw new Refusal('answered-already')
    await requireProof(db, user.userId, user.proof)
    if (!(await rememberConsent(db, user.userId, login.application.id, clock()))) throw new Refusal('client-unknown')
    return issueCode(db, services, login, user.userId)
  })
}

/** Throws Refusal if the consent page has already been answered. */
export async function decline({ store }: Pick<Services, 'store'>, question: Question): Promise<void> {
  const isFirst = await store.write(db => markFormUsed(db, question.id, question.expiresAt))
  if (!isFirst) throw new Refusal('answered-already')
}

/**
 * Stores a user's consent to an application, outside a login. The calling code passes `clientId` exactly as the request
 * contains it, and this function checks the id. Throws Refusal.
 */
export async function allowApplication(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  { userId, clientId }: { userId: string; clientId: string },
): Promise<void> {
  const isKnown = isId(clientId) && (await findApplication(store.read, clientId)) !== undefined
  if (!isKnown || !(await store.write(db => rememberConsent(db, userId, clientId, clock()))))
    throw new Refusal('client-unknown', { field: 'clientId' })
}

/**
 * Deletes the user's consent and ends the application's grants. The application must then ask the user again. The
 * calling code passes `clientId` exactly as the request contains it. Returns false if there was no consent.
 */
export async function withdrawConsent(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  { userId, clientId }: { userId: string; clientId: string },
): Promise<boolean> {
  if (!isId(clientId)) return false
  return store.transaction(async db => {
    const isDeleted = await deleteConsent(db, userId, clientId)
    await revokeGrantsOf(db, userId, clientId, clock())
    return isDeleted
  })
}
