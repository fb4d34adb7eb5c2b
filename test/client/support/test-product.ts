// Describes a product for a test, and builds the client with it.
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { buildServer, type ServerOptions, type SiteOptions } from '../../../src/client/app.ts'
import type { Config } from '../../../src/client/config.ts'
import { defineSettings } from '../../../src/client/read-settings.ts'

/**
 * Settings for a product that needs none. A test with `noSettings` does not depend on the settings of the
 * client's own product.
 */
export const noSettings = defineSettings({ list: [], read: () => ({}) })

export type TestProduct = SiteOptions & {
  /** `buildWith` registers this plugin in the signed-in scope. */
  pages: FastifyPluginAsync<{ config: Config }>
  /** `buildWith` registers this plugin in the public scope. */
  publicPages?: FastifyPluginAsync<{ config: Config }>
}

/** Returns a function that builds the client with this product. `start` of main.ts needs such a function. */
export function buildWith({ pages, publicPages, ...site }: TestProduct) {
  return async (config: Config, options: ServerOptions): Promise<FastifyInstance> => {
    const app = await buildServer(config, options, site)
    if (publicPages) await app.register(publicPages, { config })
    await app.register(async signedIn => {
      app.signIn.protect(signedIn)
      await signedIn.register(pages, { config })
    })
    return app
  }
}
