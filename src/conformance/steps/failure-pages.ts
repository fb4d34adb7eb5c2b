// What the answer to a visitor says when a call of the portal or the API has failed: asked of both in the same words.
import type { Page } from '../browser/browser.ts'
import type { Check, Row } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { expect } from '../findings.ts'
import { showsInside } from './page-content.ts'

/** One that meets each of these failures, and judges the page that the visitor is shown. */
interface Failing {
  /** Begins the ids: `exchange`, `refresh` or `list`. */
  place: string
  /** The call, as titles name it. */
  call: 'the exchange' | 'the renewal' | 'the API'
  needs?: Check['needs']
  meet(context: CheckContext, failure: string): Promise<Page>
}

/** Not status 500, and nothing of how the client is made after each of `failures`. */
export function failurePages({ place, call, needs, meet }: Failing, failures: string[]): Row[] {
  return [
    ...['reset', 'html', '503'].map(
      (failure): Row => ({
        id: `${place}-${failure}-status`,
        title: `When ${call} fails (${failure}), the answer does not say that the client itself is broken`,
        rule: 'gateway-status',
        why: 'Status 500 is for the unexpected and raises alarms at the wrong place; a platform that does not answer is 502, 503 or 504.',
        fix: 'Answer failures of the platform with 502 or 503 and a page, and keep 500 for mistakes of your own.',
        ...(needs && { needs }),
        async run(context) {
          const page = await meet(context, failure)
          expect(page.status !== 500, 'The answer has status 500.', page)
        },
      }),
    ),
    {
      id: `${place}-failed-no-stack`,
      title: `The page for ${call === 'the API' ? 'a failed call' : call.replace('the', 'a failed')} shows no stack, no file and no inner address`,
      rule: 'PG-20',
      why: 'It tells an attacker what runs where.',
      fix: 'Answer every error with fixed words; put the rest into the log.',
      ...(needs && { needs }),
      async run(context) {
        for (const failure of failures) {
          const page = await meet(context, failure)
          await context.dropFaults()
          expect(!showsInside(page), 'The page shows how the client is made.', page)
        }
      },
    },
  ]
}
