// Reads of a response what a browser would: its Set-Cookie lines, and where a page goes on to by itself.
import type { LightMyRequestResponse } from 'fastify'
import { unescapeHtml } from './read-form.ts'

/** The lines as sent, attributes and all. */
export function setCookieLines(response: LightMyRequestResponse): string[] {
  return [response.headers['set-cookie'] ?? []].flat()
}

/** The Set-Cookie line of one cookie, named in full or by how its name begins. */
export function setCookieLine(response: LightMyRequestResponse, name: string): string | undefined {
  return setCookieLines(response).find(line => line.startsWith(name))
}

/** The address that a page's meta refresh leads to. */
export function goesOnTo(response: LightMyRequestResponse): string | undefined {
  const target = /<meta http-equiv="refresh" content="0;url=([^"]*)">/.exec(response.body)?.[1]
  return target && unescapeHtml(target)
}

/** How long all headers of an answer are on their way. */
export function headerBytes({ headers }: LightMyRequestResponse): number {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map(one => `${name}: ${one}\r\n`),
  )
  return lines.join('').length
}
