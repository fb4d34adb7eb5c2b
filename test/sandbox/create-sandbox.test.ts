// createSandbox starts a sandbox inside a Node test. These tests check its functions, and the example in
// docs/laboratory.md.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createSandbox } from '../../src/sandbox/create-sandbox.ts'

const form = (fields: Record<string, string>) => ({ method: 'POST', body: new URLSearchParams(fields) })

t.test(
  'createSandbox makes a sandbox with its own ports, user and client, and the user can sign in at the client',
  async t => {
    const sandbox = await createSandbox()
    t.teardown(() => sandbox.close())
    const { portalUrl, apiUrl, client } = sandbox
    const start = new URLSearchParams({
      grant_type: 'authorization',
      response_type: 'code',
      client_id: client.id,
      redirect_uri: client.redirectUris[0]!,
      cancel_url: 'http://localhost:3000/cancelled',
      state: 'a-state-that-nobody-guesses',
    })
    const back = new URL(await sandbox.signIn(`${portalUrl}/?${start}`))
    t.equal(back.searchParams.get('state'), 'a-state-that-nobody-guesses')
    const fields = {
      grant_type: 'authorization_code',
      code: back.searchParams.get('code')!,
      client_id: client.id,
      client_secret: client.secret,
      redirect_uri: client.redirectUris[0]!,
      state: 'a-state-that-nobody-guesses',
    }

    const { id } = sandbox.faults.order({ fault: 'exchange-503', options: { retryAfter: 1 } })
    t.match(sandbox.faults.list(), [{ id, status: 'waiting', place: 'exchange', kind: 'status', when: 'before' }])
    const refused = await fetch(`${portalUrl}/api/exchangeToken`, form(fields))
    t.match([refused.status, refused.headers.get('retry-after')], [503, '1'])
    const answer = await fetch(`${portalUrl}/api/exchangeToken`, form(fields))
    const { access_token: token } = (await answer.json()) as { access_token: string }
    const list = await fetch(`${apiUrl}/apps/v1`, { headers: { authorization: `Bearer ${token}` } })
    t.equal(list.status, 200)

    const requests = await sandbox.requests()
    t.match(
      requests.map(({ kind, response, fault }) => [kind, response.status, fault?.name]),
      [
        ['authorize', 303, undefined],
        ['exchange', 503, 'exchange-503'],
        ['exchange', 200, undefined],
        ['api', 200, undefined],
      ],
    )
    t.match(requests[1]!.request.body, { code: fields.code }, 'tests must see values unchanged')
  },
)

t.test(
  'ordering an unknown fault, or a fault with a wrong option, throws an error that says what is allowed',
  async t => {
    const sandbox = await createSandbox()
    t.teardown(() => sandbox.close())
    t.throws(() => sandbox.faults.order('exchange-51'), { message: /fault: .*Did you mean exchange-501/ })
    t.throws(() => sandbox.faults.order({ place: 'list', kind: 'long-list', options: { count: -1 } }), {
      message: /options\.count: This must be a whole number from 0 to 10000\./,
    })
    sandbox.faults.order('list-503')
    sandbox.faults.order({ place: 'list', kind: 'status', options: { status: 500 } })
    t.equal(sandbox.faults.remove(), 2)
    t.same(sandbox.faults.list(), [])
  },
)

t.test('two sandboxes can run in one process, and both can be closed at the same time', async t => {
  const [one, other] = await Promise.all([createSandbox(), createSandbox({ email: 'robin@example.test' })])
  t.not(one.portalUrl, other.portalUrl)
  one.faults.order({ fault: 'list-never' })
  const hanging = fetch(`${one.apiUrl}/apps/v1`, { headers: { authorization: 'Bearer none' } }).catch(() => undefined)
  await one.requests()
  t.same(await other.requests(), [])
  await Promise.all([one.close(), other.close()])
  await hanging
  await t.rejects(fetch(one.portalUrl))
})

t.test('the example test in docs/laboratory.md passes', async t => {
  const example = /```ts\n([\s\S]*?)```/.exec(readFileSync('docs/laboratory.md', 'utf8'))?.[1] ?? ''
  t.match(example, 'createSandbox')
  // The example must be a file in the project, because it imports the sandbox by a relative path.
  mkdirSync('data', { recursive: true })
  const folder = mkdtempSync('data/example-')
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'example.test.ts'), example.replace('../src/', '../../src/'))
  const { NODE_OPTIONS: _, ...env } = process.env
  const run = spawnSync(process.execPath, ['--test', join(folder, 'example.test.ts')], { encoding: 'utf8', env })
  t.equal(run.status, 0, run.stdout + run.stderr)
  t.match(run.stdout, /pass 1/)
  t.ok(existsSync(folder))
})
