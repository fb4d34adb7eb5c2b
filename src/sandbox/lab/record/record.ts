// Converts a step into the form that the laboratory keeps. Secrets are hidden here.
import type { Check } from '../../observe/steps.ts'
import { parseJson } from '../../values/parse-json.ts'
import { sessionCookieName } from '../../values/portal-cookies.ts'
import { beginningOf, createAllowance, mostStepBytes, mostStepValues, sizeInJson } from './allowance.ts'
import type { Hide } from './hide.ts'
import { type LabStep, type RecordedCheck, type RecordedStep, type Scheme, schemes, type Value } from './recorded.ts'

/**
 * The maximum size of a client id or a user id, in bytes. The laboratory keeps only the beginning of a longer id. The
 * platform's own ids are shorter.
 */
const longestId = 200

/** An application can have thousands of redirect URIs. The result of a check contains at most this many. */
const mostExpected = 20
const mostExpectedBytes = 1500

/**
 * Records a step. The result never has more than mostStepBytes bytes and mostStepValues values, whatever the caller
 * sent.
 */
export function recordStep(step: LabStep, hide: Hide): RecordedStep {
  const { at, request, response, checks, about, ...rest } = step
  const { startPath, claimedClientId, ...who } = about
  for (const id of [who.knownClientId, who.provenClientId]) if (id !== undefined) hide.showClientId(id)
  const claimed = claimedClientId === undefined ? {} : { claimedClientId: hide.clientId(claimedClientId) }
  const { path, query } = splitUrl(request.url)
  const portalSession = hashPortalSession(request.headers.cookie, step, hide)
  const recorded: RecordedStep = {
    ...rest,
    at,
    about: Object.fromEntries(
      Object.entries({ ...claimed, ...who, portalSession }).flatMap(([name, id]) =>
        id === undefined ? [] : [[name, beginningOf(id, longestId)]],
      ),
    ),
    start: undefined,
    request: {
      method: request.method,
      path: readPath(step.route, path),
      scheme: readAuthorization(request.headers.authorization).scheme,
      headers: {},
      query: {},
      body: {},
    },
    response: { status: response.status, headers: {}, body: {}, location: {} },
    checks: checks.map(({ name, passed, expected, received }) => ({
      name,
      passed,
      expected: hideExpected(expected, value => hide.value(name, value, at)),
      received: received === undefined ? undefined : hide.value(name, received, at),
    })),
    leftOutBefore: 0,
    isShortened: false,
    bytes: mostStepBytes,
  }
  const allowance = createAllowance({
    bytes: mostStepBytes - sizeInJson({ ...recorded, start: {} }),
    values: mostStepValues - recorded.checks.flatMap(({ expected, received }) => [expected, received].flat()).length,
  })
  const hideAll = (fields: Iterable<[string, unknown]>) => hide.values(fields, at, allowance)
  // The fields that identify the login and its outcome come first. Otherwise a long body could leave no room for these
  // fields.
  const start = startPath === undefined ? query : splitUrl(startPath).query
  if (startPath !== undefined || step.kind === 'authorize')
    recorded.start = hideAll([...start].filter(([name]) => startNames.includes(name)))
  recorded.request.query = hideAll(query)
  recorded.request.headers = hideAll(readHeaders(request.headers))
  recorded.response.location = hideAll(readLocation(response.headers.location))
  // Leave out the bodies of successful API answers: these bodies are long, and say nothing about the login.
  recorded.response.body = hideAll(step.listener === 'api' && !step.reason ? [] : fieldsInBody(response.body))
  recorded.request.body = hideAll(fieldsInBody(request.body))
  recorded.response.headers = hideAll(readHeaders(response.headers))
  const isExpectedShortened = checks.some(
    ({ expected }, index) => [expected].flat().length > [recorded.checks[index]?.expected].flat().length,
  )
  recorded.isShortened = allowance.isExceeded() || isExpectedShortened
  recorded.bytes -= Math.max(0, allowance.bytesLeft())
  return recorded
}

/**
 * Hides the expected values of a check. A single value is not put into a list. If there are too many values, some are
 * left out.
 */
function hideExpected(expected: Check['expected'], hide: (value: string) => Value): RecordedCheck['expected'] {
  const allowance = createAllowance({ bytes: mostExpectedBytes })
  const kept = [expected ?? []]
    .flat()
    .slice(0, mostExpected)
    .map(hide)
    .filter(value => allowance.take('', value))
  return kept.length > 1 ? kept : kept[0]
}

/** Returns a hash of the portal session cookie. Logins from one browser have the same hash. */
function hashPortalSession(cookies: string | undefined, { listener }: LabStep, hide: Hide): string | undefined {
  if (listener !== 'portal') return undefined
  const start = `${sessionCookieName}=`
  const cookie = cookies?.split(/; */).find(one => one.startsWith(start))
  const value = cookie?.slice(start.length)
  return value ? hide.hash(value) : undefined
}

/** The parameters that identify a login. */
const startNames = ['client_id', 'state', 'code_challenge']

/**
 * Splits an address without the `URL` class, which cannot parse `//` and other strings that a caller can send as a
 * path.
 */
function splitUrl(url: string): { path: string; query: URLSearchParams } {
  const [path = '', ...query] = url.split('?')
  return { path, query: new URLSearchParams(query.join('?')) }
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Returns the path of a request. An id in the path is shown only if it is a UUID. A string that is not a UUID could be
 * a secret, so the result contains the parameter's name from the route instead.
 */
function readPath(route: string, path: string): string {
  const segments = path.split('/')
  const read = (name: string, index: number) => (uuid.test(segments[index] ?? '') ? segments[index] : name)
  return route
    .split('/')
    .map((name, index) => (name.startsWith(':') ? read(name, index) : name))
    .join('/')
}

/** Headers that do not help to find a mistake. The Location is kept separately. */
const leftOut = new Set(
  `
    accept-encoding cache-control connection content-length content-security-policy date keep-alive location
    permissions-policy pragma priority referrer-policy set-cookie strict-transport-security transfer-encoding
    upgrade-insecure-requests vary x-content-type-options x-frame-options
  `
    .trim()
    .split(/\s+/),
)
const leftOutFamilies = ['cross-origin-', 'sec-ch-']

/**
 * Returns the headers that the laboratory keeps. It removes the scheme, such as Bearer, from the Authorization header,
 * so that a token has the same hash wherever it is sent. This header comes first, because the token shows which login a
 * call belongs to.
 */
function readHeaders(headers: Record<string, string>): [string, string][] {
  const { authorization, referer, ...others } = headers
  const kept = Object.entries(others).filter(
    ([name]) => !leftOut.has(name) && !leftOutFamilies.some(family => name.startsWith(family)),
  )
  // The origin is enough to see where a login began. A path or a query may contain a secret.
  if (referer !== undefined) kept.push(['referer', URL.canParse(referer) ? new URL(referer).origin : ''])
  if (authorization !== undefined) kept.unshift(['authorization', readAuthorization(authorization).credentials])
  return kept
}

/** Splits an Authorization header. An unknown scheme is left out, because it may be a part of a secret. */
function readAuthorization(header = ''): { scheme: Scheme | undefined; credentials: string } {
  const [first = '', ...rest] = header.trim().split(/\s+/)
  const scheme = schemes.find(one => one.toLowerCase() === first.toLowerCase())
  return { scheme, credentials: scheme || rest.length > 0 ? rest.join(' ') : first }
}

/**
 * Returns the address and the parameters of a redirect. A redirect to a path of the portal is left out, because the
 * next step shows this path.
 */
function readLocation(location: string | undefined): [string, string][] {
  if (location === undefined || !URL.canParse(location)) return []
  const { origin, pathname, searchParams } = new URL(location)
  // The address gets the name redirect_uri, because values with this name stay readable.
  return [['redirect_uri', origin + pathname], ...[...searchParams].filter(([name]) => name !== 'redirect_uri')]
}

/** Returns the fields of a body: a form, a JSON object, or a string that is JSON. Any other body has no fields. */
function fieldsInBody(body: unknown): [string, unknown][] {
  const value = typeof body === 'string' ? parseJson(body) : body
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}
