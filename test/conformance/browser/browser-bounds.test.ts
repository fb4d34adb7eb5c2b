// Tests what cannot be compared with Chromium: the time limits of our browser, and answers that never arrive.
import t from 'tap'
import { createBrowser } from '../../../src/conformance/browser/browser.ts'
import { serve } from '../support/small-clients.ts'

t.test(
  'if a cookie has no SameSite attribute, the browser sends it with forms from another site for two minutes',
  async t => {
    const sent: (string | undefined)[] = []
    const url = await serve(t, (request, response) => {
      sent.push(request.headers.cookie)
      response.end()
    })
    let now = Date.now()
    const browser = createBrowser({ clock: () => now })
    browser.cookies.set(url, 'new=1; Path=/')
    const page = browser.show('http://127.0.0.1/', `<form method="post" action="${url}"><button>Go</button></form>`)
    await browser.submit(page, page.forms[0]!)
    now += 119_000
    await browser.submit(page, page.forms[0]!)
    now += 2000
    await browser.submit(page, page.forms[0]!)
    t.same(sent, ['new=1', 'new=1', undefined])
  },
)

t.test('the browser sends a cookie until its Max-Age has passed', async t => {
  let now = Date.now()
  const { cookies } = createBrowser({ clock: () => now })
  t.ok(cookies.set('http://localhost/', 'short=1; Max-Age=60'))
  now += 59_000
  t.equal(cookies.get('short')?.value, '1')
  now += 1000
  t.equal(cookies.get('short'), undefined)
})

t.test('the browser keeps a cookie when the headers arrive, before the end of the body', async t => {
  const sent: (string | undefined)[] = []
  const url = await serve(t, ({ url, headers }, response) => {
    sent.push(headers.cookie)
    if (url !== '/slow') return response.end()
    response.writeHead(200, { 'set-cookie': 'early=1; Path=/', 'content-type': 'text/html' }).write('<p>')
    setTimeout(() => response.end('</p>'), 500)
  })
  const browser = createBrowser()
  const slow = browser.visit(`${url}/slow`)
  while (browser.cookies.get('early') === undefined) await new Promise(resolve => setTimeout(resolve, 10))
  await browser.newTab().visit(`${url}/next`)
  await slow
  t.same(sent, [undefined, 'early=1'])
})

t.test('the browser follows a refresh of up to two seconds, and stays on a page with a longer refresh', async t => {
  const url = await serve(t, (request, response) => {
    const seconds = request.url?.slice(1)
    if (seconds) response.setHeader('refresh', `${seconds};url=/`)
    response.end()
  })
  const browser = createBrowser()
  t.equal((await browser.visit(`${url}/2`)).url, `${url}/`)
  t.equal((await browser.visit(`${url}/3`)).url, `${url}/3`)
})

t.test('if the option stopAt has stopped a navigation, the method goOn can continue it at another address', async t => {
  const asked: string[] = []
  const url = await serve(t, ({ url, headers }, response) => {
    asked.push(`${url} ${headers['sec-fetch-site']}`)
    if (url === '/start') response.writeHead(302, { location: '/middle?state=1' })
    response.end()
  })
  const browser = createBrowser({ stopAt: ({ pathname }) => pathname === '/middle' })
  const page = await browser.visit(`${url}/start`, { from: browser.show('http://127.0.0.1/', '') })
  t.equal(page.stoppedAt, `${url}/middle?state=1`)
  t.same(asked, ['/start cross-site'])
  const end = await browser.goOn(page, `${url}/middle?state=2`)
  t.match(end, { status: 200, url: `${url}/middle?state=2`, trail: { length: 2 } })
  t.same(asked, ['/start cross-site', '/middle?state=2 cross-site'])
  t.throws(() => browser.goOn(end), /was not stopped/)
})

t.test(
  'if no answer arrives, or the answer breaks off or never ends, the property `error` of the page says so',
  async t => {
    const url = await serve(t, ({ url }, response) => {
      if (url === '/breaks') response.destroy()
      if (url === '/endless')
        response
          .writeHead(200)
          .on('drain', () => response.write('x'.repeat(65_536)))
          .write('x'.repeat(1_000_000))
    })
    const browser = createBrowser({ timeoutMs: 300 })
    const silent = await browser.visit(`${url}/silent`)
    t.match(silent, { status: 0, error: 'no whole answer within 300 ms' })
    t.ok(silent.trail[0]!.durationMs < 10_000, 'long before the default time limit')
    t.match(await createBrowser().visit(`${url}/breaks`), { status: 0, error: String })
    t.match(await createBrowser().visit(`${url}/endless`), { status: 0, error: /larger than/ })
    t.match(await browser.visit('http://localhost:1/'), { status: 0, error: /ECONNREFUSED/ })
  },
)

t.test('the browser refuses fields, choices and buttons that the form does not contain', async t => {
  const browser = createBrowser()
  const html =
    '<form method="post"><input name="a"><select name="s"><option>1</option></select><button>Go</button></form>'
  const page = browser.show('http://localhost:1/', html)
  const [form] = page.forms
  await t.rejects(browser.submit(page, form!, { b: '1' }), /no field b; it has a, s/)
  await t.rejects(browser.submit(page, form!, { s: '2' }), /offers no choice s=2/)
  await t.rejects(browser.submit(page, form!, {}, { button: 'Come' }), /no button Come; it has Go/)
})
