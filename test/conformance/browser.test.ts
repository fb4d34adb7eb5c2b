// Our browser against Chromium: the same visits make the same requests, and leave the same cookies.
import t from 'tap'
import { launchChromium, skip } from '../support/launch-chromium.ts'
import { cookies } from './situations/cookies.ts'
import { forms } from './situations/forms.ts'
import { navigations } from './situations/navigations.ts'
import { redirects } from './situations/redirects.ts'
import { referrers } from './situations/referrers.ts'
import { doInChromium, doInOurs } from './support/situation.ts'
import { startSites } from './support/start-sites.ts'

const situations = [...cookies, ...navigations, ...redirects, ...referrers, ...forms]

t.test('our browser asks as Chromium does, and keeps the same cookies', { skip }, async t => {
  // A page kept in memory is no request.
  const chromium = await launchChromium(t, { switches: ['--disable-features=BackForwardCache'] })
  const sites = await startSites(t)
  const context = await chromium.newContext({ javaScriptEnabled: false })
  t.ok(situations.length >= 60)
  for (const situation of situations) {
    const ours = await doInOurs(sites, situation)
    const window = await context.newPage()
    const theirs = await doInChromium(sites, window, situation, ours.counts)
    await window.close()
    await context.clearCookies()
    t.same({ seen: ours.seen, kept: ours.kept }, theirs, situation.name)
  }
})
