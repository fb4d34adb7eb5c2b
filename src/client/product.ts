// What a product tells the rest of the client, and what it is given.
import type { FastifyInstance } from 'fastify'
import type { Config } from './config.ts'
import type { SignInOptions } from './sign-in/sign-in.ts'
import type { Upstream } from './upstream.ts'
import type { Forms } from './web/forms.ts'
import type { Brand } from './web/views.ts'

/** What the client is for; the rest of it is the same for every product. */
export type Product = Brand &
  Pick<SignInOptions, 'afterSignIn' | 'beforeSignOut'> & {
    /** Whether it can serve. Answers at once: load balancers ask every few seconds. Throwing is a no. */
    isReady?: () => boolean
    /** Registers the pages for signed-in visitors. The client waits for it, and does not start if it fails. */
    pages: (signedIn: FastifyInstance, parts: Parts) => void | Promise<void>
  }

/** `upstream`: to the API. */
export type Parts = Forms & { config: Config; upstream: Upstream; clock: () => Date }
