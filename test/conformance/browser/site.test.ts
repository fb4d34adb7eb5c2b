// Tests which hosts belong to the same site, according to the list of public suffixes.
import t from 'tap'
import { parseSetCookie } from '../../../src/conformance/browser/set-cookie.ts'
import { isPublicSuffix, registrableDomain, relate } from '../../../src/conformance/browser/site.ts'

t.test(
  'two registrable domains with the same public suffix are two sites, and two hosts of one domain are one site',
  async t => {
    for (const [one, other, relation] of [
      ['https://a.example.co.uk', 'https://b.example.co.uk/', 'same-site'],
      ['https://a.co.uk', 'https://b.co.uk/', 'cross-site'],
      ['https://a.github.io', 'https://b.github.io/', 'cross-site'],
      ['https://a.example.com', 'https://example.com:8443/', 'same-site'],
      ['https://example.com', 'http://example.com/', 'cross-site'],
      ['http://localhost:3000', 'http://localhost:4000/', 'same-site'],
      ['http://localhost:3000', 'http://127.0.0.1:3000/', 'cross-site'],
      ['http://[::1]:3000', 'http://[::1]:4000/', 'same-site'],
    ] as const)
      t.equal(relate(one, new URL(other)), relation, `${one} and ${other}`)
  },
)

t.test('a public suffix, a single label and an IP address are each a separate site', async t => {
  for (const host of ['co.uk', 'github.io', 'localhost', '127.0.0.1', '[::1]']) t.equal(registrableDomain(host), host)
  t.ok(isPublicSuffix('co.uk'))
  t.ok(isPublicSuffix('localhost'))
  t.notOk(isPublicSuffix('example.co.uk'))
  t.notOk(isPublicSuffix('127.0.0.1'))
})

t.test('the browser refuses a cookie for a public suffix, and keeps a cookie for the domain of the host', async t => {
  const from = new URL('https://www.a.co.uk/')
  t.equal(parseSetCookie('name=value; Domain=co.uk', from), undefined)
  t.match(parseSetCookie('name=value; Domain=a.co.uk', from), { domain: 'a.co.uk', isHostOnly: false })
})
