// ETag and If-Match (RFC 9110 13.1.1): if a caller sends If-Match, the update cannot overwrite a version that the
// caller has not read.
import t from 'tap'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger, callFromPortal, callWith, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { askToWithdraw, openAsDeveloper, submitForm } from '../support/forms.ts'
import { holdLock } from '../support/hold-lock.ts'

const changed = { error: { status: 412, message: 'App was changed in the meantime.' } }
const good = { name: 'Tides', redirectUris: 'https://a.example.test/cb' }
const unknownId = '8a2b6c9e-0a4e-4f7d-9b52-2a0a4cf2b0d1'

/**
 * Creates an application. Returns the first entity tag of the application, and functions for the calls that accept an
 * If-Match header.
 */
async function createOne(sandbox: TestSandbox) {
  const developer = await callAsDeveloper(sandbox)
  const { call } = developer
  const created = await call('POST', '/apps/v1', makeCreateBody(developer.groupId))
  const path = `/apps/v1/${created.json()['@id']}`
  const conditions = (ifMatch?: string): Record<string, string> =>
    ifMatch === undefined ? {} : { 'if-match': ifMatch }
  return {
    ...developer,
    path,
    created,
    firstTag: String(created.headers.etag),
    readTag: async () => String((await call('GET', path)).headers.etag),
    update: (ifMatch?: string, body: object = good) => call('PUT', path, body, conditions(ifMatch)),
    remove: (ifMatch?: string) => call('DELETE', path, undefined, conditions(ifMatch)),
  }
}

for (const database of await openDatabases(t)) {
  t.test(
    `api-etag: the answers to the Create and Get calls have the same strong ETag; the answers to the List and Update calls have no ETag (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, path, firstTag, readTag, update } = await createOne(sandbox)
      t.match(firstTag, /^"[^"]+"$/)
      t.equal(await readTag(), firstTag)
      t.equal(await readTag(), firstTag, 'reading must not change the tag')
      t.notOk('etag' in (await call('GET', '/apps/v1')).headers)
      t.notOk('etag' in (await update()).headers)
      const { accessToken } = await callAsDeveloper(sandbox)
      const head = await sandbox.api.inject({
        method: 'HEAD',
        url: path,
        headers: { authorization: `Bearer ${accessToken}` },
      })
      t.equal(head.headers.etag, await readTag())
    },
  )

  t.test(
    `every change of an application changes its ETag, and a refused change does not (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, path, firstTag, readTag, update, remove } = await createOne(sandbox)
      const seen = new Set([firstTag])
      const isNew = async (what: string) => {
        const tag = await readTag()
        t.notOk(seen.has(tag), what)
        seen.add(tag)
      }
      await update()
      await isNew('an update')
      await update()
      await isNew('an update with the same fields: updatedAt differs')
      await call('POST', `${path}/refreshSecret`)
      await isNew('a new secret: updatedAt differs')
      const tag = await readTag()
      for (const refused of [await update(firstTag), await update(tag, { name: '' }), await remove(firstTag)])
        t.ok(refused.statusCode >= 400)
      t.equal(await readTag(), tag)

      const browser = await openAsDeveloper(sandbox)
      await submitForm(browser, await askToWithdraw(browser), '/account/applications')
      await submitForm(browser, await browser.get('/account/applications'), '/account/applications/renew')
      const answer = await (await callFromPortal(sandbox, browser)).call('GET', path)
      t.equal(answer.statusCode, 200)
      t.notOk(seen.has(String(answer.headers.etag)), 'a new secret from the portal must change the tag')
    },
  )

  t.test(
    `if a setting of the sandbox changes the redirect URIs of an application, the application gets a new ETag (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const path = `/apps/v1/${seeded.clientId}`
      const before = await callAsDeveloper(await buildTestSandbox(t, { databaseUrl }))
      const tag = (await before.call('GET', path)).headers.etag
      const redirectUris = [seeded.redirectUri, 'https://client.example.test/back']
      const after = await callWith(await buildTestSandbox(t, { databaseUrl, redirectUris }), before.accessToken)
      const answer = await after.call('GET', path)
      t.equal(answer.json().client.redirectUris, redirectUris.join())
      t.not(answer.headers.etag, tag)
    },
  )

  t.test(
    `a change succeeds if the If-Match header is *, the current ETag, or a list with the current ETag (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { readTag, update, remove } = await createOne(sandbox)
      for (const make of [
        (tag: string) => tag,
        () => '*',
        () => ' * ',
        (tag: string) => `"x", ${tag}`,
        (tag: string) => `${tag},"x"`,
        (tag: string) => `, "a, b" ,,W/"y",\t${tag} ,`,
      ]) {
        const ifMatch = make(await readTag())
        t.equal((await update(ifMatch)).statusCode, 200, ifMatch)
      }
      t.equal((await remove(`"x", ${await readTag()}`)).statusCode, 204)
    },
  )

  t.test(
    `api-etag: if the If-Match header names another version, the answer is 412, and nothing changes (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, path, firstTag, readTag, update, remove } = await createOne(sandbox)
      await update()
      const before = (await call('GET', path)).json()
      const tag = await readTag()
      const unquoted = tag.slice(1, -1)
      for (const ifMatch of [
        firstTag,
        `W/${tag}`,
        unquoted,
        `"${unquoted}0"`,
        `"x", W/${tag}`,
        `"x${tag}"`,
        '"*"',
        `*, "x"`,
        '',
        ',',
      ]) {
        for (const answer of [await update(ifMatch, { ...good, name: 'Mine' }), await remove(ifMatch)])
          t.strictSame([answer.statusCode, answer.json()], [412, changed], ifMatch)
      }
      t.strictSame((await call('GET', path)).json(), before)
      t.equal(await readTag(), tag)
    },
  )

  t.test(
    `the API first checks the caller’s rights, then the fields, then the If-Match header (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, path, update, remove } = await createOne(sandbox)
      const old = { 'if-match': '"old"' }
      const stranger = await callAsStranger(sandbox)
      const asNobody = (method: 'PUT' | 'DELETE') =>
        sandbox.api.inject({ method, url: path, headers: old, payload: {} })
      const statuses = {
        'PUT without a token': (await asNobody('PUT')).statusCode,
        'DELETE without a token': (await asNobody('DELETE')).statusCode,
        'PUT of other people’s': (await stranger.call('PUT', path, {}, old)).statusCode,
        'DELETE of other people’s': (await stranger.call('DELETE', path, undefined, old)).statusCode,
        'PUT of none': (await call('PUT', `/apps/v1/${unknownId}`, {}, old)).statusCode,
        'DELETE of none': (await call('DELETE', `/apps/v1/${unknownId}`, undefined, { 'if-match': '*' })).statusCode,
        'PUT of bad fields': (await update('"old"', { name: '' })).statusCode,
        'PUT of good fields': (await update('"old"')).statusCode,
        DELETE: (await remove('"old"')).statusCode,
      }
      t.strictSame(Object.values(statuses), [401, 401, 403, 403, 404, 404, 422, 412, 412], JSON.stringify(statuses))
    },
  )

  t.test(
    `api-etag: if several simultaneous changes send the same ETag in If-Match, exactly one change succeeds (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const one = await buildTestSandbox(t, { databaseUrl })
      const { path, accessToken, readTag, call } = await createOne(one)
      const other = await callWith(await buildTestSandbox(t, { databaseUrl }), accessToken)
      for (let round = 0; round < 5; round += 1) {
        const old = { 'if-match': await readTag() }
        const answers = await Promise.all(
          [call, other.call, call, other.call].map((at, index) =>
            at('PUT', path, { ...good, name: `Caller ${round} ${index}` }, old),
          ),
        )
        t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, 412, 412, 412])
        const winner = answers.find(({ statusCode }) => statusCode === 200)
        t.strictSame((await call('GET', path)).json(), winner?.json(), 'the change that succeeded must be stored')
      }
      const old = { 'if-match': await readTag() }
      const [update, removal] = await Promise.all([
        call('PUT', path, good, old),
        other.call('DELETE', path, undefined, old),
      ])
      t.ok(
        (update?.statusCode === 200 && removal?.statusCode === 412) ||
          (update?.statusCode === 404 && removal?.statusCode === 204),
        `update ${update?.statusCode}, removal ${removal?.statusCode}`,
      )
    },
  )

  t.test(
    `if two changes with the same If-Match wait for a lock, the second change gets a 412 answer, because the first change has changed the ETag (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl })
      const { update, readTag } = await createOne(sandbox)
      const tag = await readTag()
      /** Repeats the update after a 503 answer, because on a busy machine the test can hold the lock for too long. */
      const patiently = async (name: string) => {
        let answer = await update(tag, { ...good, name })
        for (let tries = 1; answer.statusCode === 503 && tries < 10; tries += 1)
          answer = await update(tag, { ...good, name })
        return answer.statusCode
      }
      const release = await holdLock(t, databaseUrl)
      const answers = Promise.all([patiently('One'), patiently('Other')])
      // This call was sent after the two updates. When it is answered, both updates have started.
      t.equal(await readTag(), tag)
      await release()
      t.strictSame((await answers).sort(), [200, 412])
    },
  )
}
