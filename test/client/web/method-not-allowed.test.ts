// If a path has routes, but none of them for the request's method, the client answers 405 with an Allow header. The
// paths of a product can use any syntax that Fastify supports.

import t from 'tap'
import { webTexts } from '../../../src/client/web/texts.ts'
import { buildTestClient } from '../support/build-test-client.ts'
import { smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'

const product: TestProduct = {
  ...smallProduct,
  async pages(signedIn, options) {
    await signedIn.register(smallProduct.pages, options)
    const ok = async () => 'ok'
    signedIn.get('/files/*', ok)
    signedIn.get('/notes/:id.json', ok)
    signedIn.get('/between/:from-:to', ok)
    signedIn.get('/years/:year(^\\d{4}$)', ok)
    signedIn.get('/words/:word?', ok)
    signedIn.get('/mixed/new', ok)
    signedIn.delete('/mixed/:id', ok)
    signedIn.put('/mixed/*', ok)
  },
}

const headers = { 'sec-fetch-site': 'same-origin' }

for (const [url, allow] of [
  ['/files/', 'GET'],
  ['/files/report.pdf', 'GET'],
  ['/files/2026/march/report.pdf?page=2', 'GET'],
  ['/files/2026%2Fmarch', 'GET'],
  ['/notes/1.json', 'GET'],
  ['/between/a-b', 'GET'],
  ['/years/2026', 'GET'],
  ['/words', 'GET'],
  ['/words/one', 'GET'],
  ['/page/1', 'GET'],
  ['/page/one%20two?a=/b/c', 'GET'],
  ['/mixed/new', 'GET, DELETE, PUT'],
  ['/mixed/1', 'DELETE, PUT'],
  ['/mixed/1/2', 'PUT'],
] as const)
  t.test(`AP-20: POST ${url} gets a 405 answer, and the Allow header names the methods of that path`, async t => {
    const { client } = await buildTestClient(t, { product })
    const answer = await client.inject({ method: 'POST', url, headers })
    t.equal(answer.statusCode, 405)
    t.same(String(answer.headers.allow).split(', ').toSorted(), allow.split(', ').toSorted())
    t.match(answer.body, webTexts.errors.wrongMethod)
  })

for (const url of [
  '/files',
  '/filesystem/report.pdf',
  '/notes/1.xml',
  '/between/ab',
  '/years/next',
  '/words/one/two',
  '/page/1/2',
  `/page/${'x'.repeat(201)}`,
  '/nowhere',
  '/nowhere?/files/report.pdf',
])
  t.test(`POST ${url.slice(0, 40)} gets a 404 answer, because no route has that path`, async t => {
    const { client } = await buildTestClient(t, { product })
    const answer = await client.inject({ method: 'POST', url, headers })
    t.equal(answer.statusCode, 404)
    t.equal(answer.headers.allow, undefined)
  })

t.test(
  'if several routes have the same path and different constraints, the Allow header names the methods of all these routes',
  async t => {
    const constrained: TestProduct = {
      ...smallProduct,
      async pages(signedIn, options) {
        await signedIn.register(smallProduct.pages, options)
        for (const host of ['one.test', 'other.test'])
          signedIn.get('/hosts/*', { constraints: { host } }, async () => host)
      },
    }
    const { client } = await buildTestClient(t, { product: constrained })
    const answer = await client.inject({ method: 'POST', url: '/hosts/a/b', headers })
    t.equal(answer.statusCode, 405)
    t.equal(answer.headers.allow, 'GET')
  },
)
