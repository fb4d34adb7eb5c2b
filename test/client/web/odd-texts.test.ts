// Long and repetitive texts wherever a text comes in: no check may take longer the odder they are.
import t from 'tap'
import { buildTestClient, publicUrl, signIn } from '../support/build-test-client.ts'
import { fastest, oddPatterns, repeatTo } from '../support/odd-texts.ts'
import { readForm } from '../support/read-form.ts'
import { smallApi } from '../support/small-product.ts'

t.test('DO-05: 30 KB of anything in any field is answered within 100 ms', async t => {
  const { browser, client } = await buildTestClient(t, { scripts: smallApi })
  await signIn(browser)
  const form = readForm(await browser.get('/note'), '/note')
  t.same(Object.keys(form), ['formToken', 'note'])
  const headers = {
    cookie: browser.cookieHeader(),
    origin: publicUrl,
    'content-type': 'application/x-www-form-urlencoded',
  }
  for (const field of Object.keys(form)) {
    const rest = new URLSearchParams({ ...form, [field]: '' }).toString()
    for (const pattern of oddPatterns) {
      const payload = `${rest}&${field}=${repeatTo(30_000, encodeURIComponent(pattern))}`
      const { ms, statusCode } = await fastest(() => client.inject({ method: 'POST', url: '/note', payload, headers }))
      if (ms >= 100 || statusCode >= 500) t.fail(`${field} of ${JSON.stringify(pattern)}: ${statusCode}, ${ms} ms`)
    }
  }
})

t.test('DO-05: 10 KB of anything in an address, a cookie or a header is answered within 100 ms', async t => {
  const { client } = await buildTestClient(t)
  for (const pattern of oddPatterns) {
    const long = repeatTo(10_000, pattern)
    const query = encodeURIComponent(long).slice(0, 10_000)
    for (const [where, request] of Object.entries({
      'a search': { url: `/page?q=${query}` },
      'a way back': { url: `/login?returnTo=${query}` },
      'a callback': { url: `/exchangeToken?state=${query}&code=${query}` },
      'a cookie': { url: '/page', headers: { cookie: `__Host-session=${encodeURIComponent(long)}` } },
      'many cookies': { url: '/page', headers: { cookie: `${encodeURIComponent(pattern)}=; `.repeat(1_000) } },
      'an id of a request': { url: '/', headers: { 'x-request-id': encodeURIComponent(long) } },
    })) {
      const { ms, statusCode } = await fastest(() => client.inject(request))
      if (ms >= 100 || statusCode >= 500) t.fail(`${where} of ${JSON.stringify(pattern)}: ${statusCode}, ${ms} ms`)
    }
  }
  t.pass(`${oddPatterns.length * 6} requests`)
})

t.test('DO-05: 25 KB of anything from the API is shown within 100 ms', async t => {
  const { browser, platform } = await buildTestClient(t)
  await signIn(browser)
  for (const pattern of oddPatterns) {
    platform.answer('GET /things', { body: [repeatTo(25_000, pattern)] })
    const { ms, statusCode } = await fastest(() => browser.get('/page'))
    if (ms >= 100 || statusCode !== 200) t.fail(`${JSON.stringify(pattern)}: ${statusCode}, ${ms} ms`)
  }
  t.pass(`${oddPatterns.length} pages`)
})
