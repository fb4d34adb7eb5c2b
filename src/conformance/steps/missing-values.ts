// Finds words such as `undefined` on a page. Programs write these words in place of a missing value.
import type { Page } from '../browser/browser.ts'
import { isHtml } from '../browser/page.ts'
import { expect } from '../findings.ts'
import { shownText } from './page-content.ts'

const missingValues =
  /(?<![\w-])(undefined|null|None|nil|Infinity|Invalid Date|\[object Object\])(?![\w-])|(?<!\w)NaN(?=[smh]?(?!\w))/

/** Returns the first such word in the text or in the form fields of the page. */
export function missingValueOn(page: Page): string | undefined {
  const values = page.forms.flatMap(({ fields }) => fields.map(([, value]) => value))
  return missingValues.exec([shownText(page), ...values].join('\n'))?.[0]
}

/** Fails if the page shows such a word, but no page of `usual` shows the same word. `when` begins the finding. */
export function expectNoMissingValue(page: Page, usual: Page[], when: string): void {
  // A script reads an answer in JSON, where null is a correct value.
  if (!isHtml(page.headers, page.body)) return
  const word = missingValueOn(page)
  expect(
    word === undefined || usual.some(one => missingValueOn(one) === word),
    `${when}, the page shows “${word}” in place of a value.`,
    page,
  )
}
