// Tests the index of requirements. Every citation must name a rule, and every MUST must have a test or a check.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { citingFiles, findCitations } from '../scripts/citations.ts'
import { findChecks, findTests, makeRequirements, requirementsPath, untested } from '../scripts/write-requirements.ts'
import { checks } from '../src/conformance/checks.ts'
import { audiences, platformAudiences, type RuleId, rules } from '../src/conformance/rules/rules.ts'
import { notices } from '../src/sandbox/lab/explain/notices/notices.ts'
import { reasons } from '../src/sandbox/observe/reasons.ts'

const read = (path: string) => readFileSync(path, 'utf8')

t.test('the index of requirements has all current rules, tests and checks', async t => {
  t.equal(read(requirementsPath), makeRequirements(), `${requirementsPath} is outdated: run npm run docs`)
})

t.test('every rule has an id of its own, and belongs to one subject in the documents', async t => {
  const ids = audiences.flatMap(({ subjects }) => subjects.flatMap(subject => Object.keys(subject.rules)))
  t.same(ids.toSorted(), Object.keys(rules).toSorted())
  t.same(new Set(ids.map(id => id.toLowerCase())).size, ids.length, 'the anchors of the ids must differ')
})

t.test('every id of a rule that occurs in code, tests or documents is defined', async t => {
  const citations = citingFiles().flatMap(path => findCitations(path))
  t.ok(citations.length > 1_000, 'the test must find the citations')
  t.same(
    citations.filter(({ id }) => !(id in rules)),
    [],
  )
})

t.test(
  'every MUST has a test or a check, and every other rule has a test, a check, or a stated reason why it has none',
  async t => {
    const tests = findTests()
    const without = Object.keys(rules).filter(id => !tests.has(id) && findChecks(id).length === 0)
    t.same(
      without.filter(id => rules[id as RuleId].level === 'MUST'),
      [],
    )
    t.same(without.toSorted(), Object.keys(untested).toSorted())
  },
)

t.test('every MUST for a client has a check, so that a client that breaks the MUST fails', async t => {
  const [forClients] = audiences
  const musts = forClients!.subjects
    .flatMap(({ rules }) => Object.entries(rules))
    .flatMap(([id, { level }]) => (level === 'MUST' ? [id] : []))
  t.ok(musts.length > 100, 'the test must find the rules')
  t.same(
    musts.filter(id => findChecks(id).length === 0),
    [],
    'Write a check for the rule, or lower its level. A check of another rule has the level of that rule.',
  )
})

t.test('if the texts or the code of a check name a second rule, both rules have the same level', async t => {
  const texts = checks.map(({ id, rule, title, why, fix, run }) => ({
    id,
    rule,
    text: `${title}\n${why}\n${fix}\n${run}`,
  }))
  t.same(
    texts.flatMap(({ id, rule, text }) =>
      findCitations(id, text)
        .filter(other => rules[other.id as RuleId].level !== rules[rule].level)
        .map(other => `${id} (${rules[rule].level}) names ${other.id}`),
    ),
    [],
  )
})

t.test(
  'if the text `why` of a check says “only warns”, the level of the check is SHOULD; if it says “only advice”, the level is advice',
  async t => {
    for (const { id, rule, why } of checks) {
      if (/only warns/.test(why)) t.equal(rules[rule].level, 'SHOULD', id)
      if (/only advice/.test(why)) t.equal(rules[rule].level, 'advice', id)
    }
  },
)

/**
 * Matches a reference to a document that is not in this repository: its file name, or its title with a section number.
 * Citations must use the id of a rule instead.
 */
const elsewhere =
  /\b([Ss]pecification|[Cc]ontract)(\.md)?(,? part |,? )\d|\((specification|contract)[,)]|\b(specification|contract|security)\.md\b/

t.test('citations name only documents of this repository', async t => {
  const found = citingFiles().flatMap(path =>
    read(path)
      .split('\n')
      .flatMap((text, index) => (elsewhere.test(text) ? [`${path}:${index + 1}: ${text}`] : [])),
  )
  t.same(found, [])
  for (const text of [
    'specification, 4.3',
    'specification 4.2',
    '(specification, part 5)',
    'contract 4: a login',
    '(contract, part 3)',
  ])
    t.match(text, elsewhere)
})

t.test('refusals and notices refer only to rules of the platform, RFCs or the sandbox itself', async t => {
  const explained = platformAudiences.flatMap(({ subjects }) => subjects.flatMap(subject => Object.keys(subject.rules)))
  const known = /^(RFC \w+( [\d.]+( and [\d.]+)*)?|CVE-[\d-]+|the API’s own description|the portal’s own pages)$/
  for (const [name, { reference }] of [
    ...Object.entries(reasons),
    ...notices.map(notice => [notice.id, notice] as const),
  ])
    for (const one of reference.split('; ')) {
      const [, list] = /^rules? (.*)$/.exec(one) ?? []
      if (list) for (const id of list.split(/, | and /)) t.ok(explained.includes(id), `${name} refers to ${id}`)
      else t.match(one, known, name)
    }
})

t.test('every link to a rule leads to an anchor that exists', async t => {
  let links = 0
  for (const path of globSync(['*.md', 'docs/**/*.md']))
    for (const [, target, anchor] of read(path).matchAll(/\]\(([^)#\s]*(?:platform|requirements)\.md)#([\w-]+)\)/g)) {
      const page = read(normalize(join(dirname(path), target!)))
      const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, title]) => title!.toLowerCase().replaceAll(' ', '-'))
      t.ok(
        page.includes(`<a id="${anchor}"></a>`) || headings.includes(anchor!),
        `${path} links to ${target}#${anchor}`,
      )
      links++
    }
  t.ok(links > 300, 'the test must find the links')
})

t.test('in documents, every rule id that is not in code is a link', async t => {
  for (const path of globSync(['*.md', 'docs/**/*.md']).filter(path => !path.startsWith('docs/reference/')))
    t.notMatch(
      read(path)
        .replace(/^```[\s\S]*?^```/gm, '')
        .replace(/`[^`\n]*`/g, ''),
      /(?<![\w[-])[A-Z]{1,2}-\d{2}(?![\w\]-])/,
      `${path} names a rule without a link`,
    )
})

t.test('findCitations finds an id in a title, in a comment and after the word "rule"', async t => {
  const find = (text: string) => findCitations('test/example.test.ts', text).map(({ line, id }) => `${line} ${id}`)
  t.same(find("t.test('CL-03, no-such-rule: a state', …)"), ['1 CL-03', '1 no-such-rule'])
  t.same(find('t.test(\n  `api-etag: the tag`,'), ['1 api-etag'])
  t.same(find('// The threat (ZZ-99).\n// Needed (rules TK-07, api-update and seeds).'), [
    '1 ZZ-99',
    '2 TK-07',
    '2 api-update',
    '2 seeds',
  ])
  t.same(find("t.test('oidcc-codereuse: a code', …)\nUTF-16, SHA-256, APP-17, 2026-01"), [])
})
