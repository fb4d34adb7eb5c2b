import { createHash } from 'node:crypto'
import { page } from '../pages.ts'
import { type Parts, right } from '../parts.ts'
import { type Login, Refusal, type Session, type Visit } from '../visit.ts'
import { fault, memoryOf } from './fault.ts'

const inMemory: Pick<Parts, 'seal' | 'unseal'> = {
  seal(visit, name, value) {
    const id = createHash('sha256').update(`${Math.random()}`).digest('base64url')
    memoryOf(visit).set(name + id, value)
    return id
  },
  unseal: (visit, name, text) => memoryOf(visit).get(name + text),
}

export const tabs = [
  fault('one-login-at-a-time', ['tabs-parallel-logins', 'tabs-five-logins'], {
    loginCookie: () => '__Host-login-0',
    findLogin(visit, state) {
      const text = visit.cookies.find(([name]) => name === '__Host-login-0')?.[1] ?? ''
      const login = right.unsealLogin(visit, '__Host-login-0', text) as Login | undefined
      return login?.state === state ? login : undefined
    },
  }),
  fault('login-clears-the-others', 'tabs-parallel-logins', {
    forgetLogin(visit) {
      for (const [name] of visit.cookies)
        if (name.startsWith('__Host-login-'))
          visit.setCookies.push(`${name}=; ${right.loginAttributes.replace('600', '0')}`)
    },
  }),
  fault('sessions-in-memory', ['replica-session', 'restart-session'], inMemory),
  fault('logins-in-memory', ['replica-login', 'restart-login'], {
    sealLogin: (visit, name, login) => inMemory.seal(visit, name, login),
    unsealLogin: (visit, name, text) => inMemory.unseal(visit, name, text),
  }),
  fault('session-of-another-process-is-cleared', ['replica-refresh', 'replica-session'], {
    sessionAttributes: seconds => right.sessionAttributes(seconds && 86_400),
    setCookie(visit, name, value, attributes) {
      const known = visit.cookies.find(([one]) => one === name)?.[1]
      // At a renewal, the client changes only the session at the server, and does not set a cookie.
      if (known && memoryOf(visit).has(name + known)) memoryOf(visit).set(name + known, value)
      else visit.setCookies.push(`${name}=${inMemory.seal(visit, name, value)}; ${attributes}`)
    },
    unseal: (visit, name, text) => inMemory.unseal(visit, name, text) ?? right.unseal(visit, name, text),
    askToSignIn(visit) {
      right.dropSession(visit)
      return right.askToSignIn(visit)
    },
  }),
  fault('key-of-each-process', 'replica-session', {
    seal: (visit, name, value) => right.seal(keyed(visit), name, value),
    unseal: (visit, name, text) => right.unseal(keyed(visit), name, text),
  }),
  fault('old-session-kept-at-login', 'tabs-other-visitor', {
    keepSession(visit, tokens) {
      const old = right.readSession(visit)
      if (old) return old
      return right.keepSession(visit, tokens)
    },
  }),
  fault('resent-callback-is-a-crash', 'tabs-callback-again', {
    findLogin(visit, state) {
      const login = right.findLogin(visit, state)
      if (!login) throw new TypeError("Cannot read properties of undefined (reading 'verifier')")
      return login
    },
  }),
  fault('used-callback-ends-the-session', 'tabs-callback-typed-again', {
    findLogin(visit, state) {
      const login = right.findLogin(visit, state)
      if (!login) right.dropSession(visit)
      return login
    },
  }),
  fault('second-login-refused', 'tabs-login-while-signed-in', {
    arrive(visit, login) {
      return right.readSession(visit) ? { status: 500, body: 'already signed in' } : right.arrive(visit, login)
    },
  }),

  fault('declining-clears-all-logins', 'tabs-one-declined', {
    async around(visit, next) {
      if (visit.url.pathname === '/cancelled')
        for (const [name] of visit.cookies)
          if (name.startsWith('__Host-login-'))
            visit.setCookies.push(`${name}=; ${right.loginAttributes.replace('600', '0')}`)
      return next()
    },
  }),
  fault('one-pending-login-is-enough', ['tabs-login-left', 'logins-last-works'], {
    newState(visit) {
      if (visit.cookies.some(([name]) => name.startsWith('__Host-login-')))
        throw new Refusal(409, 'A login is under way in another tab.')
      return right.newState(visit)
    },
  }),
  fault('callback-in-the-history-exchanged-again', 'tabs-back-after-login', {
    arrive: (visit, login) => page(visit, 200, 'Welcome', `<a href="${right.html(login.returnTo)}">Go on</a>`),
    forgetLogin: () => {},
    once: (_visit, _name, act) => act(),
  }),
  fault('form-holds-the-session', ['tabs-signed-out-meanwhile', 'create-no-session'], {
    revokes: false,
    seal: (visit, name, value) =>
      right.seal(visit, name, name === 'form' ? { ...(value as object), session: right.readSession(visit) } : value),
    readSession(visit) {
      const form = right.unseal(visit, 'form', new URLSearchParams(visit.body).get('form') ?? '')
      return right.readSession(visit) ?? (form as { session?: Session } | undefined)?.session
    },
  }),
  fault('forms-known-to-one-process', ['replica-form', 'restart-form'], {
    seal: (visit, name, value) => (name === 'form' ? inMemory : right).seal(visit, name, value),
    unseal: (visit, name, text) => (name === 'form' ? inMemory : right).unseal(visit, name, text),
  }),
  fault('session-in-a-variable', 'tabs-two-visitors', {
    readSession(visit) {
      const memory = memoryOf(visit)
      const session = (memory.get('session') as Session | undefined) ?? right.readSession(visit)
      if (session) memory.set('session', session)
      return session
    },
  }),
  fault('running-list-shared-by-all', 'tabs-visitors-at-once', {
    send(visit, request) {
      if (request.method !== 'GET' || !request.url.endsWith('/apps/v1')) return right.send(visit, request)
      const memory = memoryOf(visit)
      const running = memory.get('list') ?? right.send(visit, request).finally(() => memory.delete('list'))
      memory.set('list', running)
      return running as ReturnType<Parts['send']>
    },
  }),
  fault('token-in-shared-headers', 'tabs-visitors-at-once', {
    async send(visit, request) {
      const shared = memoryOf(visit)
      if (!request.headers.authorization) return right.send(visit, request)
      shared.set('authorization', request.headers.authorization)
      await new Promise(resolve => setTimeout(resolve, 5))
      const authorization = shared.get('authorization') as string
      return right.send(visit, { ...request, headers: { ...request.headers, authorization } })
    },
  }),
  fault('signed-out-known-to-one-process', 'replica-sign-out', {
    revokes: false,
    endSession: visit => void memoryOf(visit).set(`out ${right.readSession(visit)?.accessToken}`, true),
    readSession(visit) {
      const session = right.readSession(visit)
      return memoryOf(visit).has(`out ${session?.accessToken}`) ? undefined : session
    },
  }),
  fault('login-of-other-settings-finished', 'restart-other-settings', {
    sealLogin: (visit, name, login) => right.seal(visit, name, login),
    unsealLogin: (visit, name, text) => right.unseal(visit, name, text),
  }),
  fault('login-bound-to-the-client-only', 'restart-other-settings', {
    sealLogin: (visit, name, login) => right.seal(visit, `${name} ${visit.settings.clientId}`, login),
    unsealLogin: (visit, name, text) => right.unseal(visit, `${name} ${visit.settings.clientId}`, text),
  }),
  fault('unknown-state-clears-all-logins', 'tabs-one-failed', {
    findLogin(visit, state) {
      const login = right.findLogin(visit, state)
      if (!login) clearLogins(visit, () => true)
      return login
    },
  }),
  fault('failed-exchange-clears-all-logins', 'tabs-one-failed', {
    async exchange(visit, callback, login) {
      try {
        return await right.exchange(visit, callback, login)
      } catch (error) {
        clearLogins(visit, () => true)
        throw error
      }
    },
  }),
  fault('logins-of-another-process-are-cleared', 'replica-keeps-cookies', {
    afterStart(visit, answer) {
      const [name = ''] = visit.setCookies.at(-1)!.split('=')
      memoryOf(visit).set(`begun ${name}`, true)
      clearLogins(visit, one => !memoryOf(visit).has(`begun ${one}`))
      return answer
    },
  }),
  fault('session-of-another-process-is-cleared-at-the-start-page', 'replica-keeps-cookies', {
    setCookie(visit, name, value, attributes) {
      right.setCookie(visit, name, value, attributes)
      memoryOf(visit).set(visit.setCookies.at(-1)!.split(';')[0]!, true)
    },
    async around(visit, next) {
      const [name, text] = visit.cookies.find(([name]) => name === right.sessionCookie) ?? []
      if (visit.url.pathname === '/' && name && !memoryOf(visit).has(`${name}=${text}`)) right.dropSession(visit)
      return next()
    },
  }),
]

/** Deletes the login cookies for whose names `isGone` is true. */
function clearLogins({ cookies, setCookies }: Visit, isGone: (name: string) => boolean): void {
  for (const [name] of cookies)
    if (name.startsWith('__Host-login-') && isGone(name))
      setCookies.push(`${name}=; ${right.loginAttributes.replace('600', '0')}`)
}

function keyed(visit: Visit): Visit {
  const memory = memoryOf(visit)
  const key = (memory.get('key') as Buffer | undefined) ?? createHash('sha256').update(`${Math.random()}`).digest()
  memory.set('key', key)
  return { ...visit, settings: { ...visit.settings, key } }
}
