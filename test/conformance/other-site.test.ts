// Tests the other website: every browser and every client on this machine can reach it.
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { startOtherSite } from '../../src/conformance/other-site.ts'
import { hasIpv6 } from '../support/start-conditions.ts'

t.test('the other website answers at every loopback address, whichever address a name resolves to', async t => {
  const site = await startOtherSite('http://localhost:3000')
  t.teardown(() => site.close())
  const { port, hostname } = new URL(site.url('/'))
  t.equal(hostname, '127.0.0.1')
  for (const host of ['127.0.0.1', 'localhost', ...(hasIpv6 ? ['[::1]'] : [])])
    t.match(await (await fetch(`http://${host}:${port}/from-${host}`)).text(), 'elsewhere', host)
  t.equal(site.arrived('/from-').length, hasIpv6 ? 3 : 2, 'the requests at all addresses are recorded')
})

t.test('the other website also starts on a machine without IPv6', async t => {
  // No machine has this address (RFC 5737). In the same way, a machine without IPv6 does not have the address ::1.
  const site = await startOtherSite('http://localhost:3000', '192.0.2.1')
  t.teardown(() => site.close())
  t.match(await (await fetch(site.url('/'))).text(), 'elsewhere')
})

t.test('if a client ends its connection in the middle of a body, the other website still answers', async t => {
  const site = await startOtherSite('http://localhost:3000')
  t.teardown(() => site.close())
  const rejections: unknown[] = []
  const note = (error: unknown) => rejections.push(error)
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  const socket = connect(Number(new URL(site.url('/')).port), '127.0.0.1')
  // The website answers "100 Continue" when it begins to read the body.
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\nhalf')
  await once(socket, 'data')
  socket.destroy()
  t.match(await (await fetch(site.url('/'))).text(), 'elsewhere')
  t.same(rejections, [])
})

t.test('an address of the same site has the scheme and the host of the client', async t => {
  const site = await startOtherSite('https://app.example:8443')
  t.teardown(() => site.close())
  const { protocol, hostname, port } = new URL(site.url('/', 'same-site'))
  t.same([protocol, hostname], ['https:', 'app.example'])
  t.not(port, '8443')
  t.match(site.url('/'), 'http://127.0.0.1:')
})
