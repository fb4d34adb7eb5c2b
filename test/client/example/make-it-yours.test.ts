// The example product of docs/make-it-yours.md works, its code is in the guide, and the guide lists the right files.
import { randomBytes } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { readConfig } from '../../../src/client/config.ts'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { buildClientAsItIs, buildTestClient, signIn } from '../support/build-test-client.ts'
import { faultOf, linksOf, readForm, textOf } from '../support/read-form.ts'
import { smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'
import { buildClient } from './app.ts'
import { hello } from './hello.ts'
import { notes, openStore } from './notes.ts'
import { productSettings } from './settings.ts'
import { chooseTexts, notesTexts } from './texts.ts'

const read = (path: string) => readFileSync(path, 'utf8')
const guide = read('docs/make-it-yours.md')

async function buildExample(t: Test, moderators: string[] = []) {
  const file = join(t.testdir(), 'notes.db')
  return {
    file,
    ...(await buildClientAsItIs(t, {
      build: (config, options) => buildClient({ ...config, product: { file, moderators } }, options),
      scripts: { 'GET /apps/v1': { body: { ItemList: [{}, {}] } } },
    })),
  }
}

t.test('the first page that the guide builds tells signed-in visitors how many applications they have', async t => {
  const product = { name: 'Hello', home: '/hello', links: () => [], pages: hello }
  const scripts = { 'GET /apps/v1': { body: { ItemList: [{}, {}] } } }
  const { browser } = await buildTestClient(t, { product, scripts })
  await signIn(browser)
  t.match(textOf(await browser.get('/hello', { site: 'same-origin' })), 'You have 2 applications.')
})

t.test(
  'a form that is sent twice saves one note for the visitor who sent it, and the page shows the note together with data from the API',
  async t => {
    const { browser, file } = await buildExample(t)
    await signIn(browser)
    const form = readForm(await browser.get('/notes/new', { site: 'same-origin' }), '/notes/new')
    const refused = await browser.post('/notes/new', { ...form, note: '' })
    t.equal(refused.statusCode, 422)
    t.match(textOf(refused), notesTexts.form.nothingTyped)
    for (const _ of [1, 2]) t.equal((await browser.post('/notes/new', { ...form, note: 'milk' })).statusCode, 303)
    t.match(textOf(await browser.get('/notes', { site: 'same-origin' })), notesTexts.notes(2, 'milk'))
    const changed = await browser.post('/notes/new', { ...form, note: 'bread' })
    t.equal(changed.statusCode, 409)
    t.match(textOf(changed), notesTexts.form.used)
    t.equal(readForm(changed, '/notes/new').note, 'bread')
    const store = openStore(file)
    t.same([store.find('visitor-1', ''), store.find('visitor-2', '')], [['milk'], []])
    store.close()
  },
)

t.test(
  'a setting names the moderators, who can see all notes; other visitors do not see the link, and get a 403 answer',
  async t => {
    const { browser, file } = await buildExample(t, ['visitor-1'])
    const store = openStore(file)
    store.add('visitor-2', 'bread')
    store.close()
    await signIn(browser)
    const page = await browser.get('/notes/all', { site: 'same-origin' })
    t.equal(page.statusCode, 200)
    t.match(textOf(page), 'bread')
    t.ok(linksOf(page).includes('/notes/all'))

    const { browser: other } = await buildExample(t, ['visitor-2'])
    await signIn(other)
    t.equal((await other.get('/notes/all', { site: 'same-origin' })).statusCode, 403)
    t.notOk(linksOf(await other.get('/notes', { site: 'same-origin' })).includes('/notes/all'))
  },
)

t.test('the settings of the example have defaults, and one setting names the moderators', async t => {
  const environment = {
    LOGIN_URL: 'https://portal.test',
    API_URL: 'https://api.test',
    CLIENT_ID: 'notes',
    CLIENT_SECRET: 'a-credential-for-tests',
    COOKIE_KEYS: randomBytes(32).toString('base64url'),
  }
  t.same(readConfig(environment, productSettings).product, { file: 'data/notes.db', moderators: [] })
  const { product } = readConfig({ ...environment, NOTES_MODERATORS: 'ann,ben' }, productSettings)
  t.same(product.moderators, ['ann', 'ben'])
})

t.test(
  'the query of the list is checked against its schema, and the list shows only the notes that match the query',
  async t => {
    const { browser, file } = await buildExample(t)
    await signIn(browser)
    const store = openStore(file)
    for (const note of ['milk', 'bread']) store.add('visitor-1', note)
    store.close()
    const page = await browser.get('/notes?q=brea', { site: 'same-origin' })
    t.match(textOf(page), notesTexts.notes(2, 'bread'))
    t.notMatch(textOf(page), 'milk')
    t.equal((await browser.get('/notes?q=a&q=b', { site: 'same-origin' })).statusCode, 400)
  },
)

t.test('a POST with JSON is parsed, checked, and answered in JSON', async t => {
  const { client, browser } = await buildExample(t)
  await signIn(browser)
  const post = (payload: string, headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' }) =>
    client.inject({
      method: 'POST',
      url: '/notes.json',
      payload,
      headers: {
        cookie: browser.cookieHeader(),
        accept: 'application/json',
        'content-type': 'application/json',
        ...headers,
      },
    })
  const saved = await post('{"note":"milk"}')
  t.equal(saved.statusCode, 201)
  t.same(saved.json(), { notes: ['milk'] })
  for (const wrong of ['{', '{"note":1}', '{"note":""}', '{}']) {
    const refused = await post(wrong)
    t.equal(refused.statusCode, 400)
    t.match(refused.json(), { error: { code: 'bad_request', requestId: String } })
  }
  t.equal((await post('{"note":"bread"}', { 'sec-fetch-site': 'cross-site' })).statusCode, 403)
  const stranger = await post('{"note":"bread"}', { 'sec-fetch-site': 'same-origin', cookie: '' })
  t.equal(stranger.statusCode, 401)
  t.match(textOf(await browser.get('/notes', { site: 'same-origin' })), /Notes: milk$|Notes: milk /)
})

t.test('all text of the product and every error of the login is translated', async t => {
  const german = chooseTexts({ headers: { 'accept-language': 'de' } } as FastifyRequest)
  for (const [english, translated] of [
    [notesTexts, german.notes],
    [signInTexts.loginErrors, german.signIn?.loginErrors],
  ] as const)
    t.same(untranslated(english, translated), [])
})

/** Returns the names of the texts that are missing or the same as in English. */
function untranslated(english: object, translated: object = {}): string[] {
  return Object.entries(english).flatMap(([name, text]) => {
    const other = (translated as Record<string, unknown>)[name]
    if (typeof text === 'object') return untranslated(text, other as object).map(inner => `${name}.${inner}`)
    return other === undefined || other === text ? [name] : []
  })
}

t.test('the product replaces texts, and offers German to browsers that prefer it', async t => {
  const { client, browser } = await buildExample(t)
  t.match(textOf(await browser.get('/')), 'Keep your notes in one place.')
  const inGerman = { headers: { 'accept-language': 'de-AT,de;q=0.9,en;q=0.8' } }
  t.match((await browser.get('/nowhere', inGerman)).body, '<html lang="de">')
  t.match(textOf(await browser.get('/nowhere', inGerman)), 'Unter dieser Adresse gibt es keine Seite.')
  const answer = await client.inject({ url: '/notes', headers: { ...inGerman.headers, accept: 'application/json' } })
  t.match(answer.json().error, { code: 'sign_in_required', message: 'Bitte melden Sie sich wieder an.' })

  await signIn(browser)
  const get = (url: string) => browser.get(url, { site: 'same-origin', ...inGerman })
  t.match(textOf(await get('/notes')), '2 Anwendungen. Notizen:')
  t.match(textOf(await get('/notes/live')), 'Eine Textdatei mit einer Notiz pro Zeile')
  const form = readForm(await get('/notes/new'), '/notes/new')
  const refused = await browser.post('/notes/new', { ...form, note: '' }, inGerman)
  t.match(textOf(refused, 'problem'), 'Bitte verbessern Sie die markierten Felder.')
  t.equal(faultOf(refused, 'note'), 'Schreiben Sie etwas.')
  t.match((await browser.get('/notes', { headers: { 'accept-language': 'fr,en,de' } })).body, '<html lang="en">')
})

t.test(
  'the live page loads its script, and the content security policy allows the script to call this site',
  async t => {
    const { browser } = await buildExample(t)
    await signIn(browser)
    const page = await browser.get('/notes/live', { site: 'same-origin' })
    const [, script = ''] = /src="(\/assets\/live\.[0-9a-f]+\.js)"/.exec(page.body) ?? []
    t.match((await browser.get(script)).body, 'new EventSource(')
    t.match(page.headers['content-security-policy'], "connect-src 'self'")
  },
)

t.test('the event stream contains every new note, and ends when the server stops', async t => {
  const { client, browser, file } = await buildExample(t)
  await signIn(browser)
  const origin = await client.listen({ host: '127.0.0.1', port: 0 })
  const headers = { cookie: browser.cookieHeader(), accept: 'text/event-stream' }
  const stream = await fetch(`${origin}/notes/events`, { headers })
  t.equal(stream.headers.get('content-type'), 'text/event-stream')
  const events = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  t.match((await events.read()).value, /^retry: 1000\ndata: \[\]\n\n$/)
  t.equal((await browser.fetch('/notes.json', { method: 'POST', json: { note: 'milk' } })).statusCode, 201)
  t.equal((await events.read()).value, 'data: ["milk"]\n\n')
  const closed = client.close()
  t.equal((await events.read()).done, true)
  await closed
  t.ok(file)
})

t.test('if the session has ended, every route answers a request from a script with 401 and an error code', async t => {
  const { browser } = await buildExample(t)
  const json = { method: 'POST', json: { note: 'milk' } } as const
  for (const answer of [
    await browser.fetch('/notes.json'),
    await browser.fetch('/notes.json', json),
    await browser.fetch('/notes/events', { headers: { accept: 'text/event-stream' } }),
    await browser.fetch('/notes/import', { method: 'POST', form: new FormData() }),
  ]) {
    t.equal(answer.statusCode, 401)
    t.equal(answer.json().error.code, 'sign_in_required')
  }
})

t.test('an imported file may be longer than the usual limit, and each of its lines becomes a note', async t => {
  const { browser } = await buildExample(t)
  await signIn(browser)
  const send = (text: string) => {
    const form = new FormData()
    form.set('file', new Blob([text]), 'notes.txt')
    return browser.fetch('/notes/import', { method: 'POST', form })
  }
  t.same((await send(`milk\n\n${'x'.repeat(100_000)}\n`)).json(), { added: 2 })
  t.match((await browser.fetch('/notes.json')).json().notes, ['milk', /^x+$/])
  t.equal((await send('x'.repeat(5_000_001))).statusCode, 413)
  const none = await browser.fetch('/notes/import', { method: 'POST', form: new FormData() })
  t.equal(none.json().error.code, 'no_file')
})

t.test('if the session ends, the form keeps what was typed until the visitor has signed in again', async t => {
  const { browser } = await buildExample(t)
  await signIn(browser)
  const form = readForm(await browser.get('/notes/new', { site: 'same-origin' }), '/notes/new')
  for (const name of browser.names()) browser.cookies.delete(name)
  t.equal((await browser.post('/notes/new', { ...form, note: 'bread' })).statusCode, 401)
  await signIn(browser, '/notes/new')
  t.equal(readForm(await browser.get('/notes/new', { site: 'same-origin' }), '/notes/new').note, 'bread')
})

t.test('the store opens before the client is ready, and closes with the client', async t => {
  const { client } = await buildExample(t)
  t.equal((await client.inject({ url: '/health/ready' })).statusCode, 200)

  const store = openStore(join(t.testdir(), 'notes.db'))
  const pages: TestProduct['pages'] = async app => void (await app.register(notes, { store }))
  const product = { name: 'Notes', home: '/notes', links: () => [], isReady: store.isReady, pages }
  const other = await buildTestClient(t, { product })
  t.equal(store.isReady(), true)
  await other.client.close()
  t.equal(store.isReady(), false)
})

t.test('while isReady returns false or throws, /health/ready answers 503', async t => {
  let isReady = () => true
  const { client } = await buildTestClient(t, { product: { ...smallProduct, isReady: () => isReady() } })
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
})

t.test('every code block of the guide is in the example', async t => {
  const withoutIndent = (text: string) => text.replace(/^ +/gm, '').trim()
  const example = withoutIndent(
    globSync('test/client/example/{*.ts,views/**/*.js}', { exclude: ['**/*.test.ts'] })
      .map(read)
      .join('\n'),
  )
  const blocks = [...guide.matchAll(/```(?:ts|js)\n([\s\S]*?)```/g)].map(([, block]) => withoutIndent(block!))
  t.ok(blocks.length >= 4)
  for (const block of blocks) t.ok(example.includes(block), block)
})

t.test('the table in the guide lists exactly the files that contain "Yours:"', async t => {
  // In a starter, the product belongs to the starter's owner, so the guide does not list the product's files.
  const isStarter = !guide.includes('npm run eject')
  const isOfProduct = (path: string) =>
    /^src\/client\/(?!app\.ts|start-texts\.ts|settings\.ts|sign-in\/|web\/|operations\/)/.test(path)
  const marked = globSync(['src/client/**/*.ts', 'views/client/**/*.{eta,css}']).filter(
    path => read(path).includes('Yours:') && !(isStarter && isOfProduct(path)),
  )
  const [, list = ''] = guide.match(/\n## What to change first\n([\s\S]*?)\n## /) ?? []
  t.same([...list.matchAll(/`((?:src|views)\/[\w./-]+\.\w+)`/g)].map(([, path]) => path).sort(), marked.sort())
})
