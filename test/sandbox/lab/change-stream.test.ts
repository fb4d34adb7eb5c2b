// The events that an open page of the laboratory gets. One event can name many changed logins, and says how many logins
// the page has missed.
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createLogins, usualBounds } from '../../../src/sandbox/lab/record/logins.ts'
import { startUrl } from '../support/browser.ts'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'
import { labConfig } from '../support/call-lab.ts'
import { step } from './support/recorded-steps.ts'

interface Changes {
  changed: string[]
  dropped: number
  isRestarted: boolean
  cursor: string
}

async function openStream(t: Test) {
  const sandbox = await buildTestSandbox(t, { lab: labConfig })
  const lab = sandbox.lab!
  await lab.listen({ host: '127.0.0.1', port: 0 })
  const { port } = lab.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/live`
  const listen = async (after = '') => {
    const response = await fetch(`${url}?after=${after}`)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    t.teardown(() => reader.cancel().catch(() => {}))
    let text = ''
    return async (): Promise<Changes> => {
      while (!text.includes('\n\n')) text += (await reader.read()).value ?? ''
      const [event = '', ...rest] = text.split('\n\n')
      text = rest.join('\n\n')
      return JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '{}')
    }
  }
  const start = (state: string) => sandbox.portal.inject(startUrl({ state }))
  return { sandbox, url, listen, start }
}

t.test(
  'a page of the laboratory gets an event as soon as it connects; later it gets one event for several steps',
  async t => {
    const { listen, start } = await openStream(t)
    const next = await listen()
    t.match(await next(), { changed: [], dropped: 0, isRestarted: false, cursor: '0.0' })
    for (const state of ['one', 'two', 'two']) await start(state)
    const { changed, cursor } = await next()
    t.match([changed.length, cursor], [2, '3.2'])
  },
)

t.test(
  'if a page of the laboratory connects again, it gets all changes since its last event, or learns that the laboratory has restarted',
  async t => {
    const { listen, start } = await openStream(t)
    await start('one')
    const { cursor } = await (await listen())()
    await start('two')
    await start('one')
    t.match(await (await listen(cursor))(), { changed: [String, String], dropped: 0, cursor: '3.2' })
    t.match(await (await listen('3.2'))(), { changed: [] })
    t.match(await (await listen('900.1'))(), { changed: [String, String], isRestarted: true })
    for (const nonsense of ['x', '1', '1.2.3', '-1.0'])
      t.match(await (await listen(nonsense))(), { changed: [] }, nonsense)
  },
)

t.test(
  'the laboratory’s live stream refuses pages from other origins, and accepts at most fifty pages at the same time',
  async t => {
    const { url, listen } = await openStream(t)
    const foreign = await fetch(url, { headers: { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' } })
    t.equal(foreign.status, 403)
    for (let count = 0; count < 50; count++) await listen()
    t.equal((await fetch(url)).status, 503)
  },
)

t.test('when the laboratory stops, it ends its live streams', async t => {
  const { sandbox, url } = await openStream(t)
  const response = await fetch(url)
  const closed = sandbox.lab!.close()
  await response.text()
  await t.resolves(closed)
})

t.test(
  'if the laboratory has removed new logins to make room for newer ones, an event of the live stream says how many it has removed',
  async t => {
    const logins = createLogins({ ...usualBounds, logins: 10 })
    const begin = () =>
      logins.record(step('authorize', { query: { client_id: 'app-1', state: Math.random().toString() } }))
    for (let count = 0; count < 8; count++) begin()
    const cursor = logins.cursor()
    for (let count = 0; count < 2; count++) begin()
    t.match(logins.changesSince(cursor), { dropped: 0 })
    for (let count = 0; count < 11; count++) begin()
    const { changed, dropped } = logins.changesSince(cursor)
    t.match([changed.length, dropped], [10, 3])
    t.match(logins.changesSince(logins.cursor()), { changed: [], dropped: 0, isRestarted: false })
  },
)
