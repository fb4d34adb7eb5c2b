// The catalogue of rules: every check rests on one, and its level is that of the rule.
import t from 'tap'
import { checks } from '../../src/conformance/checks.ts'
import { listChecks } from '../../src/conformance/report/terminal.ts'
import { citationOf, rules } from '../../src/conformance/rules.ts'

const used = new Set<string>(checks.map(({ rule }) => rule))

t.test('every check names a rule that exists', async t => {
  for (const { id, rule } of checks) t.ok(rules[rule], `${id} names ${rule}`)
})

t.test('every rule is the rule of a check', async t => {
  // The run itself judges by this one: a client that ends or hangs, whatever the check was about.
  used.add('stays-up')
  t.same(
    Object.keys(rules).filter(id => !used.has(id)),
    [],
  )
})

t.test('a MUST rests on a sentence of the platform, of the contract or of an RFC', async t => {
  for (const [id, { level, source, section, quote }] of Object.entries(rules)) {
    if (level === 'MUST') t.match(source, /^(platform|contract|RFC \d+)$/, id)
    if (level === 'SHOULD') t.match(source, /^(platform|contract|RFC \d+|ASVS 5\.0)$/, id)
    if (level === 'advice') t.equal(source, 'experience', id)
    t.equal(section !== undefined, /^(platform|RFC|ASVS)/.test(source), `${id} says where its sentence stands`)
    t.ok(quote.length > 15, id)
  }
})

t.test('a rule that an RFC calls a MUST quotes words that say so, or a definition of the protocol', async t => {
  const definitions = [
    'token-type-case',
    'refresh-token-optional',
    'CL-15',
    'renewal-form',
    'pkce-verifier',
    'header-injection',
  ]
  for (const [id, { level, source, quote }] of Object.entries(rules))
    if (level === 'MUST' && source.startsWith('RFC') && !definitions.includes(id))
      t.match(quote, /\bMUST\b|\bREQUIRED\b/, id)
})

t.test('the reason of a check is in plain words: sources are named by its rule', async t => {
  for (const { id, why, fix } of checks) t.notMatch(`${why} ${fix}`, /\bRFC ?\d|ASVS|OWASP|CVE-|CWE-/, id)
})

t.test('ASVS is cited with its version', async t => {
  for (const rule of Object.values(rules))
    if (rule.source.startsWith('ASVS')) t.match(citationOf(rule), /^OWASP ASVS 5\.0, V\d+\.\d+\.\d+$/)
})

t.test('the list of checks shows level, rule, source and sentence', async t => {
  const list = listChecks(checks)
  t.match(list, /\| `state-other-browser` \| MUST \| .* \| `CL-03` \|/)
  t.match(list, /\| `CL-03` \| MUST \| RFC 9700, section 2\.1 \| one-time use CSRF tokens/)
})
