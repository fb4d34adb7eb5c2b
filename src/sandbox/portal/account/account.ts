// Code that all account pages share. Only signed-in visitors see these pages, and each form is made for one user.
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../observe/refusal.ts'
import type { SignedInUser } from '../../people/sessions.ts'
import type { Services } from '../../services.ts'
import { makeFormToken, readFormToken } from '../../tokens/form-token.ts'
import { isId } from '../../values/is-id.ts'
import { showPage } from '../../web/page-headers.ts'
import { setStartAgain } from '../error-pages.ts'
import { findVisitor } from '../session.ts'
import { showSignInPage } from '../sign-in.ts'

const visitorName = 'accountVisitor'

/** Returns the signed-in visitor. Works only in a scope that was passed to requireVisitor. */
export function visitorOf(request: FastifyRequest): SignedInUser {
  return request.getDecorator<SignedInUser>(visitorName)
}

/**
 * Lets only signed-in visitors use the routes of the scope. Other visitors get the sign-in page, which leads back to
 * the path that they requested. Each path therefore needs a GET route.
 */
export function requireVisitor(scope: FastifyInstance, services: Pick<Services, 'store' | 'keyRing' | 'clock'>): void {
  scope.decorateRequest(visitorName, null)
  scope.addHook('onRequest', async (request, reply) => {
    setStartAgain(request, pathOf(request))
    const visitor = await findVisitor(services, request)
    if (visitor) {
      request.setDecorator<SignedInUser>(visitorName, visitor)
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
  return showPage(reply, page, {
    width: 'middle',
    scripts: ['copy-buttons.js', 'local-times.js', 'show-passwords.js'],
    visitor: visitorOf(request),
    path: pathOf(request),
    ...data,
  })
}

interface Question {
  /** The title of the window. It must not contain a name that another person has chosen. */
  title: string
  /** The words of the question before and after the name. If there is no name, the page shows both parts together. */
  question: [before: string, after: string]
  /** The name of the person, group or application that the question is about. The heading shows the whole name. */
  name?: string
  /**
   * The sentences that say what happens if the visitor clicks the button. If there are several sentences, the page
   * shows a list.
   */
  texts: string[]
  /** A sentence about the things that will still exist after the visitor has clicked the button. */
  stays?: string
  /** Facts that help the visitor recognise the person or thing, such as the time of its creation. */
  facts?: [label: string, value: Date | string][]
  /** The address that the form is sent to, and the hidden fields of the form. */
  action: string
  fields: Record<string, string>
  /** The label of the button. The label says what the button does. */
  button: string
  /** The page to which the visitor goes back if they cancel. */
  cancel: string
}

/** Shows a page that asks the visitor before something ends. The page works without JavaScript. */
export function askFirst(reply: FastifyReply, question: Question) {
  return showAccountPage(reply, 'account/question', { width: 'narrow', ...question })
}

/**
 * Returns the path of this page, made only from the pattern of its route and from valid ids. The path never contains
 * any other text from the request.
 */
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
  /** If a form is sent twice, both requests contain the same id, so only the first request creates a record. */
  id: string
}

export const accountFormLifetimeMs = 8 * 3_600_000

/** Makes the value of a form's hidden field. The value is valid only for this visitor and this purpose. */
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
 * Returns the id of the form and its text fields. Throws Refusal if the portal did not make the form for this visitor
 * and this purpose.
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
