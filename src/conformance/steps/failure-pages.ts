// Makes the checks of the page that the client shows after a failed call. There are such checks for the exchange, the
// renewal and the API.
import type { Page } from '../browser/browser.ts'
import type { Check, CheckDefinition } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { expect } from '../findings.ts'
import { expectNoMissingValue } from './missing-values.ts'
import { oddPauses } from './odd-answers.ts'
import { showsInside } from './page-content.ts'

/** One call from the client to the platform, and how a check makes this call fail. */
interface Failing {
  /** The beginning of the check ids: `exchange`, `refresh`, `list` or `create`. */
  place: string
  /** The words for the call in the titles of the checks. */
  call: string
  needs?: Check['needs']
  meet(context: CheckContext, failure: string, options?: Record<string, unknown>): Promise<Page>
}

/**
 * Makes checks of two kinds. In the first kind, the page after a failed call must have a status other than 500. In the
 * second kind, the page after each of `failures` must show no internal details of the client.
 */
export function failurePages({ place, call, needs, meet }: Failing, failures: string[]): CheckDefinition[] {
  return [
    ...['reset', 'html', '503'].map(
      (failure): CheckDefinition => ({
        id: `${place}-${failure}-status`,
        title: `When ${call} fails (${failure}), the page has a status other than 500`,
        rule: 'gateway-status',
        why: 'Status 500 means a mistake in the client. This status alarms the developers of the client, although the platform has failed.',
        fix: 'If the platform fails, answer with a page and status 502 or 503. Use status 500 only for mistakes in the client.',
        ...(needs && { needs }),
        async run(context) {
          const page = await meet(context, failure)
          expect(page.status !== 500, 'The answer has status 500.', page)
        },
      }),
    ),
    {
      id: `${place}-failed-no-stack`,
      title: `The page for ${call === 'the API' ? 'a failed call' : call.replace('the', 'a failed')} shows no stack trace, no file name and no internal address`,
      rule: 'PG-20',
      why: 'Such details help an attacker find weaknesses.',
      fix: 'Answer every error with a fixed message, and write the details into the log.',
      ...(needs && { needs }),
      async run(context) {
        for (const failure of failures) {
          const page = await meet(context, failure)
          await context.dropFaults()
          expect(!showsInside(page), 'The page shows a stack trace, a file name or an internal address.', page)
        }
      },
    },
  ]
}

/** Makes the check of the page that the client shows if a failed call has a Retry-After that is not a number. */
export function oddPausePage({ place, call, needs, meet }: Failing): CheckDefinition {
  return {
    id: `${place}-retry-after-odd`,
    title: `If ${call} fails with a Retry-After that is not a number, the page shows no word such as “NaN”`,
    rule: 'missing-values',
    why: 'Retry-After can be a number of seconds or a date, and a proxy can send any text. A client that reads every value as a number tells the visitor to try again in “NaN seconds”.',
    fix: 'Read Retry-After as a number of seconds or as a date. If it is neither, say that the visitor can try again later, without a time.',
    ...(needs && { needs }),
    longestMs: 90_000,
    async run(context) {
      for (const status of ['429', '503']) {
        const usual = await meet(context, status)
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
