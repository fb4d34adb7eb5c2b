// Clients that accept a callback with a wrong state: from another browser, from an old login, or already used.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { correct } from '../../behaviour.ts'
import { loginDeletion, loginsOf } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { callPortal } from '../../platform.ts'
import { type Login, Refusal, type Visit } from '../../visit.ts'

/** Logins in the memory of the server. The server does not store which browser began a login. */
const known = new Map<string, Login>()

/** A state that contains the signed data of the login, so that the client needs no login cookie. */
const signed = {
  make: (visit: Visit): string => {
    const text = Buffer.from(JSON.stringify({ at: Date.now(), nonce: correct.newState(visit) })).toString('base64url')
    return `${text}.${createHmac('sha256', visit.settings.key).update(text).digest('base64url')}`
  },
  isOurs: (visit: Visit, state: string): boolean => {
    const [text = '', mac = ''] = state.split('.')
    const expected = createHmac('sha256', visit.settings.key).update(text).digest()
    const sent = Buffer.from(mac, 'base64url')
    return sent.length === expected.length && timingSafeEqual(sent, expected)
  },
  verifier: (visit: Visit, state: string): string =>
    createHmac('sha256', visit.settings.key).update(`verifier ${state}`).digest('base64url'),
}

/** Faulty comparisons of the state, keyed by the id of the check that must find the mistake. */
const comparisons: Record<string, (kept: string, sent: string, visit: Visit) => boolean> = {
  'state-longer': (kept, sent) => sent.startsWith(kept),
  'state-case': (kept, sent) => kept.toLowerCase() === sent.toLowerCase(),
  'state-last': (kept, sent) => kept.length === sent.length && kept.slice(0, -4) === sent.slice(0, -4),
  'state-changed': (kept, sent) => kept.length === sent.length && kept.slice(1) === sent.slice(1),
  'state-shortened': (kept, sent) => sent !== '' && kept.startsWith(sent),
  'state-undefined': (kept, sent) => sent === kept || sent === 'undefined',
  'state-list': (kept, sent, { query }) => sent === kept || query.get('state[]') === kept,
  'state-other-login': () => true,
}

/** The requests whose call to the portal was answered. */
const answered = new WeakSet<Visit>()

/** Changes how the client compares the state of the callback with the states of this browser's logins. */
const comparing = (isSame: (kept: string, sent: string, visit: Visit) => boolean) => ({
  findLogin: (visit: Visit, state: string) => loginsOf(visit).find(login => isSame(login.state, state, visit)),
})

const keepExchange: typeof correct.shareCall = async (visit, name, act) => {
  if (!name.startsWith('exchange')) return correct.shareCall(visit, name, act)
  const known = visit.memory.get(name) as ReturnType<typeof act> | undefined
  const result = known ?? act()
  visit.memory.set(name, result)
  return result
}

export const states: Mistake[] = [
  mistake('state-absent-passes', ['state-missing', 'state-empty'], {
    findLogin: (visit, state) => (state ? correct.findLogin(visit, state) : loginsOf(visit)[0]),
  }),
  mistake(
    'state-unchecked',
    [
      'state-other',
      'state-missing',
      'state-empty',
      'state-changed',
      'state-shortened',
      'state-longer',
      'state-case',
      'state-undefined',
      'state-list',
      'state-other-login',
    ],
    { findLogin: visit => loginsOf(visit)[0] },
  ),
  mistake('state-after-the-exchange', ['state-other', 'state-before-portal'], {
    async beforeState(visit) {
      const login = loginsOf(visit)[0]
      const callback = { code: visit.query.get('code') ?? '', state: visit.query.get('state') ?? '', subject: '' }
      const verifier = login?.verifier ?? ''
      const form = correct.exchangeForm(visit, { ...callback, redirectUri: '' }, { ...login!, verifier })
      await callPortal(visit, '/api/exchangeToken', form).catch(() => {})
    },
  }),
  mistake('state-beginning-compared', 'state-shortened', {
    findLogin: (visit, state) => loginsOf(visit).find(login => state && login.state.startsWith(state.slice(0, 8))),
  }),
  ...Object.entries(comparisons).map(([check, isSame]) =>
    mistake(`compares-wrongly-for-${check}`, check, {
      findLogin: (visit, state) => loginsOf(visit).find(login => isSame(login.state, state, visit)),
    }),
  ),
  mistake('last-of-duplicates-taken', 'state-twice-first', {
    singleParameter: (query, name) => query.getAll(name).at(-1) ?? '',
  }),
  mistake('state-decoded-twice', 'state-similar', {
    findLogin: (visit, state) => correct.findLogin(visit, state.includes('%') ? decodeURIComponent(state) : state),
  }),
  mistake(
    'state-trimmed',
    'state-similar',
    comparing((kept, sent) => kept === sent.trim()),
  ),
  mistake(
    'state-end-compared',
    'state-similar',
    comparing((kept, sent) => sent.length > 8 && kept.endsWith(sent)),
  ),
  mistake('same-state-twice-accepted', 'state-similar', {
    singleParameter: (query, name) =>
      name === 'state' ? [...new Set(query.getAll(name))].join(',') : correct.singleParameter(query, name),
  }),
  mistake('empty-states-ignored', 'state-similar', {
    singleParameter: (query, name) =>
      name === 'state' ? query.getAll(name).filter(Boolean).join(',') : correct.singleParameter(query, name),
  }),
  mistake('state-of-a-query-object', 'state-similar', {
    findLogin: (visit, state) =>
      [...visit.query.keys()].some(name => name.startsWith('state[$'))
        ? loginsOf(visit)[0]
        : correct.findLogin(visit, state),
  }),
  mistake('no-login-is-the-text-none', 'state-missing-values', {
    isFirstUse: () => true,
    findLogin(visit, state) {
      const login = correct.findLogin(visit, state)
      if (login) return login
      const isEqual = String(loginsOf(visit)[0]?.state ?? 'None') === state
      return isEqual ? { state, verifier: '', returnTo: '/applications', at: Date.now() } : undefined
    },
  }),
  ...['POST', 'HEAD'].map(method =>
    mistake(`state-unchecked-for-${method.toLowerCase()}`, 'state-any-method', {
      callbackMethods: ['GET', method],
      isFromHere: () => true,
      findLogin: (visit, state) => (visit.method === method ? loginsOf(visit)[0] : correct.findLogin(visit, state)),
    }),
  ),
  mistake('exchange-before-the-cookie-is-read', 'state-before-portal', {
    async beforeState(visit) {
      const code = visit.query.get('code')
      if (!code || loginsOf(visit).length > 0) return
      const form = new URLSearchParams({ grant_type: 'authorization_code', code, client_id: visit.settings.clientId })
      await callPortal(visit, '/api/exchangeToken', form).catch(() => {})
    },
  }),
  mistake('metadata-at-every-callback', 'state-before-portal', {
    async beforeState({ settings }) {
      await (await fetch(`${settings.loginUrl}/.well-known/oauth-authorization-server`)).text()
    },
  }),
  mistake('state-known-to-the-server', 'state-other-browser', {
    sealLogin(visit, name, login) {
      known.set(login.state, login)
      return correct.sealLogin(visit, name, login)
    },
    findLogin: (_visit, state) => known.get(state),
  }),
  mistake('state-signed-by-the-server', 'state-other-browser', {
    newState: signed.make,
    startQuery: (visit, state) => correct.startQuery(visit, state, signed.verifier(visit, state)),
    findLogin: (visit, state) =>
      signed.isOurs(visit, state)
        ? { state, verifier: signed.verifier(visit, state), returnTo: '/applications', at: Date.now() }
        : undefined,
  }),
  mistake(
    'state-used-again',
    [
      'state-once',
      'state-once-new-code',
      'state-once-after-restart',
      'state-once-on-replica',
      'state-once-after-failure',
    ],
    { forgetLogin: () => {}, isFirstUse: () => true, shareCall: (_visit, _name, act) => act() },
  ),
  mistake('result-of-a-callback-kept', 'state-once-copied', { shareCall: keepExchange }),
  mistake('result-of-a-callback-kept-with-one-login-cookie', 'state-once-copied', {
    shareCall: keepExchange,
    loginCookie: () => '__Host-login-only',
  }),
  mistake('login-cookie-not-cleared-rightly', 'state-once', {
    forgetLogin(visit, state) {
      visit.setCookies.push(`${correct.loginCookie(state)}=; Max-Age=0`)
    },
    shareCall: (_visit, _name, act) => act(),
  }),
  mistake('login-kept-after-a-broken-exchange', ['state-once-after-exchange', 'login-cookie-deleted'], {
    isFirstUse: () => true,
    shareCall: (_visit, _name, act) => act(),
    forgetLogin(visit, state) {
      if (visit.query.has('error')) correct.forgetLogin(visit, state)
    },
    async send(visit, request) {
      const answer = await correct.send(visit, request)
      answered.add(visit)
      return answer
    },
    async exchange(visit, callback, login) {
      try {
        return await correct.exchange(visit, callback, login)
      } finally {
        if (answered.has(visit)) correct.forgetLogin(visit, login.state)
      }
    },
  }),
  mistake('login-of-a-failed-exchange-kept', ['state-once-after-exchange', 'login-cookie-deleted'], {
    isFirstUse: () => true,
    forgetLogin(visit, state) {
      if (visit.query.has('error')) correct.forgetLogin(visit, state)
    },
    shareCall: (_visit, _name, act) => act(),
    async exchange(visit, callback, login) {
      const tokens = await correct.exchange(visit, callback, login)
      correct.forgetLogin(visit, login.state)
      return tokens
    },
  }),
  mistake('login-of-an-error-kept', 'login-cookie-deleted', {
    isFirstUse: () => true,
    forgetLogin(visit, state) {
      if (!visit.query.has('error')) correct.forgetLogin(visit, state)
    },
  }),
  mistake('login-cookie-deleted-at-another-path', 'login-cookie-deleted', {
    forgetLogin: (visit, state) =>
      void visit.setCookies.push(
        `${correct.loginCookie(state)}=; ${loginDeletion.replace('Path=/', 'Path=/exchangeToken')}`,
      ),
  }),
  mistake('used-states-remembered-by-one-process', ['state-once-after-restart', 'state-once-on-replica'], {
    forgetLogin: (visit, state) => void visit.memory.set(`used ${state}`, true),
    findLogin: (visit, state) => (visit.memory.has(`used ${state}`) ? undefined : correct.findLogin(visit, state)),
  }),
  mistake('login-cookie-kept-after-an-error', 'state-once-on-replica', {
    forgetLogin(visit, state) {
      if (!visit.query.has('error')) correct.forgetLogin(visit, state)
    },
  }),
  mistake(
    'state-of-a-failed-login-used-again',
    ['error', 'client-id', 'iss', 'exchange', 'tokens'].map(id => `state-once-copied-${id}`),
    { isFirstUse: () => true },
  ),
  mistake(
    'used-state-noted-after-the-checks',
    ['error', 'client-id', 'iss'].map(id => `state-once-copied-${id}`),
    {
      isFirstUse: () => true,
      async exchange(visit, callback, login) {
        if (!correct.isFirstUse(visit, login.state)) throw new Refusal(400, 'This login was finished before.')
        return correct.exchange(visit, callback, login)
      },
    },
  ),
  mistake('login-cookie-only-has-to-be-there', 'login-cookie-changed', {
    newState: signed.make,
    startQuery: (visit, state) => correct.startQuery(visit, state, signed.verifier(visit, state)),
    findLogin: (visit, state) =>
      visit.cookies.some(([name]) => name === correct.loginCookie(state))
        ? { state, verifier: signed.verifier(visit, state), returnTo: '/applications', at: Date.now() }
        : undefined,
  }),
  mistake('state-absent-on-both-sides-passes', 'login-cookie-empty', {
    findLogin(visit, state) {
      const login = loginsOf(visit)[0]
      // If both states are missing, this comparison treats them as equal.
      return (login?.state ?? '') === state ? (login ?? { state, verifier: '', returnTo: '/', at: 0 }) : undefined
    },
  }),
  mistake('no-login-and-no-state-are-equal', 'login-cookie-empty', {
    isFirstUse: () => true,
    findLogin(visit, state) {
      const isEmpty = !visit.query.has('state') && loginsOf(visit).length === 0
      return isEmpty ? { state, verifier: '', returnTo: '/', at: Date.now() } : correct.findLogin(visit, state)
    },
  }),
]
