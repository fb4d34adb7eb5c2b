// A product can have a POST route that no form of a page uses. A product can also add a JSON parser to its own scope.

import t, { type Test } from 'tap'
import { webTexts } from '../../../src/client/web/texts.ts'
import { buildTestClient, publicUrl, signIn } from '../support/build-test-client.ts'
import { setCookieLines } from '../support/read-response.ts'
import { smallApi, smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'

const product: TestProduct = {
  ...smallProduct,
  async pages(signedIn, options) {
    await signedIn.register(smallProduct.pages, options)
    await signedIn.register(async scope => {
      scope.addContentTypeParser(
        'application/json',
        { parseAs: 'string' },
        scope.getDefaultJsonParser('error', 'error'),
      )
      scope.post<{ Body: { name: string } }>('/things.json', async (request, reply) => {
        const thing = await request.visitor.api.post('/things', { note: request.body.name }, { type: 'object' })
        return reply.code(201).send({ thing, userId: request.visitor.userId })
      })
    })
  },
  async publicPages(app) {
    app.post('/feedback', async (_request, reply) => reply.redirect('/', 303))
  },
}

async function start(t: Test) {
  const test = await buildTestClient(t, {
    product,
    scripts: { ...smallApi, 'POST /things': { status: 201, body: { id: 1 } } },
  })
  await signIn(test.browser)
  const post = (url: string, body: string, headers: Record<string, string>, cookie = test.browser.cookieHeader()) =>
    test.client.inject({ method: 'POST', url, payload: body, headers: { cookie, ...headers } })
  return { ...test, post }
}

const json = { 'content-type': 'application/json', accept: 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const own = { 'sec-fetch-site': 'same-origin', origin: publicUrl }

t.test('a script of this site can send JSON to a route of the product', async t => {
  const { post, platform } = await start(t)
  const answer = await post('/things.json', '{"name":"one"}', { ...json, ...own })
  t.equal(answer.statusCode, 201)
  t.same(answer.json(), { thing: { id: 1 }, userId: 'visitor-1' })
  t.equal(platform.received('POST /things')[0]?.body, '{"note":"one"}')
})

const refused: Record<string, Record<string, string>> = {
  'another site': { 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' },
  'a sibling host': { 'sec-fetch-site': 'same-site', origin: 'http://localhost:4000' },
  'a page in an old browser on another site': { origin: 'https://evil.test' },
  'an unknown sender': {},
}
for (const [what, headers] of Object.entries(refused)) {
  t.test(`PG-01: a POST that does not belong to a form is refused if it comes from ${what}`, async t => {
    const { post, platform } = await start(t)
    const before = platform.received().length
    for (const [url, body, type] of [
      ['/things.json', '{"name":"one"}', json],
      ['/feedback', 'text=hello', form],
    ] as const) {
      const answer = await post(url, body, { ...type, ...headers })
      t.equal(answer.statusCode, 403, url)
      t.match(answer.body, webTexts.errors.fromAnotherSite, url)
      t.same(setCookieLines(answer), [], url)
    }
    t.equal(platform.received().length, before)
  })
}

t.test('a public POST that does not belong to a form works without a session', async t => {
  const { post } = await start(t)
  t.equal((await post('/feedback', 'text=hello', { ...form, ...own }, '')).statusCode, 303)
})

t.test('JSON is accepted only in the scope that has the parser', async t => {
  const { post } = await start(t)
  for (const url of ['/note', '/feedback', '/logout']) {
    const answer = await post(url, '{}', { ...json, ...own })
    t.equal(answer.statusCode, 415, url)
    t.equal(answer.json().error.code, 'bad_request', url)
  }
})

t.test('a body that is not JSON gets a 400 answer, which does not repeat the body', async t => {
  const { post, platform } = await start(t)
  for (const body of ['{"name": canary', '', '{"__proto__":{"canary":1}}']) {
    const answer = await post('/things.json', body, { ...json, ...own })
    t.equal(answer.statusCode, 400, body)
    t.match(answer.json().error, { code: 'bad_request', message: webTexts.errors.byStatus[400] }, body)
    t.notMatch(answer.body, 'canary', body)
  }
  t.same(platform.received('POST /things'), [])
})

t.test('without a session, a POST that does not belong to a form is refused and changes nothing', async t => {
  const { post, platform } = await start(t)
  const answer = await post('/things.json', '{"name":"one"}', { ...json, ...own }, '')
  t.equal(answer.statusCode, 401)
  t.equal(answer.json().error.code, 'sign_in_required')
  t.same(platform.received('POST /things'), [])
})
