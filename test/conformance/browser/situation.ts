// Defines a situation: the steps of a person on two sites. Carries out these steps in our browser and in Chromium.
import type { Page as Window } from 'playwright-core'
import { createBrowser } from '../../../src/conformance/browser/browser.ts'
import type { Answers, Seen, Sites } from './start-sites.ts'

export type Step =
  /** Types an address. */
  | { visit: string }
  /** Presses the link with this text. */
  | { press: string }
  /** Fills in the first form. Then presses the button with the text `send`, or the Enter key if `send` is undefined. */
  | { send: string | undefined; values?: Record<string, string | string[]>; name?: string }
  | 'reload'
  | 'back'

export interface Situation {
  name: string
  /** Whether both sites have a cookie for each value of SameSite before the first step. */
  hasCookies?: boolean
  answers: Answers
  steps: Step[]
}

const ofEachKind = [
  { name: 'S', sameSite: 'Strict' as const },
  { name: 'L', sameSite: 'Lax' as const },
  { name: 'U' },
  { name: 'N', sameSite: 'None' as const, secure: true },
]

/** The requests that arrived at the servers, and one line for each cookie that the browser has at the end. */
type Done = { seen: Seen[]; kept: string[] }

/**
 * What must be true after a step: how many requests have arrived and, if the step opens a page, the address of this
 * page.
 */
type Expected = { count: number; url: string | undefined }

export async function doInOurs(
  sites: Sites,
  { answers, steps, hasCookies }: Situation,
): Promise<Done & { expected: Expected[] }> {
  const browser = createBrowser()
  sites.answer(answers)
  if (hasCookies)
    for (const url of ['{client}', '{other}'].map(sites.fill))
      for (const { name, sameSite, secure } of ofEachKind)
        browser.cookies.set(
          url,
          `${name}=1; Path=/${sameSite ? `; SameSite=${sameSite}` : ''}${secure ? '; Secure' : ''}`,
        )
  const expected: Expected[] = []
  let page = browser.show('http://localhost/', '')
  for (const step of steps) {
    const before = page
    if (step === 'reload') page = await browser.reload()
    else if (step === 'back') page = await browser.back()
    else if ('visit' in step) page = await browser.visit(sites.fill(step.visit))
    else if ('press' in step) {
      const link = page.links.find(({ text }) => text === step.press)
      if (!link) throw new Error(`no link ${step.press} on ${page.url}: ${page.body}`)
      page = await browser.visit(link, { from: page })
    } else page = await browser.submit(page, page.forms[0]!, step.values, { button: step.send })
    // If the answer is empty, broken or a file, the browser still shows the earlier page.
    if (page.status === 204 || page.error || page.headers.has('content-disposition')) page = before
    expected.push({ count: sites.seen().length, url: page === before ? undefined : page.url })
  }
  const kept = browser.cookies
    .list()
    .map(({ name, value, domain, isHostOnly, path, isSecure, isHttpOnly, sameSite = 'lax', expiresAt }) =>
      toLine([
        name,
        Buffer.from(value, 'latin1').toString(),
        isHostOnly ? domain : `.${domain}`,
        path,
        isSecure,
        isHttpOnly,
        sameSite,
        expiresAt / 1000,
      ]),
    )
  return { seen: sites.seen(), kept: kept.sort(), expected }
}

/** Longer than a step can take on a busy machine. */
const patienceMs = 30_000

/**
 * Carries out the steps in Chromium. If Chromium does not reach the expected state after a step, the function continues
 * after `patienceMs`.
 */
export async function doInChromium(
  sites: Sites,
  window: Window,
  { answers, steps, hasCookies }: Situation,
  expected: Expected[],
): Promise<Done> {
  sites.answer(answers)
  const context = window.context()
  await context.clearCookies()
  if (hasCookies)
    await context.addCookies(
      ['localhost', '127.0.0.1'].flatMap(domain =>
        ofEachKind.map(kind => ({ ...kind, value: '1', domain, path: '/' })),
      ),
    )
  await leave(window, sites, steps[0]!)
  for (const [index, step] of steps.entries()) {
    const { count, url } = expected[index]!
    const isThere = () => sites.seen().length >= count && window.url() === url
    const shown = url && window.waitForEvent('load', { predicate: isThere, timeout: patienceMs }).catch(() => {})
    await perform(sites, window, step).catch(ignoreAborted)
    await Promise.race([sites.waitFor(count), window.waitForTimeout(patienceMs)])
    await shown
    // Waits until no request is running, because browsers have no event for the last request.
    await window.waitForLoadState('networkidle')
  }
  const kept = (await context.cookies()).map(({ name, value, domain, path, secure, httpOnly, sameSite, expires }) =>
    toLine([
      name,
      value,
      domain,
      path,
      secure,
      httpOnly,
      sameSite.toLowerCase(),
      expires < 0 ? Number.POSITIVE_INFINITY : expires,
    ]),
  )
  return { seen: sites.seen(), kept: kept.sort() }
}

/**
 * Opens an empty page if the tab already shows the first address, or failed to load a page. Otherwise, typing the
 * address would count as a reload.
 */
async function leave(window: Window, sites: Sites, first: Step): Promise<void> {
  const [shown, typed] = [window.url(), sites.fill((first as { visit: string }).visit)].map(url => url.split('#')[0]!)
  if (shown === typed || !shown!.startsWith('http')) await window.goto('about:blank')
}

async function perform(sites: Sites, window: Window, step: Step): Promise<unknown> {
  if (step === 'reload') return window.reload()
  if (step === 'back') return window.goBack()
  if ('visit' in step) return window.goto(sites.fill(step.visit))
  if ('press' in step) return press(window, step.press)
  for (const [name, value] of Object.entries(step.values ?? {})) {
    const field = window.locator(`form [name="${name}"]`)
    const type = await field.first().evaluate(element => element.getAttribute('type') ?? element.tagName)
    const wanted = [value].flat()
    if (type === 'SELECT') await field.selectOption(wanted)
    else if (type === 'checkbox' || type === 'radio')
      for (const box of await field.all()) {
        const isWanted = wanted.includes((await box.getAttribute('value')) ?? 'on')
        if (isWanted || type === 'checkbox') await box.setChecked(isWanted)
      }
    else await field.fill(wanted[0] ?? '')
  }
  if (step.send !== undefined) return press(window, step.send)
  await window.evaluate('document.querySelector("form input:not([type=hidden])").focus()')
  return window.keyboard.press('Enter')
}

/**
 * Clicks at the coordinates of the first link or button with the text. Playwright's own click would add a large script
 * to every page. It would also wait for a page, but a forbidden form never opens a page.
 */
async function press(window: Window, text: string): Promise<void> {
  const [x, y] = (await window.evaluate(`(${findPlace})(${JSON.stringify(text)})`)) as [number, number]
  return window.mouse.click(x, y)
}

const findPlace = `text => {
  const all = [...document.querySelectorAll('a, button, [type=submit]')]
  const found = all.find(each => (each.textContent || each.value || 'Submit') === text)
  const { x, y, width, height } = found.getBoundingClientRect()
  return [x + width / 2, y + height / 2]
}`

/**
 * Ignores errors of navigations that open no page: another navigation began, the answer has no page, or the navigation
 * is forbidden.
 */
function ignoreAborted(error: Error): void {
  if (
    !/ERR_ABORTED|interrupted by another navigation|ERR_BLOCKED|ERR_UNSAFE|ERR_TOO_MANY|ERR_RESPONSE|ERR_INVALID|ERR_NAME|ERR_CONNECTION|ERR_UNKNOWN/.test(
      error.message,
    )
  )
    throw error
}

function toLine(parts: (string | number | boolean)[]): string {
  const end = Number(parts.pop())
  // Rounds to minutes, because the two browsers do not get the cookie in the same second.
  return [...parts, Number.isFinite(end) ? `in ${Math.round((end - Date.now() / 1000) / 60)} minutes` : 'session'].join(
    ' ',
  )
}
