// If the error page itself fails, the visitor gets a plain page without internal details, and the log gets a line.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import t, { type Test } from 'tap'
import { around } from '../../../src/client/texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'

/** Builds a client in which the template of this name throws an error. */
async function buildBroken(t: Test, template: string) {
  const { readFileSync } = fs
  const restore = () => {
    Object.assign(fs, { readFileSync })
    syncBuiltinESMExports()
  }
  t.teardown(restore)
  const broken = (path: fs.PathOrFileDescriptor, ...more: never[]) =>
    String(path).endsWith(`/views/client/${template}`)
      ? '<% throw new Error("canary of " + "a template") %>'
      : readFileSync(path, ...more)
  Object.assign(fs, { readFileSync: broken })
  syncBuiltinESMExports()
  const test = await buildTestClient(t, { scripts: { 'GET /things': { status: 500, body: '' } } })
  restore()
  return test
}

const isPlain = (t: Test, page: { statusCode: number; headers: Record<string, unknown>; body: string }) => {
  t.equal(page.statusCode, 500)
  t.match(page.headers['content-type'], /^text\/html/)
  t.match(page.headers['content-security-policy'], "default-src 'none'")
  t.match(page.body, webTexts.errors.internal)
  t.match(page.body, `<a href="/">${webTexts.errorPage.goToStart}</a>`)
  t.notMatch(page.body, /canary|views|\.eta|node:|\bat \S+ \(/)
}

for (const template of ['message.eta', 'layout.eta']) {
  t.test(`PG-20: if ${template} fails, every error leads to a plain page and a log line`, async t => {
    const { browser, log } = await buildBroken(t, template)
    await signIn(browser)
    for (const path of ['/nowhere', '/page', '/exchangeToken?code=x', '/page/%ff']) {
      const before = log.length
      isPlain(t, await browser.get(path))
      const lines = log.slice(before).filter(line => line.includes('canary of a template'))
      t.equal(lines.length, 1, path)
      t.match(JSON.parse(lines[0]!), { level: 50, event: 'internal', status: 500 })
    }
    isPlain(t, await browser.post('/note', {}, { site: 'cross-site' }))
  })
}

t.test('PG-20: if the page that asks the visitor to sign in fails, the visitor gets a plain page', async t => {
  const { browser } = await buildBroken(t, 'message.eta')
  isPlain(t, await browser.post('/note', { formToken: 'x' }))
})

for (const [template, path, site] of [
  ['home.eta', '/', 'none'],
  ['continue.eta', '/page', 'cross-site'],
] as const) {
  t.test(`PG-20: if ${template} fails, the visitor gets an error page`, async t => {
    const { browser } = await buildBroken(t, template)
    const page = await browser.get(path, { site })
    t.equal(page.statusCode, 500)
    t.match(page.headers['content-type'], /^text\/html/)
    t.match(page.headers['content-security-policy'], "default-src 'none'")
    t.match(page.body, webTexts.errors.internal)
    t.match(page.body, around(webTexts.errorPage.requestId)[0])
    t.notMatch(page.body, /canary|views|\.eta|node:|\bat \S+ \(/)
  })
}
