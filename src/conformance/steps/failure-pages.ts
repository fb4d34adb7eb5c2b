// Checks of the page after a failed call. The exchange, the renewal and the API get the same checks.
import type { Page } from '../browser/browser.ts'
import type { Check, CheckDefinition } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { expect } from '../findings.ts'
import { showsInside } from './page-content.ts'

/** One call of the client, and how a check makes it fail. */
interface Failing {
  /** The beginning of the ids: `exchange`, `refresh` or `list`. */
  place: string
  /** The call, as titles name it. */
  call: 'the exchange' | 'the renewal' | 'the API'
  needs?: Check['needs']
  meet(context: CheckContext, failure: string): Promise<Page>
}

/**
 * Makes two checks: after a failed call, the page must not have status 500, and after each of `failures` it must show
 * no internals of the client.
 */
export function failurePages({ place, call, needs, meet }: Failing, failures: string[]): CheckDefinition[] {
  return [
    ...['reset', 'html', '503'].map(
      (failure): CheckDefinition => ({
        id: `${place}-${failure}-status`,
        title: `When ${call} fails (${failure}), the status of the page is not 500`,
        rule: 'gateway-status',
        why: 'Status 500 means a mistake in the client. It alarms the developers of the client, although the platform has failed.',
        fix: 'Answer failures of the platform with 502 or 503 and a page, and use 500 only for mistakes in the client.',
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
      why: 'Such details help an attacker to find weak places.',
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
