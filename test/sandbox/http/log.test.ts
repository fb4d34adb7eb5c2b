// What the log of the sandbox says about users: security events with a hash of the user, and no personal data.
import { hash } from 'node:crypto'
import t from 'tap'
import { openBrowser, signIn } from '../support/browser.ts'
import { buildTestSandbox, seeded } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger, makeCreateBody } from '../support/call-api.ts'

async function useSandbox(t: Parameters<typeof buildTestSandbox>[0]) {
  const sandbox = await buildTestSandbox(t)
  const browser = openBrowser(sandbox)
  await signIn(browser, {}, { email: seeded.email, password: 'a wrong password' })
  await callAsStranger(sandbox, 'ada@example.test')
  const { call, userId, groupId } = await callAsDeveloper(sandbox)
  const { '@id': id } = (await call('POST', '/apps/v1', makeCreateBody(groupId, { name: 'Top secret plans' }))).json()
  await call('POST', `/apps/v1/${id}/refreshSecret`)
  await call('DELETE', `/apps/v1/${id}`)
  await call('GET', `/apps/v1/${id}`)
  const lines = sandbox.logLines.map(line => JSON.parse(line))
  return { sandbox, userId, lines }
}

t.test('LG-04: the sandbox logs each security event once, with a request id and a hash of the user', async t => {
  const { userId, lines } = await useSandbox(t)
  const user = hash('sha256', userId, 'base64url').slice(0, 12)
  for (const code of ['application-created', 'client-secret-created', 'application-removed']) {
    const found = lines.filter(line => line.code === code)
    t.equal(found.length, 1, code)
    t.match(found[0], { user, requestId: /./ })
  }
  t.match(lines.filter(({ code }) => code === 'signed-in').at(-1), { user, requestId: /./ })
  t.match(
    lines.find(({ code }) => code === 'sign-in-refused'),
    { reason: 'password-wrong', requestId: /./ },
  )
  t.match(lines.at(-1), { msg: 'request', statusCode: 404, reason: 'not-found' })
})

t.test(
  'LG-06: the log of the sandbox contains no names, addresses, ids or sessions of users, and no text that they have typed',
  async t => {
    const { sandbox, userId } = await useSandbox(t)
    const log = sandbox.logLines.join('')
    for (const text of [
      seeded.email,
      'ada@example.test',
      userId,
      'Top secret plans',
      'password of a stranger',
      'a-state',
    ])
      t.notMatch(log, text)
    t.notMatch(log, /portal-session|Bearer |eyJ/)
  },
)
