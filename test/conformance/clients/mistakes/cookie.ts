// Clients that set session cookies wrongly, or that trust or misread the cookies of a request.
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { type Behaviour, correct } from '../behaviour.ts'
import {
  answerWith,
  beginsAtPage,
  contentOf,
  hashOf,
  headersWith,
  loginsOf,
  readable,
  sessionWith,
} from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { cookieOf, isCallback, isLogin } from '../requests.ts'
import { Refusal, type Session, type Tokens, type Visit } from '../visit.ts'

/**
 * Encryption without authentication. If an attacker changes a bit of the cookie, the same bit of the content changes.
 */
const unsealed = {
  write({ settings }: Visit, value: unknown) {
    const cipher = createCipheriv('aes-256-ctr', settings.key, Buffer.alloc(16))
    return Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()]).toString('base64url')
  },
  read({ settings }: Visit, text: string): unknown {
    const cipher = createDecipheriv('aes-256-ctr', settings.key, Buffer.alloc(16))
    return JSON.parse(Buffer.concat([cipher.update(Buffer.from(text, 'base64url')), cipher.final()]).toString())
  },
}

/** Faulty parsers of Cookie headers, keyed by the id of the check that finds the mistake, without `cookie-hostile-`. */
const parsers: Record<string, (header: string) => [string, string][]> = {
  'no-equals': header =>
    header.split(';').map(pair => {
      const [name, value] = pair.split('=')
      return [name!.trim(), value!.trim()]
    }),
  'no-name': header =>
    header.split(';').map(pair => {
      const [, name, value] = /^\s*([^=]+)=?(.*)$/.exec(pair)!
      return [name!, value!]
    }),
  prototype(header) {
    const lists: Record<string, string[]> = {}
    for (const [name, value] of correct.readCookies(header)) {
      lists[name] ??= []
      lists[name].push(value)
    }
    return Object.entries(lists).flatMap(([name, values]) => values.map((value): [string, string] => [name, value]))
  },
  bytes(header) {
    new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'latin1'))
    return correct.readCookies(header)
  },
  long: header => (header.length > 4000 ? [] : correct.readCookies(header)),
  quotes: header =>
    correct
      .readCookies(header)
      .map(([name, value]) => [name, value.startsWith('"') ? (JSON.parse(value) as string) : value]),
  duplicate(header) {
    const cookies = correct.readCookies(header)
    const names = cookies.map(([name]) => name)
    if (names.some((name, at) => names.indexOf(name) !== at)) throw new Error('duplicate key')
    return cookies
  },
}

/** Keeps the sessions in the memory of the server. The cookie contains the id that `idOf` computes. */
const sessionsBy = (idOf: (visit: Visit, tokens: Tokens) => string, cookie = '__Host-sid') => ({
  keepSession(visit: Visit, tokens: Tokens) {
    const visitor = correct.visitorOf(tokens, visit)
    const session = { accessToken: tokens.accessToken, visitor, expiresAt: Date.now() + tokens.seconds * 1000 }
    const id = idOf(visit, tokens)
    visit.memory.set(`session ${id}`, session)
    visit.setCookies.push(`${cookie}=${id}; ${correct.sessionAttributes(tokens.seconds)}`)
    return session
  },
  readSession: (visit: Visit) => visit.memory.get(`session ${cookieOf(visit, cookie)}`) as Session | undefined,
  readRefresh: () => undefined,
})

/** If a client splits a value into several cookies, each cookie contains at most this many characters. */
const partLength = 3500

const isUnreadable = (visit: Visit, name: string) =>
  visit.cookies.some(([key, text]) => key === name && correct.unseal(visit, name, text) === undefined)

const mostParts = 2

const longestPart = 3800

/** Splits each session cookie into parts, and forgets to delete the parts that a smaller session does not need. */
const splitWithoutCleaning: Partial<Behaviour> = {
  setCookie(visit, name, value, attributes) {
    const parts = correct.seal(visit, name, value).match(new RegExp(`.{1,${longestPart}}`, 'g')) ?? []
    if (parts.length > mostParts) throw new Refusal(502, 'The platform sent more data than two cookies can keep.')
    for (const [at, part] of parts.entries()) visit.setCookies.push(`${name}.${at}=${part}; ${attributes}`)
  },
  readCookies(header) {
    const cookies = correct.readCookies(header)
    const joined = [correct.sessionCookie, correct.refreshCookie].flatMap((name): [string, string][] => {
      const parts = [0, 1].map(at => cookies.find(([key]) => key === `${name}.${at}`)?.[1] ?? '')
      return parts[0] ? [[name, parts.join('')]] : []
    })
    return [...cookies.filter(([name]) => !/\.\d$/.test(name)), ...joined]
  },
  dropSession({ setCookies }) {
    for (const name of [correct.sessionCookie, correct.refreshCookie])
      for (const at of [0, 1]) setCookies.push(`${name}.${at}=; ${correct.sessionAttributes(0)}`)
  },
}

/** Keeps both tokens in one cookie, which expires together with the access token. */
const bothTokensInOneCookie: Partial<Behaviour> = {
  keepSession(visit, tokens) {
    const kept = isCallback(visit) ? undefined : contentOf(visit)?.refreshToken
    const session: Session & { refreshToken: unknown } = {
      accessToken: tokens.accessToken,
      visitor: correct.visitorOf(tokens, visit),
      expiresAt: Date.now() + tokens.seconds * 1000,
      refreshToken: tokens.refreshToken ?? kept,
    }
    correct.setCookie(visit, correct.sessionCookie, session, correct.sessionAttributes(tokens.seconds))
    return session
  },
  readRefresh: visit => contentOf(visit)?.refreshToken as string | undefined,
}

/** Keeps the value of a cookie in the memory of the server. Returns its id, which is a number that counts up. */
function keepInMemory({ memory }: Visit, name: string, value: unknown): number {
  const id = Number(memory.get('last id') ?? 0) + 1
  memory.set('last id', id).set(`${name} ${id}`, value)
  return id
}

export const cookie: Mistake[] = [
  mistake(
    'session-without-httponly',
    'cookie-httponly',
    sessionWith(text => text.replace(' HttpOnly;', '')),
  ),
  mistake('second-login-without-httponly', 'cookie-httponly', {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      const [seen] = [visit.memory.get(`seen ${session.visitor}`)]
      visit.memory.set(`seen ${session.visitor}`, true)
      if (seen && isCallback(visit)) visit.setCookies = visit.setCookies.map(line => line.replace(' HttpOnly;', ''))
      return session
    },
  }),
  mistake('session-without-secure', 'cookie-secure', {
    ...sessionWith(text => text.replace(' Secure;', '')),
    sessionCookie: 'session',
    refreshCookie: 'refresh',
  }),
  mistake(
    'session-without-samesite',
    'cookie-samesite',
    sessionWith(text => text.replace(' SameSite=Strict;', '')),
  ),
  mistake(
    'session-samesite-none',
    'cookie-samesite',
    sessionWith(text => text.replace('Strict', 'None')),
  ),
  mistake(
    'session-lax',
    'cookie-samesite-strict',
    sessionWith(text => text.replace('Strict', 'Lax')),
  ),
  mistake('session-for-all-subdomains', 'cookie-host-only', {
    ...sessionWith(text => `${text}; Domain=localhost`),
    sessionCookie: 'session',
    refreshCookie: 'refresh',
  }),
  mistake('session-without-prefix', 'cookie-prefix', { sessionCookie: 'session', refreshCookie: 'refresh' }),
  mistake('session-for-a-month', 'cookie-max-age', {
    sessionAttributes: seconds => correct.sessionAttributes(seconds && 2_592_000),
  }),
  mistake('session-in-milliseconds', 'cookie-max-age', {
    sessionAttributes: seconds => correct.sessionAttributes(seconds * 1000),
  }),
  mistake('session-without-max-age', 'cookie-max-age', {
    sessionAttributes: seconds =>
      seconds ? correct.sessionAttributes(seconds).replace(/; Max-Age=\d+/, '') : correct.sessionAttributes(0),
  }),
  mistake('session-for-ten-years', 'cookie-age-in-bounds', {
    sessionAttributes: seconds => correct.sessionAttributes(seconds && 315_360_000),
  }),
  mistake(
    'host-prefix-without-secure',
    'cookie-kept-by-browsers',
    sessionWith(text => text.replace(' Secure;', '')),
  ),
  mistake('session-id-counted', 'cookie-unguessable', {
    seal(visit, name, value) {
      const id = keepInMemory(visit, name, value)
      return `${id}`
    },
    unseal: (visit, name, text) => visit.memory.get(`${name} ${text}`),
  }),
  mistake('session-id-readable', 'cookie-each-unguessable', {
    seal(visit, name, value) {
      if (name !== correct.sessionCookie) return correct.seal(visit, name, value)
      const id = keepInMemory(visit, name, value)
      return readable.write({ id })
    },
    unseal(visit, name, text) {
      if (name !== correct.sessionCookie) return correct.unseal(visit, name, text)
      const { id } = (readable.read(text) ?? {}) as { id?: unknown }
      return visit.memory.get(`${name} ${id}`)
    },
  }),
  mistake('session-id-counted-and-long', 'cookie-each-unguessable', {
    seal(visit, name, value) {
      if (name !== correct.sessionCookie) return correct.seal(visit, name, value)
      const id = keepInMemory(visit, name, value)
      return `session-of-the-client-in-this-house-no-${id}`
    },
    unseal: (visit, name, text) =>
      name === correct.sessionCookie
        ? visit.memory.get(`${name} ${text.split('-').at(-1)}`)
        : correct.unseal(visit, name, text),
  }),
  mistake('refresh-cookie-until-the-browser-is-closed', 'cookie-refresh-age', {
    refreshAttributes: seconds => correct.refreshAttributes(seconds).replace(/; Max-Age=[1-9]\d*/, ''),
  }),
  mistake('refresh-cookie-as-long-as-the-access-token', 'cookie-refresh-age', { refreshSeconds: 3600 }),
  mistake('refresh-cookie-ends-with-the-access-token', ['cookie-refresh-age', 'refresh-works'], {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      visit.setCookies = visit.setCookies.map(line =>
        line.startsWith('__Host-refresh=') ? line.replace(/Max-Age=\d+/, `Max-Age=${tokens.seconds}`) : line,
      )
      return session
    },
  }),
  mistake('both-tokens-in-one-cookie', 'cookie-refresh-age', bothTokensInOneCookie),
  mistake('session-encrypted-and-unsealed', 'cookie-tampered', {
    seal: (visit, _name, value) => unsealed.write(visit, value),
    unseal: (visit, _name, text) => unsealed.read(visit, text),
  }),
  mistake('tampered-session-is-a-crash', ['cookie-tampered', 'cookie-cut'], {
    unseal(visit, name, text) {
      const value = correct.unseal(visit, name, text)
      if (value === undefined) throw new Error('Unsupported state or unable to authenticate data')
      return value
    },
  }),
  mistake('quoted-session-cookie-is-a-crash', 'cookie-cut', {
    readCookies: header =>
      correct
        .readCookies(header)
        .map(([name, value]) => [
          name,
          name === correct.sessionCookie && value.startsWith('"') ? (JSON.parse(value) as string) : value,
        ]),
    onCrash: (_error, response) => void response.writeHead(500).end(),
  }),
  mistake('malformed-cookie-is-a-crash', 'cookie-hostile-percent', {
    readCookies: header => correct.readCookies(header).map(([name, value]) => [name, decodeURIComponent(value)]),
    onCrash: (_error, response) => void response.writeHead(500).end(),
  }),
  mistake('cookies-read-only-up-to-a-byte-outside-ascii', 'cookie-hostile-bytes', {
    readCookies: header => correct.readCookies(header.replace(/[^;]*[^\x20-\x7e].*$/s, '')),
  }),
  ...Object.entries(parsers).map(([id, readCookies]) =>
    mistake(`cookies-read-badly-${id}`, id === 'duplicate' ? 'cookie-duplicate' : `cookie-hostile-${id}`, {
      readCookies,
    }),
  ),
  mistake('odd-cookie-at-the-login-is-a-crash', 'cookie-hostile-elsewhere', {
    newState(visit) {
      for (const [, value] of visit.cookies) decodeURIComponent(value)
      return correct.newState(visit)
    },
  }),
  mistake('garbage-login-cookie-is-a-crash', 'login-cookie-garbage', {
    unsealLogin(visit, name, text) {
      const login = correct.unsealLogin(visit, name, text)
      if (login === undefined) throw new TypeError("Cannot read properties of undefined (reading 'at')")
      return login
    },
  }),
  mistake('broken-login-cookie-is-a-crash-at-the-callback', 'login-cookie-garbage', {
    findLogin(visit, state) {
      const text = visit.cookies.find(([name]) => name === correct.loginCookie(state))?.[1]
      if (text !== undefined && !correct.unsealLogin(visit, correct.loginCookie(state), text))
        throw new TypeError('cannot read the login')
      return correct.findLogin(visit, state)
    },
  }),
  mistake('second-login-cookie-is-a-crash', 'login-cookie-duplicate', {
    findLogin(visit, state) {
      if (visit.cookies.filter(([name]) => name === correct.loginCookie(state)).length > 1)
        throw new TypeError('the cookie is a list')
      return correct.findLogin(visit, state)
    },
  }),
  mistake('one-broken-login-cookie-spoils-all', 'login-other-cookies-broken', {
    findLogin(visit, state) {
      const names = visit.cookies.filter(([name]) => name.startsWith('__Host-login-'))
      return loginsOf(visit).length === names.length ? correct.findLogin(visit, state) : undefined
    },
  }),
  mistake('first-cookie-of-a-name-only', 'cookie-planted', {
    sessionCookie: 'session',
    refreshCookie: 'refresh',
    readCookies: header => [...new Map(correct.readCookies(header).reverse())],
  }),
  mistake('one-seal-for-all-cookies', ['cookie-roles', 'cookie-roles-swapped'], {
    seal: (visit, _name, value) => correct.seal(visit, 'cookie', value),
    unseal: (visit, _name, text) => correct.unseal(visit, 'cookie', text),
    sealLogin: (visit, _name, login) => correct.seal(visit, 'cookie', login),
    unsealLogin: (visit, _name, text) => correct.unseal(visit, 'cookie', text),
    readSession: visit => {
      const text = cookieOf(visit, visit.behaviour.sessionCookie)
      const value = text ? (visit.behaviour.unseal(visit, '', text) as Record<string, unknown> | undefined) : undefined
      return value && { accessToken: String(value.accessToken), visitor: 'me', expiresAt: 0 }
    },
  }),
  mistake('sign-out-with-an-unreadable-cookie-is-a-crash', 'cookie-cut-elsewhere', {
    tokenToRevoke(visit) {
      if (isUnreadable(visit, correct.refreshCookie)) throw new TypeError('Cannot read properties of undefined')
      return correct.tokenToRevoke(visit)
    },
  }),
  mistake('callback-with-an-unreadable-session-is-a-crash', 'cookie-cut-elsewhere', {
    async beforeState(visit) {
      if (isUnreadable(visit, correct.sessionCookie)) throw new TypeError('Cannot read properties of undefined')
    },
  }),
  mistake('unreadable-message-is-a-crash', 'cookie-others-cut', {
    unseal(visit, name, text) {
      const content = correct.unseal(visit, name, text)
      if (name === '__Host-made' && content === undefined) throw new TypeError('Cannot read properties of undefined')
      return content
    },
  }),
  mistake('cookie-measured-without-its-name', 'cookie-size-limit', {
    setCookie(visit, name, value, attributes) {
      const text = correct.seal(visit, name, value)
      if (text.length > 4096) throw new Refusal(502, 'The platform sent more data than a browser can keep in a cookie.')
      visit.setCookies.push(`${name}=${text}; ${attributes}`)
    },
  }),
  mistake(
    'cookie-parts-of-a-larger-session-kept',
    ['session-replaced-after-large', 'refresh-smaller-token'],
    splitWithoutCleaning,
  ),
  mistake('visitor-in-a-readable-cookie', 'cookie-data-sealed', {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      const who = readable.write({ user: session.visitor })
      visit.setCookies.push(`__Host-who=${who}; Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age=3600`)
      return session
    },
  }),
  mistake(
    'cookie-on-every-answer',
    'cookie-only-where-it-changes',
    headersWith(() => ({ 'set-cookie': 'seen=1; Path=/; Secure; HttpOnly; SameSite=Lax' })),
  ),
  mistake(
    'session-set-again-on-the-start-page',
    'cookie-only-where-it-changes',
    answerWith((answer, visit) => {
      const text = cookieOf(visit, correct.sessionCookie)
      if (text && visit.url.pathname === '/')
        visit.setCookies.push(`${correct.sessionCookie}=${text}; ${correct.sessionAttributes(3600)}`)
      return answer
    }),
  ),
  mistake('login-redirect-of-a-page-kept-by-browsers', 'cookie-answers-not-kept', {
    ...beginsAtPage(() => ({ 'cache-control': 'private, max-age=60' })),
  }),
  ...(
    [
      ['no-cache-control', undefined],
      ['private', 'private'],
      ['no-cache', 'no-cache'],
      ['private-for-a-minute', 'private, max-age=60'],
    ] as const
  ).map(([name, value]) =>
    mistake(
      `callback-with-${name}`,
      'cookie-answers-not-kept',
      headersWith(visit => (isCallback(visit) ? { 'cache-control': value } : {})),
    ),
  ),
  mistake(
    'login-kept-by-browsers-for-a-minute',
    'cookie-answers-not-kept',
    headersWith(visit => (isLogin(visit) ? { 'cache-control': 'private, max-age=60' } : {})),
  ),
  mistake('page-with-renewed-cookies-kept-by-browsers', 'cookie-answers-not-kept', {
    async aroundRequest(visit, next) {
      const answer = await next()
      const isRenewed = visit.setCookies.some(line => line.startsWith(`${correct.sessionCookie}=`))
      if (isCallback(visit) || !isRenewed) return answer
      return { ...answer, headers: { ...answer.headers, 'cache-control': 'private, max-age=0' } }
    },
  }),
  mistake('renewed-session-without-httponly', 'cookie-attributes-after-renewal', {
    setCookie: (visit, name, value, attributes) =>
      correct.setCookie(visit, name, value, isCallback(visit) ? attributes : attributes.replace(' HttpOnly;', '')),
  }),
  mistake('renewed-session-without-samesite', 'cookie-attributes-after-renewal', {
    setCookie: (visit, name, value, attributes) =>
      correct.setCookie(
        visit,
        name,
        value,
        isCallback(visit) ? attributes : attributes.replace(' SameSite=Strict;', ''),
      ),
  }),
  mistake('cookies-renewed-by-a-form-without-http-only', 'cookie-attributes-after-renewal', {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      if (visit.method === 'POST') visit.setCookies = visit.setCookies.map(line => line.replace('; HttpOnly', ''))
      return session
    },
  }),
  mistake('session-in-as-many-cookies-as-it-needs', 'cookie-total-size', {
    setCookie(visit, name, value, attributes) {
      const text = visit.behaviour.seal(visit, name, value)
      for (let at = 0; at * partLength < text.length; at++)
        visit.setCookies.push(
          `${at ? `${name}-${at}` : name}=${text.slice(at * partLength, (at + 1) * partLength)}; ${attributes}`,
        )
    },
    readCookies(header) {
      const all = correct.readCookies(header)
      return all.map(([name, value]) => {
        const rest = all.filter(([other]) => new RegExp(`^${name}-\\d$`).test(other)).map(([, text]) => text)
        return [name, name.startsWith('__Host-login') ? value : [value, ...rest].join('')]
      })
    },
  }),
  ...(['state', 'code'] as const).flatMap(name => [
    mistake(
      `session-id-is-the-${name}`,
      'cookie-not-computed',
      sessionsBy(visit => `${visit.query.get(name)}`),
    ),
    mistake(
      `session-id-is-a-hash-of-the-${name}`,
      'cookie-not-computed',
      sessionsBy(visit => hashOf(`${visit.query.get(name)}`)),
    ),
  ]),
  mistake(
    'session-id-is-a-hash-of-the-time',
    'cookie-not-computed',
    sessionsBy(() => hashOf(`${Date.now()}`)),
  ),
  mistake('long-cookie-header-refused', 'cookie-large-neighbours', {
    readCookies: header => (header.length > 4096 ? [] : correct.readCookies(header)),
  }),
  mistake('very-long-cookie-header-ignored', 'cookie-very-large-neighbours', {
    readCookies: header => (header.length > 8192 ? [] : correct.readCookies(header)),
  }),
]
