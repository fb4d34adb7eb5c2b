// Tests with odd hosts: a URL parser accepts such a host, but in a header or on a page some of its characters have a
// special meaning.
import t from 'tap'
import { openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'

const plain = [
  'weather.example.test',
  'a-b.c',
  'xn--mnchen-3ya.test',
  '192.0.2.1',
  '[2001:db8::1]',
  'UPPER.example.test',
]
// Node and browsers accept each of these hosts. The last two hosts are percent-encoded forms of earlier hosts.
const odd = [...`;'"!$&()+=_\`{}~`].map(sign => `a${sign}b.test`).concat('a%3bb.test', 'a%27b.test')

const hostRule = 'a host of letters, digits, dots and hyphens'

for (const database of await openDatabases(t)) {
  t.test(
    `AP-08: if a URL in the fields of an application has a host with special characters, the API refuses it and names the rule for hosts (${database.name})`,
    async t => {
      const { call, groupId } = await callAsDeveloper(
        await buildTestSandbox(t, { databaseUrl: await database.make(t) }),
      )
      const good = await call('POST', '/apps/v1', makeCreateBody(groupId))
      const url = `/apps/v1/${good.json()['@id']}`
      const present = (await call('GET', url)).json()
      for (const host of odd) {
        const address = `https://${host}/cb`
        t.ok(URL.canParse(address), host)
        const redirect = { redirectUris: address, defaultRedirectUri: '' }
        const all = { ...redirect, name: 'x', webPageUrl: address, iconUrl: address, privacyPolicyUrl: address }
        for (const answer of [
          await call('POST', '/apps/v1', makeCreateBody(groupId, all)),
          await call('PUT', url, all),
        ]) {
          t.equal(answer.statusCode, 422, host)
          const { message } = answer.json().error
          t.strictSame(Object.keys(message).sort(), ['iconUrl', 'privacyPolicyUrl', 'redirectUris', 'webPageUrl'])
          for (const problems of Object.values(message)) t.match(problems, [hostRule])
        }
      }
      t.strictSame((await call('GET', url)).json(), present)
      for (const host of plain) {
        const address = `https://${host}/cb`
        const all = { redirectUris: address, defaultRedirectUri: '', webPageUrl: address, iconUrl: address }
        t.equal((await call('POST', '/apps/v1', makeCreateBody(groupId, all))).statusCode, 201, host)
      }
    },
  )

  t.test(
    `PS-01: a stored redirect URI whose host has special characters cannot change the Content-Security-Policy of a page (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const browser = openBrowser(sandbox)
      await signIn(browser)
      for (const host of odd) {
        const address = `https://${host}/cb`
        await sandbox.store.write(db => db.updateTable('applications').set({ redirect_uris: address }).execute())
        const start = startUrl({ redirect_uri: address, cancel_url: address })
        for (const [who, heading, script] of [
          [openBrowser(sandbox), '<h1>Sign in</h1>', " script-src 'self';"],
          [browser, 'wants to sign you in', ''],
        ] as const) {
          const page = await who.get(start)
          t.match(page.body, heading, host)
          t.equal(
            page.headers['content-security-policy'],
            `default-src 'none'; style-src 'self'; img-src 'self';${script} form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
            host,
          )
        }
      }
    },
  )
}
