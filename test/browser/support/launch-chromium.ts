// Headless Chromium for a test or a script, as a person has it; the machine's own, since none is downloaded.
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core'
import type { Teardown } from '../../journey/support/start-both.ts'

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const chromiumPath = places.find(path => existsSync(path))

/** For tests: without Chromium they are left out here, and fail where everything has to run. */
export const skip: string | false =
  !chromiumPath && !process.env.CI ? 'there is no Chromium on this machine: "apt-get install chromium"' : false

type Settings = {
  /** The settings of Chromium's profile, as its own file of that name has them. */
  preferences?: object
  switches?: string[]
}

export async function launchChromium(
  t: Teardown,
  { preferences = {}, switches = [] }: Settings = {},
): Promise<Browser> {
  if (!chromiumPath) throw new Error('Chromium is not installed: "apt-get install chromium" brings it.')
  const profile = await mkdtemp(join(tmpdir(), 'chromium-'))
  await mkdir(join(profile, 'Default'))
  await writeFile(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences))
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    // Playwright's own switches would turn off what a person has: pages kept for Back, errors that reload by themselves.
    ignoreDefaultArgs: true,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--remote-debugging-pipe',
      '--no-startup-window',
      `--user-data-dir=${profile}`,
      ...switches,
    ],
  })
  t.teardown(async () => {
    await browser.close()
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  })
  return browser
}

/** A page in a jar of its own. `troubles` collects what must not happen on any page, in this tab or another. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options)
  // Longer than a busy machine stands still for.
  context.setDefaultTimeout(120_000)
  const troubles: string[] = []
  const pages = new Set<string>()
  context.on('request', request => {
    if (request.isNavigationRequest()) pages.add(request.url())
  })
  context.on('console', message => {
    const { url } = message.location()
    // Chromium notes a page that is answered with 401 as an error, though it shows it; of anything else it counts.
    if (message.text().startsWith('Failed to load resource: the server responded with') && pages.has(url)) return
    if (['error', 'warning'].includes(message.type())) troubles.push(`${message.text()} ${url}`)
  })
  context.on('weberror', error => troubles.push(String(error.error())))
  context.on('dialog', dialog => {
    troubles.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return { context, page: await context.newPage(), troubles }
}
