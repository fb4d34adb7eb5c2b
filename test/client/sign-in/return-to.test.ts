// Where a login ends: on the page it began from, and never on another site.
import t from 'tap'
import { buildTestClient, callbackUrl, publicUrl, signIn } from '../support/build-test-client.ts'
import { exchangeRaw, rawGet } from '../support/raw-socket.ts'
import { goesOnTo } from '../support/read-response.ts'
import { leaving, leavingLater, staying } from '../support/redirect-vectors.ts'

const { browser: stranger, client } = await buildTestClient(t)

for (const value of [...leaving, ...leavingLater, ...staying]) {
  t.test(`CL-25: a login with returnTo ${JSON.stringify(value)} ends on this site`, async t => {
    const page = await signIn(stranger.copy(), value)
    t.equal(page.statusCode, 200)
    const target = goesOnTo(page) ?? ''
    t.match(target, /^\/(?![/\\])/)
    const { origin, pathname } = new URL(target, publicUrl)
    t.equal(origin, publicUrl)
    t.notMatch(pathname, /^\/\//)
  })
}

t.test('CL-25: a returnTo that is no path of this site leads home', async t => {
  const { browser } = await buildTestClient(t)
  t.equal(goesOnTo(await signIn(browser, 'https://evil.test/')), '/page')
})

t.test('CL-25: a returnTo that stands twice leads home', async t => {
  const { browser } = await buildTestClient(t)
  const { headers } = await browser.get('/login?returnTo=/note&returnTo=//evil.test/')
  const started = new URL(String(headers.location)).searchParams
  t.equal(goesOnTo(await browser.get(callbackUrl(started), { site: 'cross-site' })), '/page')
})

const deepLinks = [...leaving, ...leavingLater, ...staying].filter(value => /^\/[!-~]*$/.test(value))

for (const path of [...deepLinks, '/page//evil.test/', '/page/..//evil.test/', '/page?//evil.test/']) {
  t.test(`CL-25: a deep link to ${path} leads to no other site`, async t => {
    for (const site of ['cross-site', 'same-origin']) {
      const answer = await exchangeRaw(client, rawGet(path, { 'sec-fetch-site': site }))
      t.match(answer, /^HTTP\/1\.1 [234]/)
      const target = /location: (.*)\r/i.exec(answer)?.[1] ?? /content="0;url=([^"]*)"/.exec(answer)?.[1] ?? '/'
      t.equal(new URL(target, publicUrl).origin, publicUrl, target)
      t.notMatch(new URL(target, publicUrl).pathname, /^\/\//)
    }
  })
}

t.test('CL-25: a signed-in page asked for without a session is where the login ends', async t => {
  const { browser } = await buildTestClient(t)
  const redirect = await browser.get('/note?x=1&y=%2F', { site: 'same-origin' })
  t.equal(redirect.statusCode, 302)
  t.equal(redirect.headers.location, '/login?returnTo=%2Fnote%3Fx%3D1%26y%3D%252F')
  const returnTo = new URL(String(redirect.headers.location), publicUrl).searchParams.get('returnTo')
  t.equal(goesOnTo(await signIn(browser, returnTo!)), '/note?x=1&y=%2F')
})
