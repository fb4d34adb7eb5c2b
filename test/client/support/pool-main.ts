// The client's process with a product that keeps something open, like a pool of database connections.
import { setTimeout } from 'node:timers/promises'
import { start } from '../../../src/client/main.ts'
import { smallProduct } from './small-product.ts'
import { buildWith, noSettings } from './test-product.ts'

/** This timer keeps the process alive until the timer is cleared. */
const pool = setInterval(() => {}, 1_000)

await start(process.env, {
  settings: noSettings,
  build: buildWith({
    ...smallProduct,
    async pages(app, options) {
      await app.register(smallProduct.pages, options)
      app.addHook('onClose', async () => {
        app.log.info({ event: 'pool_closing' })
        await setTimeout(50)
        clearInterval(pool)
        app.log.info({ event: 'pool_closed' })
      })
    },
  }),
})
