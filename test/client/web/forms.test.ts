// A form of one field from its first look to its last, and the mistakes with forms that stop the start.
import t from 'tap'
import { FieldError, PublicError } from '../../../src/client/errors.ts'
import type { TestProduct } from '../support/test-product.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { readForm, textOf } from '../support/read-form.ts'
import { smallProduct } from '../support/small-product.ts'

const scripts = { 'GET /things': { body: ['one'] }, 'POST /things': { status: 201, body: { id: 1 } } }

t.test('a form is shown, sent, and acts once however often it is delivered', async t => {
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
  'a fault of the API is told above the form, with all that was typed, and the same form can be sent again',
  async t => {
    const { browser, platform } = await buildTestClient(t, { scripts })
    await signIn(browser)
    platform.answer('POST /things', { status: 503, body: {} })
    const form = { ...readForm(await browser.get('/note', { site: 'same-origin' }), '/note'), note: '<b>hello' }
    const refused = await browser.post('/note', form)
    t.equal(refused.statusCode, 503)
    t.match(textOf(refused), 'is busy')
    const again = readForm(refused, '/note')
    t.equal(again.note, '<b>hello')
    platform.answer('POST /things', { status: 201, body: {} })
    t.equal((await browser.post('/note', again)).statusCode, 303)
  },
)

t.test('what was typed waits for the next login, and goes only with the page that shows it', async t => {
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
  t.match(textOf(shown), 'It has not been sent yet')
  t.equal(readForm(await browser.get('/note', { site: 'same-origin' }), '/note').note, '')
  t.equal(platform.received('POST /things').length, 0)
})

t.test('what is too long for a cookie comes back at once, with a way to sign in beside it', async t => {
  const { browser } = await buildTestClient(t, { scripts })
  await signIn(browser)
  const form = { ...readForm(await browser.get('/note', { site: 'same-origin' }), '/note'), note: 'x'.repeat(5_000) }
  for (const name of browser.names()) browser.cookies.delete(name)
  const ended = await browser.post('/note', form)
  t.equal(ended.statusCode, 401)
  t.match(ended.body, '<title>Your session has ended · Small product</title>')
  t.equal(readForm(ended, '/note').note, form.note)
  t.match(ended.body, /href="\/login\?returnTo=%2Fnote" target="_blank"/)
})

t.test('a page that cannot be shown takes nothing of what was typed', async t => {
  let isBroken = false
  const product: TestProduct = {
    ...smallProduct,
    pages(signedIn, { defineForm }) {
      signedIn.get('/page', async (_request, reply) =>
        reply.message({ title: 'Page', message: '', nextStep: { href: '/note', text: 'A note' } }),
      )
      const data = () => {
        if (isBroken) throw new Error('no disk')
        return { title: 'A note', inputs: [{ name: 'note', label: 'Note' }], button: 'Send' }
      }
      const note = defineForm({ page: '/note', template: 'form', data })
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

t.test('a form that cannot be shown again, because the API is down, still shows all that was typed', async t => {
  const product: TestProduct = {
    ...smallProduct,
    pages(signedIn, { defineForm }) {
      signedIn.get('/page', async () => 'a page')
      let looks = 0
      // The address that the form is sent to is another one than its page.
      const note = defineForm({
        page: '/note/new',
        template: 'form',
        data() {
          if (looks++ > 0) throw new PublicError('api_busy', 503, 'The application API is busy.')
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
  t.equal(again.formToken, form.formToken, 'and it can be sent again')
})

const wrongForms: Record<string, [page: string, template: string | undefined, message: RegExp]> = {
  'on a page that is not there': ['/nowhere', 'form', /stands on \/nowhere, and there is no GET \/nowhere/],
  'with a template that is not there': ['/page', 'nothing', /template nothing, and there is none/],
}
for (const [what, [page, template, message]] of Object.entries(wrongForms)) {
  t.test(`a form ${what} stops the start, and is named`, async t => {
    const product: TestProduct = {
      ...smallProduct,
      async pages(signedIn, options) {
        await signedIn.register(smallProduct.pages, options)
        const form = signedIn.defineForm({ page, ...(template && { template }) })
        signedIn.post(
          '/other',
          form.route,
          form.submit(async () => {}),
        )
      },
    }
    await t.rejects(buildTestClient(t, { product }), { message })
  })
}

t.test('a POST that belongs to no form stops the start, and is named', async t => {
  const product: TestProduct = {
    ...smallProduct,
    async pages(signedIn, options) {
      await signedIn.register(smallProduct.pages, options)
      signedIn.post('/other', async () => {
        throw new PublicError('never', 500, 'never')
      })
    },
  }
  await t.rejects(buildTestClient(t, { product }), { message: /POST \/other belongs to no form/ })
})

t.test('the pages have the name and the links of the product', async t => {
  const { browser } = await buildTestClient(t, { scripts })
  const started = await signIn(browser)
  t.match(started.body, '<title>One moment · Small product</title>')
  const page = await browser.get('/page', { site: 'same-origin' })
  t.match(page.body, '<title>Your things · Small product</title>')
  t.match(page.body, '<a href="/page">Your things</a>')
  t.match((await browser.get('/%zz')).body, '<title>That did not work · Small product</title>')
  t.notMatch(page.body + started.body, /\bapplications/i)
})
