// Starts the machine's own Chromium without a window, for a test or a script. No browser is downloaded.
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

/**
 * The headless shell has the same network, cookies and pages as Chromium. For a page, it needs only a sixth of the
 * CPU time that Chromium needs.
 */
const shellPath = existsSync('/usr/bin/chromium-headless-shell') ? '/usr/bin/chromium-headless-shell' : chromiumPath

/**
 * The reason why tests are skipped if Chromium is missing. In CI, this is always false, because the tests of the
 * conformance suite use it to leave out pairs of a mistake and a check. A pair that is left out is not a skipped test,
 * so CI would not fail.
 */
export const skip: string | false =
  !chromiumPath && !process.env.CI ? 'there is no Chromium on this machine: "apt-get install chromium"' : false

type Settings = {
  /**
   * Starts the whole Chromium instead of the shell. Only the whole Chromium keeps pages for Back, repeats failed
   * requests, and reads `preferences`.
   */
  isWhole?: boolean
  /** The content of the file Preferences in Chromium's profile. */
  preferences?: object
  switches?: string[]
}

export async function launchChromium(t: Teardown, settings: Settings = {}): Promise<Browser> {
  return launch(t, settings, options => chromium.launch(options))
}

/** Starts a Chromium to which other processes can connect. Its `wsEndpoint()` returns the address. */
export async function serveChromium(t: Teardown, settings: Settings = {}): Promise<BrowserServer> {
  return launch(t, settings, options => chromium.launchServer(options))
}

async function launch<Started extends { close(): Promise<void> }>(
  t: Teardown,
  { isWhole, preferences = {}, switches = [] }: Settings,
  start: (options: LaunchOptions) => Promise<Started>,
): Promise<Started> {
  if (!chromiumPath) throw new Error('Chromium is not installed: "apt-get install chromium" installs it.')
  const profile = await mkdtemp(join(tmpdir(), 'chromium-'))
  await mkdir(join(profile, 'Default'))
  await writeFile(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences))
  const started = await start({
    executablePath: isWhole ? chromiumPath : shellPath,
    // Playwright's own switches would turn off two features that visitors have: the browser keeps pages for Back, and
    // reloads error pages automatically.
    ignoreDefaultArgs: true,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      // Fewer processes save most of the time: one process for all pages of a context, and no separate process for the
      // network or graphics.
      '--in-process-gpu',
      '--enable-features=NetworkServiceInProcess2',
      '--renderer-process-limit=1',
      '--disable-site-isolation-trials',
      // Pages are open too briefly for optimized scripts to save time.
      '--js-flags=--no-maglev,--no-opt',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--remote-debugging-pipe',
      '--no-startup-window',
      `--user-data-dir=${profile}`,
      // RenderDocument creates a new frame for each document. The new frame takes a third of the time of a navigation,
      // and pages work in the same way without RenderDocument.
      `--disable-features=RenderDocument${isWhole ? '' : ',BackForwardCache'}`,
      // If the shell is missing, these switches make Chromium behave like the shell: it keeps no pages for Back and
      // repeats no requests.
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
