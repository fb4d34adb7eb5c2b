// Tests the rules of the checks: every check has a rule, which determines the level of the check.
import t from 'tap'
import { checks } from '../../src/conformance/checks.ts'
import { listChecks } from '../../src/conformance/report/terminal.ts'
import { audiences, originOf, rules } from '../../src/conformance/rules/rules.ts'

const used = new Set<string>(checks.map(({ rule }) => rule))

t.test('every check names a rule that exists', async t => {
  for (const { id, rule } of checks) t.ok(rules[rule], `${id} names ${rule}`)
})

t.test('the rule of every check is a rule for clients', async t => {
  const [forClients] = audiences
  const ids = forClients!.subjects.flatMap(subject => Object.keys(subject.rules))
  t.same(
    [...used].filter(id => !ids.includes(id)),
    [],
  )
})

t.test('for every rule that quotes an RFC or ASVS, there is a check', async t => {
  t.same(
    Object.entries(rules).filter(([id, { quote }]) => quote && !used.has(id)),
    [],
  )
})

t.test('the source of every MUST is the platform, a decision of this project or an RFC', async t => {
  for (const [id, { level, source, section, sentence }] of Object.entries(rules)) {
    if (level === 'MUST') t.match(source, /^(platform|decision|RFC \d+)$/, id)
    if (level === 'SHOULD') t.match(source, /^(platform|decision|RFC \d+|ASVS 5\.0)$/, id)
    if (level === 'advice') t.equal(source, 'experience', id)
    t.equal(section !== undefined, /^(RFC|ASVS)/.test(source), `${id} names the section of its source`)
    t.match(sentence, /^.{15,}\.$/, id)
  }
})

t.test(
  'every MUST rule from an RFC quotes the word MUST or REQUIRED; only rules that define the protocol need no such quote',
  async t => {
    const definitions = [
      'token-type-case',
      'refresh-token-optional',
      'CL-15',
      'renewal-form',
      'pkce-verifier',
      'header-injection',
    ]
    for (const { rule } of checks) {
      const { level, source, quote } = rules[rule]
      if (level === 'MUST' && source.startsWith('RFC') && !definitions.includes(rule))
        t.match(quote, /\bMUST\b|\bREQUIRED\b/, rule)
    }
  },
)

t.test('no rule about the state names an RFC that requires it only of clients without PKCE', async t => {
  for (const id of ['CL-03', 'CL-05'] as const) t.equal(originOf(rules[id]), 'decision of this project', id)
})

t.test('the texts `why` and `fix` of a check do not name an RFC, because the rule names the source', async t => {
  for (const { id, why, fix } of checks) t.notMatch(`${why} ${fix}`, /\bRFC ?\d|ASVS|OWASP|CVE-|CWE-/, id)
})

t.test('the origin of a rule from ASVS contains the ASVS version', async t => {
  for (const rule of Object.values(rules))
    if (rule.source.startsWith('ASVS')) t.match(originOf(rule), /^OWASP ASVS 5\.0, V\d+\.\d+\.\d+$/)
})

t.test('the list of checks shows the rule of each check, and the level, sentence and origin of this rule', async t => {
  const list = listChecks(checks)
  t.match(list, /\| `state-other-browser` \| MUST \| .* \| \[`CL-03`\]\(reference\/platform\.md#cl-03\) \|/)
  t.match(list, /\| \[`CL-21`\]\(.*\) \| MUST \| .* \| RFC 9700, section 2\.1: “Clients MUST prevent/)
})
