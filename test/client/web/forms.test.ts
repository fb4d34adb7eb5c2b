// Tests a form with one field: the client shows the form, and then carries it out or refuses it. If the visitor has to
// sign in again, the client keeps the typed text.

import t from 'tap'
import { FieldError, PublicError } from '../../../src/client/errors.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { linksOf, readForm, textOf } from '../support/read-form.ts'
import { setCookieLine } from '../support/read-response.ts'
import { giveTokens } from '../support/scripted-platform.ts'
import { smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'

const scripts = { 'GET /things': { body: ['one'] }, 'POST /things': { status: 201, body: { id: 1 } } }

t.test('the client does what a form asks only once, even if the form is delivered several times', async t => {
  const { browser, platform } = await buildTestClient(t, { scripts })
  await signIn(browser)
  const page = await browser.get('/note', { site: 'same-origin' })
  t.equal(page.statusCode, 200)
  const form = { ...readForm(page, '/note'), note: 'hello' }
  const answers = await Promise.all([browser.post('/note', form), browser.post('/note', form)])
  answers.push(await browser.post('/note', form))
  t.same(
    answers.map(({ statusCode, headers }) => [statusCode, headers.location]),
    answers.map(() => [303, '/page']),
  )
  t.same(
    platform.received('POST /things').map(({ body }) => JSON.parse(body)),
    [{ note: 'hello' }],
  )
})

t.test(
  'the page shows an error from the API above the form, with everything that was typed, and the form can be sent again',
  async t => {
    const { browser, platform } = await buildTestClient(t, { scripts })
    await signIn(browser)
    platform.answer('POST /things', { status: 503, headers: { 'retry-after': '7' }, body: {} })
    const form = { ...readForm(await browser.get('/note', { site: 'same-origin' }), '/note'), note: '<b>hello' }
    const refused = await browser.post('/note', form)
    t.equal(refused.statusCode, 503)
    t.match(textOf(refused), upstreamTexts.api.busy(7))
    t.equal(refused.headers['retry-after'], '7')
    const again = readForm(refused, '/note')
    t.equal(again.note, '<b>hello')
    platform.answer('POST /things', { status: 201, body: {} })
    t.equal((await browser.post('/note', again)).statusCode, 303)
  },
)

t.test('a draft is kept until the next login, and is shown only once', async t => {
  const { browser, platform } = await buildTestClient(t, { scripts })
  await signIn(browser)
  const form = { ...readForm(await browser.get('/note', { site: 'same-origin' }), '/note'), note: 'a long thought' }
  for (const name of browser.names()) browser.cookies.delete(name)
  const ended = await browser.post('/note', form)
  t.equal(ended.statusCode, 401)
  t.match(ended.body, '/login?returnTo=%2Fnote')
  await signIn(browser, '/note')
  const shown = await browser.get('/note', { site: 'same-origin' })
  t.equal(readForm(shown, '/note').note, 'a long thought')
  t.match(textOf(shown), webTexts.form.hasDraft)
  t.equal(readForm(await browser.get('/note', { site: 'same-origin' }), '/note').note, '')
  t.equal(platform.received('POST /things').length, 0)
})

t.test('if a draft is too long for a cookie, the page immediately shows the draft, with a link to sign in', async t => {
  const { browser } = await buildTestClient(t, { scripts })
  await signIn(browser)
  const form = { ...readForm(await browser.get('/note', { site: 'same-origin' }), '/note'), note: 'x'.repeat(5_000) }
  for (const name of browser.names()) browser.cookies.delete(name)
  const ended = await browser.post('/note', form)
  t.equal(ended.statusCode, 401)
  t.match(ended.body, `<title>${webTexts.form.sessionEnded} · Small product</title>`)
  t.equal(readForm(ended, '/note').note, form.note)
  t.match(ended.body, /href="\/login\?returnTo=%2Fnote" target="_blank"/)
})

t.test('if the page that shows a draft fails, the client keeps the draft', async t => {
  let isBroken = false
  const product: TestProduct = {
    ...smallProduct,
    async pages(signedIn) {
      signedIn.get('/page', async (_request, reply) =>
        reply.message({ title: 'Page', message: '', nextStep: { href: '/note', text: 'A note' } }),
      )
      const data = () => {
        if (isBroken) throw new Error('no disk')
        return { title: 'A note', inputs: [{ name: 'note', label: 'Note' }], button: 'Send' }
      }
      const note = signedIn.defineForm({ page: '/note', template: 'form', data })
      signedIn.get('/note', note.show)
      signedIn.post(
        '/note',
        note.route,
        note.submit(async () => {
          throw new FieldError({ note: ['Too dull.'] })
        }),
      )
    },
  }
  const { browser } = await buildTestClient(t, { product })
  await signIn(browser)
  const form = { ...readForm(await browser.get('/note', { site: 'same-origin' }), '/note'), note: 'kept' }
  const refused = await browser.post('/note', form)
  t.equal(refused.statusCode, 422)
  t.match(textOf(refused), 'Too dull.')
  for (const name of browser.names()) browser.cookies.delete(name)
  t.equal((await browser.post('/note', form)).statusCode, 401)
  await signIn(browser, '/note')
  isBroken = true
  t.equal((await browser.get('/note', { site: 'same-origin' })).statusCode, 500)
  isBroken = false
  t.equal(readForm(await browser.get('/note', { site: 'same-origin' }), '/note').note, 'kept')
})

t.test('if the API fails while a refused form is shown again, everything that was typed is still shown', async t => {
  const product: TestProduct = {
    ...smallProduct,
    async pages(signedIn) {
      signedIn.get('/page', async () => 'a page')
      let timesShown = 0
      // The form is not sent to the address of its page.
      const note = signedIn.defineForm({
        page: '/note/new',
        template: 'form',
        data() {
          if (timesShown++ > 0) throw new PublicError('api_busy', 503, upstreamTexts.api.busy())
          return { title: 'A note', action: '/note', inputs: [{ name: 'note', label: 'Note' }], button: 'Send' }
        },
      })
      signedIn.get('/note/new', note.show)
      signedIn.post(
        '/note',
        note.route,
        note.submit(async () => {
          throw new PublicError('too_dull', 422, 'Too dull.')
        }),
      )
    },
  }
  const { browser } = await buildTestClient(t, { product })
  await signIn(browser)
  const form = readForm(await browser.get('/note/new', { site: 'same-origin' }), '/note')
  const refused = await browser.post('/note', { ...form, note: 'two\nlines' })
  t.equal(refused.statusCode, 422)
  t.match(textOf(refused, 'problem'), 'Too dull.')
  const again = readForm(refused, '/note')
  t.equal(again.note, 'two\nlines')
  t.equal(again.formToken, form.formToken, 'the form must have the same token, so that it can be sent again')
})

t.test('the pages have the name and the links of the product', async t => {
  const { browser } = await buildTestClient(t, { scripts })
  const started = await signIn(browser)
  t.match(started.body, `<title>${webTexts.continue.title} · Small product</title>`)
  const page = await browser.get('/page', { site: 'same-origin' })
  t.match(page.body, '<title>Your things · Small product</title>')
  t.match(page.body, '<a href="/page" aria-current="page">Your things</a>')
  t.match((await browser.get('/%zz')).body, `<title>${webTexts.errorPage.otherTitle} · Small product</title>`)
  t.notMatch(page.body + started.body, /\bapplications/i)
})

for (const note of ['short', 'x'.repeat(5_000)])
  t.test(
    `PG-14: if the access token contains no user id, a form with ${note.length} characters keeps its text when the visitor signs in again; the visitor must then send the form twice`,
    async t => {
      const { browser, platform } = await buildTestClient(t, { scripts })
      platform.answer('POST /api/exchangeToken', giveTokens({ access_token: 'opaque-access-token' }))
      await signIn(browser)
      const form = { ...readForm(await browser.get('/note', { site: 'same-origin' }), '/note'), note }
      for (const name of browser.names()) browser.cookies.delete(name)
      const ended = await browser.post('/note', form)
      t.equal(ended.statusCode, 401)
      t.match(textOf(ended), webTexts.form.signInFirst)
      t.equal(
        setCookieLine(ended, '__Host-handover'),
        undefined,
        'the client must not keep a draft with a random owner, because nobody could open it',
      )

      await signIn(browser, '/note')
      const again = await browser.post('/note', readForm(ended, '/note'))
      t.equal(again.statusCode, 409)
      t.match(textOf(again, 'problem'), webTexts.form.otherLogin)
      t.equal(readForm(again, '/note').note, note)
      t.equal(platform.received('POST /things').length, 0)
      t.equal((await browser.post('/note', readForm(again, '/note'))).statusCode, 303)
    },
  )

t.test(
  'if a form without typed text fails, and its page cannot be shown again, the error page links to the form',
  async t => {
    let isBroken = false
    const product: TestProduct = {
      ...smallProduct,
      async pages(signedIn) {
        signedIn.get('/page', async () => 'a page')
        const removal = signedIn.defineForm({
          page: '/note/delete',
          template: 'form',
          data() {
            if (isBroken) throw new PublicError('api_busy', 503, upstreamTexts.api.busy())
            return { title: 'Remove the note?', button: 'Remove' }
          },
        })
        signedIn.get('/note/delete', removal.show)
        signedIn.post(
          '/note/delete',
          removal.route,
          removal.submit(async () => {
            throw new PublicError('api_failed', 502, upstreamTexts.api.failed, { retryAfterSeconds: 7 })
          }),
        )
      },
    }
    const { browser } = await buildTestClient(t, { product })
    await signIn(browser)
    const form = readForm(await browser.get('/note/delete', { site: 'same-origin' }), '/note/delete')
    isBroken = true
    const page = await browser.post('/note/delete', form)
    t.equal(page.statusCode, 502)
    t.equal(page.headers['retry-after'], '7')
    t.match(textOf(page), upstreamTexts.api.failed)
    t.notMatch(page.body, 'formToken', 'the page must not have a button that sends the form')
    t.equal(
      linksOf(page).filter(link => link === '/note/delete').length,
      1,
      'exactly one link must open the form again',
    )
    t.ok(linksOf(page).includes('/login?returnTo=%2Fnote%2Fdelete'), 'another link must lead to the login')
  },
)
