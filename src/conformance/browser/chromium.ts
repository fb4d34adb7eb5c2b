// Starts a real Chromium for the option --browser, with the package playwright-core. Users of this option must install
// Chromium and this package.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import type * as Playwright from 'playwright-core'

/** Thrown if Chromium or the package playwright-core is missing. The message says how to install it. */
export class NoChromium extends Error {}

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome', 'chrome.exe']
const elsewhere = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:/Program Files/Google/Chrome/Application/chrome.exe',
]

/**
 * `wanted`: "chromium" for an installed Chromium, or the path of an executable. `path`: the folders in which to look
 * for programs, in the format of PATH. Throws NoChromium.
 */
export async function launchChromium(wanted: string, path: string): Promise<Playwright.Browser> {
  const { chromium } = loadPlaywright()
  const executablePath = wanted === 'chromium' ? findExecutable(chromium.executablePath(), path) : wanted
  if (!executablePath)
    throw new NoChromium(
      'There is no Chromium on this machine. Install it, for example with "npx playwright-core install chromium", or name its path: --browser /path/to/chromium',
    )
  if (!existsSync(executablePath)) throw new NoChromium(`--browser: there is no file ${executablePath}`)
  try {
    // Keeps the back-forward cache, which normal browsers have. Playwright would disable this cache.
    return await chromium.launch({ executablePath, ignoreDefaultArgs: ['--disable-back-forward-cache'] })
  } catch (error) {
    throw new NoChromium(`${executablePath} did not start as a browser: ${(error as Error).message}`)
  }
}

/** Loads Playwright from the folder in which the command runs, or from the folder of this package. */
function loadPlaywright(): typeof Playwright {
  for (const base of [join(process.cwd(), 'package.json'), import.meta.filename]) {
    try {
      return createRequire(base)('playwright-core') as typeof Playwright
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    }
  }
  throw new NoChromium(
    '--browser needs the package playwright-core. Install it in the folder where you run the command: npm install --no-save playwright-core',
  )
}

/** Finds the Chromium that Playwright has installed, or one in PATH, or one in a usual folder. */
function findExecutable(installed: string, path: string): string | undefined {
  const inPath = path.split(delimiter).flatMap(folder => names.map(name => join(folder, name)))
  return [installed, ...inPath, ...elsewhere].find(file => file !== '' && existsSync(file))
}
