// Who may ask the laboratory: it shows what a sandbox saw, so no page of another site may read or change anything here.
import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Secret } from '../values/secret.ts'
import { LabError } from './lab-error.ts'

const loopbackNames = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/**
 * `urls`: the laboratory's public addresses; loopback names always count. A Host of any other name is a page that had
 * its own name resolved to this machine (DNS rebinding). What is posted must be JSON, which no form can send; nor can it send DELETE.
 */
export function guardLab(urls: readonly string[], token: Secret | undefined): onRequestHookHandler {
  const hosts = new Set(urls.map(url => new URL(url).host))
  return async request => {
    const { host = '', origin, 'sec-fetch-site': site } = request.headers
    if (!isOwnHost(host, hosts)) throw new LabError(403, 'The laboratory is not served under this name. See LAB_URL.')
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const isNavigation = request.headers['sec-fetch-mode'] === 'navigate'
    const isForeign =
      (site !== undefined && site !== 'same-origin' && site !== 'none') ||
      (origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host))
    // Links on the portal's pages lead here from another port.
    if (isForeign && !(isRead && isNavigation)) throw new LabError(403, 'A page of another site may not ask this.')
    if (request.method === 'POST' && !/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
      throw new LabError(415, 'Send application/json.')
    if (token && !isEqual(readToken(request), token.reveal()))
      throw new LabError(401, 'Send Authorization: Bearer with the LAB_TOKEN, or enter that as the password.')
  }
}

function isOwnHost(host: string, hosts: ReadonlySet<string>): boolean {
  if (hosts.has(host)) return true
  return URL.canParse(`http://${host}`) && loopbackNames.test(new URL(`http://${host}`).hostname)
}

/** Browsers cannot send Bearer by themselves: they ask for a password, and any name goes with it. */
function readToken({ headers }: FastifyRequest): string {
  const [, scheme = '', value = ''] = /^(bearer|basic) +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  if (scheme.toLowerCase() !== 'basic') return value
  const pair = Buffer.from(value, 'base64').toString()
  return pair.slice(pair.indexOf(':') + 1)
}

function isEqual(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** A preHandler hook. DELETE with {"clientId": …} would otherwise remove the faults of everybody. Throws LabError 422. */
export async function refuseUnreadBody({ routeOptions, body }: FastifyRequest): Promise<void> {
  const { body: schema, querystring } = (routeOptions.schema ?? {}) as Record<
    string,
    { properties?: object } | undefined
  >
  if (!routeOptions.schema || schema || !hasFields(body)) return
  const known = Object.keys(querystring?.properties ?? {})
  const accepted = known.length > 0 ? `This call takes ${known.join(', ')}.` : 'This call takes none.'
  throw new LabError(422, {
    body: [`This call reads no body. Leave it out, or use the parameters of the address. ${accepted}`],
  })
}

function hasFields(body: unknown): boolean {
  return typeof body === 'object' && body !== null ? Object.keys(body).length > 0 : Boolean(body)
}
