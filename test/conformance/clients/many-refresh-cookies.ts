// Changes the small client so that the name of a refresh cookie contains a hash of its token. The refresh cookies of
// earlier logins stay in the browser, because browsers do not send Strict cookies with a callback.
import { type Behaviour, correct } from './behaviour.ts'
import { behaving, hashOf } from './changes.ts'
import { isCallback } from './requests.ts'
import type { Visit } from './visit.ts'

const prefix = `${correct.refreshCookie}-`

/**
 * `choose` returns the name of the refresh cookie that the client uses. `drop` returns the names of the refresh cookies
 * that a sign-out deletes. Both get the names in the order of the request: browsers send older cookies first.
 */
export function manyRefreshCookies(
  choose: (names: string[]) => string | undefined,
  drop: (names: string[]) => string[],
) {
  const namesIn = ({ cookies }: Visit) => cookies.map(([name]) => name).filter(name => name.startsWith(prefix))
  const deleteCookie = ({ setCookies }: Visit, name: string) =>
    void setCookies.push(`${name}=; ${correct.refreshAttributes(0)}`)
  return {
    keepSession(visit, tokens) {
      const used = isCallback(visit) ? undefined : choose(namesIn(visit))
      const name = tokens.refreshToken ? prefix + hashOf(tokens.refreshToken).slice(0, 8) : (used ?? `${prefix}none`)
      if (used && used !== name) deleteCookie(visit, used)
      return correct.keepSession(behaving(visit, { refreshCookie: name }), tokens)
    },
    readRefresh(visit) {
      const name = choose(namesIn(visit))
      return name && correct.readRefresh(behaving(visit, { refreshCookie: name }))
    },
    dropSession(visit) {
      correct.dropSession(visit)
      for (const name of drop(namesIn(visit))) deleteCookie(visit, name)
    },
  } satisfies Partial<Behaviour>
}
