// The first step of a login: a fresh state, and the address that sends the browser to the portal.
import { hash, randomBytes } from 'node:crypto'
import type { Portal } from './portal.ts'

export type StartedLogin = {
  /** Where to send the browser: part 4.2 of the specification. */
  url: string
  /** 128 random bits and the time, in 27 characters of base64url. */
  state: string
  /** RFC 7636, 43 characters of base64url; undefined where the portal does not list S256. */
  codeVerifier: string | undefined
}

export function beginLogin(portal: Portal, usesPkce: boolean, now: Date): StartedLogin {
  const state = newState(now)
  const codeVerifier = usesPkce ? randomBytes(32).toString('base64url') : undefined
  const parameters = new URLSearchParams({
    grant_type: 'authorization',
    response_type: 'code',
    client_id: portal.clientId,
    redirect_uri: portal.redirectUri,
    cancel_url: portal.cancelUrl,
    state,
  })
  if (codeVerifier) {
    parameters.set('code_challenge', hash('sha256', codeVerifier, 'base64url'))
    parameters.set('code_challenge_method', 'S256')
  }
  return { url: `${portal.loginUrl}/?${parameters}`, state, codeVerifier }
}

/** The 16 random bytes are what protects the login (RFC 6749 10.12); the time only helps to say why one failed. */
function newState(now: Date): string {
  const bytes = Buffer.alloc(20)
  randomBytes(16).copy(bytes)
  bytes.writeUInt32BE(Math.floor(now.getTime() / 1000), 16)
  return bytes.toString('base64url')
}

/** When the login of this state began; undefined if it is not of our making. Anyone can forge it: for messages only. */
export function readStateTime(state: string): Date | undefined {
  if (!/^[\w-]{27}$/.test(state)) return undefined
  return new Date(Buffer.from(state, 'base64url').readUInt32BE(16) * 1000)
}
