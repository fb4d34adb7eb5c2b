// The page for a visitor after a failed call of the portal or the API. Both get the same checks.
import type { Page } from '../browser/browser.ts'
import type { Check, Row } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { expect } from '../findings.ts'
import { showsInside } from './page-content.ts'

/** Makes a call meet each of these failures, and judges the page that the visitor gets. */
interface Failing {
  /** The beginning of the ids: `exchange`, `refresh` or `list`. */
  place: string
  /** The call, as titles name it. */
  call: 'the exchange' | 'the renewal' | 'the API'
  needs?: Check['needs']
  meet(context: CheckContext, failure: string): Promise<Page>
}

/** After each of `failures` the page has another status than 500, and shows nothing of the inside. */
export function failurePages({ place, call, needs, meet }: Failing, failures: string[]): Row[] {
  return [
    ...['reset', 'html', '503'].map(
      (failure): Row => ({
        id: `${place}-${failure}-status`,
        title: `When ${call} fails (${failure}), the answer does not say that the client itself is broken`,
        rule: 'gateway-status',
        why: 'Status 500 means an unexpected fault and alarms the wrong people. If the platform does not answer, the status is 502, 503 or 504.',
        fix: 'Answer failures of the platform with 502 or 503 and a page, and keep 500 for your own mistakes.',
        ...(needs && { needs }),
        async run(context) {
          const page = await meet(context, failure)
          expect(page.status !== 500, 'The answer has status 500.', page)
        },
      }),
    ),
    {
      id: `${place}-failed-no-stack`,
      title: `The page for ${call === 'the API' ? 'a failed call' : call.replace('the', 'a failed')} shows no stack, no file and no internal address`,
      rule: 'PG-20',
      why: 'These details tell an attacker what runs where.',
      fix: 'Answer every error with fixed words, and put the details into the log.',
      ...(needs && { needs }),
      async run(context) {
        for (const failure of failures) {
          const page = await meet(context, failure)
          await context.dropFaults()
          expect(!showsInside(page), 'The page shows a stack, a file or an internal address.', page)
        }
      },
    },
  ]
}
