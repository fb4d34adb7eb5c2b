// Headless Chromium for a test or a script, as a person has it; the machine's own, since none is downloaded.
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserServer, chromium, type LaunchOptions } from 'playwright-core'
import type { Teardown } from './teardown.ts'

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const chromiumPath = places.find(path => existsSync(path))

/** The same network, cookies and pages without a window around them: a page costs a sixth of the processor's time there. */
const shellPath = existsSync('/usr/bin/chromium-headless-shell') ? '/usr/bin/chromium-headless-shell' : chromiumPath

/** For tests: without Chromium they are left out here, and fail where everything has to run. */
export const skip: string | false =
  !chromiumPath && !process.env.CI ? 'there is no Chromium on this machine: "apt-get install chromium"' : false

type Settings = {
  /** For what the window around a page does: it keeps pages for Back, repeats what failed, and has a visitor's settings. */
  isWhole?: boolean
  /** The settings of Chromium's profile, as its own file of that name has them. */
  preferences?: object
  switches?: string[]
}

export async function launchChromium(t: Teardown, settings: Settings = {}): Promise<Browser> {
  return launch(t, settings, options => chromium.launch(options))
}

/** One that other processes connect to, at its `wsEndpoint()`. */
export async function serveChromium(t: Teardown, settings: Settings = {}): Promise<BrowserServer> {
  return launch(t, settings, options => chromium.launchServer(options))
}

async function launch<Started extends { close(): Promise<void> }>(
  t: Teardown,
  { isWhole, preferences = {}, switches = [] }: Settings,
  start: (options: LaunchOptions) => Promise<Started>,
): Promise<Started> {
  if (!chromiumPath) throw new Error('Chromium is not installed: "apt-get install chromium" brings it.')
  const profile = await mkdtemp(join(tmpdir(), 'chromium-'))
  await mkdir(join(profile, 'Default'))
  await writeFile(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences))
  const started = await start({
    executablePath: isWhole ? chromiumPath : shellPath,
    // Playwright's own switches would turn off what a person has: pages kept for Back, errors that reload by themselves.
    ignoreDefaultArgs: true,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      // Processes are what costs most: one for the pages of a jar, none for the network or a graphics card that is not there.
      '--in-process-gpu',
      '--enable-features=NetworkServiceInProcess2',
      '--renderer-process-limit=1',
      '--disable-site-isolation-trials',
      // No page lives long enough to get back what the optimizing of its scripts takes.
      '--js-flags=--no-maglev,--no-opt',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--remote-debugging-pipe',
      '--no-startup-window',
      `--user-data-dir=${profile}`,
      // A new frame for each document, of which no page sees anything, is a third of what a navigation costs.
      `--disable-features=RenderDocument${isWhole ? '' : ',BackForwardCache'}`,
      // Where the small one is missing, the other does as it would: it keeps no page for Back, and repeats nothing.
      ...(isWhole ? [] : ['--disable-auto-reload']),
      ...switches,
    ],
  })
  t.teardown(async () => {
    await started.close()
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  })
  return started
}
