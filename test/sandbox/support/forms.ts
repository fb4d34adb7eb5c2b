// Fills in the forms of the portal's pages as a browser would.
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { type Browser, openBrowser } from './browser.ts'
import { seeded } from './build-test-sandbox.ts'

/**
 * Returns the hidden fields of the page's first form that leads to `action`. Throws if the page has no such form.
 */
export function readHiddenFields(page: LightMyRequestResponse, action: string): Record<string, string> {
  const form = [...page.body.matchAll(/<form\b.*?<\/form>/gs)].find(([text]) =>
    text.includes(`action="${action}"`),
  )?.[0]
  if (!form) throw new Error(`no form leads to ${action}: ${page.statusCode} ${page.body}`)
  const hidden = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  return Object.fromEntries(hidden.map(([, name, value]) => [name, value]))
}

/** Sends the page's first form that leads to `action`, with its hidden fields and the given fields. */
export async function submitForm(
  browser: Browser,
  page: LightMyRequestResponse,
  action: string,
  fields: Record<string, string> = {},
): Promise<LightMyRequestResponse> {
  return browser.post(action, { ...readHiddenFields(page, action), ...fields })
}

/**
 * Opens the page that asks whether to withdraw access from the first application on the list. If the list is empty, the
 * function resolves to the page with the list.
 */
export async function askToWithdraw(browser: Browser): Promise<LightMyRequestResponse> {
  const list = await browser.get('/account/applications')
  const path = /href="(\/account\/applications\/[0-9a-f-]{36}\/withdraw)"/.exec(list.body)?.[1]
  return path === undefined ? list : browser.get(path)
}

/** The fields of a sign-up form, with valid values. */
export const newcomer = {
  email: 'newcomer@example.test',
  password: 'a new pass phrase',
  firstName: 'Nora',
  lastName: 'Newcomer',
  termsAccepted: 'true',
}

/** Opens a browser that signs up as a new user. The user is signed in at the portal, but not at any client. */
export async function openAsNewcomer(sandbox: { portal: FastifyInstance }, fields = newcomer): Promise<Browser> {
  const browser = openBrowser(sandbox)
  const answer = await submitForm(browser, await browser.get('/account'), '/sign-up', fields)
  if (answer.statusCode !== 303) throw new Error(`not signed up: ${answer.statusCode} ${answer.body}`)
  return browser
}

/** Opens a browser that signs in as the seeded user at the portal, but not at any client. */
export async function openAsDeveloper(sandbox: { portal: FastifyInstance }): Promise<Browser> {
  const browser = openBrowser(sandbox)
  const { email, password } = seeded
  const answer = await submitForm(browser, await browser.get('/account'), '/sign-in', { email, password })
  if (answer.statusCode !== 303) throw new Error(`not signed in: ${answer.statusCode} ${answer.body}`)
  return browser
}
