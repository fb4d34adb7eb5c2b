// Changes that make the small client ask the portal for the name of the visitor, and show the name.

import { type Behaviour, correct } from './behaviour.ts'
import { answerWith } from './changes.ts'
import { callApi, isRecord } from './platform.ts'
import { cookieOf } from './requests.ts'
import { type Callback, type Login, PlatformError, type Session, type Visit } from './visit.ts'

/** Asks for the name. Returns the first name, or undefined if the answer has none. */
export async function readName(
  visit: Visit,
  session: Session,
  change: Partial<Behaviour> = {},
): Promise<string | undefined> {
  const behaviour = { ...visit.behaviour, deadlineMs: 1000, ...change }
  const settings = { ...visit.settings, apiUrl: visit.settings.loginUrl }
  const [status, person] = await callApi({ ...visit, behaviour, settings }, session, 'GET', '/api/me')
  if (status !== 200) throw new PlatformError(status)
  return isRecord(person) && typeof person.firstName === 'string' ? person.firstName : undefined
}

/** Asks for the visitor's name during the login, and adds the HTML that `write` returns to each page. */
export const withNameInMemory = (
  tokenOf: (visit: Visit, token: string) => Promise<string>,
  write: (name: string, visit: Visit) => string,
) => ({
  async exchange(visit: Visit, callback: Callback, login: Login) {
    const tokens = await correct.exchange(visit, callback, login)
    const accessToken = await tokenOf(visit, tokens.accessToken)
    const name = await readName(visit, { accessToken, visitor: '', expiresAt: 0 }).catch(() => undefined)
    visit.memory.set(`name for ${tokens.accessToken}`, name)
    return tokens
  },
  ...answerWith((answer, visit) => {
    const name = visit.memory.get(`name for ${correct.readSession(visit)?.accessToken}`)
    return name && answer.body ? { ...answer, body: `${answer.body}${write(`${name}`, visit)}` } : answer
  }),
})

interface Person {
  firstName?: unknown
  lastName?: unknown
}

/**
 * Makes a client that shows the name of the visitor on the page with the list. `read` returns the name after an
 * exchange. `nameOf` makes the name from the portal's answer.
 */
export function withNameInCookie(
  read: (visit: Visit, ask: () => Promise<string>) => Promise<string | undefined>,
  nameOf = ({ firstName }: Person): string => String(firstName),
): Partial<Behaviour> {
  const cookie = '__Host-name'
  return {
    async exchange(visit, callback, login) {
      const tokens = await correct.exchange(visit, callback, login)
      const ask = async () => {
        const answer = await fetch(`${visit.settings.loginUrl}/api/me`, {
          headers: { authorization: `Bearer ${tokens.accessToken}` },
          redirect: 'manual',
          signal: AbortSignal.timeout(1000),
        })
        if (answer.status !== 200) throw new PlatformError(answer.status)
        return nameOf((await answer.json()) as Person)
      }
      const name = await read(visit, ask)
      if (name !== undefined)
        visit.setCookies.push(
          `${cookie}=${correct.seal(visit, cookie, name)}; Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age=86400`,
        )
      return tokens
    },
    async aroundRequest(visit, next) {
      const answer = await next()
      const sealed = cookieOf(visit, cookie)
      const name = sealed && correct.unseal(visit, cookie, sealed)
      if (!name || !answer.body || visit.url.pathname !== '/applications') return answer
      return { ...answer, body: answer.body.replace('<h1>', `<p>${correct.html(String(name))}</p><h1>`) }
    },
  }
}
