import { createHash } from 'node:crypto'
import { type Parts, right } from '../parts.ts'
import type { Login, Session, Visit } from '../visit.ts'
import { fault } from './fault.ts'

/** What one process keeps in its memory: other instances know nothing of it, nor does this one after a restart. */
const memories = new WeakMap<Visit['memory'], Map<string, unknown>>()
function memoryOf({ memory }: Visit): Map<string, unknown> {
  const found = memories.get(memory) ?? new Map()
  memories.set(memory, found)
  return found
}
const inMemory: Pick<Parts, 'seal' | 'unseal'> = {
  seal(visit, name, value) {
    const id = createHash('sha256').update(`${Math.random()}`).digest('base64url')
    memoryOf(visit).set(name + id, value)
    return id
  },
  unseal: (visit, name, text) => memoryOf(visit).get(name + text),
}

export const tabs = [
  fault('one-login-at-a-time', 'tabs-parallel-logins', {
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
  fault('sessions-in-memory', 'replica-session', inMemory),
  fault('logins-in-memory', 'replica-login', {
    sealLogin: (visit, name, login) => inMemory.seal(visit, name, login),
    unsealLogin: (visit, name, text) => inMemory.unseal(visit, name, text),
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
  fault('second-login-refused', 'tabs-login-while-signed-in', {
    arrive(visit, login) {
      return right.readSession(visit) ? { status: 500, body: 'already signed in' } : right.arrive(visit, login)
    },
  }),
]

function keyed(visit: Visit): Visit {
  const memory = memoryOf(visit)
  const key = (memory.get('key') as Buffer | undefined) ?? createHash('sha256').update(`${Math.random()}`).digest()
  memory.set('key', key)
  return { ...visit, settings: { ...visit.settings, key } }
}

export type { Session }
