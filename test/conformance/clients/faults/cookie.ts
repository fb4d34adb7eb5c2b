import { createCipheriv, createDecipheriv } from 'node:crypto'
import { right } from '../parts.ts'
import { Refusal, type Visit } from '../visit.ts'
import { fault, headersWith, memoryOf, readable, sessionWith } from './fault.ts'

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

/** Faulty parsers of Cookie headers, keyed by the id of the check that finds the fault, without `cookie-hostile-`. */
const parsers: Record<string, (header: string) => [string, string][]> = {
  'no-equals': header =>
    header.split(';').map(pair => {
      const [name, value] = pair.split('=')
      return [name!.trim(), value!.trim()]
    }),
  prototype(header) {
    const lists: Record<string, string[]> = {}
    for (const [name, value] of right.readCookies(header)) {
      lists[name] ??= []
      lists[name].push(value)
    }
    return Object.entries(lists).flatMap(([name, values]) => values.map((value): [string, string] => [name, value]))
  },
  bytes(header) {
    new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'latin1'))
    return right.readCookies(header)
  },
  long: header => (header.length > 4000 ? [] : right.readCookies(header)),
  quotes: header =>
    right
      .readCookies(header)
      .map(([name, value]) => [name, value.startsWith('"') ? (JSON.parse(value) as string) : value]),
  duplicate(header) {
    const cookies = right.readCookies(header)
    const names = cookies.map(([name]) => name)
    if (names.some((name, at) => names.indexOf(name) !== at)) throw new Error('duplicate key')
    return cookies
  },
}

export const cookie = [
  fault(
    'session-without-httponly',
    'cookie-httponly',
    sessionWith(text => text.replace(' HttpOnly;', '')),
  ),
  fault('session-without-secure', 'cookie-secure', {
    ...sessionWith(text => text.replace(' Secure;', '')),
    sessionCookie: 'session',
    refreshCookie: 'refresh',
  }),
  fault(
    'session-without-samesite',
    'cookie-samesite',
    sessionWith(text => text.replace(' SameSite=Strict;', '')),
  ),
  fault(
    'session-samesite-none',
    'cookie-samesite',
    sessionWith(text => text.replace('Strict', 'None')),
  ),
  fault('session-for-all-subdomains', 'cookie-host-only', {
    ...sessionWith(text => `${text}; Domain=localhost`),
    sessionCookie: 'session',
    refreshCookie: 'refresh',
  }),
  fault('session-without-prefix', 'cookie-prefix', { sessionCookie: 'session', refreshCookie: 'refresh' }),
  fault('session-for-a-month', 'cookie-max-age', {
    sessionAttributes: seconds => right.sessionAttributes(seconds && 2_592_000),
  }),
  fault('session-in-milliseconds', 'cookie-max-age', {
    sessionAttributes: seconds => right.sessionAttributes(seconds * 1000),
  }),
  fault('session-without-max-age', 'cookie-max-age', {
    sessionAttributes: seconds =>
      seconds ? right.sessionAttributes(seconds).replace(/; Max-Age=\d+/, '') : right.sessionAttributes(0),
  }),
  fault('session-encrypted-and-unsealed', 'cookie-tampered', {
    seal: (visit, _name, value) => unsealed.write(visit, value),
    unseal: (visit, _name, text) => unsealed.read(visit, text),
  }),
  fault('tampered-session-is-a-crash', ['cookie-tampered', 'cookie-cut'], {
    unseal(visit, name, text) {
      const value = right.unseal(visit, name, text)
      if (value === undefined) throw new Error('Unsupported state or unable to authenticate data')
      return value
    },
  }),
  fault('malformed-cookie-is-a-crash', 'cookie-hostile-percent', {
    readCookies: header => right.readCookies(header).map(([name, value]) => [name, decodeURIComponent(value)]),
    onCrash: (_error, response) => void response.writeHead(500).end(),
  }),
  fault('first-cookie-of-a-name-only', 'cookie-planted', {
    sessionCookie: 'session',
    refreshCookie: 'refresh',
    readCookies: header => [...new Map(right.readCookies(header).reverse())],
  }),
  fault(
    'cookie-over-4096',
    [
      'cookie-size-9-kb',
      'cookie-size-3-kb',
      'cookie-size-5-kb',
      'token-answer-3-kb',
      'token-answer-5-kb',
      'token-answer-9-kb',
    ],
    {
      setCookie(visit, name, value, attributes) {
        visit.setCookies.push(`${name}=${visit.parts.seal(visit, name, value)}; ${attributes}`)
      },
    },
  ),
  fault('one-seal-for-all-cookies', ['cookie-roles', 'cookie-roles-swapped'], {
    seal: (visit, _name, value) => right.seal(visit, 'cookie', value),
    unseal: (visit, _name, text) => right.unseal(visit, 'cookie', text),
    sealLogin: (visit, _name, login) => right.seal(visit, 'cookie', login),
    unsealLogin: (visit, _name, text) => right.unseal(visit, 'cookie', text),
    readSession: visit => {
      const text = visit.cookies.find(([name]) => name === visit.parts.sessionCookie)?.[1]
      const value = text ? (visit.parts.unseal(visit, '', text) as Record<string, unknown> | undefined) : undefined
      return value && { accessToken: String(value.accessToken), visitor: 'me', expiresAt: 0 }
    },
  }),
  fault(
    'cookie-on-every-answer',
    'cookie-only-where-it-changes',
    headersWith(() => ({ 'set-cookie': 'seen=1; Path=/; Secure; HttpOnly; SameSite=Lax' })),
  ),
  fault('login-refuses-large-tokens-with-a-crash', 'cookie-size-9-kb', {
    setCookie(visit, name, value, attributes) {
      try {
        right.setCookie(visit, name, value, attributes)
      } catch (error) {
        throw error instanceof Refusal ? new RangeError('cookie too large') : error
      }
    },
  }),

  fault(
    'session-lax',
    'cookie-samesite-strict',
    sessionWith(text => text.replace('Strict', 'Lax')),
  ),
  fault('session-for-ten-years', 'cookie-age-in-bounds', {
    sessionAttributes: seconds => right.sessionAttributes(seconds && 315_360_000),
  }),
  fault(
    'host-prefix-without-secure',
    'cookie-kept-by-browsers',
    sessionWith(text => text.replace(' Secure;', '')),
  ),
  fault('session-id-counted', 'cookie-unguessable', {
    seal(visit, name, value) {
      const memory = memoryOf(visit)
      const id = memory.size + 1
      memory.set(`${name} ${id}`, value)
      return `${id}`
    },
    unseal: (visit, name, text) => memoryOf(visit).get(`${name} ${text}`),
  }),
  fault('session-id-readable', 'cookie-each-unguessable', {
    seal(visit, name, value) {
      if (name !== right.sessionCookie) return right.seal(visit, name, value)
      const memory = memoryOf(visit)
      const id = memory.size + 1
      memory.set(`${name} ${id}`, value)
      return readable.write({ id })
    },
    unseal(visit, name, text) {
      if (name !== right.sessionCookie) return right.unseal(visit, name, text)
      const { id } = (readable.read(text) ?? {}) as { id?: unknown }
      return memoryOf(visit).get(`${name} ${id}`)
    },
  }),
  fault('session-id-counted-and-long', 'cookie-each-unguessable', {
    seal(visit, name, value) {
      if (name !== right.sessionCookie) return right.seal(visit, name, value)
      const memory = memoryOf(visit)
      const id = memory.size + 1
      memory.set(`${name} ${id}`, value)
      return `session-of-the-client-in-this-house-no-${id}`
    },
    unseal: (visit, name, text) =>
      name === right.sessionCookie
        ? memoryOf(visit).get(`${name} ${text.split('-').at(-1)}`)
        : right.unseal(visit, name, text),
  }),
  fault('refresh-cookie-until-the-browser-is-closed', 'cookie-refresh-age', {
    refreshAttributes: seconds => right.refreshAttributes(seconds).replace(/; Max-Age=[1-9]\d*/, ''),
  }),
  fault('refresh-cookie-as-long-as-the-access-token', 'cookie-refresh-age', { refreshSeconds: 3600 }),
  ...Object.entries(parsers).map(([id, readCookies]) =>
    fault(`cookies-read-badly-${id}`, id === 'duplicate' ? 'cookie-duplicate' : `cookie-hostile-${id}`, {
      readCookies,
    }),
  ),
  fault('long-cookie-header-refused', 'cookie-large-neighbours', {
    readCookies: header => (header.length > 4096 ? [] : right.readCookies(header)),
  }),
  fault('visitor-in-a-readable-cookie', 'cookie-data-sealed', {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      const who = readable.write({ user: session.visitor })
      visit.setCookies.push(`__Host-who=${who}; Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age=3600`)
      return session
    },
  }),
  fault('very-long-cookie-header-ignored', 'cookie-very-large-neighbours', {
    readCookies: header => (header.length > 8192 ? [] : right.readCookies(header)),
  }),
  fault('second-login-without-httponly', 'cookie-httponly', {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      const [seen] = [memoryOf(visit).get(`seen ${session.visitor}`)]
      memoryOf(visit).set(`seen ${session.visitor}`, true)
      if (seen && visit.url.pathname === '/exchangeToken')
        visit.setCookies = visit.setCookies.map(line => line.replace(' HttpOnly;', ''))
      return session
    },
  }),
  fault('odd-cookie-at-the-login-is-a-crash', 'cookie-hostile-elsewhere', {
    newState(visit) {
      for (const [, value] of visit.cookies) decodeURIComponent(value)
      return right.newState(visit)
    },
  }),
  fault('garbage-login-cookie-is-a-crash', 'login-cookie-garbage', {
    unsealLogin(visit, name, text) {
      const login = right.unsealLogin(visit, name, text)
      if (login === undefined) throw new TypeError("Cannot read properties of undefined (reading 'at')")
      return login
    },
  }),
]
