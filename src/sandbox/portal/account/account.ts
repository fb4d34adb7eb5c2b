// Shared by all pages of the account: only signed-in visitors see the pages, and each form is made for one user.
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../observe/refusal.ts'
import type { SignedInUser } from '../../people/sessions.ts'
import type { Services } from '../../services.ts'
import { makeFormToken, readFormToken } from '../../tokens/form-token.ts'
import { isId } from '../../values/is-id.ts'
import { setPageHeaders } from '../../web/page-headers.ts'
import { setStartAgain } from '../error-pages.ts'
import { findVisitor } from '../session.ts'
import { showSignInPage } from '../sign-in.ts'

const visitorName = 'accountVisitor'

/** Works only in a scope that has called requireVisitor. */
export function visitorOf(request: FastifyRequest): SignedInUser {
  return request.getDecorator<SignedInUser>(visitorName)
}

/**
 * Visitors who are not signed in get the page to sign in, which leads back to the same path. Each path therefore needs
 * a GET route.
 */
export function requireVisitor(scope: FastifyInstance, services: Pick<Services, 'store' | 'keyRing' | 'clock'>): void {
  scope.decorateRequest(visitorName, null)
  scope.addHook('onRequest', async (request, reply) => {
    setStartAgain(request, pathOf(request))
    const visitor = await findVisitor(services, request)
    if (visitor) {
      request.setDecorator<SignedInUser>(visitorName, visitor)
      setPageHeaders(reply, { hasScript: true })
      return
    }
    const purpose = { returnTo: pathOf(request), applicationName: undefined, formTargets: [] }
    if (request.method === 'GET') return reply.send(await showSignInPage(reply, services, purpose))
    const problem = 'You were signed out in the meantime, so nothing was changed. Sign in and try again.'
    return reply.status(403).send(await showSignInPage(reply, services, purpose, { signIn: { problem } }))
  })
}

export function showAccountPage(reply: FastifyReply, page: string, data: { title: string } & Record<string, unknown>) {
  const { request } = reply
  return reply.viewAsync(page, { width: 'middle', visitor: visitorOf(request), path: pathOf(request), ...data })
}

interface Question {
  /** The title of the window. It contains no name that somebody else chose. */
  title: string
  /** The words before and after the name. Without a name, the page shows them together. */
  question: [before: string, after: string]
  /** The name of the person, group or application that the question is about. The heading shows it whole. */
  name?: string
  /** The sentences that say what the button causes. If there are several sentences, the page shows them as a list. */
  texts: string[]
  /** What does not end. */
  stays?: string
  /** Facts by which the visitor recognises the person or thing, such as the time of its creation. */
  facts?: [label: string, value: Date | string][]
  /** The address that the form is sent to, and its hidden fields. */
  action: string
  fields: Record<string, string>
  /** The label of the button, which says what it does. */
  button: string
  /** The page to go back to. */
  cancel: string
}

/** A page that asks before something ends. It works without a script. */
export function askFirst(reply: FastifyReply, question: Question) {
  return showAccountPage(reply, 'account/question', { width: 'narrow', ...question })
}

/** The path of this page, built from its route's pattern and from valid ids. Other text that a stranger typed never gets into it. */
export function pathOf(request: FastifyRequest): string {
  const parameters = Object.entries(request.params as Record<string, string>)
  if (!parameters.every(([, value]) => isId(value))) return '/account'
  return parameters.reduce(
    (path, [name, value]) => path.replace(`:${name}`, value),
    request.routeOptions.url ?? '/account',
  )
}

interface AccountForm {
  userId: string
  /** If a form is sent twice, both requests have the same id, so only the first one makes something. */
  id: string
}

export const accountFormLifetimeMs = 8 * 3_600_000

/** The hidden field of a form for this visitor and one purpose. */
export function makeAccountForm(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  request: FastifyRequest,
  purpose: string,
): string {
  const form: AccountForm = { userId: visitorOf(request).id, id: randomUUID() }
  const expiresAt = new Date(clock().getTime() + accountFormLifetimeMs)
  return makeFormToken(keyRing.sealingKey, `account ${purpose}`, form, expiresAt)
}

/**
 * The id of the form, and its text fields. Throws Refusal if the portal did not make the form for this visitor and purpose.
 */
export function readAccountForm(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  request: FastifyRequest,
  purpose: string,
): { id: string; fields: Record<string, string | undefined> } {
  const body = (request.body ?? {}) as Record<string, unknown>
  const form = readFormToken<AccountForm>(keyRing.sealingKey, `account ${purpose}`, body.formToken, clock())
  if (form?.userId !== visitorOf(request).id) throw new Refusal('account-form-expired')
  const texts = Object.entries(body).filter((pair): pair is [string, string] => typeof pair[1] === 'string')
  return { id: form.id, fields: Object.fromEntries(texts) }
}
