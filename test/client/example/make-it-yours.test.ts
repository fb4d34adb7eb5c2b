// The guide's example works, and what the guide shows and lists is what is there.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { readForm, textOf } from '../support/read-form.ts'
import { createProduct, openNotes } from './notes.ts'

const read = (path: string) => readFileSync(path, 'utf8')
const guide = read('docs/make-it-yours.md')

async function build(t: Test) {
  const file = join(t.testdir(), 'notes.db')
  const scripts = { 'GET /apps/v1': { body: { ItemList: [{}, {}] } } }
  return { file, ...(await buildTestClient(t, { product: createProduct(file), scripts })) }
}

t.test('the example saves a note once, under who is signed in, and shows it beside what the API tells', async t => {
  const { browser, file } = await build(t)
  await signIn(browser)
  const form = readForm(await browser.get('/notes/new', { site: 'same-origin' }), '/notes/new')
  t.equal((await browser.post('/notes/new', { ...form, note: '' })).statusCode, 422)
  for (const _ of [1, 2]) t.equal((await browser.post('/notes/new', { ...form, note: 'milk' })).statusCode, 303)
  t.match(textOf(await browser.get('/notes', { site: 'same-origin' })), '2 things. milk')
  const kept = openNotes(file)
  t.same([kept.list('visitor-1'), kept.list('visitor-2')], [['milk'], []])
  kept.close()
})

t.test('what was typed into the example outlives the session', async t => {
  const { browser } = await build(t)
  await signIn(browser)
  const form = readForm(await browser.get('/notes/new', { site: 'same-origin' }), '/notes/new')
  for (const name of browser.names()) browser.cookies.delete(name)
  t.equal((await browser.post('/notes/new', { ...form, note: 'bread' })).statusCode, 401)
  await signIn(browser, '/notes/new')
  t.equal(readForm(await browser.get('/notes/new', { site: 'same-origin' }), '/notes/new').note, 'bread')
})

t.test('a product that is not ready, or cannot say, takes the replica out; its store ends with the client', async t => {
  const product = createProduct(join(t.testdir(), 'notes.db'))
  let isReady = product.isReady!
  const { client } = await buildTestClient(t, { product: { ...product, isReady: () => isReady() } })
  const ask = async () => {
    const answer = await client.inject({ url: '/health/ready' })
    return [answer.statusCode, answer.json().status]
  }
  t.same(await ask(), [200, 'ok'])
  isReady = () => false
  t.same(await ask(), [503, 'not ready'])
  isReady = () => {
    throw new Error('the disk is gone')
  }
  t.same(await ask(), [503, 'not ready'])
  await client.close()
  t.equal(product.isReady!(), false)
})

t.test('every code block of the guide is in the example, as it stands', async t => {
  const withoutIndent = (text: string) => text.replace(/^ +/gm, '').trim()
  const example = withoutIndent(read('test/client/example/notes.ts'))
  const blocks = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block]) => withoutIndent(block!))
  t.ok(blocks.length >= 4)
  for (const block of blocks) t.ok(example.includes(block), block)
})

t.test('the guide lists every place that is marked as yours, and no other', async t => {
  // Once the product is somebody's own, its folder is not the guide's to list.
  const isOwn = !guide.includes('npm run eject')
  const isOfProduct = (path: string) =>
    /^src\/client\/[^/]+\//.test(path) && existsSync(join(dirname(path), 'product.ts'))
  const marked = globSync(['src/client/**/*.ts', 'views/client/**/*.{eta,css}']).filter(
    path => read(path).includes('Yours:') && !(isOwn && isOfProduct(path)),
  )
  const [, list = ''] = guide.match(/\n## What to change first\n([\s\S]*?)\n## /) ?? []
  t.same([...list.matchAll(/`((?:src|views)\/[\w./-]+\.\w+)`/g)].map(([, path]) => path).sort(), marked.sort())
})
