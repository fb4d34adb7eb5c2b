// Reads the Set-Cookie lines of a response, the target of its meta refresh, and the size of its headers.
import type { LightMyRequestResponse } from 'fastify'
import { unescapeHtml } from './read-form.ts'

/** Returns the Set-Cookie lines with all attributes. */
export function setCookieLines(response: LightMyRequestResponse): string[] {
  return [response.headers['set-cookie'] ?? []].flat()
}

/** Returns the Set-Cookie line of one cookie. `name` may be the beginning of the cookie's name. */
export function setCookieLine(response: LightMyRequestResponse, name: string): string | undefined {
  return setCookieLines(response).find(line => line.startsWith(name))
}

/** Returns the address that a page's meta refresh leads to. */
export function refreshTarget(response: LightMyRequestResponse): string | undefined {
  const target = /<meta http-equiv="refresh" content="0;url=([^"]*)">/.exec(response.body)?.[1]
  return target && unescapeHtml(target)
}

/** Returns the number of bytes that all headers of an answer take on the connection. */
export function headerBytes({ headers }: LightMyRequestResponse): number {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map(one => `${name}: ${one}\r\n`),
  )
  return lines.join('').length
}
