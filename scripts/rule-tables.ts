// Tables of rules for the documents.
import { originOf, platformAudiences, type Subject } from '../src/conformance/rules/rules.ts'

/**
 * Returns the table of rules for each subject of docs/reference/platform.md. The key is the name of the table in that
 * document. The anchor of a rule is its id in lower case.
 */
export function platformRules(): Record<string, string> {
  const subjects = platformAudiences.flatMap(audience => audience.subjects)
  return Object.fromEntries(subjects.map(subject => [`rules, ${subject.title}`, tableOf(subject)]))
}

/** Turns the ids of rules in a refusal's reference into links, for a document in docs/. */
export function linkRules(reference: string): string {
  return reference.replace(/\brules? [^;]+/, list =>
    list.replace(
      /[A-Za-z]+(?:-[a-z0-9]+)+|[A-Z]{1,2}-\d{2}/g,
      id => `[${id}](reference/platform.md#${id.toLowerCase()})`,
    ),
  )
}

function tableOf({ rules }: Subject): string {
  const rows = Object.entries(rules).map(
    ([id, rule]) =>
      `| <a id="${id.toLowerCase()}"></a>\`${id}\` | ${rule.level} | ${rule.sentence} | ${originOf(rule)} |\n`,
  )
  return `| Rule | Level | What it says | Origin |\n|---|---|---|---|\n${rows.join('')}`
}
