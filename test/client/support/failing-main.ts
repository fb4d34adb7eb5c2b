// A client whose build function throws an error, or only a string if THROWS_TEXT is set.
import { start } from '../../../src/client/main.ts'
import { noSettings } from './test-product.ts'

await start(process.env, {
  settings: noSettings,
  async build() {
    throw process.env.THROWS_TEXT ? 'a thrown text' : new TypeError('a mistake')
  },
})
