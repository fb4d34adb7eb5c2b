// Compares our browser with Chromium: the same visits must cause the same requests, and leave the same cookies.
import t from 'tap'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import { doInChromium, doInOurs } from './situation.ts'
import { cookies } from './situations/cookies.ts'
import { forms } from './situations/forms.ts'
import { navigations } from './situations/navigations.ts'
import { redirects } from './situations/redirects.ts'
import { referrers } from './situations/referrers.ts'
import { startSites } from './start-sites.ts'

// The longest situations run first, so that the test does not wait for them at the end.
const situations = [...forms, ...cookies, ...navigations, ...redirects, ...referrers]

t.test('our browser sends the same requests as Chromium and keeps the same cookies', { skip }, async t => {
  const rest = [...situations]
  /** Several situations run in parallel, because they mostly wait for requests that may never come. */
  const work = async () => {
    const sites = await startSites(t)
    const { page: window } = await openPage(t, { javaScriptEnabled: false })
    for (let situation = rest.shift(); situation; situation = rest.shift()) {
      const { expected, ...ours } = await doInOurs(sites, situation)
      t.same(ours, await doInChromium(sites, window, situation, expected), situation.name)
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
})
