// Tests the texts of every product: they are all in one place, a product can replace them, and the client chooses them
// for each request.
import { globSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { FieldError } from '../../../src/client/errors.ts'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { startTexts } from '../../../src/client/start-texts.ts'
import type { SomeTexts } from '../../../src/client/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { exchangeRaw, rawGet } from '../../support/raw-socket.ts'
import { beginLogin, buildTestClient, callbackUrl, type Settings, signIn } from '../support/build-test-client.ts'
import { findUntranslated, pseudoOf } from '../support/pseudo-texts.ts'
import { readForm, textOf } from '../support/read-form.ts'
import { smallApi, smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'

const pseudo: SomeTexts = {
  lang: 'en-x-pseudo',
  ...pseudoOf({ web: webTexts, signIn: signInTexts, upstream: upstreamTexts, start: startTexts }),
}
/** Names and values of the small product and of the scripted platform. */
const data = [
  'Small product',
  'Your things',
  'All',
  'A note',
  'Note',
  'Send it',
  'A thing',
  'None yet.',
  'one, two',
  ' one ',
]
const values = ['visitor-1', 'request-1', 'https://']

const german: SomeTexts = {
  lang: 'de',
  web: { errors: { noPage: 'Diese Seite gibt es nicht.' }, page: { signedInAs: name => `Angemeldet als ${name}` } },
  signIn: { signInRequired: 'Bitte melden Sie sich an.', declined: { title: 'Nicht angemeldet' } },
}
const inGerman = { headers: { 'accept-language': 'de-DE,de;q=0.9' } }

function buildWithTexts(t: Test, texts: TestProduct['texts'], settings: Settings = {}) {
  return buildTestClient(t, { scripts: smallApi, product: { ...smallProduct, texts: texts! }, ...settings })
}

const byLanguage: TestProduct['texts'] = ({ headers }) =>
  headers['accept-language']?.startsWith('de') ? german : { lang: 'en' }

t.test('if a product replaces a string, the page shows the new string, and the other strings stay English', async t => {
  const { browser } = await buildWithTexts(t, { start: { lead: 'Come <in>' } })
  const page = await browser.get('/')
  t.match(page.body, '>Come &lt;in&gt;</p>')
  t.match(textOf(page), startTexts.signIn)
  t.match(page.body, '<html lang="en">')
})

t.test('pages, error pages, the login and JSON answers all use the texts chosen for the request', async t => {
  const { client, browser } = await buildWithTexts(t, byLanguage)
  for (const [path, title] of [
    ['/nowhere', webTexts.errors.noPage],
    ['/cancelled', signInTexts.declined.title],
  ] as const) {
    const english = await browser.get(path)
    t.match(english.body, '<html lang="en">')
    t.match(textOf(english), title)
  }
  const missing = await browser.get('/nowhere', inGerman)
  t.match(missing.body, '<html lang="de">')
  t.match(textOf(missing), 'Diese Seite gibt es nicht.')
  t.match(textOf(await browser.get('/cancelled', inGerman)), 'Nicht angemeldet')
  for (const path of ['/%zz', '/exchangeToken'])
    t.match((await browser.get(path, inGerman)).body, '<html lang="de">', path)

  const forScripts = { ...inGerman.headers, accept: 'application/json' }
  const ask = async (url: string) => (await client.inject({ url, headers: forScripts })).json().error
  t.match(await ask('/nowhere'), { code: 'not_found', message: 'Diese Seite gibt es nicht.' })
  t.match(await ask('/page'), { code: 'sign_in_required', message: 'Bitte melden Sie sich an.' })

  const started = await beginLogin(browser)
  const arrived = await browser.get(callbackUrl(started), { site: 'cross-site', ...inGerman })
  t.match(arrived.body, '<html lang="de">')
  const page = await browser.get('/page', { site: 'same-origin', ...inGerman })
  t.match(page.body, 'Angemeldet als <b>visitor-1</b>')
  t.match(page.body, /<time[^>]*>31\. März 2026, 12:00 UTC<\/time>/)
})

t.test('a product can use the data in the visitor’s session to choose the texts of a page', async t => {
  const texts: TestProduct['texts'] = ({ visitorIfAny }) =>
    (visitorIfAny?.data as { language?: string } | undefined)?.language === 'de' ? german : {}
  const product = { ...smallProduct, texts, loadSessionData: async () => ({ language: 'de' }) as object }
  const { browser } = await buildTestClient(t, { scripts: smallApi, product })
  t.match((await browser.get('/')).body, '<html lang="en">')
  await signIn(browser)
  t.match((await browser.get('/page', { site: 'same-origin' })).body, '<html lang="de">')
})

t.test(
  'if two requests in different languages share a failed call, each page shows the error in its own language',
  async t => {
    const { browser, platform } = await buildWithTexts(t, byLanguage)
    await signIn(browser)
    platform.answer('GET /things', { status: 500, body: {} })
    const pages = await Promise.all([browser.copy().get('/page'), browser.copy().get('/page', inGerman)])
    t.match(pages[0]!.body, '<html lang="en">')
    t.match(pages[1]!.body, '<html lang="de">')
  },
)

t.test(
  'if choosing the texts fails, the visitor gets a simple page in English, or JSON, and the log gets a line',
  async t => {
    const texts = () => {
      throw new Error('canary')
    }
    const { client, browser, log } = await buildWithTexts(t, texts)
    for (const path of ['/', '/nowhere', '/%zz']) {
      const page = await browser.get(path)
      t.equal(page.statusCode, 500, path)
      t.match(textOf(page), webTexts.errors.internal, path)
      t.notMatch(page.body, 'canary')
    }
    const answer = await client.inject({ url: '/nowhere', headers: { accept: 'application/json' } })
    t.match(answer.json(), { error: { code: 'internal', message: webTexts.errors.internal } })
    t.match(log.join(''), 'internal')
  },
)

t.test('the answer to a malformed HTTP request always has the same text', async t => {
  const { client } = await buildWithTexts(t, { web: { errors: { byStatus: { 400: 'Das war nichts.' } } } })
  t.match(await exchangeRaw(client, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 .*Das war nichts\.$/s)
  t.match(await exchangeRaw(client, rawGet('/nowhere')), webTexts.errors.noPage)
})

t.test('no template contains words', async t => {
  const templates = globSync('views/client/**/*.eta')
  t.ok(templates.length > 5)
  for (const path of templates) {
    const markup = readFileSync(path, 'utf8').replace(/<%[\s\S]*?%>/g, '|')
    const shown = [
      ...markup.replace(/<[^>]*>/g, '|').split('|'),
      ...[...markup.matchAll(/ (?:title|aria-label|alt|placeholder|value)="([^"]*)"/g)].map(([, value]) => value!),
    ]
    // The value `yes` of a hidden field is not shown to people.
    t.same(
      shown.map(text => text.trim()).filter(text => /\p{L}/u.test(text) && text !== 'yes'),
      [],
      path,
    )
  }
  const script = readFileSync('views/client/assets/script.js', 'utf8').replace(/\/\/.*/g, '')
  t.same(script.match(/'[A-Z][a-z]+[^']*'/g) ?? [], [], 'the script must not contain words')
})

t.test(
  'every login page, form page and error page contains only words from the texts of the client and from the visitor’s data',
  async t => {
    const product: TestProduct = {
      ...smallProduct,
      texts: pseudo,
      async pages(app, options) {
        await smallProduct.pages(app, options)
        const form = app.defineForm({
          page: '/choice',
          template: 'form',
          data: () => ({
            title: 'A note',
            back: '/page',
            backText: 'All',
            inputs: [{ name: 'note', label: 'Note', choices: [{ value: '1', text: 'All' }] }],
            button: 'Send it',
          }),
        })
        app.get('/choice', form.show)
        app.post(
          '/choice',
          form.route,
          form.submit(() => Promise.reject(new FieldError({ note: ['None yet.'] }))),
        )
        app.get('/broken', async () => {
          throw new Error('canary')
        })
      },
    }
    const test = await buildTestClient(t, { scripts: smallApi, product })
    const { browser, platform, client } = test
    const shows = (what: string, page: { body: string; statusCode: number }) => {
      t.match(page.body, '<html lang="en-x-pseudo">', what)
      const known = [...data, ...values, 'canary of the portal']
      t.same(findUntranslated({ body: page.body.replace(/<code>[^<]*<\/code>/g, '') }, known), [], what)
    }
    const stranger = browser.copy()
    shows('start page of a stranger', await browser.get('/'))
    shows('sign-in declined', await browser.get('/cancelled'))
    for (const [what, change] of Object.entries({
      'login error': { state: undefined },
      'unknown login': { state: 'unknown' },
      'refused by the portal': { error: 'server_error', error_description: 'canary of the portal', code: undefined },
      'wrong client': { client_id: 'another' },
    }))
      shows(what, await browser.get(callbackUrl(await beginLogin(browser), change), { site: 'cross-site' }))
    shows('without cookies', await stranger.get('/exchangeToken?state=x&code=y'))
    for (const [what, body] of Object.entries({ invalid_grant: 400, invalid_client: 401 })) {
      platform.answer('POST /api/exchangeToken', { status: body, body: { error: what } })
      shows(what, await signIn(browser))
    }
    const other = await buildTestClient(t, { scripts: smallApi, product })
    shows('continue', await signIn(other.browser))
    shows(
      'login used',
      await other.browser.get(callbackUrl(new URLSearchParams({ state: 'x' })), { site: 'cross-site' }),
    )
    shows('start page of a visitor', await other.browser.get('/', { site: 'same-origin' }))
    for (const path of ['/page', '/page/1', '/note', '/choice', '/broken', '/nowhere', '/page/%zz'])
      shows(path, await other.browser.get(path, { site: 'same-origin' }))
    const choice = readForm(await other.browser.get('/choice'), '/choice')
    shows('a refused form', await other.browser.post('/choice', choice))
    const note = readForm(await other.browser.get('/note'), '/note')
    for (const status of [200, 403, 404, 409, 412, 422, 429, 500, 503]) {
      other.platform.answer('POST /things', { status, body: [] })
      shows(`a form after ${status}`, await other.browser.post('/note', note))
      other.platform.answer('GET /things', { status, body: {} })
      shows(`a page after ${status}`, await other.browser.get('/page'))
    }
    shows('a form that is too old', await other.browser.post('/note', { ...note, formToken: 'x' }))
    shows('cross-site', await other.browser.post('/note', note, { site: 'cross-site' }))
    shows('wrong method', await other.browser.post('/page'))
    shows('too long', await other.browser.post('/note', { note: 'x'.repeat(40_000) }))
    const thief = other.browser.copy()
    for (const name of thief.names()) if (!name.includes('arrived')) thief.cookies.delete(name)
    shows('could not stay signed in', await thief.get('/page'))
    for (const text of ['short', 'long '.repeat(1_000)]) {
      const page = await thief.post('/note', { ...note, note: text })
      shows(`a ${text.slice(0, 5)} draft`, page)
    }
    shows('an empty form', await thief.post('/note', { formToken: note.formToken! }))
    await other.browser.post('/logout')
    for (const path of ['/', '/page', '/login'])
      shows(`signed out: ${path}`, await other.browser.get(path, { site: path === '/login' ? 'cross-site' : 'none' }))

    const raw = await exchangeRaw(client, 'nonsense\r\n\r\n')
    t.match(raw, '[!!')
  },
)
