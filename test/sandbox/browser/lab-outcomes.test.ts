// Runs axe-core on the mailbox page and on the page of a login, for each outcome of a login, with and without forced
// colours.
import t from 'tap'
import { findViolations } from '../../support/find-violations.ts'
import { findFreePort } from '../../support/free-port.ts'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import { exchange, locationOf, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded } from '../support/build-test-sandbox.ts'

t.test(
  'axe-core finds no problem on the mailbox page and on the page of a login, whatever the outcome of the login',
  { skip },
  async t => {
    const port = await findFreePort()
    const labUrl = `http://127.0.0.1:${port}`
    const sandbox = await buildTestSandbox(t, { lab: { host: '127.0.0.1', port, urls: [labUrl], token: undefined } })
    await sandbox.lab!.listen({ host: '127.0.0.1', port })
    const { page, troubles } = await openPage(t, { viewport: { width: 320, height: 800 } })

    const look = async (name: string) => {
      for (const forcedColors of ['none', 'active'] as const) {
        await page.emulateMedia({ forcedColors })
        t.strictSame(await findViolations(page), [], `${name}, forced colours: ${forcedColors}`)
        const width = (await page.evaluate('document.documentElement.scrollWidth')) as number
        t.ok(width <= 320, `${name}, forced colours: ${forcedColors}: it is ${width} pixels wide`)
      }
    }
    const lookAtLogin = async (status: string) => {
      const answer = await sandbox.lab!.inject({ url: '/lab/v1/logins', headers: { host: `127.0.0.1:${port}` } })
      const [newest] = answer.json().logins
      t.equal(newest.status, status)
      await page.goto(newest.url)
      await page.locator('summary').first().waitFor()
      await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
      await look(status)
    }

    await page.goto(`${labUrl}/mailbox`)
    await look('an empty mailbox')

    await sandbox.portal.inject('/.well-known/oauth-authorization-server')
    await lookAtLogin('no login')

    await sandbox.portal.inject(startUrl({ state: 'of-the-first' }))
    await lookAtLogin('under way')
    sandbox.passTime(121_000)
    await lookAtLogin('abandoned')

    const browser = openBrowser(sandbox)
    await browser.submit(await signIn(browser, { state: 'of-the-second' }), { decision: 'decline' })
    await lookAtLogin('declined')

    await sandbox.portal.inject(startUrl({ redirect_uri: `${seeded.redirectUri}/` }))
    await lookAtLogin('refused')

    const getCode = async (state: string) => {
      const page = await browser.get(startUrl({ state }))
      const answer = page.statusCode === 303 ? page : await browser.submit(page, { decision: 'allow' })
      return new URL(locationOf(answer)).searchParams.get('code') ?? ''
    }
    await getCode('of-the-third')
    sandbox.passTime(121_000)
    await lookAtLogin('never exchanged')

    for (const state of ['of-the-fourth', 'of-the-fifth', 'of-the-sixth']) {
      await exchange(sandbox, { code: await getCode(state), state })
      if (state === 'of-the-fourth') await lookAtLogin('signed in')
    }
    await lookAtLogin('signed in, possibly in a loop')

    const code = await getCode('of-the-seventh')
    for (const _ of [1, 2]) await exchange(sandbox, { code, state: 'of-the-seventh' })
    sandbox.passTime(121_000)
    const alone = await getCode('of-the-eighth')
    for (const _ of [1, 2]) await exchange(sandbox, { code: alone, state: 'of-the-eighth' })
    await lookAtLogin('signed in, then 1 call refused')

    const stranger = openBrowser(sandbox)
    const form = await stranger.get('/forgot-password')
    await stranger.submit(form, { email: seeded.email })
    await page.goto(`${labUrl}/mailbox`)
    await page.getByRole('link', { name: /reset/ }).waitFor()
    await look('a mailbox')
    t.strictSame(troubles, [], 'the console is silent')
  },
)
