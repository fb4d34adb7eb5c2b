// Decides which requests may use the laboratory. The laboratory shows all requests to the sandbox. Pages of other sites
// must therefore not read or change anything in it.
import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { isEqual } from '../values/is-equal.ts'
import type { Secret } from '../values/secret.ts'
import { describeParameters } from './field-messages.ts'
import { LabError } from './lab-error.ts'

const loopbackNames = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/**
 * The config of a route that accepts forms only from the laboratory's own pages. Register the route in a scope that
 * parses forms.
 */
export const takesForms: { config: object } = { config: { takesForms: true } }

/**
 * `urls` are the laboratory's public addresses. In the Host header, the guard accepts only loopback names and the hosts
 * of these addresses. A request with another name may come from an attacker's page whose host name resolves to this
 * machine (DNS rebinding). A POST must be JSON, because an HTML form on another site cannot send JSON. An HTML form
 * cannot send a DELETE either. A route with `takesForms` accepts a form only if the browser says that the form comes
 * from a page of the laboratory.
 */
export function guardLab(urls: readonly string[], token: Secret | undefined): onRequestHookHandler {
  const hosts = new Set(urls.map(url => new URL(url).host))
  return async request => {
    const { host = '', origin, 'sec-fetch-site': site } = request.headers
    if (!isOwnHost(host, hosts))
      throw new LabError(403, 'The laboratory does not accept this host name. See the setting LAB_URL.')
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const isNavigation = request.headers['sec-fetch-mode'] === 'navigate'
    const isForeign =
      (site !== undefined && site !== 'same-origin' && site !== 'none') ||
      (origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host))
    // Allow links from other origins, because the portal has another port and its pages link to the laboratory.
    if (isForeign && !(isRead && isNavigation))
      throw new LabError(403, 'A page of another site must not send this request.')
    if (request.method === 'POST') {
      const { takesForms = false } = request.routeOptions.config as { takesForms?: boolean }
      const type = takesForms ? 'application/x-www-form-urlencoded' : 'application/json'
      if (request.mediaType !== type) throw new LabError(415, `Send ${type}.`)
      if (takesForms && origin === undefined && site !== 'same-origin')
        throw new LabError(403, 'Send this form from a page of the laboratory.')
    }
    if (token && !isEqual(readToken(request), token.reveal()))
      throw new LabError(
        401,
        'Send the header Authorization: Bearer with the value of LAB_TOKEN, or enter this value as the password.',
      )
  }
}

function isOwnHost(host: string, hosts: ReadonlySet<string>): boolean {
  if (hosts.has(host)) return true
  return URL.canParse(`http://${host}`) && loopbackNames.test(new URL(`http://${host}`).hostname)
}

/**
 * Reads the token. A browser cannot send Bearer by itself. It asks the developer for a user name and a password
 * instead. The password is the token, and the guard ignores the user name.
 */
function readToken({ headers }: FastifyRequest): string {
  const [, scheme = '', value = ''] = /^(bearer|basic) +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  if (scheme.toLowerCase() !== 'basic') return value
  const pair = Buffer.from(value, 'base64').toString()
  return pair.slice(pair.indexOf(':') + 1)
}

/**
 * A preHandler hook that refuses a request with a body if the route does not read bodies. Without this check, a DELETE
 * with the body {"clientId": …} would remove the faults of all clients, because the laboratory would ignore the body.
 * Throws LabError 422.
 */
export async function refuseUnreadBody({ routeOptions, body }: FastifyRequest): Promise<void> {
  const { body: schema, querystring } = (routeOptions.schema ?? {}) as Record<
    string,
    { properties?: object } | undefined
  >
  if (!routeOptions.schema || schema || !hasFields(body)) return
  const names = Object.keys(querystring?.properties ?? {})
  const place = names.length > 0 ? ' Send the parameters in the address.' : ''
  throw new LabError(422, {
    body: [`This call does not read a body. Send no body.${place} ${describeParameters(names)}`],
  })
}

function hasFields(body: unknown): boolean {
  return typeof body === 'object' && body !== null ? Object.keys(body).length > 0 : Boolean(body)
}
