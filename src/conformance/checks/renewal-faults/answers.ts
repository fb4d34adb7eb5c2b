// Checks on unusual but valid answers to a renewal, and on answers that are too large. Many clients use different code
// to read the answer to a renewal and the answer to an exchange.
import { type CheckDefinition, Undecided } from '../../check.ts'
import { describePage, expect, expectServed } from '../../findings.ts'
import { isAcceptedCall } from '../../platform-calls.ts'
import { expectOwnHeaders, foreignHeaders, foreignHeadersRule } from '../../steps/foreign-headers.ts'
import { renewUnder } from '../../steps/renewals.ts'
import { visitPage } from '../../steps/sessions.ts'

const needs: CheckDefinition['needs'] = ['page']

/** Answers that a correct client accepts. */
const usable: {
  id: string
  what: string
  rule: CheckDefinition['rule']
  fault: string
  options?: Record<string, unknown>
  why: string
  fix: string
}[] = [
  {
    id: 'unknown-member',
    what: 'has an unknown JSON member',
    rule: 'unknown-response-members',
    fault: 'refresh-unknown-member',
    why: 'If the portal adds a JSON member, a client that refuses unknown members signs out every visitor when the access token expires.',
    fix: 'Read only the JSON members that you need, and ignore all other members, as in the answer to an exchange.',
  },
  {
    id: 'lowercase-type',
    what: 'has the token_type "bearer"',
    rule: 'token-type-case',
    fault: 'refresh-token-type-lowercase',
    why: 'A portal may write Bearer in upper or lower case. If a client does not ignore the case, it signs out every visitor when the access token expires.',
    fix: 'Ignore case when you compare token_type, as in the answer to an exchange.',
  },
  {
    id: 'uppercase-type',
    what: 'has the token_type "BEARER"',
    rule: 'token-type-case',
    fault: 'refresh-member',
    options: { member: 'token_type', value: 'BEARER' },
    why: 'A portal may write Bearer in upper or lower case. If a client does not ignore the case, it signs out every visitor when the access token expires.',
    fix: 'Ignore case when you compare token_type, as in the answer to an exchange.',
  },
  {
    id: 'opaque-token',
    what: 'has an access token that is not a JWT',
    rule: 'token-is-opaque',
    fault: 'refresh-opaque-access-token',
    why: 'The portal and the API decide on the format of tokens, and may change the format without telling clients.',
    fix: 'Send the token unchanged. Do not read the expiry or the visitor from the token.',
  },
]

export const answers: CheckDefinition[] = [
  ...usable.map(
    ({ id, what, rule, fault, options, why, fix }): CheckDefinition => ({
      id: `refresh-${id}`,
      title: `If the answer to a renewal ${what}, the visitor stays signed in`,
      rule,
      why,
      fix,
      needs,
      async run(context) {
        const { browser, page, steps, renewal } = await renewUnder(context, fault, options, 1)
        if (renewal.response.status !== 200 || !renewal.fault)
          throw new Undecided('The portal did not send the ordered answer to the renewal.')
        expectServed(page, `The request for the page was answered with ${describePage(page)}.`)
        expect(
          steps.some(isAcceptedCall),
          `The visit with the renewal ended with ${describePage(page)}.`,
          page,
          ...steps,
        )
        const next = await visitPage(context, browser)
        expect(
          next.steps.some(isAcceptedCall),
          `On the next page, the visitor is not signed in. The visit ended with ${describePage(next.page)}.`,
          next.page,
          ...next.steps,
        )
      },
    }),
  ),
  {
    id: 'refresh-headers-not-passed-back',
    title: 'The client’s answers to the browser contain no header from the portal’s answer to a renewal',
    ...foreignHeadersRule,
    needs,
    async run(context) {
      const { page, renewal } = await renewUnder(context, 'refresh-headers', { headers: foreignHeaders }, 1)
      if (!renewal.fault) throw new Undecided('The portal did not send the ordered answer to the renewal.')
      expectOwnHeaders(page.trail)
    },
  },
  {
    id: 'refresh-large-refused',
    title: 'The client limits the size of the answer to a renewal',
    rule: 'UP-04',
    why: 'A client that reads an answer of any size fills the memory that all visitors share.',
    fix: 'Count the bytes of the answer while you read it, and stop at about 64 KiB.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { page, steps } = await renewUnder(context, 'refresh-large', {}, 1)
      expect(!steps.some(isAcceptedCall), 'An answer of 32 MiB renewed the session.', page, ...steps.slice(-2))
    },
  },
]
