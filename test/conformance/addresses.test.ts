// Tests the functions that compare and build addresses of the client.
import t from 'tap'
import { leadsTo, withQuery } from '../../src/conformance/steps/addresses.ts'

t.test('an address leads to a path if it has the path and all its parameters', async t => {
  const wanted = 'http://localhost:3000/index.php?action=login'
  for (const address of [wanted, `${wanted}&returnTo=/`, 'http://localhost:3000/index.php?returnTo=/&action=login#top'])
    t.ok(leadsTo(address, wanted), address)
  for (const address of [
    'http://localhost:3000/index.php',
    'http://localhost:3000/index.php?action=logout',
    'http://localhost:3000/?action=login',
    'http://localhost:4000/index.php?action=login',
    'not an address',
  ])
    t.notOk(leadsTo(address, wanted), address)
  t.ok(leadsTo('http://localhost:3000/login?returnTo=/', 'http://localhost:3000/login'))
})

t.test('parameters are added to a path with or without a query', async t => {
  t.equal(withQuery('/login', { returnTo: '/a b' }), '/login?returnTo=%2Fa+b')
  t.equal(withQuery('/index.php?action=login', { returnTo: '/' }), '/index.php?action=login&returnTo=%2F')
  t.equal(withQuery('/login', 'x=%0d%0a'), '/login?x=%0d%0a')
})
