// The client's process with the small product.
import { start } from '../../../src/client/main.ts'
import { smallProduct } from './small-product.ts'
import { buildWith } from './test-product.ts'

await start(process.env, buildWith(smallProduct))
