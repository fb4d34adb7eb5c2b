// Finds the ids of rules in tests, comments and documents.
import { globSync, readFileSync } from 'node:fs'

export interface Citation {
  path: string
  line: number
  /** The id of the rule, as it is written in the file. */
  id: string
}

/** Ids with a number, such as `CL-03` and `F-26`: one or two letters, a hyphen, and two digits. */
const coded = '[A-Z]{1,2}-\\d{2}'
/** Ids made of words, such as `cookie-strict`: words with hyphens between them. The only one-word id is `seeds`. */
const named = '(?:[a-z]+(?:-[a-z0-9]+)+|seeds)'
const anyCoded = new RegExp(`(?<![\\w-])${coded}(?![\\w-])`, 'g')
/**
 * Matches citations in comments, documents and the sandbox's refusal reasons: "(rule cookie-strict)", "rules TK-07 and
 * api-fields".
 */
const afterTheWord = new RegExp(`\\brules? ((?:${coded}|${named})(?:(?:, | and )(?:${coded}|${named}))*)`, 'g')
/** Matches citations at the beginning of test titles: 'api-update, AP-07: …'. */
const inTitle = new RegExp(`\\btest\\(\\s*['"\`]((?:${coded}|${named})(?:, (?:${coded}|${named}))*): `, 'g')
/** Some tests of the portal are named after test modules of the OpenID Foundation. These names look like ids. */
const moduleName = /^(oidcc|fapi2)-/

/**
 * Files in which an id is not a citation: the definitions of the rules, the documents that are made from them, and the
 * test that contains wrong citations on purpose.
 */
const notCiting = /^src\/conformance\/rules\/|^docs\/reference\/|^test\/requirements\.test\.ts$|node_modules/

export function citingFiles(): string[] {
  const paths = globSync(['*.md', 'docs/**/*.md', '{src,test,scripts,views,bench}/**/*.{ts,eta,css}'])
  return paths.filter(path => !notCiting.test(path)).toSorted()
}

/** If a line names a rule twice, the result contains this citation only once. */
export function findCitations(path: string, text = readFileSync(path, 'utf8')): Citation[] {
  const lists = [...text.matchAll(afterTheWord), ...(path.startsWith('test/') ? text.matchAll(inTitle) : [])]
  const found = [
    ...[...text.matchAll(anyCoded)].map(({ 0: id, index }) => ({ id, index })),
    ...lists.flatMap(({ 1: list, index }) => list!.split(/, | and /).map(id => ({ id, index }))),
  ]
  const citations = found
    .filter(({ id }) => !moduleName.test(id))
    .map(({ id, index }) => ({ path, line: text.slice(0, index).split('\n').length, id }))
  return citations.filter(
    ({ line, id }, at) => at === citations.findIndex(other => other.line === line && other.id === id),
  )
}
