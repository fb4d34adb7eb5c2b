// Performs a login over HTTP: from the client to the portal, and back to the client.
import { type HttpBrowser, hiddenFields, type Page } from './http-browser.ts'
import type { Both } from './start-both.ts'

type Addresses = Pick<Both, 'publicUrl' | 'portalUrl' | 'person'>

/** Performs a login up to the portal's redirect to the callback. The caller opens the callback. */
export async function reachCallback(browser: HttpBrowser, { publicUrl, portalUrl, person }: Addresses): Promise<Page> {
  const page = await browser.follow(await browser.get(`${publicUrl}/login`))
  const signedIn = { ...hiddenFields(page, '/sign-in'), email: person.email, password: person.password }
  const answer = await browser.post(`${portalUrl}/sign-in`, signedIn)
  const consent = await browser.get(answer.location ?? '')
  if (consent.location) return consent
  return browser.post(`${portalUrl}/consent`, { ...hiddenFields(consent, '/consent'), decision: 'allow' })
}

/** Performs a whole login, and opens the list of applications. */
export async function logIn(browser: HttpBrowser, at: Addresses): Promise<Page> {
  return browser.follow(await reachCallback(browser, at))
}
