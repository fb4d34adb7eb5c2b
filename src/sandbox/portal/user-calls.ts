// The calls that scripts and tests make on a user's behalf, without a browser. Errors have the format `{"message", …}`
// and not the format of OAuth, because the caller is not an OAuth client.
import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { issueAllowedCode } from '../grants/codes.ts'
import { allowApplication } from '../grants/consents.ts'
import { LoginRefusal, readLoginRequest } from '../grants/login-request.ts'
import { reportRefusal } from '../http/report-refusal.ts'
import { sourceOf } from '../http/trusted-proxies.ts'
import { stepNotesOf } from '../observe/notes.ts'
import { noteAbout } from '../observe/observe.ts'
import { type AnswerTable, answerIn, Refusal } from '../observe/refusal.ts'
import { checkPassword } from '../people/password.ts'
import { registerUser } from '../people/register.ts'
import type { Services } from '../services.ts'
import { type Credentials, findUser, type User } from '../store/users.ts'
import { identifyCaller } from '../tokens/identify-caller.ts'
import { contexts } from '../values/contexts.ts'
import { isFromOtherSite } from './cross-site-guard.ts'
import { errorPageOf } from './error-pages.ts'
import { readFields, requireBodyFields, setCallHeaders } from './fields.ts'
import { codeUrl, loginErrorOf, loginPath } from './login-urls.ts'
import { oauthAnswerOf } from './oauth-errors.ts'
import type { ConsentAnswer, ConsentRequest, PersonAnswer, ScriptLogin, ScriptLoginAnswer } from './schemas.ts'
import { findVisitor } from './session.ts'

/**
 * Sets up a scope for the calls on a user's behalf: parsers, headers, the error format, and the guard against pages of
 * other sites.
 */
export async function useUserCalls(scope: FastifyInstance, { addresses }: Pick<Services, 'addresses'>): Promise<void> {
  await scope.register(cookie)
  await scope.register(formbody)
  setCallHeaders(scope)
  answerInMessages(scope)
  scope.addHook('onRequest', async request => {
    if (isFromOtherSite(request, addresses.portalUrl)) throw new Refusal('cross-site')
  })
}

type CallServices = Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'passwords' | 'clock'>

export function userCallRoutes(services: CallServices) {
  const { store, addresses } = services

  /** GET /api/me */
  async function showMe(request: FastifyRequest): Promise<PersonAnswer> {
    const caller = await identifyCaller(services, request)
    if (typeof caller === 'string') throw new Refusal(caller)
    // An application's own token does not belong to a user.
    if (caller.kind === 'application') throw new Refusal('token-of-another-kind')
    const user = await findUser(store.read, caller.userId)
    if (!user) throw new Refusal('token-revoked')
    return toPersonJson(user)
  }

  /** POST /api/register, with the same rules as the page for new accounts. */
  async function register(request: FastifyRequest, reply: FastifyReply) {
    const { userId } = await registerUser(services, requireBodyFields(request), sourceOf(request))
    const user = await findUser(store.read, userId)
    if (!user) throw new Error('the user was removed at the moment they signed up')
    request.log.info({ code: 'signed-up', user: userId }, 'a user signed up')
    return reply.status(201).send(toPersonJson(user))
  }

  /** POST /api/authorize: a whole login in one call. */
  async function logIn(request: FastifyRequest): Promise<ScriptLoginAnswer> {
    const call = readFields<ScriptLogin>(request)
    const login = await readLoginRequest(services, call.texts, stepNotesOf(request))
    noteAbout(request, { startPath: loginPath(login) })
    const { userId, passwordHash } = await authenticate(call.require('email', 'password'), request)
    const code = await issueAllowedCode(services, login, { userId, proof: { passwordHash } })
    if (code === undefined) throw new Refusal('consent-missing', { userId })
    request.log.info({ code: 'code-issued', clientId: login.application.id }, 'a script signed in')
    return { redirectUrl: codeUrl(login, { code, userId, issuer: addresses.portalUrl }), userId }
  }

  /** POST /api/authorizeApplication, with the same effect as “Allow” on the consent page. */
  async function allow(request: FastifyRequest): Promise<ConsentAnswer> {
    const call = readFields<ConsentRequest>(request)
    const { userId, clientId } = call.require('userId', 'clientId')
    noteAbout(request, { claimedClientId: clientId })
    if ((await findSender(call.requireAll(), request)) !== userId) throw new Refusal('user-differs')
    await allowApplication(services, { userId, clientId })
    noteAbout(request, { knownClientId: clientId, userId })
    request.log.info({ code: 'consent-allow', clientId }, 'consent was given by a script')
    return { userId, clientId }
  }

  /**
   * Finds the user who sends the call: by e-mail address and password, or by the session at the portal if the call has
   * no password.
   */
  async function findSender({ email, password }: ConsentRequest, request: FastifyRequest): Promise<string | undefined> {
    if (email !== undefined && password !== undefined) return (await authenticate({ email, password }, request)).userId
    return (await findVisitor(services, request))?.id
  }

  async function authenticate(
    { email, password }: Pick<ScriptLogin, 'email' | 'password'>,
    request: FastifyRequest,
  ): Promise<Credentials> {
    return checkPassword(services, { email, password, source: sourceOf(request) })
  }

  return { showMe, register, logIn, allow }
}

function toPersonJson({ id, email, firstName, lastName }: User): PersonAnswer {
  return {
    '@context': contexts.Person,
    '@type': 'Person',
    '@id': id,
    email,
    // Anyone who signs up at a sandbox is a developer of applications.
    role: 'developer',
    firstName,
    lastName,
  }
}

type MessageAnswer = [statusCode: number, message: unknown]

const denied: MessageAnswer = [403, 'Permission denied']

/** The answer for each reason. A reason that is not in this table gets the same words as in an OAuth call. */
const answers: AnswerTable<MessageAnswer | undefined> = {
  'token-missing': denied,
  'token-malformed': denied,
  'token-expired': denied,
  'token-revoked': denied,
  'token-of-another-kind': denied,
  'user-differs': denied,
  'password-wrong': denied,
  'password-changed': [403, 'Your password was changed in the meantime. Sign in again to continue.'],
  'consent-missing': [403, 'App authorization required'],
  'client-unknown': ({ field }) => (field === 'clientId' ? [404, 'App not found.'] : undefined),
  'fields-invalid': ({ problems }) => problems && [422, problems],
}

function answerInMessages(scope: FastifyInstance): void {
  scope.setErrorHandler((error, _request, reply) => {
    const { reason, answer: oauthAnswer } = oauthAnswerOf(error)
    const [oauthStatus, , oauthDescription] = oauthAnswer
    const [statusCode, message] = answerOf(error) ?? [oauthStatus, oauthDescription]
    const said = typeof message === 'string' ? message : 'bad fields'
    reportRefusal(reply, error, { statusCode, reason, message: said }, 'message')
    const userId = error instanceof Refusal ? error.details.userId : undefined
    return reply.status(statusCode).send({ message, ...(userId !== undefined && { userId }) })
  })
}

function answerOf(error: unknown): MessageAnswer | undefined {
  if (!(error instanceof Refusal)) return undefined
  if (error instanceof LoginRefusal) return [400, loginErrorOf(error).description]
  return answerIn(answers, error) ?? answerToUntrustedStart(error)
}

/**
 * If the portal refuses the request before it trusts the redirect URI, the script gets the text that a visitor would
 * read on the error page.
 */
function answerToUntrustedStart(refusal: Refusal): MessageAnswer | undefined {
  const { reason, details } = refusal
  const isStart =
    reason === 'client-unknown' ||
    reason === 'redirect-uri-unregistered' ||
    (reason === 'field-missing' && ['client_id', 'redirect_uri'].includes(details.field ?? ''))
  const page = isStart ? errorPageOf(refusal) : undefined
  return page && [page.status, page.message]
}
