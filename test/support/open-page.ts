// Opens a page in Chromium for one test, with its own cookies. Records events that must not happen on any page.
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core'
import all from 'tap'
import { launchChromium } from './launch-chromium.ts'
import { findSharedServer } from './shared-servers.ts'
import type { Teardown } from './teardown.ts'

/**
 * All tests of a process or of the whole run share one browser of each kind, because starting a browser takes longer
 * than a test.
 */
const shared: { [what in 'chromium' | 'shell']?: Promise<Browser> } = {}

/** Returns the whole Chromium ("chromium") or the headless shell ("shell"). The caller must not close the browser. */
export function shareChromium(what: 'chromium' | 'shell'): Promise<Browser> {
  shared[what] ??= connectTo(what)
  return shared[what]
}

async function connectTo(what: 'chromium' | 'shell'): Promise<Browser> {
  const address = await findSharedServer(what)
  if (!address) return launchChromium(all, { isWhole: what === 'chromium' })
  const browser = await chromium.connect(address)
  all.teardown(() => browser.close())
  return browser
}

export type PageSettings = BrowserContextOptions & {
  /** A browser that the test has started. */
  browser?: Browser
  /** Uses the whole Chromium: see launchChromium. */
  isWhole?: boolean
}

/** Opens a page, which is closed after the test. `troubles` collects errors, warnings and dialogs in all tabs. */
export async function openPage(t: Teardown, { browser, isWhole, ...options }: PageSettings = {}) {
  const context = await (browser ?? (await shareChromium(isWhole ? 'chromium' : 'shell'))).newContext(options)
  t.teardown(() => context.close())
  // This time is longer than any pause of a busy machine.
  context.setDefaultTimeout(120_000)
  const troubles: string[] = []
  const pages = new Set<string>()
  context.on('request', request => {
    if (request.isNavigationRequest()) pages.add(request.url())
  })
  context.on('console', message => {
    const { url } = message.location()
    // Chromium reports a page with an error status, such as 401, as an error, although it shows the page. For any other
    // resource, this message is a real error.
    if (message.text().startsWith('Failed to load resource: the server responded with') && pages.has(url)) return
    if (['error', 'warning'].includes(message.type())) troubles.push(`${message.text()} ${url}`)
  })
  context.on('weberror', error => troubles.push(String(error.error())))
  context.on('dialog', dialog => {
    // The browser asks the visitor before it leaves a form with changes. In the tests, the visitor leaves.
    if (dialog.type() === 'beforeunload') return void dialog.accept()
    troubles.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return { context, page: await context.newPage(), troubles }
}
