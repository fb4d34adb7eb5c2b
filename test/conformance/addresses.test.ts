// Tests the functions that compare and build addresses.
import t from 'tap'
import { readDocument } from '../../src/conformance/browser/page.ts'
import { formLeadsTo, isAtOrigin, leadsTo, namesAddress, withQuery } from '../../src/conformance/steps/addresses.ts'

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

t.test('a form leads to the address that a browser opens when a visitor sends the form', async t => {
  const field = '<input type="hidden" name="action" value="logout">'
  const wanted = 'http://localhost:3000/index.php?action=logout'
  const leads = (html: string) => {
    const { forms } = readDocument('http://localhost:3000/', new Headers({ 'content-type': 'text/html' }), html)
    return formLeadsTo(forms[0]!, wanted)
  }
  t.ok(leads(`<form method="get" action="/index.php">${field}</form>`))
  t.ok(leads(`<form method="post" action="/index.php?action=logout"></form>`))
  t.notOk(leads(`<form method="post" action="/index.php">${field}</form>`))
  t.notOk(
    leads('<form method="get" action="/index.php?action=logout"></form>'),
    'the browser replaces the query of a GET form with the fields',
  )
  t.notOk(leads('<form method="get" action="http://[">'), 'the address is broken')
})

t.test('parameters are added to a path with or without a query', async t => {
  t.equal(withQuery('/login', { returnTo: '/a b' }), '/login?returnTo=%2Fa+b')
  t.equal(withQuery('/index.php?action=login', { returnTo: '/' }), '/index.php?action=login&returnTo=%2F')
  t.equal(withQuery('/login', 'x=%0d%0a'), '/login?x=%0d%0a')
})

t.test('an address with a longer port or host is not at the origin', async t => {
  const origin = 'http://127.0.0.1:4621'
  t.ok(isAtOrigin(`${origin}/apps/v1?limit=1`, origin))
  for (const address of ['http://127.0.0.1:46213/', 'http://127.0.0.1:4621.evil.example/', '/apps/v1', undefined])
    t.notOk(isAtOrigin(address, origin), `${address}`)
})

t.test('a string names an address only if the address is not the beginning of a longer one', async t => {
  const address = 'http://127.0.0.1:4621'
  for (const text of [
    address,
    `fetch(${address}/apps/v1) failed`,
    `No answer from ${address}.`,
    `${address}0 ${address}`,
  ])
    t.ok(namesAddress(text, address), text)
  for (const text of ['', `${address}3/typed`, `${address}.evil.example`, `${address}-a`])
    t.notOk(namesAddress(text, address), text)
})
