// Tests how long a portal session lasts, and which actions end the session earlier.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { type Browser, openBrowser } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { openDatabases } from '../support/each-database.ts'
import { newcomer, openAsDeveloper, submitForm } from '../support/forms.ts'

const minuteMs = 60_000
const { email, password } = seeded

async function isSignedIn(browser: Browser): Promise<boolean> {
  const { statusCode, body } = await browser.get('/account')
  return statusCode === 200 && !body.includes('<h1>Sign in</h1>')
}

/**
 * Opens a page with the only session of the store. Then waits until the store has the session's new expiry time,
 * because the portal answers before it stores this time.
 */
async function use(browser: Browser, { store }: TestSandbox): Promise<boolean> {
  const findEnd = () => store.read.selectFrom('portal_sessions').select('expires_at').executeTakeFirstOrThrow()
  const { expires_at: before } = await findEnd()
  const isIn = await isSignedIn(browser)
  while (isIn && (await findEnd()).expires_at === before) await setImmediate()
  return isIn
}

for (const database of await openDatabases(t)) {
  t.test(
    `PS-07: a portal session ends eight hours after signing in, even if it is used all the time (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const browser = await openAsDeveloper(sandbox)
      for (let count = 1; count <= 8; count += 1) {
        sandbox.passTime(59 * minuteMs)
        t.ok(await use(browser, sandbox), `after ${count} times 59 minutes`)
      }
      sandbox.passTime(8 * minuteMs - 1)
      t.ok(await isSignedIn(browser), 'the session must be valid a millisecond before its end')
      sandbox.passTime(1)
      t.notOk(await isSignedIn(browser))
    },
  )

  t.test(`PS-07: a portal session ends after an hour without use (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const browser = await openAsDeveloper(sandbox)
    sandbox.passTime(60 * minuteMs - 1)
    t.ok(await use(browser, sandbox))
    sandbox.passTime(60 * minuteMs - 1)
    t.ok(await use(browser, sandbox), 'the hour must begin with the last use')
    sandbox.passTime(60 * minuteMs)
    t.notOk(await isSignedIn(browser))
  })

  t.test(
    `PS-07: if somebody signs in or signs up in a browser that has a session, the portal ends this old session (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const browser = await openAsDeveloper(sandbox)
      const other = await openAsDeveloper(sandbox)
      const pages = openBrowser(sandbox)
      const again = [
        ['/sign-in', { email, password }],
        ['/sign-up', newcomer],
      ] as const
      for (const [action, fields] of again) {
        const before = browser.copy()
        t.ok(await isSignedIn(before))
        // The form comes from a page that was loaded without a session.
        const answer = await submitForm(browser, await pages.get('/account'), action, fields)
        t.equal(answer.statusCode, 303)
        t.notOk(await isSignedIn(before), `${action}: the old cookie must no longer work`)
        t.ok(await isSignedIn(browser))
      }
      t.ok(await isSignedIn(other), 'other sessions must stay signed in')
    },
  )
}
