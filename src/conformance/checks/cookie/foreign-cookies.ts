// Tests how the client handles cookies that it did not set: changed, shortened or planted values, and values of another
// cookie.
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import { type CheckContext, readStart } from '../../context.ts'
import { describePage, expect, fail, setCookiesOf, statusOf } from '../../findings.ts'
import { isCallWithToken, isRenewal } from '../../platform-calls.ts'
import { beginLogin, cookieHeader, followCallback, navigationHeaders, typedAddress } from '../../steps/callback.ts'
import { withOtherCharacter } from '../../steps/changed-values.ts'
import { findCancelUrl } from '../../steps/declined-login.ts'
import { ownCookies, plant, routeIn, sessionOf, visitPage } from '../../steps/sessions.ts'
import { cookiesOf, readSetCookie } from '../../steps/set-cookies.ts'

/**
 * Cookie headers that an attacker or a proxy can send. `isFromBrowsers` is false for a header that no browser sends.
 * Some parsers stop at such a header, so the visitor need not stay signed in.
 */
const hostile: [id: string, what: string, header: string, isFromBrowsers?: boolean][] = [
  ['percent', 'a percent sign that encodes nothing', 'bad=%E0%A4%A; other=%'],
  ['no-equals', 'a cookie without an equals sign', 'alone'],
  ['no-name', 'pairs without a name', '; =; =value; ;;;', false],
  [
    'prototype',
    'a cookie whose name is a property of every JavaScript object',
    '__proto__=1; constructor=2; toString=3; hasOwnProperty=4',
  ],
  ['bytes', 'bytes that are not text', 'name=\u00e9\u00ff\u0080; \u00e9=1'],
  ['long', 'a value of 4 KB', `filler=${'x'.repeat(4000)}`],
  ['quotes', 'quotes, commas and spaces', 'a="b c", d; e="'],
]

/**
 * Returns the value without the padding of base64. Many decoders ignore all text after the padding, so that the content
 * of a longer value would still be the same. For the same reason, a check adds at least four characters: decoders also
 * ignore one additional character.
 */
const withoutPadding = (value: string) => value.replace(/(=|%3D)+$/i, '')

const needs: CheckDefinition['needs'] = ['page']

/** For each cookie, returns the part of its value that names an instance of the server (see routeIn). */
async function routesOf(
  context: CheckContext,
  cookies: Awaited<ReturnType<typeof sessionOf>>['cookies'],
): Promise<Map<string, string>> {
  const { browser } = await context.signedIn({ person: await context.otherPerson() })
  return new Map(
    cookies.map(({ cookie: { name, value } }) => [name, routeIn(value, browser.cookies.get(name)?.value ?? '')]),
  )
}

export const foreignCookies: CheckDefinition[] = [
  {
    id: 'cookie-tampered',
    title: 'The client treats a changed session cookie as missing, and answers with a page',
    rule: 'CK-05',
    why: 'Encryption without authentication does not protect a cookie. An attacker can change the value, and could become another user.',
    fix: 'Seal cookies with authenticated encryption such as AES-GCM, or sign them. If you cannot unseal or verify a cookie, treat the cookie as missing.',
    needs,
    // Runs alone: the platform cannot tell which user a call with a changed token belongs to, so this check must count
    // all calls.
    isAlone: true,
    async run(context) {
      const { browser, cookies } = await sessionOf(context)
      let routes: Map<string, string> | undefined
      for (let part = 0; part < 20; part++) {
        const thief = browser.copy()
        const placeIn = (value: string) => Math.floor((value.length * (part + 0.5)) / 20)
        for (const { cookie } of cookies)
          plant(context, thief, cookie.name, withOtherCharacter(cookie.value, placeIn(cookie.value)))
        const { page, steps } = await visitPage(context, thief)
        expect(
          page.status > 0 && page.status < 500,
          `With a session cookie that is changed at ${part * 5}% of its length, the request for the page was answered with ${describePage(page)}.`,
          page,
        )
        const calls = steps.filter(step => isCallWithToken(step) || isRenewal(step))
        if (calls.length > 0) {
          routes ??= await routesOf(context, cookies)
          const isInRoute = ({ name, value }: { name: string; value: string }) =>
            placeIn(value) >= value.length - routes!.get(name)!.length
          if (cookies.some(({ cookie }) => isInRoute(cookie))) continue
        }
        expect(
          calls.length === 0,
          `The client makes a call for a session cookie that is changed at ${part * 5}% of its length.`,
          page,
          ...calls,
        )
      }
    },
  },
  {
    id: 'cookie-cut',
    title:
      'If a session cookie is empty, shortened or garbage, the client treats the cookie as missing, and answers with a page',
    rule: 'CK-10',
    why: 'A proxy can shorten a cookie, an older version of the client may have set a different value, and an attacker can invent values. The client must answer in each of these cases.',
    fix: 'Treat every cookie that you cannot read as missing.',
    needs,
    isAlone: true,
    async run(context) {
      const { browser, cookies } = await sessionOf(context)
      let routes: Map<string, string> | undefined
      const texts = [
        '',
        'garbage',
        '.',
        '{}',
        'e30.e30.e30',
        '%00%FF%E0%A4%A',
        'AAAA',
        'A'.repeat(64),
        '0'.repeat(32),
        '%',
        '"a',
        '\u00ff\u00fe',
        'null',
        '-1',
        '../../../etc/passwd',
      ]
      const makers: [what: string, make: (value: string) => string][] = [
        ...texts.map((text): [string, () => string] => [`the value ${JSON.stringify(text)}`, () => text]),
        ['a value of 3,000 letters', () => 'x'.repeat(3000)],
        ['half of their value', value => value.slice(0, Math.floor(value.length / 2))],
        ['their value twice', value => `${withoutPadding(value)}${value}`],
        ['the letters AAAA after their value', value => `${withoutPadding(value)}AAAA`],
        ['their value in reverse order', value => value.split('').reverse().join('')],
      ]
      for (const [what, make] of makers) {
        const thief = browser.copy()
        for (const { cookie } of cookies) plant(context, thief, cookie.name, make(cookie.value))
        const { page, steps } = await visitPage(context, thief)
        expect(
          page.status > 0 && page.status < 500,
          `With ${what} in the session cookies, the request for the page was answered with ${describePage(page)}.`,
          page,
        )
        const isCalled = steps.some(isCallWithToken)
        if (isCalled) {
          routes ??= await routesOf(context, cookies)
          const hasWholeId = ({ name, value }: { name: string; value: string }) => {
            const route = routes!.get(name)!
            return route !== '' && make(value).startsWith(value.slice(0, value.length - route.length + 1))
          }
          if (cookies.some(({ cookie }) => hasWholeId(cookie))) continue
        }
        expect(!isCalled, `With ${what} in the session cookies, the client called the platform.`, page)
      }
    },
  },
  ...hostile.map(
    ([id, what, header, isFromBrowsers = true]): CheckDefinition => ({
      id: `cookie-hostile-${id}`,
      title: `If the Cookie header also contains ${what}, ${isFromBrowsers ? 'the page works and the visitor stays signed in' : 'the client answers with a status below 500'}`,
      rule: 'CK-10',
      why: 'Other websites on the same host or on a subdomain can set cookies, and visitors do not see these cookies.',
      fix: 'Read cookies with a parser that never throws an error, and ignore cookies that your client did not set.',
      needs,
      async run(context) {
        const { browser } = await sessionOf(context)
        const url = context.url(context.settings.page)
        const own = browser.cookies.list(url).map(({ name, value }) => `${name}=${value}`)
        for (const [place, pairs] of [
          ['before', [header, ...own]],
          ['after', [...own, header]],
        ] as const) {
          const headers = { cookie: pairs.join('; '), ...typedAddress }
          const { result: answer, steps } = await context.during(() => context.request(url, { headers }))
          const status = statusOf(answer)
          expect(status > 0 && status < 500, `The request for the page was answered with status ${status}.`, answer)
          expect(
            !isFromBrowsers || steps.some(isCallWithToken),
            `With ${what} ${place} the cookies of the client, the visitor is no longer signed in.`,
            answer,
          )
        }
      },
    }),
  ),
  {
    id: 'cookie-hostile-elsewhere',
    title:
      'If the Cookie header is unusual, the login path, the callback, the start page and cancel_url answer with a status below 500',
    rule: 'CK-10',
    why: 'Other websites on the same host or on a subdomain can set cookies. Many clients read login cookies and session cookies with different code.',
    fix: 'Read cookies with a parser that never throws an error, and ignore cookies that your client did not set.',
    async run(context) {
      for (const [, what, header] of hostile) {
        const { browser, start, callback } = await beginLogin(context)
        const own = cookieHeader(context, browser, callback.href)
        const cancelUrl = findCancelUrl(context, start)
        const { create } = context.settings
        const paths = [
          context.settings.login,
          '/',
          ...(create ? [create] : []),
          ...(cancelUrl ? [cancelUrl.href] : []),
          callback.href,
        ]
        for (const path of paths) {
          const cookie = [header, own].filter(text => text !== '').join('; ')
          const answer = await context.request(path, { headers: { ...navigationHeaders, cookie } })
          const status = statusOf(answer)
          expect(
            status > 0 && status < 500,
            `With a Cookie header that contains ${what}, the request for ${new URL(answer.request.url).pathname} was answered with status ${status}.`,
            answer,
          )
        }
      }
    },
  },
  {
    id: 'login-cookie-garbage',
    title: 'If login cookies contain unexpected values, the client answers with a status below 500',
    rule: 'CK-10',
    why: 'An older version of the client, or another program on the host, may have set cookies whose names are similar to the names of login cookies. Even if the client cannot read such a cookie, the visitor must be able to sign in.',
    fix: 'Treat every cookie that you cannot read as missing.',
    async run(context) {
      const first = context.browser()
      await context.startLogin(first)
      const names = ownCookies(context, first)
      if (names.length === 0) throw new NotApplicable('the login path sets no cookie')
      const values = ['garbage', '', '.', '{}', '[]', 'null', 'e30.e30.e30', '%00%FF%E0%A4%A', 'x'.repeat(300)]
      const browser = first.copy()
      for (const [at, value] of values.entries())
        for (const name of names) plant(context, browser, `${name.slice(0, -2)}${at}${at}`, value)
      const begun = await context.visitUntilPortal(browser, context.settings.login)
      expect(
        begun.status > 0 && begun.status < 500,
        `The request for the login path was answered with ${describePage(begun)}.`,
        begun,
      )
      if (begun.stoppedAt === undefined) return
      const page = await followCallback(context, browser, await context.authorize(readStart(begun)))
      expect(page.status > 0 && page.status < 500, `The callback was answered with ${describePage(page)}.`, page)
      // Next, the login cookies themselves have these values.
      for (const value of values) {
        const odd = first.copy()
        for (const name of names) plant(context, odd, name, value)
        const again = await context.visitUntilPortal(odd, context.settings.login)
        expect(
          again.status > 0 && again.status < 500,
          `With the login cookie value ${JSON.stringify(value.slice(0, 20))}, the request for the login path was answered with ${describePage(again)}.`,
          again,
        )
      }
      for (const value of values) {
        const { browser: late, callback } = await beginLogin(context)
        for (const name of ownCookies(context, late)) plant(context, late, name, value)
        const refused = await followCallback(context, late, callback, context.beforePortal)
        expect(
          refused.status > 0 && refused.status < 500,
          `With the login cookie value ${JSON.stringify(value.slice(0, 20))}, the callback was answered with ${describePage(refused)}.`,
          refused,
        )
      }
    },
  },
  {
    id: 'login-cookie-duplicate',
    title:
      'If the browser sends two login cookies with the same name, the client answers the callback with a status below 500',
    rule: 'CK-10',
    why: 'Another website on the host can set a second cookie with the same name and a longer path. Browsers send the cookie with the longer path first.',
    fix: 'If you cannot tell which cookie is right, refuse the callback with a page, or try each cookie.',
    async run(context) {
      for (const isFirst of [true, false]) {
        const { browser, callback } = await beginLogin(context)
        const own = browser.cookies.list(callback.href).map(({ name, value }) => `${name}=${value}`)
        if (own.length === 0) throw new NotApplicable('the login path sets no cookie')
        const planted = own.map(pair => `${pair.split('=')[0]}=planted`)
        const cookie = (isFirst ? [...planted, ...own] : [...own, ...planted]).join('; ')
        const answer = await context.request(callback.href, { headers: { ...navigationHeaders, cookie } })
        const status = statusOf(answer)
        expect(status > 0 && status < 500, `The callback was answered with status ${status}.`, answer)
      }
    },
  },
  {
    id: 'login-other-cookies-broken',
    title: 'If the cookies of other unfinished logins are broken, the visitor can still finish a login',
    rule: 'CL-06',
    why: 'After an update, a client often cannot read the cookies of older logins. The visitor must not have to delete cookies before signing in.',
    fix: 'Treat every login cookie that you cannot read as missing, and use the login cookies that you can read.',
    async run(context) {
      const browser = context.browser()
      for (let count = 0; count < 3; count++) await context.startLogin(browser.newTab())
      const older = ownCookies(context, browser)
      const start = await context.startLogin(browser)
      const kept = cookiesOf(start.page.trail).map(({ cookie }) => cookie.name)
      const broken = older.filter(name => !kept.includes(name))
      if (broken.length === 0) throw new NotApplicable('not every login has its own cookie')
      const values = ['garbage', 'e30', '{"state":5,"at":null}']
      for (const [at, name] of broken.entries()) plant(context, browser, name, values[at % values.length]!)
      // When the next login begins, the client may have to delete the cookies of an older login.
      const last = await context.startLogin(browser.newTab())
      for (const one of [start, last]) {
        const known = context.arrived('exchange').length
        const page = await followCallback(context, browser, await context.authorize(one))
        if ((await context.codeExchanges()).length > known) continue
        const plain = await beginLogin(context)
        await followCallback(context, plain.browser, plain.callback)
        if ((await context.codeExchanges()).length === known)
          throw new Undecided('The client made no exchange for an unchanged callback.')
        fail(`The login ended with ${describePage(page)}, and the client made no exchange.`, page)
      }
    },
  },
  {
    id: 'cookie-duplicate',
    title: 'If the browser sends two session cookies with the same name, the client answers with a page',
    rule: 'CK-10',
    why: 'Another website on the host can set a second cookie with the same name and a longer path. Browsers send the cookie with the longer path first.',
    fix: 'If you cannot tell which cookie is right, treat the session as missing. Redirect the visitor to the login at most once.',
    needs,
    async run(context) {
      const { browser, cookies } = await sessionOf(context)
      const url = context.url(context.settings.page)
      const own = browser.cookies.list(url).map(({ name, value }) => `${name}=${value}`)
      const others = cookies.map(({ cookie }) => `${cookie.name}=planted`)
      for (const list of [
        [...others, ...own],
        [...own, ...others],
      ]) {
        const answer = await context.request(url, { headers: { cookie: list.join('; '), ...typedAddress } })
        const status = 'status' in answer.response ? answer.response.status : 0
        expect(status > 0 && status < 500, `The request for the page was answered with status ${status}.`, answer)
      }
    },
  },
  {
    id: 'cookie-planted',
    title:
      'If another website on the host sets a second cookie with the name of the session cookie, the visitor stays signed in',
    rule: 'cookie-host-prefix',
    why: 'A website on another port of the host, or on a subdomain, can set a cookie with the same name and a longer path. If the client reads only this cookie, visitors can no longer sign in.',
    fix: 'Give the session cookie a __Host- name, because a browser keeps only one cookie with such a name. Or try every cookie with this name.',
    needs,
    async run(context) {
      const { browser, cookies } = await sessionOf(context)
      const url = context.url(context.settings.page)
      for (const { cookie } of cookies)
        browser.cookies.set(
          url,
          `${cookie.name}=planted; Path=${new URL(url).pathname}${/^__Secure-/i.test(cookie.name) ? '; Secure' : ''}`,
        )
      expect(await context.isSignedIn(browser), 'The visitor is no longer signed in.')
    },
  },
  {
    id: 'cookie-roles',
    title: 'The client does not accept the value of a login cookie under the name of a session cookie',
    rule: 'CK-06',
    why: 'Anyone can get a login cookie without a password. If the client accepts its value as a session, anyone can sign in without a password.',
    fix: 'Include the name or the purpose of the cookie when you seal its value.',
    needs,
    isAlone: true,
    async run(context) {
      const { cookies } = await sessionOf(context)
      const stranger = context.browser()
      const { page } = await context.startLogin(stranger)
      const begun = page.trail.flatMap(setCookiesOf).map(readSetCookie)
      if (begun.length === 0) throw new NotApplicable('the login path sets no cookie')
      for (const { value } of begun) {
        const thief = context.browser()
        for (const { cookie } of cookies) plant(context, thief, cookie.name, value)
        const seen = await visitPage(context, thief)
        expect(
          seen.page.status > 0 && seen.page.status < 500,
          `The request for the page was answered with ${describePage(seen.page)}.`,
          seen.page,
        )
        const calls = seen.steps.filter(step => isCallWithToken(step) || isRenewal(step))
        expect(calls.length === 0, 'The client accepted the value of a login cookie as a session.', seen.page, ...calls)
      }
    },
  },
  {
    id: 'cookie-roles-swapped',
    title: 'The client does not accept the value of one session cookie under the name of another',
    rule: 'CK-06',
    why: 'Each sealed value has one purpose. A client that ignores the purpose could, for example, accept a refresh token as an access token.',
    fix: 'Include the name or the purpose of the cookie when you seal its value.',
    needs,
    isAlone: true,
    async run(context) {
      const { browser, cookies } = await sessionOf(context)
      if (cookies.length < 2) throw new NotApplicable('the session has only one cookie')
      for (const { cookie: from } of cookies) {
        const thief = browser.copy()
        for (const name of ownCookies(context, thief)) thief.cookies.delete(name)
        for (const { cookie: to } of cookies) if (to.name !== from.name) plant(context, thief, to.name, from.value)
        const { page, steps } = await visitPage(context, thief)
        expect(
          page.status > 0 && page.status < 500,
          `The request for the page was answered with ${describePage(page)}.`,
          page,
        )
        expect(
          !steps.some(isCallWithToken),
          `The client accepted the value of the cookie ${from.name} under the name of another session cookie.`,
          page,
        )
      }
    },
  },
]
