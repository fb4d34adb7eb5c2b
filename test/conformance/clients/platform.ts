// How the small client calls the login portal and the application API.
import type { Behaviour } from './behaviour.ts'
import { PlatformError, type Session, type Visit } from './visit.ts'

export type Call = { method: string; url: string; headers: Record<string, string>; body?: string; most: number }

/** Calls the platform. Returns the status and the parsed answer. Throws a PlatformError if no usable answer arrives. */
export async function call(
  behaviour: Behaviour,
  { method, url, headers, body, most }: Call,
): Promise<[number, unknown]> {
  try {
    const signal = AbortSignal.timeout(behaviour.deadlineMs)
    const ask = () =>
      fetch(url, { method, headers, redirect: behaviour.redirects, signal, ...(body !== undefined && { body }) })
    const response = await ask().catch(error => {
      if (method !== 'GET' || !behaviour.isConnectionLost(error)) throw error
      return ask()
    })
    if (response.headers.has('content-encoding') && !behaviour.unpacks) throw new PlatformError(502)
    const text = await behaviour.readBody(response, most)
    return [
      response.status,
      text === '' ? undefined : behaviour.parse(text, response.headers.get('content-type') ?? ''),
    ]
  } catch (error) {
    if (error instanceof PlatformError) throw error
    throw new PlatformError((error as Error).name === 'TimeoutError' ? 504 : 502)
  }
}

/** Sends a form to the portal: the exchange, a renewal or a revocation. */
export async function callPortal(visit: Visit, path: string, form: URLSearchParams): Promise<Record<string, unknown>> {
  const { behaviour, settings } = visit
  const [status, answer] = await behaviour.send(visit, {
    method: 'POST',
    url: behaviour.portalUrl(visit, path, form),
    headers: behaviour.portalHeaders(visit),
    body: behaviour.encode(form),
    most: 65_536,
  })
  const fields = isRecord(answer) ? answer : {}
  if (status === 200 && (isRecord(answer) || path === '/api/revokeToken')) return fields
  behaviour.logMessage(visit, `${settings.loginUrl}${path} answered ${status}`)
  throw new PlatformError(status, typeof fields.error === 'string' ? fields.error : '')
}

/** Calls the API, and returns the answer whatever its status is. */
export function callApi(visit: Visit, session: Session, method: string, path: string, content?: object) {
  return visit.behaviour.send(visit, {
    method,
    url: `${visit.settings.apiUrl}${path}`,
    headers: {
      authorization: `Bearer ${session.accessToken}`,
      accept: 'application/json',
      ...(content && { 'content-type': 'application/json' }),
    },
    ...(content && { body: JSON.stringify(content) }),
    most: 8 << 20,
  })
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
