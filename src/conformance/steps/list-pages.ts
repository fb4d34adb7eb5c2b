// Finds the pages of a list that is shown on several pages.
import type { Page } from '../browser/browser.ts'

/** Names of a parameter that selects a page of a list. */
const pageParameter = /^(page|p|offset|cursor|after)$/i

/** Returns the links to other pages of the same list, with its entries in the same order. */
export function otherPagesOf({ url, links }: Page): string[] {
  const here = withoutPage(url)
  return links
    .map(link => link.url.split('#')[0]!)
    .filter(one => URL.canParse(one) && one !== url && withoutPage(one) === here)
}

function withoutPage(address: string): string {
  const url = new URL(address)
  for (const name of [...url.searchParams.keys()]) if (pageParameter.test(name)) url.searchParams.delete(name)
  url.searchParams.sort()
  return `${url}`
}
