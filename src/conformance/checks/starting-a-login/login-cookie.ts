// Checks on the login cookie, which keeps the state of a login until the callback: its attributes and its lifetime.
import type { HttpExchange } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, fail, setCookiesOf } from '../../findings.ts'
import type { RuleId } from '../../rules/rules.ts'
import { beginLogin, followCallback, requireExchange } from '../../steps/callback.ts'
import { type ReadCookie, readSetCookie, wrongAgeOf } from '../../steps/set-cookies.ts'
import { lastAnswer, type OpenLogin, startsOfStrangers } from '../../steps/starts.ts'

const rows: {
  id: string
  title: string
  rule: RuleId
  why: string
  fix: string
  isRight: (cookie: ReadCookie) => boolean
  found: (cookie: ReadCookie) => string
}[] = [
  {
    id: 'http-only',
    title: 'No script can read the login cookie',
    rule: 'CL-08',
    why: 'An attacker who reads this cookie can finish the login in another browser.',
    fix: 'Set HttpOnly.',
    isRight: ({ isHttpOnly }) => isHttpOnly,
    found: () => 'has no HttpOnly',
  },
  {
    id: 'secure',
    title: 'The login cookie is Secure, even on localhost',
    rule: 'CL-08',
    why: 'Code that does not set Secure during development often does not set it in production. Browsers accept Secure on localhost.',
    fix: 'Set Secure, even during development.',
    isRight: ({ isSecure }) => isSecure,
    found: () => 'has no Secure',
  },
  {
    id: 'same-site',
    title: 'The login cookie is SameSite=Lax',
    rule: 'CL-08',
    why: 'Browsers do not send Strict cookies with the callback, so no login would work. If a cookie has SameSite=None, browsers send it even with requests that another site causes. If SameSite is missing, browsers behave in different ways.',
    fix: 'Set SameSite=Lax.',
    isRight: ({ sameSite }) => sameSite === 'lax',
    found: () => 'is not SameSite=Lax',
  },
  {
    id: 'no-domain',
    title: "Browsers send the login cookie only to the client's own host",
    rule: 'CL-08',
    why: 'With a Domain attribute, every host of the domain gets the cookie.',
    fix: 'Set the cookie without a Domain attribute.',
    isRight: ({ domain }) => domain === undefined,
    found: () => 'has a Domain',
  },
  {
    id: 'prefix',
    title: 'The name of the login cookie begins with __Host-',
    rule: 'cookie-host-prefix',
    why: 'Without this prefix, a website on a subdomain or on another port can set a cookie with the same name, and can disturb a login with this cookie.',
    fix: 'Give the cookie a name that begins with __Host-, and set it with Secure, Path=/ and no Domain.',
    isRight: ({ name }) => /^__Host-/i.test(name),
    found: () => 'has no __Host- prefix',
  },
  {
    id: 'short',
    title: 'The login cookie expires within ten minutes',
    rule: 'login-cookie-short',
    why: 'Somebody who uses the browser days later could finish an abandoned login.',
    fix: 'Set Max-Age=600.',
    isRight: ({ maxAge }) => maxAge === undefined || maxAge <= 600.5,
    found: cookie => wrongAgeOf(cookie) ?? 'lives for more than ten minutes',
  },
]

/**
 * The shortest useful lifetime of a login cookie, in seconds. A visitor needs about this long to read a page, type a
 * password and press a button.
 */
const shortestLogin = 120

const cookiesSetIn = (answers: HttpExchange[]) =>
  answers
    .flatMap(setCookiesOf)
    .map(readSetCookie)
    .filter(({ isDeletion }) => !isDeletion)

const attributes = rows.map(({ id, title, rule, why, fix, isRight, found }) => ({
  id: `login-cookie-${id}`,
  title,
  rule,
  why,
  fix,
  async run(context: CheckContext) {
    const [plain, ...others] = await startsOfStrangers(context)
    const cookies = cookiesSetIn(plain!.start.page.trail)
    if (cookies.length === 0) throw new NotApplicable('the login path sets no cookie')
    // If a login begins in another way, for example at the page behind the login, an earlier answer can set a cookie
    // that does not belong to the login. For such a login, the check looks only at the last answer.
    for (const login of [plain!, ...others]) {
      const answers = login === plain ? login.start.page.trail : [lastAnswer(login)]
      const wrong = cookiesSetIn(answers).filter(cookie => !isRight(cookie))
      const own = id === 'short' ? await withoutSessionIds(context, wrong) : wrong
      if (own.length === 0 || (await worksWithout(context, login, own))) continue
      const way = login === plain ? '' : `For the login that began ${login.way}: `
      fail(way + own.map(cookie => `The cookie ${cookie.name} ${found(cookie)}.`).join(' '), lastAnswer(login))
    }
  },
}))

/**
 * Finishes the login in a browser without these cookies. Returns true if the client makes an exchange. The cookies then
 * have another purpose, such as the language of the pages.
 */
async function worksWithout(context: CheckContext, login: OpenLogin, cookies: ReadCookie[]): Promise<boolean> {
  const known = (await context.codeExchanges()).length
  for (const { name } of cookies) login.browser.cookies.delete(name)
  await followCallback(context, login.browser, await context.authorize(login.start), context.beforePortal)
  return (await context.codeExchanges()).length > known
}

/**
 * Leaves out cookies that can contain the id of a session on the server. If the name of a cookie differs from login to
 * login, or if the callback deletes the cookie, the cookie belongs to one login and is not left out.
 */
async function withoutSessionIds(context: CheckContext, cookies: ReadCookie[]): Promise<ReadCookie[]> {
  if (cookies.length === 0) return []
  const { browser, start, callback } = await beginLogin(context)
  const landed = await followCallback(context, browser, callback, context.beforePortal)
  const answers = landed.trail.flatMap(setCookiesOf).map(readSetCookie)
  const kept = cookiesSetIn(start.page.trail).filter(
    ({ name }) => !answers.some(cookie => cookie.name === name && cookie.isDeletion),
  )
  return cookies.filter(({ name }) => !kept.some(cookie => cookie.name === name))
}

export const loginCookie: CheckDefinition[] = [
  ...attributes,
  {
    id: 'login-cookie-expires',
    title: 'The login cookie has a Max-Age, so that an unfinished login ends even if the browser stays open',
    rule: 'login-cookie-short',
    why: 'Without Max-Age or Expires, the cookie lives until the browser is closed, which can be weeks. Somebody who uses the browser later could finish an abandoned login.',
    fix: 'Set Max-Age=600.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      const endless = cookiesSetIn(page.trail).filter(({ maxAge }) => maxAge === undefined)
      for (const { name } of await withoutSessionIds(context, endless))
        fail(`The cookie ${name} of the login has neither Max-Age nor Expires.`, ...page.trail.slice(-1))
    },
  },
  {
    id: 'login-cookie-long-enough',
    title: 'The login cookie lives long enough for a visitor who needs two minutes at the portal',
    rule: 'login-works',
    why: 'Some visitors first have to look for a password or sign up. If the browser has already deleted the cookie, the login fails at the callback.',
    fix: 'Set Max-Age=600. Check the unit: Max-Age is in seconds, but the functions of some frameworks expect milliseconds.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      const short = cookiesSetIn(page.trail).filter(({ maxAge }) => maxAge !== undefined && maxAge < shortestLogin)
      for (const { name, maxAge } of short) {
        const { browser, start, callback } = await beginLogin(context)
        // The name of the cookie may differ from login to login, so the check finds the cookies by their lifetime.
        const gone = cookiesSetIn(start.page.trail).filter(cookie => (cookie.maxAge ?? shortestLogin) < shortestLogin)
        for (const cookie of gone) browser.cookies.delete(cookie.name)
        const known = context.arrived('exchange').length
        await followCallback(context, browser, callback)
        // A login does not necessarily need every cookie that was set when it began.
        if ((await context.codeExchanges()).length > known) continue
        await requireExchange(context, 'an unchanged callback')
        fail(
          `The cookie ${name} lives for only ${maxAge} seconds, and the client refuses the callback without this cookie.`,
          ...page.trail.slice(-1),
        )
      }
    },
  },
  {
    id: 'login-lasts',
    title: 'A visitor who needs eleven seconds at the portal can sign in',
    rule: 'login-works',
    why: 'People need time to type a password. If the client mixes up seconds, milliseconds or minutes, it may treat a login as expired after a moment, although the cookie lives longer.',
    fix: 'Accept the callback of a login for ten minutes. Check the units of the limit and of the times that you compare.',
    async run(context) {
      const browser = context.browser()
      const start = await context.startLogin(browser)
      await context.pause(11_000)
      const page = await followCallback(context, browser, await context.authorize(start))
      if ((await context.codeExchanges()).length > 0) return
      await requireExchange(context, 'a callback without a delay')
      fail(
        `The callback of a login that had begun eleven seconds earlier was answered with ${describePage(page)}, and the client made no exchange.`,
        page,
      )
    },
  },
]
