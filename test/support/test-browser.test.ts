// Tests that TestBrowser treats cookies as real browsers do when the server is called over HTTP.
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { readSetCookie } from './read-set-cookie.ts'
import { TestBrowser } from './test-browser.ts'

t.test('TestBrowser stores a __Host- cookie only if it has Secure and Path=/, and no Domain', async t => {
  const browser = new TestBrowser({ inject: (() => {}) as never }, 'http://localhost:3000')
  for (const line of [
    '__Host-good=1; Path=/; Secure',
    '__Host-domain=1; Path=/; Secure; Domain=localhost',
    '__Host-path=1; Path=/page; Secure',
    '__Host-insecure=1; Path=/',
  ])
    browser.keep({ cookies: [readSetCookie(line)] } as unknown as LightMyRequestResponse)
  t.same(browser.names(), ['__Host-good'])
})
