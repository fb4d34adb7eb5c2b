// Finds words on a page that a program writes in place of a value that is missing, such as `undefined`.
import type { Page } from '../browser/browser.ts'
import { isHtml } from '../browser/page.ts'
import type { Check, CheckDefinition } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { expect } from '../findings.ts'
import { oddPauses } from './odd-answers.ts'
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

/** One call of the client to the platform, and how a check makes this call fail. */
interface Failing {
  /** The beginning of the check id: `exchange`, `refresh`, `list` or `create`. */
  place: string
  /** The words for the call in the title of the check. */
  call: string
  needs?: Check['needs']
  meet(context: CheckContext, failure: string, options: Record<string, unknown>): Promise<Page>
}

/** Makes the check of the page that the client shows if a failed call has a Retry-After that is not a number. */
export function oddPausePage({ place, call, needs, meet }: Failing): CheckDefinition {
  return {
    id: `${place}-retry-after-odd`,
    title: `If ${call} fails with a Retry-After that is a date or another text, the page shows no word such as “NaN”`,
    rule: 'missing-values',
    why: 'Retry-After can be a number of seconds or a date, and a proxy can send any text. A client that reads every value as a number tells the visitor to try again in “NaN seconds”.',
    fix: 'Read Retry-After as a number of seconds or as a date. If it is neither, say that the visitor can try again later, without a time.',
    ...(needs && { needs }),
    longestMs: 90_000,
    async run(context) {
      for (const status of ['429', '503']) {
        const usual = await meet(context, status, {})
        await context.dropFaults()
        for (const retryAfter of oddPauses) {
          const page = await meet(context, status, { retryAfter })
          await context.dropFaults()
          expectNoMissingValue(page, [usual], `After status ${status} with the Retry-After “${retryAfter}”`)
        }
      }
    },
  }
}
