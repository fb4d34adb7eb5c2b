// The test kills the portal between two pages of a login, and starts the portal again.
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { exchange, locationOf, openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, makeSqliteUrl, seeded } from '../support/build-test-sandbox.ts'
import { startSandbox } from '../support/start-sandbox.ts'

t.test(
  'F-43: if the portal is killed and restarted before each step of a login, it accepts forms from before the restart',
  async t => {
    const databaseUrl = await makeSqliteUrl(t)
    let sandbox = await startSandbox(t, { databaseUrl })
    const inject = (options: never) => sandbox.portal.inject(options)
    const browser = openBrowser({ portal: { inject } as unknown as FastifyInstance })
    const restart = async () => {
      await sandbox.kill()
      sandbox = await startSandbox(t, { databaseUrl })
    }
    const start = await browser.get(startUrl())
    await restart()
    const signedIn = await browser.submit(start, { email: seeded.email, password: seeded.password })
    await restart()
    const consent = await browser.get(locationOf(signedIn))
    await restart()
    const location = new URL(locationOf(await browser.submit(consent, { decision: 'allow' })))
    t.equal(location.origin + location.pathname, seeded.redirectUri)
    t.equal(location.searchParams.get('state'), 'a-state')
    await restart()
    t.equal((await exchange(sandbox, { code: location.searchParams.get('code') ?? '' })).statusCode, 200)
  },
)

t.test(
  'F-43: if the portal restarts with an empty store, it refuses earlier forms, and its error page does not link to other sites',
  async t => {
    const before = openBrowser(await buildTestSandbox(t))
    const start = await before.get(startUrl())
    const signedIn = await before.submit(start, { email: seeded.email, password: seeded.password })
    const consent = await before.get(locationOf(signedIn))
    const now = before.copy((await buildTestSandbox(t, { databaseUrl: await makeSqliteUrl(t) })).portal)
    for (const [page, fields] of [
      [start, { email: seeded.email, password: seeded.password }],
      [consent, { decision: 'allow' }],
      [consent, { decision: 'decline' }],
    ] as const) {
      const answer = await now.submit(page, fields)
      t.equal(answer.statusCode, 400)
      t.match(answer.body, 'This page was open for too long.')
      t.notMatch(answer.body, /href="(https?:)?\/\//)
      t.equal(answer.headers.location, undefined)
    }
  },
)
