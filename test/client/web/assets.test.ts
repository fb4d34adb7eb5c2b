// Tests that the client serves all files of the assets folders. Each file has its content type, and an address that
// changes with its content.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { buildTestClient } from '../support/build-test-client.ts'
import { smallProduct } from '../support/small-product.ts'

/**
 * Builds a client whose product has these files. The product's page shows the address of the asset that the query
 * names.
 */
function start(t: Test, files: Record<string, string>) {
  const views = t.testdir()
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(views, name, '..'), { recursive: true })
    writeFileSync(join(views, name), text)
  }
  return buildTestClient(t, {
    product: {
      ...smallProduct,
      views,
      async publicPages(app) {
        app.get<{ Querystring: { name: string } }>('/asset', (request, reply) =>
          reply.page('asset', { title: 'An asset', name: request.query.name }),
        )
      },
    },
  })
}

const page = '<%= it.asset(it.name) %>'

t.test('every file of the product is served with its content type, and browsers can keep it for a year', async t => {
  const { client } = await start(t, {
    'asset.eta': page,
    'assets/live.js': 'let live',
    'assets/photos/car.png': 'png',
    'assets/photos/car.webp': 'webp',
    'assets/names.json': '{}',
    'assets/.DS_Store': 'hidden',
  })
  for (const [name, type] of [
    ['live.js', 'text/javascript; charset=utf-8'],
    ['photos/car.png', 'image/png'],
    ['photos/car.webp', 'image/webp'],
    ['names.json', 'application/json; charset=utf-8'],
    ['style.css', 'text/css; charset=utf-8'],
  ] as const) {
    const { body: address } = await client.inject(`/asset?name=${name}`)
    t.match(address, new RegExp(`^/assets/${name.replace('.', '\\.[0-9a-f]{12}\\.')}$`))
    const { statusCode, headers } = await client.inject(address)
    t.equal(statusCode, 200, name)
    t.equal(headers['content-type'], type)
    t.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
    t.equal(headers['x-content-type-options'], 'nosniff')
  }
  t.equal((await client.inject('/assets/.DS_Store')).statusCode, 404)
})

t.test('a file or template of the product replaces the client’s file or template of the same name', async t => {
  const { client } = await start(t, {
    'asset.eta': page,
    'home.eta': 'Our own start page',
    'assets/style.css': '/* ours */',
  })
  t.equal((await client.inject('/')).body, 'Our own start page')
  const { body: address } = await client.inject('/asset?name=style.css')
  t.equal((await client.inject(address)).body, '/* ours */')
})

t.test('if a template names a file that does not exist, the page fails and the log has the name', async t => {
  const { client, log } = await start(t, { 'asset.eta': page })
  t.equal((await client.inject('/asset?name=stile.css')).statusCode, 500)
  t.match(
    log.find(line => JSON.parse(line).event === 'internal'),
    'There is no file stile.css in ',
  )
})

t.test('if the content type of a file is unknown, the client does not start, and the error names the file', async t => {
  await t.rejects(start(t, { 'assets/tool.exe': '' }), { message: /^The content type of .*tool\.exe is unknown\. / })
})
