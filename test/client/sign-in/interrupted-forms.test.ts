// Forms that are sent after the session has ended, or after another visitor has signed in. The client keeps the typed
// text, and never sends a form automatically.

import t, { type Test } from 'tap'
import { FieldError, PublicError } from '../../../src/client/errors.ts'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../support/build-test-client.ts'
import { linksOf, readForm, textOf } from '../support/read-form.ts'
import { refreshTarget, setCookieLine } from '../support/read-response.ts'
import { accessTokenOf, giveTokens } from '../support/scripted-platform.ts'
import { smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'

const note = 'Typed <b>“at length”</b> & not sent'
const long = 'x'.repeat(2_600)
const scripts = { 'GET /things': { body: ['first thing'] }, 'POST /things': { status: 201, body: {} } }

/** Signs a visitor in for an hour, and opens the form. */
async function openForm(t: Test, product: TestProduct = smallProduct) {
  const test = await buildTestClient(t, { scripts, product })
  const { browser, platform } = test
  await signIn(browser)
  const form = readForm(await browser.get('/note', { site: 'same-origin' }), '/note')
  /** Signs in through the link on the page, and returns the address that the login leads to. */
  const signInAgain = async (page: { body: string }, visitor = 'visitor-1') => {
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token: accessTokenOf(visitor) }))
    const link = linksOf(page).find(href => href.startsWith('/login?'))!
    const started = await beginLogin(browser, new URL(link, 'http://here').searchParams.get('returnTo')!)
    return refreshTarget(await browser.get(callbackUrl(started), { site: 'cross-site' }))
  }
  const sent = () => platform.received('POST /things').map(({ body }) => JSON.parse(body).note)
  return { ...test, form, signInAgain, sent }
}

/** Like openForm, but then the session ends, because the portal refuses to renew it. */
async function openFormAndWait(t: Test, product?: TestProduct) {
  const test = await openForm(t, product)
  test.clock.advance(3601)
  test.platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
  return test
}

t.test(
  'PG-14: if the session ends before a form is sent, the form contains the typed text after the next login, and is not sent automatically',
  async t => {
    const { browser, form, signInAgain, sent } = await openFormAndWait(t)
    const page = await browser.post('/note', { ...form, note })
    t.equal(page.statusCode, 401)
    t.match(textOf(page), webTexts.form.sessionEnded)
    t.match(textOf(page), webTexts.form.draftKept)
    t.match(setCookieLine(page, '__Host-handover'), /; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
    t.same(sent(), [])

    const path = await signInAgain(page)
    t.equal(path, '/note')
    const again = await browser.get(path!, { site: 'same-origin' })
    t.equal(readForm(again, '/note').note, note)
    t.match(textOf(again), webTexts.form.hasDraft)
    t.same(sent(), [], 'the form must not be sent automatically')

    t.equal((await browser.post('/note', readForm(again, '/note'))).statusCode, 303)
    t.same(sent(), [note])
  },
)

t.test('PG-14: a draft is shown only once', async t => {
  const { browser, form, signInAgain } = await openFormAndWait(t)
  const path = await signInAgain(await browser.post('/note', { ...form, note }))
  await browser.get(path!, { site: 'same-origin' })
  t.equal(browser.cookie('__Host-handover'), undefined)
  t.equal(readForm(await browser.get(path!, { site: 'same-origin' }), '/note').note, '')
})

t.test('PG-14: the draft in the cookie is encrypted', async t => {
  const { browser, form } = await openFormAndWait(t)
  await browser.post('/note', { ...form, note })
  const kept = browser.cookie('__Host-handover')!
  t.notMatch(Buffer.from(kept, 'base64url').toString('latin1'), 'at length')
})

t.test('PG-14: a draft expires after ten minutes', async t => {
  const { browser, form, signInAgain, clock } = await openFormAndWait(t)
  const page = await browser.post('/note', { ...form, note })
  const kept = browser.cookie('__Host-handover')
  clock.advance(601)
  const path = await signInAgain(page)
  t.equal(browser.cookie('__Host-handover'), undefined)
  const cookie = `${browser.cookieHeader()}; __Host-handover=${kept}`
  const again = await browser.get(path!, { headers: { cookie } })
  t.equal(again.statusCode, 200)
  t.equal(readForm(again, '/note').note, '')
})

t.test(
  'PG-14: if the typed text is too long for a cookie, the form shows the text, and can be sent after a login in another tab',
  async t => {
    const { browser, form, signInAgain, sent } = await openFormAndWait(t)
    const page = await browser.post('/note', { ...form, note: long })
    t.equal(page.statusCode, 401)
    t.equal(setCookieLine(page, '__Host-handover'), undefined)
    t.equal(readForm(page, '/note').note, long)
    t.match(page.body, /<a class="button" href="\/login\?[^"]*" target="_blank" rel="noopener">/)
    t.match(textOf(page), webTexts.form.signInFirst)
    t.same(sent(), [])

    await signInAgain(page)
    t.equal((await browser.post('/note', readForm(page, '/note'))).statusCode, 303)
    t.same(sent(), [long])
  },
)

t.test(
  'PG-14: if the session has ended, a form without fields changes nothing, and the answer links to the login',
  async t => {
    const { browser, form, signInAgain, sent } = await openFormAndWait(t)
    const page = await browser.post('/note', { formToken: form.formToken! })
    t.equal(page.statusCode, 401)
    t.match(textOf(page), webTexts.form.nothingDone)
    t.equal(setCookieLine(page, '__Host-handover'), undefined)
    t.equal(await signInAgain(page), '/note')
    t.same(sent(), [])
  },
)

t.test(
  'PG-14: the client does not keep a draft of a form with a forged token, so nobody can plant a draft',
  async t => {
    const { browser } = await openFormAndWait(t)
    const page = await browser.post('/note', { note, formToken: 'forged' })
    t.equal(page.statusCode, 401)
    t.equal(setCookieLine(page, '__Host-handover'), undefined)
    t.match(textOf(page), webTexts.form.signInFirst)
  },
)

t.test(
  'PG-14: if a form was open for more than a day, the client shows the form again with the typed text and a new form token',
  async t => {
    const { browser, form, signInAgain, sent, clock } = await openFormAndWait(t)
    clock.advance(24 * 60 * 60)
    const page = await browser.post('/note', { ...form, note })
    t.equal(page.statusCode, 401)
    t.equal(readForm(page, '/note').note, note)
    await signInAgain(page)
    const again = await browser.post('/note', readForm(page, '/note'))
    t.equal(again.statusCode, 409)
    t.match(textOf(again, 'problem'), webTexts.form.tooOld)
    t.equal(readForm(again, '/note').note, note)
    t.same(sent(), [])
    t.equal((await browser.post('/note', readForm(again, '/note'))).statusCode, 303)
    t.same(sent(), [note])
  },
)

t.test(
  'F-23: if the session expired while the form was open, the client renews the session and does what the form asks',
  async t => {
    const { browser, form, platform, sent } = await openFormAndWait(t)
    platform.answer('POST /api/exchangeToken', giveTokens())
    const answer = await browser.post('/note', { ...form, note })
    t.equal(answer.statusCode, 303)
    t.same(sent(), [note])
    t.equal(platform.received('POST /api/exchangeToken').length, 2, 'the client must send one exchange and one renewal')
    t.ok(setCookieLine(answer, '__Host-session'))
  },
)

t.test('F-42: a draft is not shown to another visitor', async t => {
  const { browser, form, signInAgain, sent } = await openFormAndWait(t)
  const path = await signInAgain(await browser.post('/note', { ...form, note }), 'visitor-2')
  const page = await browser.get(path!, { site: 'same-origin' })
  t.equal(page.statusCode, 200)
  t.equal(readForm(page, '/note').note, '')
  t.notMatch(page.body, 'at length')
  t.same(sent(), [])
})

t.test(
  'F-42: if one visitor opened a form and the next visitor sends it, the client refuses the form and changes nothing',
  async t => {
    const { browser, platform, form } = await openForm(t)
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token: accessTokenOf('visitor-2') }))
    await signIn(browser)
    const calls = platform.received().length
    const page = await browser.post('/note', { ...form, note })
    t.equal(page.statusCode, 409)
    t.match(textOf(page), webTexts.form.otherVisitor)
    t.match(page.body, webTexts.page.signedInAs('<b>visitor-2</b>'), 'the page must say who is signed in')
    t.ok(linksOf(page).includes('/note'), 'the page must link to a new form')
    t.equal(platform.received().length, calls)
  },
)

t.test('F-42: after a sign-out in one tab, a form in another tab leads to the login', async t => {
  const { browser, form, sent } = await openForm(t)
  t.equal((await browser.post('/logout')).statusCode, 303)
  const page = await browser.post('/note', { ...form, note })
  t.equal(page.statusCode, 401)
  t.ok(linksOf(page).some(href => href.startsWith('/login')))
  t.same(sent(), [])
})

t.test('PG-21: every signed-in page says who is signed in, and has a sign-out button', async t => {
  const { browser } = await openForm(t)
  for (const path of ['/', '/page', '/note']) {
    const page = await browser.get(path, { site: 'same-origin' })
    t.match(page.body, webTexts.page.signedInAs('<b>visitor-1</b>'), path)
    t.match(page.body, /<form class="account" method="post" action="\/logout">/, path)
  }
})

t.test('PG-14: a draft survives a login that fails', async t => {
  const { browser, form, platform, signInAgain } = await openFormAndWait(t)
  const page = await browser.post('/note', { ...form, note })
  platform.answer('POST /api/exchangeToken', { status: 500, body: {} })
  const link = linksOf(page).find(href => href.startsWith('/login?'))!
  const started = await beginLogin(browser, new URL(link, 'http://here').searchParams.get('returnTo')!)
  const failed = await browser.get(callbackUrl(started), { site: 'cross-site' })
  t.equal(failed.statusCode, 502)
  const path = await signInAgain(failed)
  t.equal(readForm(await browser.get(path!, { site: 'same-origin' }), '/note').note, note)
})

/**
 * Like openForm, but the session ends while the client handles a form: the API refuses the access token, and the portal
 * refuses the renewal.
 */
async function endWhileHandled(t: Test, product?: TestProduct) {
  const test = await openForm(t, product)
  test.platform.answer('POST /things', { status: 401, body: { error: { status: 401, message: 'Unauthorized' } } })
  test.platform.answer('GET /things', { status: 401, body: { error: { status: 401, message: 'Unauthorized' } } })
  test.platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
  return test
}

for (const [what, text] of [
  ['fits into a cookie', note],
  ['does not fit into a cookie', long],
] as const)
  t.test(
    `PG-21: if the session ends while the client handles a form with text that ${what}, the page does not show a visitor as signed in`,
    async t => {
      const { browser, form } = await endWhileHandled(t)
      const page = await browser.post('/note', { ...form, note: text })
      t.equal(page.statusCode, 401)
      t.match(page.body, webTexts.form.sessionEnded)
      t.notMatch(page.body, /Signed in as|visitor-1|Sign out|You are signed in until/)
    },
  )

t.test(
  'PG-21: if the API refuses the token right after the login, the page does not show a visitor as signed in',
  async t => {
    const { browser, platform } = await endWhileHandled(t)
    platform.answer('POST /api/exchangeToken', giveTokens())
    await signIn(browser)
    const page = await browser.get('/page', { site: 'same-origin' })
    t.equal(page.statusCode, 401)
    t.match(page.body, signInTexts.couldNotStaySignedIn.title)
    t.notMatch(page.body, /Signed in as|visitor-1|Sign out|You are signed in until/)
  },
)

/** A product whose form shows its visitor. The page of the form cannot be rendered without a session. */
const greeting: TestProduct = {
  ...smallProduct,
  home: '/note',
  async pages(signedIn) {
    const form = signedIn.defineForm({
      page: '/note',
      template: 'form',
      data: request => ({
        title: 'A note',
        heading: `A note by ${request.visitor.sessionOwner}`,
        inputs: [{ name: 'note', label: 'Note', rows: 3 }],
        button: 'Send it',
      }),
    })
    signedIn.get('/note', form.show)
    signedIn.post(
      '/note',
      form.route,
      form.submit(async (request, reply, { fields, once }) => {
        await once(() => request.visitor.api.post('/things', { note: fields.note ?? '' }, { type: 'object' }))
        return reply.redirect('/note', 303)
      }),
    )
  },
}

for (const [when, open] of Object.entries({
  'before the visitor sends a form': (t: Test) => openFormAndWait(t, greeting),
  'while the client handles a form': (t: Test) => endWhileHandled(t, greeting),
}))
  t.test(
    `PG-14: if the page of a form needs a signed-in visitor and the session ends ${when}, the client still keeps the typed text`,
    async t => {
      const { browser, platform, form, log, signInAgain, sent } = await open(t)
      const earlier = sent().length
      const page = await browser.post('/note', { ...form, note: long })
      t.equal(page.statusCode, 401)
      t.match(page.body, `<title>${webTexts.form.sessionEnded} · Small product</title>`)
      t.equal(readForm(page, '/note').note, long)
      t.match(page.body, /<a class="button" href="\/login\?returnTo=%2Fnote" target="_blank" rel="noopener">/)
      const failures = log.map(line => JSON.parse(line)).filter(({ event }) => event === 'form_not_shown')
      t.match(
        failures,
        [{ cause: { stack: /interrupted-forms\.test\.ts:\d+/ } }],
        'the log must say where the form failed',
      )
      t.notMatch(log.join(''), 'xxxxx')

      await signInAgain(page)
      platform.answer('POST /things', { status: 201, body: {} })
      t.equal((await browser.post('/note', readForm(page, '/note'))).statusCode, 303)
      t.equal(sent().at(-1), long)
      t.ok(sent().length > earlier)
    },
  )

t.test(
  'PG-14: if the page of a form can be shown only to a signed-in visitor, the client keeps a short draft until the visitor has signed in',
  async t => {
    const { browser, form, signInAgain } = await openFormAndWait(t, greeting)
    const path = await signInAgain(await browser.post('/note', { ...form, note }))
    const page = await browser.get(path!, { site: 'same-origin' })
    t.equal(readForm(page, '/note').note, note)
    t.match(textOf(page), 'A note by visitor-1')
  },
)

t.test('PG-14: if a request contains made-up field names, the page does not contain these names', async t => {
  const { browser, form } = await openFormAndWait(t, greeting)
  const planted = { '"><script>alert(1)</script>': 'x', 'a b': 'x' }
  const page = await browser.post('/note', { ...form, note: long, ...planted })
  t.equal(page.statusCode, 401)
  t.equal(readForm(page, '/note').note, long)
  t.notMatch(page.body, /alert\(1\)|"a b"/)
})

/**
 * A product that calls the API before it shows its form. The form for a new application also calls the API first, to
 * list the groups.
 */
const asking: TestProduct = {
  ...smallProduct,
  home: '/note',
  async pages(signedIn) {
    const form = signedIn.defineForm({
      page: '/note',
      template: 'form',
      async data(request, { signInHref }) {
        if (!signInHref) await request.visitor.api.get('/things', { type: 'array' })
        return { title: 'A note', inputs: [{ name: 'note', label: 'Note', rows: 3 }], button: 'Send it' }
      },
    })
    signedIn.get('/note', form.show)
    signedIn.post(
      '/note',
      form.route,
      form.submit(async () => {
        throw new FieldError({ note: ['Too odd.'] })
      }),
    )
  },
}

for (const [what, text] of [
  ['fits into a cookie', note],
  ['does not fit into a cookie', long],
] as const)
  t.test(
    `PG-21: if the session ends while the client refuses a form with text that ${what}, the page links to the login`,
    async t => {
      const { browser, form, log } = await endWhileHandled(t, asking)
      const page = await browser.post('/note', { ...form, note: text })
      t.equal(page.statusCode, 401)
      t.match(page.body, `<title>${webTexts.form.sessionEnded} · Small product</title>`)
      t.notMatch(page.body, /Signed in as|Sign out|Too odd/)
      t.ok(linksOf(page).includes('/login?returnTo=%2Fnote'))
      t.equal(setCookieLine(page, '__Host-handover') === undefined, text === long)
      if (text === long) t.equal(readForm(page, '/note').note, long)
      t.notMatch(log.join(''), 'form_not_shown')
    },
  )

t.test(
  'PG-14: if the session ends while a visitor types long text, the client still shows this text, even if only signed-in visitors can open the form',
  async t => {
    const { browser, form } = await openFormAndWait(t, {
      ...smallProduct,
      home: '/note',
      async pages(signedIn) {
        const note = signedIn.defineForm({
          page: '/note',
          template: 'form',
          data(request) {
            if (!request.visitorIfAny) throw new PublicError('nobody', 401, 'Nobody is signed in.')
            return { title: 'A note', inputs: [{ name: 'note', label: 'Note', rows: 3 }], button: 'Send it' }
          },
        })
        signedIn.get('/note', note.show)
        signedIn.post(
          '/note',
          note.route,
          note.submit(async () => {}),
        )
      },
    })
    const page = await browser.post('/note', { ...form, note: long })
    t.equal(page.statusCode, 401)
    t.equal(readForm(page, '/note').note, long)
    t.match(page.body, `<title>${webTexts.form.sessionEnded} · Small product</title>`)
  },
)

/** A product that registers a POST route without a form. */
const withPlainPost: TestProduct = {
  ...smallProduct,
  async pages(signedIn, options) {
    await signedIn.register(smallProduct.pages, options)
    signedIn.post('/plain', async (request, reply) => {
      await request.visitor.api.post('/things', { note: 'plain' }, { type: 'object' })
      return reply.redirect('/page', 303)
    })
  },
}

for (const [when, open] of Object.entries({
  'before the request': (t: Test) => openFormAndWait(t, withPlainPost),
  'while the client handles the request': (t: Test) => endWhileHandled(t, withPlainPost),
}))
  t.test(
    `PG-14: if a POST route belongs to no form and the session ends ${when}, the answer says that nothing was done`,
    async t => {
      const { browser, platform, signInAgain } = await open(t)
      const page = await browser.post('/plain')
      t.equal(page.statusCode, 401)
      t.match(textOf(page), `${webTexts.form.sessionEnded} ${webTexts.form.nothingDone}`)
      t.notMatch(page.body, /Signed in as/)
      t.equal(
        await signInAgain(page),
        '/page',
        'the login must not lead to the address of the POST, because this address may have no page',
      )
      platform.answer('POST /things', { status: 201, body: {} })
      t.equal((await browser.post('/plain')).statusCode, 303)
    },
  )

t.test(
  'a script that accepts JSON and has no session gets a 401 answer in JSON, and the client does not keep a draft',
  async t => {
    const { browser, form, sent } = await openFormAndWait(t, withPlainPost)
    for (const [path, fields] of [
      ['/plain', {}],
      ['/note', { ...form, note }],
    ] as const) {
      const answer = await browser.post(path, fields, { headers: { accept: 'application/json' } })
      t.equal(answer.statusCode, 401)
      t.match(answer.headers['content-type'], /^application\/json/)
      t.match(answer.json(), { error: { code: 'sign_in_required', message: signInTexts.signInRequired } })
      t.equal(setCookieLine(answer, '__Host-handover'), undefined)
    }
    const list = await browser.get('/page', { site: 'same-origin', headers: { accept: 'application/json' } })
    t.equal(list.statusCode, 401)
    t.same(sent(), [])
  },
)

t.test(
  'PG-14: if the session cannot be renewed because the portal is too busy, the client shows the form again with the typed text, and the visitor can send it later',
  async t => {
    const { browser, platform, clock, form, sent, log } = await openForm(t)
    clock.advance(3601)
    platform.answer('POST /api/exchangeToken', { status: 503, headers: { 'retry-after': '1' }, body: {} })
    const page = await browser.post('/note', { ...form, note: long })
    t.equal(page.statusCode, 503)
    t.equal(page.headers['retry-after'], '1')
    t.match(textOf(page, 'problem'), upstreamTexts.portal.busy(1))
    t.equal(readForm(page, '/note').note, long)
    t.same(sent(), [])
    t.match(log.join(''), '"event":"portal_busy"')
    const answer = await browser.post('/note', { ...form, note }, { headers: { accept: 'application/json' } })
    t.match(answer.json(), { error: { code: 'portal_busy' } }, 'a script must get JSON')

    platform.answer('POST /api/exchangeToken', giveTokens({}))
    t.equal((await browser.post('/note', readForm(page, '/note'))).statusCode, 303)
    t.same(sent(), [long])
  },
)

t.test(
  'PG-14: if the session cannot be renewed and the page of the form needs a visitor, the client shows a simple form with the typed text',
  async t => {
    const { browser, platform, clock, form, sent } = await openForm(t, greeting)
    clock.advance(3601)
    platform.answer('POST /api/exchangeToken', { status: 500, body: {} })
    const page = await browser.post('/note', { ...form, note })
    t.equal(page.statusCode, 502)
    t.match(textOf(page, 'problem'), upstreamTexts.portal.failed)
    t.equal(readForm(page, '/note').note, note)

    const empty = await browser.post('/note', { formToken: form.formToken! })
    t.equal(empty.statusCode, 502)
    t.match(textOf(empty), upstreamTexts.portal.failed)
    t.ok(linksOf(empty).includes('/note'), 'if nothing was typed, the page must link to the form')

    platform.answer('POST /api/exchangeToken', giveTokens({}))
    t.equal((await browser.post('/note', readForm(page, '/note'))).statusCode, 303)
    t.same(sent(), [note])
  },
)
