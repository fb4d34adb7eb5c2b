// Everything that the sandbox's code works with. Each function takes only what it needs: `Pick<Services, …>`.
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import type { Observer, Step } from './observe/steps.ts'
import type { Mailbox } from './people/mail.ts'
import type { Passwords } from './people/passwords.ts'
import type { Store } from './store/store.ts'
import type { KeyRing } from './tokens/key-ring.ts'

/** Where browsers and clients reach the listeners, without a trailing slash. `portalUrl` is also the issuer. */
export interface Addresses {
  portalUrl: string
  apiUrl: string
  /** The address of the laboratory. Undefined if the laboratory is off. */
  labUrl?: string | undefined
}

/** How long an access token of a client, an unused refresh token and a code live. */
export interface Lifetimes {
  accessTokenSeconds: number
  refreshTokenSeconds: number
  codeSeconds: number
}

export interface Services {
  addresses: Addresses
  /** The lifetimes of codes and tokens that a client gets from now on. */
  lifetimes: (clientId: string) => Lifetimes
  store: Store
  keyRing: KeyRing
  passwords: Passwords
  clock: () => Date
  logger: FastifyBaseLogger
  /** Gets every step. Undefined without a laboratory. */
  observer: Observer | undefined
  /** Adds hooks around all handlers of a listener. Called before any other hook is added. Undefined without a laboratory. */
  atEdge: ((server: FastifyInstance, listener: Step['listener']) => void) | undefined
  /** Receives mail. Undefined without a laboratory. */
  mailbox: Mailbox | undefined
  isStopping: () => boolean
  /**
   * Throws if the store cannot be written to. The store is probed at most once a second, even if there are more calls.
   */
  probe: () => Promise<void>
  /** The source of a request, for which failures and waiting places are counted. */
  sourceOf: (request: FastifyRequest) => string
}
