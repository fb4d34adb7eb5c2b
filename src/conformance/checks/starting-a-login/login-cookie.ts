// Checks on the login cookie, which keeps the state of a login until the callback: its attributes and its lifetime.

import type { Exchange } from '../../browser/browser.ts'
import { type CheckDefinition, Failed, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, setCookiesOf } from '../../findings.ts'
import type { RuleId } from '../../rules/rules.ts'
import { type ReadCookie, readSetCookie } from '../../steps/set-cookies.ts'
import { lastAnswer, startsOfStrangers } from '../../steps/starts.ts'

const rows: {
  id: string
  title: string
  rule: RuleId
  why: string
  fix: string
  isRight: (cookie: ReadCookie) => boolean
  found: string
}[] = [
  {
    id: 'http-only',
    title: 'No script can read the login cookie',
    rule: 'CL-08',
    why: 'An attacker who reads this cookie can finish the login in another browser.',
    fix: 'Set HttpOnly.',
    isRight: ({ isHttpOnly }) => isHttpOnly,
    found: 'has no HttpOnly',
  },
  {
    id: 'secure',
    title: 'The login cookie is Secure, even on localhost',
    rule: 'CL-08',
    why: 'If code sets no Secure during development, it often sets no Secure in production either. Browsers accept Secure on localhost.',
    fix: 'Set Secure, also during development.',
    isRight: ({ isSecure }) => isSecure,
    found: 'has no Secure',
  },
  {
    id: 'same-site',
    title: 'The login cookie is SameSite=Lax',
    rule: 'CL-08',
    why: 'Browsers send no Strict cookie with the callback, so no login would work. They send a cookie with SameSite=None even with requests that another site causes. If SameSite is missing, browsers behave in different ways.',
    fix: 'Set SameSite=Lax.',
    isRight: ({ sameSite }) => sameSite === 'lax',
    found: 'is not SameSite=Lax',
  },
  {
    id: 'no-domain',
    title: "Browsers send the login cookie only to the client's own host",
    rule: 'CL-08',
    why: 'With a Domain attribute, every host of the domain gets the cookie.',
    fix: 'Set the cookie without a Domain attribute.',
    isRight: ({ domain }) => domain === undefined,
    found: 'has a Domain',
  },
  {
    id: 'prefix',
    title: 'The name of the login cookie begins with __Host-',
    rule: 'cookie-host-prefix',
    why: 'Without this prefix, a website on a subdomain or on another port can set a cookie with the same name, and so disturb a login.',
    fix: 'Give the cookie a name that begins with __Host-, and set it with Secure, Path=/ and no Domain.',
    isRight: ({ name }) => /^__Host-/i.test(name),
    found: 'has no __Host- prefix',
  },
  {
    id: 'short',
    title: 'The login cookie expires within ten minutes',
    rule: 'login-cookie-short',
    why: 'Somebody who uses the browser days later could finish an abandoned login.',
    fix: 'Set Max-Age=600.',
    isRight: ({ maxAge }) => maxAge === undefined || maxAge <= 600.5,
    found: 'lives for more than ten minutes',
  },
]
export const loginCookie: CheckDefinition[] = rows.map(({ id, title, rule, why, fix, isRight, found }) => ({
  id: `login-cookie-${id}`,
  title,
  rule,
  why,
  fix,
  async run(context: CheckContext) {
    const [plain, ...others] = await startsOfStrangers(context)
    const cookiesOf = (answers: Exchange[]) =>
      answers
        .flatMap(setCookiesOf)
        .map(readSetCookie)
        .filter(({ isDeletion }) => !isDeletion)
    const cookies = cookiesOf(plain!.start.page.trail)
    if (cookies.length === 0) throw new NotApplicable('the login path sets no cookie')
    const wrong = cookies.filter(cookie => !isRight(cookie))
    if (wrong.length > 0) throw new Failed(wrong.map(({ name }) => `The cookie ${name} ${found}.`).join(' '))
    // If a login begins in another way, an earlier answer may set a cookie that is not about the login. So this looks
    // only at the last answer.
    for (const other of others)
      for (const cookie of cookiesOf([lastAnswer(other)]))
        expect(
          isRight(cookie),
          `For the login that began ${other.way}, the cookie ${cookie.name} ${found}.`,
          lastAnswer(other),
        )
  },
}))
