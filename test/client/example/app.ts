// buildClient of src/client/app.ts as it looks with the example product.
import type { FastifyInstance } from 'fastify'
import { buildServer, type ServerOptions } from '../../../src/client/app.ts'
import type { Config } from '../../../src/client/config.ts'
import { notes, openStore } from './notes.ts'

export async function buildClient(config: Config, options: ServerOptions, file = 'notes.db'): Promise<FastifyInstance> {
  const store = openStore(file)
  const app = await buildServer(config, options, {
    name: 'Notes',
    home: '/notes',
    links: () => [{ href: '/notes', text: 'Your notes' }],
    isReady: store.isReady,
  })

  await app.register(async signedIn => {
    app.signIn.protect(signedIn)
    await signedIn.register(notes, { store })
  })
  return app
}
