// The catalogue of reasons contains the texts that a developer reads in the laboratory and on error pages.
import t from 'tap'
import { type Reason, reasons } from '../../../src/sandbox/observe/reasons.ts'
import { startUrl } from '../support/browser.ts'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'
import { buildTestLab } from '../support/call-lab.ts'

t.test(
  'every reason for a refusal has a reference, and says what was found, why it is refused, and how to fix it',
  async t => {
    for (const [code, { found, why, fix, reference }] of Object.entries(reasons)) {
      t.match(code, /^[a-z]+(-[a-z]+)*$/)
      for (const text of [found, why, fix]) t.match(text, /^[A-Z].*[.?]$/, `${code}: ${text}`)
      t.match(reference, /RFC \d+|rules? |own (description|pages)/, code)
    }
  },
)

t.test(
  'the texts about revoked tokens and used codes also name the cases in which the portal acts by itself',
  async t => {
    t.match(reasons['token-revoked'].found, /by the portal\..* stolen, .* 100 grants.* the application was removed/)
    t.match(reasons['token-malformed'].fix, /another sandbox, .* removed signing key, .* earlier PORTAL_URL/)
    // After a quick second delivery of the same callback, the tokens stay valid.
    t.match(reasons['code-used'].why, /after more than ten seconds, or with other fields/)
  },
)

t.test('an error page contains the texts for developers only if the sandbox has a laboratory', async t => {
  const { sandbox, lab } = await buildTestLab(t)
  const off = await buildTestSandbox(t)
  const starts: [start: string, reason: Reason][] = [
    [startUrl({ client_id: 'nobody' }), 'client-unknown'],
    [startUrl({ response_type: 'token' }), 'response-type-unsupported'],
  ]
  for (const [start, reason] of starts) {
    const { found, why, fix, reference } = reasons[reason]
    const { body } = await sandbox.portal.inject(start)
    for (const text of [reason, found, why, fix]) t.ok(body.includes(text), `${reason}: ${text}`)
    // Compare without the first letter, because on the page the reference begins with a capital letter.
    t.ok(body.includes(reference.slice(1)), `${reason}: ${reference}`)
    const { logins } = (await lab('GET', 'logins')).json()
    const [step] = (await lab('GET', `logins/${logins[0].id}`)).json().steps
    t.same(step.explanation, { found, why, mend: fix, source: reference })
    const alone = (await off.portal.inject(start)).body
    for (const text of [found, why, fix]) t.notOk(alone.includes(text), `${reason}: ${text}`)
  }
})
