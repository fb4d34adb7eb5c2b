// Writes docs/reference/requirements.md, the index of all rules with their tests and checks: npm run docs
import { writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { checks } from '../src/conformance/checks.ts'
import { audiences, originOf, platformAudiences, type RuleId } from '../src/conformance/rules/rules.ts'
import { citingFiles, findCitations } from './citations.ts'

export const requirementsPath = 'docs/reference/requirements.md'

/** The rules that have neither a test nor a check, each with the reason. A MUST rule always has a test or a check. */
export const untested: Partial<Record<RuleId, string>> = {
  'SC-06': 'People do this, so no test can check it.',
  'SE-08': 'A difference of nanoseconds cannot be measured reliably through HTTP.',
}

/** Returns the files that test each rule, keyed by the id of the rule. */
export function findTests(): Map<string, Set<string>> {
  const tests = new Map<string, Set<string>>()
  const files = citingFiles().filter(path => /^test\/.*\.(test|ci)\.ts$/.test(path))
  for (const { path, id } of files.flatMap(path => findCitations(path)))
    tests.set(id, (tests.get(id) ?? new Set()).add(path))
  return tests
}

export function findChecks(rule: string): string[] {
  return checks.filter(check => check.rule === rule).map(({ id }) => id)
}

export function makeRequirements(): string {
  const tests = findTests()
  const sections = audiences.map(audience => {
    const tables = audience.subjects.map(({ title, rules }) => {
      const rows = Object.entries(rules).map(([id, rule]) => {
        const files = [...(tests.get(id) ?? [])].map(path => `[${basename(path)}](../../${path})`)
        const ids = findChecks(id).map(check => `\`${check}\``)
        const cells = [
          platformAudiences.includes(audience)
            ? `[\`${id}\`](platform.md#${id.toLowerCase()})`
            : `<a id="${id.toLowerCase()}"></a>\`${id}\``,
          rule.level,
          rule.sentence,
          originOf(rule),
          files.join(', ') || (untested[id as RuleId] ?? ''),
          ids.join(', '),
        ]
        return `| ${cells.join(' | ')} |\n`
      })
      return `### ${title}\n\n| Rule | Level | What it says | Origin | Tests | Checks |\n|---|---|---|---|---|---|\n${rows.join('')}`
    })
    return `## ${audience.title}\n\n${tables.join('\n')}`
  })
  return `# Index of requirements

Every rule of this repository, with the tests that name it and the conformance checks that test it. [The platform](platform.md)
explains the rules for a client and for the platform. \`npm run docs\` makes this page from \`src/conformance/rules/\`, from the
tests and from the checks.

- A test names a rule at the beginning of its title, or in a comment.
- A [check](../conformance-checks.md) counts as a test: our tests run it against the reference client, and against a client that breaks the rule.
- Every MUST has a test or a check, and every MUST for a client has a check. If no program tests a rule, the table gives the reason.
- No id has two meanings, and an id is never used again for another rule.

${audiences.map(({ title }) => `- [${title}](#${title.toLowerCase().replaceAll(',', '').replaceAll(' ', '-')})`).join('\n')}

${sections.join('\n')}`
}

if (import.meta.main) writeFileSync(requirementsPath, makeRequirements())
