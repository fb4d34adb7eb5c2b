// Calls to the application API on behalf of the visitor: `request.visitor.api.get(path, schema)` and similar methods.
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { FieldError, PublicError } from '../errors.ts'
import type { Sentence } from '../texts.ts'
import {
  type Answer,
  type AnswerHeaders,
  type Call,
  isRecord,
  type RequestContext,
  type Upstream,
} from '../upstream.ts'
import { validatorFor } from '../web/ajv.ts'

export type CallOptions = {
  /**
   * The deadline of the call, in milliseconds. The default is 10,000. If the API refuses the access token, the client
   * calls the API a second time, and both calls together must end within this time. The renewal between the two calls
   * does not count, because it has its own deadline.
   */
  deadlineMs?: number
  /** The maximum size of a response body, in bytes. The default is 8 MiB. */
  maxBytes?: number
  /**
   * An ETag. If the resource no longer has this ETag (RFC 9110 13.1.1), the call throws a PublicError with status 412.
   */
  ifMatch?: string | undefined
}

/** The type of the values that a JSON Schema accepts. */
type TypeOf<S> = S extends JSONSchema ? FromSchema<S> : unknown

/**
 * Every method sends the visitor's access token. If the API refuses the token with status 401, the client renews the
 * session and sends the call once more. The second call is safe, because the API does not carry out a refused call. The
 * answer must match `schema`, and the result has the type that `schema` describes.
 *
 * All methods throw PublicError. If the API answers with 403, 404, 409 or 412, the error has the same status. If the
 * API answers with 422, the error is a FieldError. The status is 502 if the answer is not usable, and 503 or 504 if the
 * API is busy or slow. To change the message of an error, catch the error.
 */
export interface Api {
  get<const S extends object>(path: string, schema: S, options?: CallOptions): Promise<TypeOf<S>>
  /** `body` is sent as JSON. */
  post<const S extends object>(
    path: string,
    body: object | undefined,
    schema: S,
    options?: CallOptions,
  ): Promise<TypeOf<S>>
  /** `body` is sent as JSON. */
  put<const S extends object>(path: string, body: object, schema: S, options?: CallOptions): Promise<TypeOf<S>>
  delete(path: string, options?: CallOptions): Promise<void>
  /**
   * Like `get`. The result also contains the headers of the answer, with lower-case names. If `headers.etag` is one
   * strong ETag, a later `put` can send it as `ifMatch`.
   */
  getWithHeaders<const S extends object>(
    path: string,
    schema: S,
    options?: CallOptions,
  ): Promise<{ data: TypeOf<S>; headers: AnswerHeaders }>
}

type ApiOptions = {
  upstream: Upstream
  /** The address at which this server reaches the API, without a trailing slash. */
  apiUrl: string
  context: RequestContext
  accessToken: () => string
  /** Called after the API has refused the access token. Gets a new access token, or throws SignInRequired. */
  renewAccessToken: () => Promise<void>
  /**
   * Called if the API also refuses the new access token. This function makes the response delete the cookies of the
   * session.
   */
  expireSession: () => void
}

const defaultDeadlineMs = 10_000
const defaultMaxBytes = 8 * 1024 * 1024

/**
 * Thrown if a request needs a session but has none. The error handler of the signed-in scope then asks the visitor to
 * sign in.
 */
export class SignInRequired extends PublicError {
  constructor() {
    super('sign_in_required', 401, texts => texts.signIn.signInRequired)
  }
}

export function createApi(options: ApiOptions): Api {
  const { upstream, apiUrl, context, accessToken, renewAccessToken, expireSession } = options

  async function sendWithToken(call: Omit<Call, 'context'>): Promise<Answer> {
    const send = (deadlineMs: number) => {
      const headers = { ...call.headers, authorization: `Bearer ${accessToken()}` }
      return upstream.send({ ...call, headers, context, deadlineMs })
    }
    const startedAt = performance.now()
    const answer = await send(call.deadlineMs)
    if (answer.status !== 401) return answer
    const remainingMs = Math.ceil(call.deadlineMs - (performance.now() - startedAt))
    await renewAccessToken()
    const secondAnswer = await send(remainingMs)
    if (secondAnswer.status !== 401) return secondAnswer
    expireSession()
    throw new SignInRequired()
  }

  /** Sends the call and returns the answer. Throws PublicError if the call failed. */
  async function call(method: Call['method'], path: string, body: object | undefined, options: CallOptions = {}) {
    const { deadlineMs = defaultDeadlineMs, maxBytes = defaultMaxBytes, ifMatch } = options
    const answer = await sendWithToken({
      method,
      url: apiUrl + path,
      headers: { ...(body && { 'content-type': 'application/json' }), ...(ifMatch && { 'if-match': ifMatch }) },
      ...(body && { body: JSON.stringify(body) }),
      deadlineMs,
      maxBytes,
    })
    // For a GET, only status 200 is a success: an answer with 202 or 206 does not contain the whole resource (RFC 9110
    // 15.3).
    const isSuccess = method === 'GET' ? answer.status === 200 : answer.status >= 200 && answer.status < 300
    if (isSuccess) return answer
    // Status 422 means that a field of the body is wrong. A 422 answer to a request without a body makes no sense.
    const error = answer.status === 422 && !body ? undefined : errorFor(answer)
    throw error ?? upstream.unexpectedStatus(answer)
  }

  /** Returns the JSON of the answer. Throws a PublicError with status 502 if the JSON does not match the schema. */
  function check({ json }: Answer, schema: object): unknown {
    if (!validatorFor(schema)(json)) throw upstream.unexpected('an answer that does not match its schema')
    return json
  }

  // `check` compares each answer with its schema, so the cast to Api below is safe.
  const api = {
    get: async (path: string, schema: object, options?: CallOptions) =>
      check(await call('GET', path, undefined, options), schema),
    post: async (path: string, body: object | undefined, schema: object, options?: CallOptions) =>
      check(await call('POST', path, body, options), schema),
    put: async (path: string, body: object, schema: object, options?: CallOptions) =>
      check(await call('PUT', path, body, options), schema),
    async delete(path: string, options?: CallOptions) {
      await call('DELETE', path, undefined, options)
    },
    async getWithHeaders(path: string, schema: object, options?: CallOptions) {
      const answer = await call('GET', path, undefined, options)
      return { data: check(answer, schema), headers: answer.headers }
    },
  }
  return api as Api
}

/** Returns the error for a status that has its own message. Returns undefined for any other status. */
function errorFor({ status, json }: Answer): PublicError | undefined {
  switch (status) {
    case 403:
      return new PublicError('api_forbidden', 403, texts => texts.signIn.api.forbidden)
    case 404:
      return new PublicError('api_not_found', 404, texts => texts.signIn.api.notFound)
    case 409:
      return new PublicError('api_conflict', 409, texts => texts.signIn.api.conflict)
    case 412:
      return new PublicError('api_changed', 412, texts => texts.signIn.api.changed)
    case 422:
      return toFieldError(json)
    default:
      return undefined
  }
}

// An answer can have up to 8 MiB. The client shows the API's reasons on a page, and these limits keep that page short.
const maxRefusedFields = 50
const maxReasons = 20
const maxReasonLength = 500

/**
 * An answer with status 422 has either a message for each field, or one sentence:
 * `{"error":{"message":{field:[sentence,…]} | sentence}}`. OAuth errors (RFC 6749 5.2) have the sentence in
 * `error_description`.
 */
function toFieldError(json: unknown): FieldError {
  const { error, error_description: description } = isRecord(json) ? json : {}
  const message = isRecord(error) ? error.message : description
  if (isRecord(message) && Object.keys(message).length > 0) {
    const fields = Object.entries(message).slice(0, maxRefusedFields)
    return new FieldError(
      Object.fromEntries(fields.map(([field, reasons]) => [field.slice(0, maxReasonLength), toReasons(reasons)])),
    )
  }
  const reason = typeof message === 'string' ? shorten(message) : ''
  return new FieldError({}, ({ signIn: { api } }) => (reason ? api.refused(reason) : api.refusedWithoutReason))
}

function toReasons(reasons: unknown): Sentence[] {
  const known = [reasons].flat().filter((reason): reason is string => typeof reason === 'string' && reason !== '')
  return known.length > 0 ? known.slice(0, maxReasons).map(shorten) : [texts => texts.signIn.api.fieldRefused]
}

function shorten(reason: string): string {
  const text = reason.trim()
  return text.length > maxReasonLength ? `${text.slice(0, maxReasonLength - 1)}…` : text
}
