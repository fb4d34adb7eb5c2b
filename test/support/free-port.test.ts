// Tests that the functions for free ports notice a port that another program uses.
import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { findFreePort, isFree } from './free-port.ts'

t.test('isFree() resolves to false while another program listens on the port, and to true afterwards', async t => {
  const port = await findFreePort()
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.equal(await isFree(port), false)
  await once(server.close(), 'close')
  t.equal(await isFree(port), true)
})
