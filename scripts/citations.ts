// Finds the rules that tests, comments and documents name.
import { globSync, readFileSync } from 'node:fs'

export interface Citation {
  path: string
  line: number
  /** The id of the rule, as it is written there. */
  id: string
}

/** `CL-03`, `F-26`: one or two letters, and two digits. */
const coded = '[A-Z]{1,2}-\\d{2}'
/** `cookie-strict`: words with hyphens. Only the id `seeds` has no hyphen. */
const named = '(?:[a-z]+(?:-[a-z0-9]+)+|seeds)'
const anyCoded = new RegExp(`(?<![\\w-])${coded}(?![\\w-])`, 'g')
/** In comments, documents and the reasons of the sandbox: "(rule cookie-strict)", "rules TK-07 and api-fields". */
const afterTheWord = new RegExp(`\\brules? ((?:${coded}|${named})(?:(?:, | and )(?:${coded}|${named}))*)`, 'g')
/** In titles of tests: 'api-update, AP-07: …'. */
const inTitle = new RegExp(`\\btest\\(\\s*['"\`]((?:${coded}|${named})(?:, (?:${coded}|${named}))*): `, 'g')
/** Some tests of the portal have the names of modules of the OpenID Foundation. */
const moduleName = /^(oidcc|fapi2)-/

/** The rules themselves, the documents that are made from them, and the test with wrong citations. */
const notCiting = /^src\/conformance\/rules\/|^docs\/reference\/|^test\/requirements\.test\.ts$|node_modules/

export function citingFiles(): string[] {
  const paths = globSync(['*.md', 'docs/**/*.md', '{src,test,scripts,views,bench}/**/*.{ts,eta,css}'])
  return paths.filter(path => !notCiting.test(path)).toSorted()
}

/** If a line names a rule twice, it counts once. */
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
