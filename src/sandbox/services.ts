// What the code of the sandbox works with; nothing is looked up anywhere else. Each function takes what it needs: `Pick<Services, …>`.
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import type { Observer, Step } from './observe/steps.ts'
import type { Mailbox } from './people/mail.ts'
import type { Passwords } from './people/passwords.ts'
import type { Store } from './store/store.ts'
import type { KeyRing } from './tokens/key-ring.ts'

/** Where browsers and clients reach both listeners, without a trailing slash. `portalUrl` is also the issuer. */
export interface Addresses {
  portalUrl: string
  apiUrl: string
}

/** How long an access token lives that a client is given, a refresh token that is not used, and a code. */
export interface Lifetimes {
  accessTokenSeconds: number
  refreshTokenSeconds: number
  codeSeconds: number
}

export interface Services {
  addresses: Addresses
  /** Those of what a client is given from now on. */
  lifetimes: (clientId: string) => Lifetimes
  store: Store
  keyRing: KeyRing
  passwords: Passwords
  clock: () => Date
  logger: FastifyBaseLogger
  /** Gets every step, if there is one. */
  observer: Observer | undefined
  /** Adds hooks around all handlers of a listener, if anybody wants to; called before any other is added. */
  atEdge: ((server: FastifyInstance, listener: Step['listener']) => void) | undefined
  /** Where mail lands, if anywhere. */
  mailbox: Mailbox | undefined
  isStopping: () => boolean
  /** Throws when the store cannot be written to; asked often, it looks once a second. */
  probe: () => Promise<void>
  /** Whom failures and waiting places are counted for. */
  sourceOf: (request: FastifyRequest) => string
}
