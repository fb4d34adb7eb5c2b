// buildClient of src/client/app.ts as it looks with the example product.
import type { FastifyInstance } from 'fastify'
import { buildServer, type ServerOptions } from '../../../src/client/app.ts'
import type { Config } from '../../../src/client/config.ts'
import { notes, openStore } from './notes.ts'
import type { ProductConfig } from './settings.ts'
import { chooseTexts } from './texts.ts'

export async function buildClient(
  config: Config & { product: ProductConfig },
  options: ServerOptions,
): Promise<FastifyInstance> {
  const { file, moderators } = config.product
  const store = openStore(file)
  const app = await buildServer(config, options, {
    name: 'Notes',
    home: '/notes',
    links: ({ data }, texts) => [
      { href: '/notes', text: texts.notes.home },
      ...(data.role === 'moderator' ? [{ href: '/notes/all', text: texts.notes.all }] : []),
    ],
    texts: chooseTexts,
    isReady: store.isReady,
    loadSessionData: async ({ userId = '' }) => (moderators.includes(userId) ? { role: 'moderator' } : {}),
  })

  await app.register(async signedIn => {
    app.signIn.protect(signedIn)
    await signedIn.register(notes, { store })
  })
  return app
}
