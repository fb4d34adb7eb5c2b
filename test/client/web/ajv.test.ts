// JSON Schemas check queries and the API's answers. They add missing values that have a default, and change nothing
// else.
import t from 'tap'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { smallApi, smallProduct } from '../support/small-product.ts'

const schema = {
  type: 'object',
  properties: { size: { type: 'number', default: 10 }, name: { type: 'string' } },
  required: ['name'],
  additionalProperties: false,
} as const
const openSchema = { ...schema, additionalProperties: true } as const

t.test('a query and the API’s answers get missing values that have a default, and do not change otherwise', async t => {
  const { browser, client, platform } = await buildTestClient(t, {
    scripts: smallApi,
    product: {
      ...smallProduct,
      async pages(signedIn, options) {
        await signedIn.register(smallProduct.pages, options)
        signedIn.get('/query', { schema: { querystring: openSchema } }, async request => request.query)
        signedIn.get('/strict-query', { schema: { querystring: schema } }, async request => request.query)
        signedIn.get('/answer', async request => request.visitor.api.get('/thing', openSchema))
        signedIn.get('/strict-answer', async request => request.visitor.api.get('/thing', schema))
      },
    },
  })
  await signIn(browser)
  const open = (path: string) => browser.get(path, { site: 'same-origin' })
  const offline = client.signIn.connectionApi('offline')

  t.same((await open('/query?name=a&other=b')).json(), { name: 'a', other: 'b', size: 10 })
  platform.answer('GET /thing', { body: { name: 'a', other: 'b' } })
  t.same((await open('/answer')).json(), { name: 'a', other: 'b', size: 10 })
  t.same(await offline.get('/thing', openSchema), { name: 'a', other: 'b', size: 10 })

  t.equal((await open('/strict-query?name=a&other=b')).statusCode, 400, 'an unknown field must not be removed')
  t.equal((await open('/strict-answer')).statusCode, 502)
  await t.rejects(offline.get('/thing', schema), { code: 'api_unexpected' })

  t.equal((await open('/query?name=a&size=3')).statusCode, 400, 'a string must not become a number')
  platform.answer('GET /thing', { body: { name: 'a', size: '3' } })
  t.equal((await open('/answer')).statusCode, 502)
  await t.rejects(offline.get('/thing', openSchema), { code: 'api_unexpected' })
})

t.test('a validator compiler that a product sets for its routes does not check the API’s answers', async t => {
  const { browser } = await buildTestClient(t, {
    scripts: { ...smallApi, 'GET /thing': { body: { name: 'a', other: 'b' } } },
    product: {
      ...smallProduct,
      async pages(signedIn, options) {
        await signedIn.register(smallProduct.pages, options)
        // This compiler accepts every value, as a compiler for the schemas of another library could accept answers that
        // it does not understand.
        signedIn.setValidatorCompiler(() => value => ({ value }))
        signedIn.get('/good-answer', async request => request.visitor.api.get('/thing', openSchema))
        signedIn.get('/wrong-answer', async request => request.visitor.api.get('/thing', schema))
      },
    },
  })
  await signIn(browser)
  const open = (path: string) => browser.get(path, { site: 'same-origin' })

  t.same((await open('/good-answer')).json(), { name: 'a', other: 'b', size: 10 })
  t.equal((await open('/wrong-answer')).statusCode, 502)
})
