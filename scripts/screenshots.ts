// Takes a picture of every page of the client, for phones and desktops, light and dark: npm run screenshots [folder]
import { mkdir, rm } from 'node:fs/promises'
import { usualWords, visitEveryPage } from '../test/browser/support/visit-every-page.ts'
import { startBoth } from '../test/journey/support/start-both.ts'
import { launchChromium } from '../test/support/launch-chromium.ts'

const folder = process.argv[2] ?? 'data/screenshots'
/** The README shows the visible part of these pages. */
const shown = [
  'list.desk-light.png',
  'credentials.desk-dark.png',
  'new-refused.phone-light.png',
  'application.phone-dark.png',
]
const shownFolder = 'docs/screenshots'

const sizes = { phone: { width: 360, height: 740 }, desk: { width: 1200, height: 800 } }
const stops: (() => Promise<void>)[] = []
const scope = { teardown: (stop: () => Promise<void>) => void stops.unshift(stop) }

try {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await mkdir(shownFolder, { recursive: true })
  const both = await startBoth(scope)
  // On phones, scrollbars take no space on the page.
  const browser = await launchChromium(scope, { isWhole: true, switches: ['--hide-scrollbars'] })
  const page = await browser.newPage()
  page.setDefaultTimeout(120_000)
  await visitEveryPage(page, both, usualWords, async name => {
    for (const [size, viewport] of Object.entries(sizes))
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme })
        const file = `${name}.${size}-${colorScheme}.png`
        await page.screenshot({ path: `${folder}/${file}`, fullPage: true })
        if (shown.includes(file)) await page.screenshot({ path: `${shownFolder}/${file}` })
      }
  })
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 900, height: 620 })
  await page.goto(both.labUrl)
  await page.locator('a[href^="/logins/"]').first().click()
  await page.waitForURL('**/logins/**')
  await page.screenshot({ path: `${shownFolder}/login-in-the-laboratory.png` })
} finally {
  for (const stop of stops) await stop()
}
