// The client's process with the small product.
import { start } from '../../../src/client/main.ts'
import { smallProduct } from './small-product.ts'
import { buildWith, noSettings } from './test-product.ts'

const program = { settings: noSettings, build: buildWith(smallProduct) }
await start(process.env, program, process.argv.includes('--dev'))
