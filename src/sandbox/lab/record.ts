// Turns a step into what is remembered of it: no secret comes past this file.
import { beginningOf, createAllowance, mostStepBytes, mostStepValues, sizeInJson } from './allowance.ts'
import type { Hide } from './hide.ts'
import type { LabStep, RecordedStep } from './recorded.ts'

/** Of an id of a client or a user, in bytes; those of the platform are shorter. */
const longestId = 200

/** At most mostStepBytes and mostStepValues, whatever was sent. */
export function recordStep(step: LabStep, hide: Hide): RecordedStep {
  const { at, request, response, checks, about, ...rest } = step
  const { startPath, ...who } = about
  const { path, query } = splitUrl(request.url)
  const recorded: RecordedStep = {
    ...rest,
    at,
    about: Object.fromEntries(
      Object.entries(who).flatMap(([name, id]) => (id === undefined ? [] : [[name, beginningOf(id, longestId)]])),
    ),
    start: undefined,
    request: { method: request.method, path: readPath(step.route, path), headers: {}, query: {}, body: {} },
    response: { status: response.status, headers: {}, body: {}, location: {} },
    checks: checks.map(({ name, passed, expected, received }) => ({
      name,
      passed,
      expected: expected === undefined ? undefined : hide.value(name, expected, at),
      received: received === undefined ? undefined : hide.value(name, received, at),
    })),
    isShortened: false,
    bytes: mostStepBytes,
  }
  const allowance = createAllowance({
    bytes: mostStepBytes - sizeInJson({ ...recorded, start: {} }),
    values: mostStepValues - 2 * checks.length,
  })
  const keep = (fields: Iterable<[string, unknown]>) => hide.values(fields, at, allowance)
  // First what tells the login and its outcome, so that a long body costs nothing but itself.
  const start = startPath === undefined ? query : splitUrl(startPath).query
  if (startPath !== undefined || step.kind === 'authorize')
    recorded.start = keep([...start].filter(([name]) => startNames.includes(name)))
  recorded.request.query = keep(query)
  recorded.request.headers = keep(readHeaders(request.headers))
  recorded.response.location = keep(readLocation(response.headers.location))
  // What the API gave is long, and says nothing of the login.
  recorded.response.body = keep(step.listener === 'api' && !step.reason ? [] : fieldsOf(response.body))
  recorded.request.body = keep(fieldsOf(request.body))
  recorded.response.headers = keep(readHeaders(response.headers))
  recorded.isShortened = allowance.isExceeded()
  recorded.bytes -= Math.max(0, allowance.bytesLeft())
  return recorded
}

/** By these a login is known. */
const startNames = ['client_id', 'state', 'code_challenge']

/** By hand: what was sent need not be an address, and `//` is one that URL cannot parse. */
function splitUrl(url: string): { path: string; query: URLSearchParams } {
  const [path = '', ...query] = url.split('?')
  return { path, query: new URLSearchParams(query.join('?')) }
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** An address that is not ours can be anything, a token too, and so can what stands in the place of an id. */
function readPath(route: string, path: string): string {
  const segments = path.split('/')
  const read = (name: string, index: number) => (uuid.test(segments[index] ?? '') ? segments[index] : name)
  return route
    .split('/')
    .map((name, index) => (name.startsWith(':') ? read(name, index) : name))
    .join('/')
}

/** Of no use to anyone who looks for a mistake, and the same every time; the Location has a place of its own. */
const leftOut = new Set([
  ...['accept-encoding', 'cache-control', 'connection', 'content-length', 'content-security-policy', 'date'],
  ...['keep-alive', 'location', 'permissions-policy', 'pragma', 'priority', 'referrer-policy', 'set-cookie'],
  ...['strict-transport-security', 'transfer-encoding', 'upgrade-insecure-requests', 'vary'],
  ...['x-content-type-options', 'x-frame-options'],
])
const leftOutFamilies = ['cross-origin-', 'sec-ch-']

/**
 * A token is known by its own hash wherever it is sent, so the scheme before it is taken off. It comes first: it says
 * which login a call belongs to.
 */
function readHeaders(headers: Record<string, string>): [string, string][] {
  const { authorization, ...others } = headers
  const kept = Object.entries(others).filter(
    ([name]) => !leftOut.has(name) && !leftOutFamilies.some(family => name.startsWith(family)),
  )
  if (authorization !== undefined) kept.unshift(['authorization', authorization.replace(/^\S+\s+/, '')])
  return kept
}

/** Where the browser is sent, and with what; a path of ours holds nothing that the next step does not tell. */
function readLocation(location: string | undefined): [string, string][] {
  if (location === undefined || !URL.canParse(location)) return []
  const { origin, pathname, searchParams } = new URL(location)
  // The address is shown like the redirect URI that it is.
  return [['redirect_uri', origin + pathname], ...[...searchParams].filter(([name]) => name !== 'redirect_uri')]
}

/** Of a form, of JSON as an object, or of JSON as a text; anything else has none. */
function fieldsOf(body: unknown): [string, unknown][] {
  const value = typeof body === 'string' ? parseJson(body) : body
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
