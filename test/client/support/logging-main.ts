// Starts the client with a product that logs its own events. Some of these events have the same names as the client's
// events.
import { start } from '../../../src/client/main.ts'
import { logEvent } from '../../../src/client/operations/request-log.ts'
import { smallProduct } from './small-product.ts'
import { buildWith, noSettings, type TestProduct } from './test-product.ts'

const product: TestProduct = {
  ...smallProduct,
  async afterSignIn(_visitor, request) {
    for (const event of ['profile_stored', 'login_bonus', 'login_succeeded', 'session_counted'])
      logEvent(request, event)
  },
  async pages(signedIn, options) {
    await signedIn.register(smallProduct.pages, options)
    signedIn.get('/own', async request => {
      for (const event of ['login_shared', 'session_exported']) logEvent(request, event)
      return 'done'
    })
  },
}

await start(process.env, { settings: noSettings, build: buildWith(product) })
