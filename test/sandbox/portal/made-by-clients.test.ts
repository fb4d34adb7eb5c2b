// Tests the page that lists what a client has made for a user, after the user has withdrawn consent for this client.
import { sql } from 'kysely'
import t from 'tap'
import { type Browser, exchange, locationOf, openBrowser, signIn } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger, callWith, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { askToWithdraw, openAsDeveloper, readHiddenFields, submitForm } from '../support/forms.ts'

const path = '/account/applications'
const renewPath = `${path}/renew`
const removePath = `${path}/remove`

/**
 * Opens a browser as the seeded user, and makes a token on the portal's page. Returns the browser, and a caller with
 * this token.
 */
async function openWithOwnToken(sandbox: TestSandbox) {
  const browser = await openAsDeveloper(sandbox)
  const shown = await submitForm(browser, await browser.get('/account/token'), '/account/token')
  return { browser, own: await callWith(sandbox, /data-copy="access token">([^<]+)</.exec(shown.body)?.[1] ?? '') }
}

async function withdraw(browser: Browser): Promise<string> {
  const answer = await submitForm(browser, await askToWithdraw(browser), path, { clientId: seeded.clientId })
  return (await browser.get(locationOf(answer))).body
}

/** Returns the values on the page that have a copy button. */
function readSecrets(body: string): string[] {
  return [...body.matchAll(/<code[^>]* data-copy="[^"]*">([^<]*)<\/code>/g)].map(([, text = '']) => text)
}

/** Returns the names in the list of applications and secrets that clients have made on the user's behalf. */
function readMade(body: string): string[] {
  return [...body.matchAll(/<h3><bdi>([^<]*)<\/bdi><\/h3>/g)].map(([, name = '']) => name)
}

/** Returns whether the secret is valid for the client. */
async function isSecretOf(sandbox: TestSandbox, clientId: string, clientSecret: string): Promise<boolean> {
  const answer = await exchange(sandbox, { code: 'a'.repeat(30), client_id: clientId, client_secret: clientSecret })
  return answer.json().error !== 'invalid_client'
}

for (const database of await openDatabases(t)) {
  t.test(
    `if a user withdraws consent for a client, the portal lists what this client has made, and nothing that other clients have made (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const { browser, own } = await openWithOwnToken(sandbox)
      await call('POST', '/apps/v1', makeCreateBody(groupId, { name: 'By the client' }))
      await own.call('POST', '/apps/v1', makeCreateBody(groupId, { name: 'By the user' }))
      const mixed = (await own.call('POST', '/apps/v1', makeCreateBody(groupId, { name: 'With its secret' }))).json()
      await call('POST', `/apps/v1/${mixed['@id']}/refreshSecret`)
      await own.call('POST', `/apps/v1/${(await own.call('GET', '/apps/v1')).json().ItemList[0]['@id']}/refreshSecret`)
      t.strictSame(
        readMade((await browser.get(path)).body),
        [],
        'the page must list nothing while the client is allowed',
      )

      const body = await withdraw(browser)
      t.strictSame(readMade(body).sort(), ['By the client', 'With its secret'])
      t.match(body, 'Created by <bdi>Reference client</bdi>')
      t.match(body, 'A secret was created by <bdi>Reference client</bdi>')

      const colleague = await callAsStranger(sandbox)
      const other = openBrowser(sandbox)
      await signIn(other, {}, { email: 'stranger@example.test', password: 'a long password of a stranger' })
      await sandbox.store.write(db =>
        db
          .insertInto('memberships')
          .values({
            id: 'm',
            user_id: colleague.userId,
            group_id: groupId,
            created_at: 0,
            created_by: colleague.userId,
          })
          .execute(),
      )
      t.strictSame(readMade(await withdraw(other)), [], 'the client made nothing on behalf of this member of the group')

      const again = openBrowser(sandbox)
      await again.submit(await signIn(again), { decision: 'allow' })
      t.strictSame(
        readMade((await browser.get(path)).body),
        [],
        'the page must list nothing when the client is allowed again',
      )
    },
  )

  t.test(
    `if the user makes a new secret for an application that a former client created, the portal shows the new secret once; all secrets and tokens that the former client received become invalid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const created = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const appId = created['@id']
      const second = (await call('POST', `/apps/v1/${appId}/refreshSecret`)).json().clientSecret
      const known = [created.client.clientSecrets[0], second]
      const kept = await callWith(sandbox, created.tokens[0].token)
      const browser = await openAsDeveloper(sandbox)
      t.match(await withdraw(browser), 'An old secret or token is still valid<')
      for (const secret of known)
        t.equal(await isSecretOf(sandbox, appId, secret), true, 'withdrawing must not make a secret invalid')
      t.equal(
        (await kept.call('GET', '/apps/v1')).statusCode,
        200,
        'withdrawing must not make an app access token invalid',
      )

      const page = await browser.get(path)
      const shown = await submitForm(browser, page, renewPath)
      t.equal(shown.statusCode, 200)
      t.equal(shown.headers['cache-control'], 'no-store')
      t.match(shown.body, 'can no longer use the secrets and tokens that it received.')
      const [shownId, secret = ''] = readSecrets(shown.body)
      t.equal(shownId, appId)
      t.match(secret, /^[\w-]{43}$/)
      t.equal(await isSecretOf(sandbox, appId, secret), true)
      for (const old of known)
        t.equal(await isSecretOf(sandbox, appId, old), false, 'both old secrets must become invalid')
      t.equal((await kept.call('GET', '/apps/v1')).statusCode, 401)
      t.notOk(sandbox.logLines.join('').includes(secret), 'LG-01: the secret is not logged')

      const twice = await submitForm(browser, page, renewPath)
      t.equal(twice.statusCode, 409)
      t.strictSame(twice.body.match(/data-copy="[^"]*"/g), ['data-copy="request ID"'])
      t.equal(await isSecretOf(sandbox, appId, secret), true, 'a form sent twice makes one secret')
      const after = (await browser.get(path)).body
      t.strictSame(readMade(after), ['Weather'], 'the application must still be listed as made by the client')
      t.match(after, 'The old secrets and tokens are no longer valid.')
      t.match(
        await submitForm(browser, await browser.get(path), renewPath),
        { statusCode: 200 },
        'the form must work again',
      )
    },
  )

  t.test(
    `if a client has made secrets for an application of the user, the user can revoke these secrets, and the user’s own secret stays valid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const { browser, own } = await openWithOwnToken(sandbox)
      const make = async (name: string) => {
        const {
          '@id': id,
          client,
          tokens,
        } = (await own.call('POST', '/apps/v1', makeCreateBody(groupId, { name }))).json()
        return { id, secret: client.clientSecrets[0], token: tokens[0].token }
      }
      const renewBy = async (id: string) => (await call('POST', `/apps/v1/${id}/refreshSecret`)).json().clientSecret
      const [renewed, ended, overrun] = [await make('Renewed'), await make('Ended'), await make('Overrun')]
      const [first, second] = [await renewBy(renewed.id), await renewBy(ended.id)]
      const last = [await renewBy(overrun.id), await renewBy(overrun.id)]
      t.match(readMade(await withdraw(browser)), { length: 3 })

      const page = await browser.get(path)
      const send = (action: string, applicationId: string, of = page) =>
        submitForm(browser, of, action, { applicationId, clientId: seeded.clientId })
      t.match(
        page.body,
        'all secrets that this application created stop working at once. Give the new secret to everyone who uses one of these secrets. Other secrets stay valid.',
      )
      const shown = await send(renewPath, renewed.id)
      t.match(shown.body, 'The application whose access you withdrew can no longer use the secrets that it received.')
      const [, fresh = ''] = readSecrets(shown.body)
      const twice = await send(renewPath, renewed.id)
      t.equal(twice.statusCode, 409, 'if the form is sent twice, the portal must say that it has shown the secret')
      t.match(twice.body, 'This secret has already been shown.')
      for (const [secret, isGood] of [
        [renewed.secret, true],
        [first, false],
        [fresh, true],
      ])
        t.equal(await isSecretOf(sandbox, renewed.id, secret), isGood)

      const question = `${removePath}?applicationId=${ended.id}&clientId=${seeded.clientId}`
      t.match(page.body, question.replaceAll('&', '&amp;'))
      const asked = await browser.get(question)
      t.match(asked.body, '<h1>Revoke the secret of “<bdi')
      t.equal(
        await isSecretOf(sandbox, ended.id, second),
        true,
        'the page that asks for confirmation must not revoke the secret',
      )
      t.equal((await submitForm(browser, asked, removePath)).statusCode, 303)
      t.equal(await isSecretOf(sandbox, ended.id, second), false)
      t.equal(await isSecretOf(sandbox, ended.id, ended.secret), true)
      t.match(await own.call('GET', `/apps/v1/${ended.id}`), { statusCode: 200 }, 'the application stays')
      t.match(await (await callWith(sandbox, ended.token)).call('GET', '/apps/v1'), { statusCode: 200 })

      t.notMatch(
        page.body,
        `${removePath}?applicationId=${overrun.id}`,
        'if an application has no other secret, the page must offer only a new secret',
      )
      const notAsked = await browser.get(question.replace(ended.id, overrun.id))
      t.match(notAsked, { statusCode: 303, headers: { location: path } }, 'the portal must not ask about it either')
      t.equal((await send(removePath, overrun.id, asked)).statusCode, 409)
      for (const secret of last) t.equal(await isSecretOf(sandbox, overrun.id, secret), true)
      t.strictSame(readMade((await browser.get(path)).body), ['Overrun'])
    },
  )

  t.test(
    `before the portal removes an application that a former client has made, it asks the user for confirmation (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const created = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const { browser, own } = await openWithOwnToken(sandbox)
      await withdraw(browser)
      const question = `${removePath}?applicationId=${created['@id']}&clientId=${seeded.clientId}`
      const asked = await browser.get(question)
      t.match(asked.body, 'You cannot undo this.')
      t.match(
        await own.call('GET', `/apps/v1/${created['@id']}`),
        { statusCode: 200 },
        'the page that asks for confirmation must not remove the application',
      )
      t.equal(locationOf(await submitForm(browser, asked, removePath)), `${path}#made`)
      t.match(await own.call('GET', `/apps/v1/${created['@id']}`), { statusCode: 404 })
      t.equal(await isSecretOf(sandbox, created['@id'], created.client.clientSecrets[0]), false)
      t.match(await (await callWith(sandbox, created.tokens[0].token)).call('GET', '/apps/v1'), { statusCode: 401 })
      t.strictSame(readMade((await browser.get(path)).body), [])
      t.equal((await submitForm(browser, asked, removePath)).statusCode, 404)
      t.equal(locationOf(await browser.get(question)), `${path}#made`)
    },
  )

  t.test(
    `the portal removes an application or renews its secret only if a client made the application and the user is a developer of the application (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const created = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const { browser, own } = await openWithOwnToken(sandbox)
      const ownApp = (await own.call('POST', '/apps/v1', makeCreateBody(groupId, { name: 'Own' }))).json()
      await withdraw(browser)
      const stranger = await callAsStranger(sandbox)
      const others = openBrowser(sandbox)
      await signIn(others, {}, { email: 'stranger@example.test', password: 'a long password of a stranger' })
      const group = { context: 'https://example.test/', type: 'Group', data: { name: 'Others' } }
      const { '@id': othersGroup } = (await stranger.call('POST', '/identities/v1', group)).json()
      await stranger.call('POST', '/apps/v1', makeCreateBody(othersGroup, { name: 'Of others' }))
      await withdraw(others)
      t.strictSame(readMade((await others.get(path)).body), ['Of others'])
      const page = await others.get(path)
      const question =
        /href="(\/account\/applications\/remove[^"]+)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
      const { formToken: removeToken = '' } = readHiddenFields(await others.get(question), removePath)
      const { formToken: renewToken = '' } = readHiddenFields(page, renewPath)
      const hostile = ['nobody', '', 'nul\0', "' or 1=1 --", '%00', 'x'.repeat(10_000)]
      const targets = [
        [created['@id'], seeded.clientId],
        [ownApp['@id'], ''],
        [ownApp['@id'], seeded.clientId],
        ...hostile.map(id => [id, seeded.clientId]),
        ...hostile.map(id => [created['@id'], id]),
      ] as const
      for (const [applicationId, clientId] of targets) {
        const fields = { applicationId, clientId }
        const name = JSON.stringify(fields).slice(0, 90)
        t.equal((await others.post(renewPath, { formToken: renewToken, ...fields })).statusCode, 404, name)
        t.equal((await others.post(removePath, { formToken: removeToken, ...fields })).statusCode, 404, name)
        t.equal((await others.get(`${removePath}?${new URLSearchParams(fields)}`)).statusCode, 303, name)
      }
      t.equal((await others.get(`${removePath}?applicationId=a&applicationId=b&clientId=c`)).statusCode, 303)
      t.match(await own.call('GET', `/apps/v1/${created['@id']}`), { statusCode: 200 })
      t.equal(await isSecretOf(sandbox, created['@id'], created.client.clientSecrets[0]), true)
      const { formToken: ownToken = '' } = readHiddenFields(await browser.get(path), renewPath)
      const notMade = { formToken: ownToken, applicationId: ownApp['@id'], clientId: seeded.clientId }
      t.equal(
        (await browser.post(renewPath, notMade)).statusCode,
        404,
        'the page must not change an application that the user has made',
      )
    },
  )

  t.test(
    `if clients have made many things, the page lists only the first entries, and begins with entries whose clients still exist (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const known = (await call('POST', '/apps/v1', makeCreateBody(groupId, { name: 'Known' }))).json()
      const row = await sandbox.store.read
        .selectFrom('applications')
        .selectAll()
        .where('id', '=', known['@id'])
        .executeTakeFirstOrThrow()
      const rows = Array.from({ length: 150 }, (_, index) => ({
        ...row,
        id: `more-${index}`,
        link_id: `more-${index}`,
        name: `More ${index}`,
        created_at: row.created_at + 1 + index,
      }))
      await sandbox.store.write(db => db.insertInto('applications').values(rows).execute())
      const body = await withdraw(await openAsDeveloper(sandbox))
      t.equal(readMade(body).length, 100)
      t.equal(readMade(body)[0], 'Known')
      t.match(body, 'There are more')
    },
  )

  t.test(
    `if an application is from an older store that did not record creators, the portal lists it separately, with an unknown creator (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { own, browser } = await openWithOwnToken(sandbox)
      await sandbox.store.transaction(async db => {
        await sql`update applications set made_by_client = ''`.execute(db)
        await sql`update client_secrets set made_by_client = '', created_by = ''`.execute(db)
      })
      const { body } = await browser.get(path)
      t.match(body, /<details class="more">\s*<summary>Created by unknown applications/)
      t.strictSame(readMade(body), ['Reference client'])
      const shown = await submitForm(browser, await browser.get(path), renewPath)
      t.match(shown.body, 'The secrets and tokens that unknown applications received no longer work.')
      const [clientId = '', secret = ''] = readSecrets(shown.body)
      t.equal(await isSecretOf(sandbox, clientId, secret), true)
      t.equal(await isSecretOf(sandbox, seeded.clientId, seeded.clientSecret), false)
      t.equal((await own.call('GET', '/apps/v1')).statusCode, 200)
    },
  )
}
