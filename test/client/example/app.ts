// Shows what `buildClient` in src/client/app.ts looks like with the example product.
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { buildServer, type ServerOptions } from '../../../src/client/app.ts'
import type { Config } from '../../../src/client/config.ts'
import { livePage } from './live.ts'
import { notes, openStore } from './notes.ts'
import { offline, type Pool, saveConnection } from './offline.ts'
import type { ProductConfig } from './settings.ts'
import { chooseTexts } from './texts.ts'

/** `pool` is a `Pool` of the package `pg`. Without `pool` there is no offline job. */
export async function buildClient(
  config: Config & { product: ProductConfig },
  options: ServerOptions,
  pool?: Pool,
): Promise<FastifyInstance> {
  const { file, moderators } = config.product
  const store = openStore(file)
  const app = await buildServer(config, options, {
    name: 'Notes',
    home: '/notes',
    links: ({ data }, texts) => [
      { href: '/notes', text: texts.notes.home },
      { href: '/notes/live', text: texts.notes.live },
      ...(data.role === 'moderator' ? [{ href: '/notes/all', text: texts.notes.all }] : []),
    ],
    texts: chooseTexts,
    views: join(import.meta.dirname, 'views'),
    isReady: store.isReady,
    onConnected: pool && (connection => saveConnection(pool, connection)),
    loadSessionData: async ({ userId = '' }) => (moderators.includes(userId) ? { role: 'moderator' } : {}),
  })

  await app.register(async signedIn => {
    app.signIn.protect(signedIn)
    await signedIn.register(notes, { store })
    await signedIn.register(livePage, { store, pool })
    if (pool) await signedIn.register(offline, { store, pool })
  })
  return app
}
