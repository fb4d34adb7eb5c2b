// What a Set-Cookie line says, for checks that judge the line and not what a browser makes of it.
import type { Exchange } from '../browser/browser.ts'
import { setCookiesOf } from '../findings.ts'

export interface ReadCookie {
  name: string
  value: string
  isSecure: boolean
  isHttpOnly: boolean
  sameSite: 'strict' | 'lax' | 'none' | undefined
  domain: string | undefined
  path: string | undefined
  /** Seconds, of Max-Age or Expires; undefined for as long as the browser is open; NaN where it makes no sense. */
  maxAge: number | undefined
  isDeletion: boolean
}

export function readSetCookie(line: string): ReadCookie {
  const [pair = '', ...rest] = line.split(';')
  const at = pair.indexOf('=')
  const attributes = new Map(
    rest.map(text => {
      const [name = '', ...value] = text.split('=')
      return [name.trim().toLowerCase(), value.join('=').trim()] as const
    }),
  )
  const age = attributes.get('max-age')
  const expires = attributes.get('expires')
  const maxAge =
    age !== undefined
      ? /^-?\d+$/.test(age)
        ? Number(age)
        : Number.NaN
      : expires !== undefined
        ? (Date.parse(expires) - Date.now()) / 1000
        : undefined
  const sameSite = attributes.get('samesite')?.toLowerCase()
  return {
    name: pair.slice(0, Math.max(at, 0)).trim(),
    value: pair.slice(at + 1).trim(),
    isSecure: attributes.has('secure'),
    isHttpOnly: attributes.has('httponly'),
    sameSite: sameSite === 'strict' || sameSite === 'lax' || sameSite === 'none' ? sameSite : undefined,
    domain: attributes.get('domain') || undefined,
    path: attributes.get('path'),
    maxAge,
    isDeletion: maxAge !== undefined && maxAge <= 0,
  }
}

/** Lines of all answers of a navigation that set a cookie, with what they say. */
export function cookiesOf(trail: Exchange[]) {
  return trail.flatMap(exchange =>
    setCookiesOf(exchange).map(line => ({ line, cookie: readSetCookie(line), exchange })),
  )
}

export function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
