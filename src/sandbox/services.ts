// The services that the sandbox's code uses, such as the store and the clock. Each function takes only the services
// that it needs: `Pick<Services, …>`.
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Observer, Step } from './observe/steps.ts'
import type { Passwords } from './people/hash-passwords.ts'
import type { Mailbox } from './people/mail.ts'
import type { Store } from './store/store.ts'
import type { KeyRing } from './tokens/key-ring.ts'

/**
 * The origins at which browsers and clients reach the listeners, without a trailing slash. `portalUrl` is also the
 * issuer.
 */
export interface Addresses {
  portalUrl: string
  apiUrl: string
  /** The address of the laboratory. Undefined if the laboratory is off. */
  labUrl?: string | undefined
}

/** How long a client's access token, an unused refresh token and a code are valid. */
export interface Lifetimes {
  accessTokenSeconds: number
  refreshTokenSeconds: number
  codeSeconds: number
}

export interface Services {
  addresses: Addresses
  /** Returns the lifetimes of the codes and tokens that the portal now issues to a client. */
  lifetimes: (clientId: string) => Lifetimes
  store: Store
  keyRing: KeyRing
  passwords: Passwords
  clock: () => Date
  logger: FastifyBaseLogger
  /** Receives every step. Undefined if nobody observes the sandbox. */
  observer: Observer | undefined
  /**
   * Adds hooks that run around all handlers of a listener. Call this directly after createServer. Undefined if there is
   * no laboratory.
   */
  addFaults: ((server: FastifyInstance, listener: Step['listener']) => void) | undefined
  /** Receives mail. Undefined if there is no laboratory. */
  mailbox: Mailbox | undefined
  isStopping: () => boolean
  /**
   * Throws if nothing can be written to the store. The store is probed at most once a second, even if this function is
   * called more often.
   */
  probe: () => Promise<void>
  /** The addresses and networks of proxies whose X-Forwarded-For header is trusted. */
  trustedProxies: string[]
}
