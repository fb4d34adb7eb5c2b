// Headless Chromium for a test; the machine's own, since none is downloaded.
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(path =>
  existsSync(path),
)

/** Without Chromium these tests are left out, but not where everything has to run. */
export const skip: string | false = !chromiumPath && !process.env.CI ? 'there is no Chromium on this machine' : false

export async function launchChromium(t: Test): Promise<Browser> {
  if (!chromiumPath) throw new Error('Chromium is not installed: "apt-get install chromium" brings it.')
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  t.teardown(() => browser.close())
  return browser
}

/** A page in a jar of its own. `troubles` collects what the console says of broken scripts and refused content. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; troubles: string[] }> {
  const context = await browser.newContext(options)
  // Longer than a busy machine stands still for.
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const troubles: string[] = []
  page.on('console', message => {
    // Chromium notes every answer of 4xx to a navigation, though it shows the page.
    const isStatus = message.text().startsWith('Failed to load resource: the server responded with a status of 4')
    if (['error', 'warning'].includes(message.type()) && !isStatus) troubles.push(message.text())
  })
  page.on('pageerror', error => troubles.push(String(error)))
  page.on('dialog', dialog => {
    troubles.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return { page, troubles }
}
