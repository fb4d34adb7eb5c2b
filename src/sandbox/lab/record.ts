// Turns a step into what is remembered of it: no secret comes past this file.
import type { Step } from '../steps.ts'
import type { Hide } from './hide.ts'
import type { RecordedStep, Values } from './recorded.ts'

export function recordStep(step: Step, hide: Hide): RecordedStep {
  const { at, request, response, checks, about, ...rest } = step
  const { startPath, ...who } = about
  const url = new URL(request.url, 'http://localhost')
  const values = (fields: Iterable<[string, unknown]>) => hide.values(fields, at)
  const location = response.headers.location
  const query = values(url.searchParams)
  return {
    ...rest,
    at,
    about: who,
    start: startPath === undefined ? startOf(step, query) : values(new URL(startPath, 'http://localhost').searchParams),
    request: {
      method: request.method,
      path: readPath(step.route, url.pathname),
      headers: values(readHeaders(request.headers)),
      query,
      body: values(fieldsOf(request.body)),
    },
    response: {
      status: response.status,
      headers: values(readHeaders(response.headers)),
      // What the API gave is long, and says nothing of the login.
      body: values(step.listener === 'api' && !step.reason ? [] : fieldsOf(response.body)),
      location: readLocation(location, values),
    },
    checks: checks.map(({ name, passed, expected, received }) => ({
      name,
      passed,
      expected: expected === undefined ? undefined : hide.value(name, expected, at),
      received: received === undefined ? undefined : hide.value(name, received, at),
    })),
  }
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

function startOf({ kind }: Step, query: Values): Values | undefined {
  return kind === 'authorize' ? query : undefined
}

/** Of no use to anyone who looks for a mistake, and the same every time; the Location has a place of its own. */
const leftOut =
  /^(accept-encoding|cache-control|connection|content-length|content-security-policy|cross-origin-.*|date|keep-alive|location|permissions-policy|pragma|priority|referrer-policy|sec-ch-.*|set-cookie|strict-transport-security|transfer-encoding|upgrade-insecure-requests|vary|x-content-type-options|x-frame-options)$/

/** A token is known by its own hash wherever it stands, so that it is told apart from the scheme before it. */
function readHeaders(headers: Record<string, string>): [string, string][] {
  return Object.entries(headers)
    .filter(([name]) => !leftOut.test(name))
    .map(([name, value]) => [name, name === 'authorization' ? value.replace(/^\S+\s+/, '') : value])
}

/** Where the browser is sent, and with what; a path of ours holds nothing that is not told of the next step. */
function readLocation(location: string | undefined, values: (fields: Iterable<[string, unknown]>) => Values): Values {
  if (location === undefined || !URL.canParse(location)) return values([])
  const { origin, pathname, searchParams } = new URL(location)
  // Shown like the redirect URI that it is.
  return { ...values(searchParams), redirect_uri: origin + pathname }
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
