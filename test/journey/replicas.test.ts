// Tests several clients behind one address. The clients share their keys, but no memory.
import t from 'tap'
import { HttpBrowser, hiddenFields } from './support/http-browser.ts'
import { logIn, reachCallback } from './support/log-in.ts'
import { startBoth } from './support/start-both.ts'

t.test(
  'CK-12, F-29: a visitor can sign in, manage an application and sign out, even if the replicas take turns answering the requests',
  async t => {
    const both = await startBoth(t, { replicas: 2 })
    const { front, publicUrl } = both
    const browser = new HttpBrowser()
    const read = async (path: string) => browser.follow(await browser.get(publicUrl + path))
    const send = async (path: string, form: Record<string, string>) =>
      browser.follow(await browser.post(publicUrl + path, form))

    const list = await logIn(browser, both)
    t.match(list, { status: 200, url: `${publicUrl}/applications` })
    const [login, callback, first] = front.seen.filter(({ url }) => !url.startsWith('/assets'))
    t.match([login?.url, callback?.url, first?.url], [/^\/login/, /^\/exchangeToken/, '/applications'])
    t.same([login?.replica, callback?.replica, first?.replica], [0, 1, 0])

    const form = await read('/applications/new')
    const fields = {
      ...hiddenFields(form, '/applications'),
      groupId: /<option value="([^"]+)"/.exec(form.text)?.[1] ?? '',
      name: 'Weather station',
      redirectUris: 'http://localhost:5000/exchangeToken',
    }
    const created = await send('/applications', fields)
    t.match(created.text, /Weather station<\/bdi> is registered/)
    const path = new URL(created.url).pathname

    const question = await read(`${path}/secret`)
    t.match((await send(`${path}/secret`, hiddenFields(question, `${path}/secret`))).text, 'New client secret')
    const hidden = hiddenFields(await read(`${path}/edit`), `${path}/edit`)
    const { redirectUris } = fields
    const saved = await send(`${path}/edit`, { ...hidden, name: 'Weather of tomorrow', redirectUris })
    t.match(saved.text, 'Your changes are saved.')
    t.match(saved.text, 'Weather of tomorrow')
    const removal = hiddenFields(await read(`${path}/delete`), `${path}/delete`)
    t.match((await send(`${path}/delete`, removal)).text, 'The application has been removed')
    t.match((await send('/logout', {})).text, 'You are signed out.')
    t.match(await read('/applications'), { status: 401, text: 'You are signed out' })

    const served = [0, 1].map(replica => front.seen.filter(seen => seen.replica === replica).length)
    t.ok(Math.abs(served[0]! - served[1]!) <= 1, `the replicas must take turns: ${served}`)
  },
)

t.test('CK-12: a login can be finished after every client was restarted', async t => {
  const both = await startBoth(t, { replicas: 2 })
  const browser = new HttpBrowser()
  const callback = await reachCallback(browser, both)
  await both.restartClients()
  const list = await browser.follow(callback)
  t.match(list, { status: 200, url: `${both.publicUrl}/applications`, text: 'Reference client' })

  await both.restartClients()
  t.match(await browser.get(`${both.publicUrl}/applications`), { status: 200, text: 'Reference client' })
})
