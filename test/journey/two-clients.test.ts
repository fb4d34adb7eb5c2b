// Tests how two clients on one sandbox react to the same faults: the reference client and a client of forty lines.
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { findFreePort } from '../support/free-port.ts'
import { type FortyLineSettings, fortyLineClient } from './support/forty-line-client.ts'
import { HttpBrowser } from './support/http-browser.ts'
import { reachCallback } from './support/log-in.ts'
import { type Both, startBoth } from './support/start-both.ts'

type Made = { clientId: string; clientSecret: string }

/** Registers and starts the forty-line client on the same sandbox as our client. */
async function startFortyLines(t: Test, { lab, portalUrl, apiUrl }: Both): Promise<FortyLineSettings> {
  const port = await findFreePort()
  const ownUrl = `http://localhost:${port}`
  const made = await lab.ask<Made>('POST', 'applications', {
    redirectUri: `${ownUrl}/exchangeToken`,
    name: 'Forty lines',
  })
  const { clientId, clientSecret } = made
  const settings = { loginUrl: portalUrl, baseUrl: apiUrl, ownUrl, clientId, clientSecret }
  const server = fortyLineClient(settings).listen(port, 'localhost')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return settings
}

/** The status, and part of the page. */
type Seen = [status: number, text: string]

const broken = 'This page cannot be loaded right now'
const none = 'Cannot read properties of undefined'

/**
 * For each fault: the result for our client, the result for the client of forty lines, and the laboratory's notice
 * about the client of forty lines.
 */
const rows: [fault: string, ours: Seen, theirs: Seen, noticed?: string][] = [
  ['redirect-state-other', [400, 'The sign-in did not work'], [500, 'This state is unknown.']],
  ['redirect-code-missing', [400, 'The sign-in did not work'], [500, none]],
  ['redirect-error-access-denied', [200, 'You did not sign in'], [500, none]],
  ['exchange-503', [503, 'Too busy right now'], [500, 'The portal answered for another state.']],
  ['exchange-reset', [502, broken], [500, 'fetch failed']],
  ['exchange-html', [502, broken], [500, 'is not valid JSON']],
  ['exchange-state-other', [502, broken], [500, 'The portal answered for another state.']],
  ['exchange-redirect-307', [502, broken], [500, 'The portal answered for another state.'], 'followed-redirect'],
  ['exchange-expires-in-words', [502, broken], [200, '<li>Reference client</li>']],
  ['exchange-token-type-missing', [502, broken], [500, none]],
  ['list-401', [200, 'Your applications'], [500, none]],
  ['list-503', [503, 'Too busy right now'], [500, none]],
  ['list-redirect-302', [502, broken], [500, none], 'followed-redirect'],
  ['list-hostile-texts', [200, '&lt;script&gt;'], [200, '<script>alert(1)</script>']],
  ['list-5000', [200, 'Your applications'], [200, '<li>Application 5000</li>']],
]

t.test(
  'for each fault, the laboratory says where the fault happened and which of the two clients made a mistake',
  async t => {
    const both = await startBoth(t)
    const { lab } = both
    const forty = await startFortyLines(t, both)

    /** Performs a whole login during which the fault happens. */
    async function meet(fault: string, clientId: string, url: string) {
      await lab.order(fault, { clientId })
      const browser = new HttpBrowser()
      const page = await browser.follow(await reachCallback(browser, { ...both, publicUrl: url }))
      const { steps, noticed } = await lab.lastLogin(clientId)
      t.ok(
        steps.some(step => step.fault?.name === fault),
        `the laboratory shows ${fault} at a step of the login of ${url}`,
      )
      return { page, noticed: noticed.map(({ id }) => id) }
    }

    for (const [fault, ours, theirs, mistake] of rows) {
      const reference = await meet(fault, both.clientId, both.publicUrl)
      t.match(reference.page, { status: ours[0], text: ours[1] }, `${fault}, ours`)
      t.same(reference.noticed, [], `${fault}: there must be no notice about our client`)
      const first = await meet(fault, forty.clientId, forty.ownUrl)
      t.match(first.page, { status: theirs[0], text: theirs[1] }, `${fault}, forty lines`)
      // The most severe notices come first.
      t.same(
        first.noticed,
        [...(mistake ? [mistake] : []), 'short-state', 'no-pkce'],
        `${fault}: the notices about the client of forty lines`,
      )
    }
  },
)
