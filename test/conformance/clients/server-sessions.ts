// Changes the small client so that it keeps its sessions on the server. The cookie contains only the id of the session.
import { randomUUID } from 'node:crypto'
import { type Behaviour, correct } from './behaviour.ts'
import { cookieOf, isCallback } from './requests.ts'
import { PlatformError, type Session, type Visit } from './visit.ts'

interface StoredSession extends Session {
  refreshToken: string | undefined
}

const idCookie = '__Host-id'

export const sessionKeyOf = (visit: Visit) => `session ${cookieOf(visit, idCookie)}`

export function storedSession(visit: Visit): StoredSession | undefined {
  return visit.memory.get(sessionKeyOf(visit)) as StoredSession | undefined
}

export const sessionsAtServer = {
  keepSession(visit, tokens) {
    const { accessToken, refreshToken, seconds } = tokens
    const visitor = correct.visitorOf(tokens, visit)
    const session: StoredSession = { accessToken, refreshToken, visitor, expiresAt: Date.now() + seconds * 1000 }
    if (isCallback(visit)) {
      const id = randomUUID()
      visit.memory.set(`session ${id}`, session)
      visit.setCookies.push(`${idCookie}=${id}; ${correct.refreshAttributes(correct.refreshSeconds)}`)
      return session
    }
    // The visitor may have signed out during the renewal.
    if (!storedSession(visit)) throw new PlatformError(401, 'invalid_grant')
    visit.memory.set(sessionKeyOf(visit), session)
    return session
  },
  readSession(visit) {
    const session = storedSession(visit)
    return session && session.expiresAt > Date.now() ? session : undefined
  },
  readRefresh: visit => storedSession(visit)?.refreshToken,
  endRefusedSession(visit, refreshToken) {
    // If another request has just renewed the session with this refresh token, the session continues.
    if (storedSession(visit)?.refreshToken === refreshToken) visit.behaviour.dropSession(visit)
  },
  dropSession(visit) {
    visit.memory.delete(sessionKeyOf(visit))
    visit.setCookies.push(`${idCookie}=; ${correct.refreshAttributes(0)}`)
  },
} satisfies Partial<Behaviour>

/** Does not notice that the visitor has signed out during a renewal, and stores the deleted session again. */
export const storesDeletedSessions: Partial<Behaviour> = {
  ...sessionsAtServer,
  noteSignOut: () => {},
  keepSession(visit, tokens) {
    if (!isCallback(visit)) visit.memory.set(sessionKeyOf(visit), {})
    return sessionsAtServer.keepSession(visit, tokens)
  },
}
