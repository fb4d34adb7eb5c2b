// Launches Chromium, Firefox or WebKit for a test, each with the same small interface for the actions of a visitor.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Page as ChromiumPage } from 'playwright-core'
import puppeteer, { type Browser as Firefox, type Page as FirefoxPage } from 'puppeteer-core'
import all from 'tap'
import { request } from 'undici'
import { findFreePort } from './free-port.ts'
import { openPage } from './open-page.ts'
import type { Teardown } from './teardown.ts'

export const engines = ['Chromium', 'Firefox', 'WebKit'] as const
export type Engine = (typeof engines)[number]

/** The programs of each engine, and the Debian packages that contain them. */
const programs: Record<Engine, { paths: string[]; packages: string }> = {
  Chromium: { paths: ['/usr/bin/chromium'], packages: 'chromium' },
  Firefox: { paths: ['/usr/bin/firefox-esr'], packages: 'firefox-esr' },
  WebKit: { paths: ['/usr/bin/WebKitWebDriver', '/usr/bin/Xvfb'], packages: 'webkit2gtk-driver xvfb' },
}

/** Returns the reason why tests with this engine must be skipped, or false if the engine is installed. */
export function skipEngine(engine: Engine): string | false {
  const { paths, packages } = programs[engine]
  if (paths.every(path => existsSync(path))) return false
  return `${engine} is not installed: "apt-get install ${packages}"`
}

/** This time is longer than any pause of a busy machine. */
const patienceMs = 60_000

/** One tab of a browser. If a method waits too long, it throws an error that contains the text of the tab. */
export interface Tab {
  goto(url: string): Promise<void>
  reload(): Promise<void>
  /** Presses Back, and does not wait until the page has loaded. */
  back(): Promise<void>
  url(): Promise<string>
  /** The text that a visitor sees, on one line. */
  text(): Promise<string>
  /** Waits until the address of the tab no longer begins with `url`. */
  leave(url: string): Promise<void>
  /** Waits for this text on the page. */
  see(text: string): Promise<void>
  click(role: 'button' | 'link', name: string): Promise<void>
  /** Replaces the value of the field with this label. */
  fill(label: string, text: string): Promise<void>
  /** Returns the value of the field with this label. */
  valueOf(label: string): Promise<string>
  /** Evaluates an expression in the page. Use it for values that the methods above do not return. */
  evaluate<Value>(expression: string): Promise<Value>
  screenshot(path: string): Promise<void>
  /** Opens another tab, with the same cookies. */
  newTab(): Promise<Tab>
  close(): Promise<void>
}

/** The operations of an engine. `element` is a JavaScript expression in the page. */
interface Driver {
  goto(url: string): Promise<unknown>
  reload(): Promise<unknown>
  back(): Promise<unknown>
  url(): Promise<string> | string
  evaluate(expression: string): Promise<unknown>
  /** Resolves to false if there is no such element. */
  click(element: string): Promise<boolean>
  type(element: string, text: string): Promise<boolean>
  screenshot(path: string): Promise<unknown>
  newTab(): Promise<Driver>
  close(): Promise<unknown>
}

/**
 * Launches a browser without cookies, and resolves to its first tab. The browser accepts any certificate, and is closed
 * after the test.
 */
export async function launchBrowser(t: Teardown, engine: Engine): Promise<Tab> {
  const start = { Chromium: startChromium, Firefox: startFirefox, WebKit: startWebKit }[engine]
  return makeTab(await start(t))
}

/**
 * This code runs in the page. It finds a visible element by its role and its exact name. For a field, the beginning of
 * the label is enough.
 */
const find = `(role, name) => {
  const textOf = element => element.textContent.replace(/\\s+/g, ' ').trim()
  const visible = selector => [...document.querySelectorAll(selector)].filter(element => element.checkVisibility())
  if (role !== 'field') return visible(role === 'link' ? 'a[href]' : 'button').find(one => textOf(one) === name) ?? null
  const labels = visible('label')
  const label = labels.find(one => textOf(one) === name) ?? labels.find(one => textOf(one).startsWith(name))
  return label?.control ?? null
}`
const elementOf = (role: string, name: string) => `(${find})(${JSON.stringify(role)}, ${JSON.stringify(name)})`
const visibleText = `(document.body?.innerText ?? '').replace(/\\s+/g, ' ').trim()`

function makeTab(driver: Driver): Tab {
  /**
   * Calls `isDone` until it returns true. The function ignores errors of `isDone`, because a page that is loading or
   * closing does not answer.
   */
  async function until(isDone: () => Promise<boolean>, what: string): Promise<void> {
    const end = performance.now() + patienceMs
    let fault: unknown
    while (performance.now() < end) {
      try {
        if (await isDone()) return
      } catch (error) {
        fault = error
      }
      await wait(50)
    }
    const shown = await driver.evaluate(visibleText).catch(() => 'nothing')
    throw new Error(`${what}. The tab is at ${await driver.url()} and shows: ${shown}`, { cause: fault })
  }

  return {
    goto: async url => void (await driver.goto(url)),
    reload: async () => void (await driver.reload()),
    back: async () => void (await driver.back()),
    url: async () => driver.url(),
    text: () => driver.evaluate(visibleText) as Promise<string>,
    leave: url => until(async () => !(await driver.url()).startsWith(url), `The tab does not leave ${url}`),
    see: text =>
      until(async () => ((await driver.evaluate(visibleText)) as string).includes(text), `There is no text "${text}"`),
    click: (role, name) => until(() => driver.click(elementOf(role, name)), `There is no ${role} "${name}"`),
    fill: (label, text) => until(() => driver.type(elementOf('field', label), text), `There is no field "${label}"`),
    valueOf: label => driver.evaluate(`${elementOf('field', label)}.value`) as Promise<string>,
    evaluate: <Value>(expression: string) => driver.evaluate(expression) as Promise<Value>,
    screenshot: async path => void (await driver.screenshot(path)),
    newTab: async () => makeTab(await driver.newTab()),
    close: async () => void (await driver.close()),
  }
}

// Chromium through Playwright.

async function startChromium(t: Teardown): Promise<Driver> {
  const { page } = await openPage(t, { isWhole: true, ignoreHTTPSErrors: true })
  return chromiumTab(page)
}

function chromiumTab(page: ChromiumPage): Driver {
  const find = async (element: string) => (await page.evaluateHandle(element)).asElement()
  return {
    goto: url => page.goto(url),
    reload: () => page.reload(),
    back: () => page.goBack({ waitUntil: 'commit' }),
    url: () => page.url(),
    evaluate: expression => page.evaluate(expression),
    click: async element => {
      const found = await find(element)
      await found?.click()
      return found !== null
    },
    type: async (element, text) => {
      const found = await find(element)
      await found?.fill(text)
      return found !== null
    },
    screenshot: path => page.screenshot({ path }),
    newTab: async () => chromiumTab(await page.context().newPage()),
    close: () => page.close(),
  }
}

// Firefox through Puppeteer and WebDriver BiDi.

/** Starting Firefox takes a few seconds, so all tests of a process share it. Each test has its own cookies. */
let firefox: Promise<Firefox> | undefined

async function startFirefox(t: Teardown): Promise<Driver> {
  firefox ??= shareFirefox()
  const browser = await firefox
  const context = await browser.createBrowserContext()
  t.teardown(() => context.close())
  return firefoxTab(await context.newPage())
}

async function shareFirefox(): Promise<Firefox> {
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: programs.Firefox.paths[0]!,
    headless: true,
    acceptInsecureCerts: true,
  })
  all.teardown(() => browser.close())
  return browser
}

function firefoxTab(page: FirefoxPage): Driver {
  page.setDefaultTimeout(patienceMs)
  const find = async (element: string) => (await page.evaluateHandle(element)).asElement()
  return {
    // If the page at this address opens the next page automatically, the next page interrupts this navigation.
    goto: url => page.goto(url, { waitUntil: 'domcontentloaded' }).catch(unlessInterrupted),
    reload: () => page.reload({ waitUntil: 'domcontentloaded' }).catch(unlessInterrupted),
    back: () => page.goBack({ waitUntil: 'domcontentloaded' }).catch(unlessInterrupted),
    // Puppeteer learns about a new address a little later than the page itself.
    url: () => page.evaluate('location.href') as Promise<string>,
    evaluate: expression => page.evaluate(expression),
    click: async element => {
      const found = await find(element)
      await found?.click()
      return found !== null
    },
    type: async (element, text) => {
      const found = await find(element)
      await found?.evaluate('element => element.select()' as never)
      await found?.press('Delete')
      await found?.type(text)
      return found !== null
    },
    screenshot: path => page.screenshot({ path: path as `${string}.png` }),
    newTab: async () => firefoxTab(await page.browserContext().newPage()),
    close: () => page.close(),
  }
}

function unlessInterrupted(error: Error): void {
  if (!/abort|interrupt/i.test(error.message)) throw error
}

// WebKit through the WebDriver protocol (https://www.w3.org/TR/webdriver2/), with a virtual display.

async function startWebKit(t: Teardown): Promise<Driver> {
  const display = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => end(display))
  const [number] = (await Promise.race([once(display.stdio[3]!, 'data'), failed(display, 'Xvfb')])) as [Buffer]
  const port = await findFreePort()
  const driver = spawn('WebKitWebDriver', ['-p', `${port}`], {
    env: { ...process.env, DISPLAY: `:${`${number}`.trim()}` },
    stdio: 'ignore',
  })
  t.teardown(() => end(driver))

  const call = async (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<unknown> => {
    const answer = await request(`http://127.0.0.1:${port}${path}`, {
      method,
      headersTimeout: 2 * patienceMs,
      ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }),
    })
    const { value } = (await answer.body.json()) as { value: unknown }
    if (answer.statusCode === 200) return value
    const { error, message } = value as { error: string; message: string }
    throw new Error(`WebKitWebDriver, ${method} ${path}: ${error}: ${message}`)
  }
  await Promise.race([listening(() => call('GET', '/status')), failed(driver, 'WebKitWebDriver')])
  const capabilities = { alwaysMatch: { acceptInsecureCerts: true } }
  const { sessionId } = (await call('POST', '/session', { capabilities })) as { sessionId: string }
  const session = `/session/${sessionId}`
  // This call also ends the browser.
  t.teardown(async () => void (await call('DELETE', session)))
  await call('POST', `${session}/timeouts`, { pageLoad: patienceMs, script: patienceMs })

  /**
   * The driver sends commands to the window that was selected last. So each tab selects its own window, and no two
   * commands run at the same time.
   */
  let last: Promise<unknown> = Promise.resolve()
  const tab = (handle: string): Driver => {
    const inTab = <Result>(work: () => Promise<Result>): Promise<Result> => {
      const run = last
        .catch(() => {})
        .then(() => call('POST', `${session}/window`, { handle }))
        .then(work)
      last = run
      return run
    }
    const evaluate = (expression: string) =>
      call('POST', `${session}/execute/sync`, { script: `return (${expression})`, args: [] })
    const withElement = (element: string, act: (path: string) => Promise<unknown>) =>
      inTab(async () => {
        const found = (await evaluate(element)) as Record<string, string> | null
        if (found) await act(`${session}/element/${Object.values(found)[0]}`)
        return found !== null
      })
    return {
      goto: url => inTab(() => call('POST', `${session}/url`, { url })),
      reload: () => inTab(() => call('POST', `${session}/refresh`)),
      // The driver's own command never returns for a page that redirects to another site.
      back: () => inTab(() => evaluate('setTimeout(() => history.back())')),
      url: () => inTab(() => call('GET', `${session}/url`)) as Promise<string>,
      evaluate: expression => inTab(() => evaluate(expression)),
      click: element => withElement(element, path => call('POST', `${path}/click`)),
      type: (element, text) =>
        withElement(element, async path => {
          await call('POST', `${path}/clear`)
          if (text) await call('POST', `${path}/value`, { text })
        }),
      screenshot: path =>
        inTab(async () => {
          const image = (await call('GET', `${session}/screenshot`)) as string
          writeFileSync(path, Buffer.from(image, 'base64'))
        }),
      newTab: () =>
        inTab(async () => {
          const { handle } = (await call('POST', `${session}/window/new`, { type: 'tab' })) as { handle: string }
          return tab(handle)
        }),
      close: () => inTab(() => call('DELETE', `${session}/window`)),
    }
  }
  return tab((await call('GET', `${session}/window`)) as string)
}

async function listening(ask: () => Promise<unknown>): Promise<void> {
  for (const end = performance.now() + patienceMs; performance.now() < end; await wait(50))
    try {
      return void (await ask())
    } catch {
      // WebKitWebDriver does not listen yet.
    }
  throw new Error('WebKitWebDriver does not answer.')
}

/** Rejects if the program cannot be started, or ends by itself. */
async function failed(program: ChildProcess, name: string): Promise<never> {
  const [code] = (await once(program, 'exit')) as [number | null]
  throw new Error(`${name} ended with exit code ${code}. "apt-get install ${programs.WebKit.packages}" installs it.`)
}

async function end(program: ChildProcess): Promise<void> {
  if (program.pid === undefined || program.exitCode !== null || program.signalCode !== null) return
  const ended = once(program, 'exit')
  program.kill()
  await ended
}
