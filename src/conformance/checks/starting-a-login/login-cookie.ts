// The cookie that keeps a login until its visitor comes back: whom it goes to, and for how long.
import { Failed, NotApplicable, type Row } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { setCookiesOf } from '../../findings.ts'
import { type ReadCookie, readSetCookie } from '../../steps/set-cookies.ts'

const rows: {
  id: string
  title: string
  level: 'MUST' | 'SHOULD'
  why: string
  fix: string
  isRight: (cookie: ReadCookie) => boolean
  found: string
}[] = [
  {
    id: 'http-only',
    title: 'No script can read the cookie of a login',
    level: 'MUST',
    why: 'Whoever reads it can finish the login elsewhere (OWASP ASVS 3.3.4).',
    fix: 'Set HttpOnly.',
    isRight: ({ isHttpOnly }) => isHttpOnly,
    found: 'has no HttpOnly',
  },
  {
    id: 'secure',
    title: 'The cookie of a login is Secure, on localhost, too',
    level: 'MUST',
    why: 'What is left off while developing is left off for ever; browsers take Secure on localhost (OWASP ASVS 3.3.1).',
    fix: 'Set Secure, with no exception for development.',
    isRight: ({ isSecure }) => isSecure,
    found: 'has no Secure',
  },
  {
    id: 'same-site',
    title: 'The cookie of a login is SameSite=Lax',
    level: 'MUST',
    why: 'A Strict one does not reach the callback, None goes to everybody, and what is unset differs from browser to browser (RFC 6265bis, 5.2).',
    fix: 'Set SameSite=Lax.',
    isRight: ({ sameSite }) => sameSite === 'lax',
    found: 'is not SameSite=Lax',
  },
  {
    id: 'no-domain',
    title: 'The cookie of a login goes to this host alone',
    level: 'MUST',
    why: 'With Domain every neighbour below that name reads and sets it (OWASP ASVS 3.3.3).',
    fix: 'Leave Domain out.',
    isRight: ({ domain }) => domain === undefined,
    found: 'has a Domain',
  },
  {
    id: 'prefix',
    title: 'The name of the cookie of a login begins with __Host-',
    level: 'SHOULD',
    why: 'Only then no neighbour can plant one (RFC 6265bis, 4.1.3.2).',
    fix: 'Name it __Host-…, with Secure, Path=/ and no Domain.',
    isRight: ({ name }) => /^__Host-/i.test(name),
    found: 'has no __Host- prefix',
  },
  {
    id: 'short',
    title: 'The cookie of a login ends within ten minutes or so',
    level: 'SHOULD',
    why: 'A login that was left must not be finished days later (OWASP ASVS 7.3.1).',
    fix: 'Set Max-Age=600.',
    isRight: ({ maxAge }) => maxAge === undefined || maxAge <= 3600,
    found: 'lives for more than an hour',
  },
]
export const loginCookie: Row[] = rows.map(({ id, title, level, why, fix, isRight, found }) => ({
  id: `login-cookie-${id}`,
  title,
  level,
  why,
  fix,
  async run(context: CheckContext) {
    const { page } = await context.startLogin(context.browser())
    const cookies = page.trail
      .flatMap(setCookiesOf)
      .map(readSetCookie)
      .filter(({ isDeletion }) => !isDeletion)
    if (cookies.length === 0) throw new NotApplicable('the login path sets no cookie')
    const wrong = cookies.filter(cookie => !isRight(cookie))
    if (wrong.length > 0) throw new Failed(wrong.map(({ name }) => `The cookie ${name} ${found}.`).join(' '))
  },
}))
