// Reads the example sessions of docs/clients-in-other-languages.md, so that tests can run these sessions.
import { readFileSync } from 'node:fs'

/** Returns the example session under this heading in the document, and its printed output. */
export function sessionUnder(heading: string, language: string): { program: string; printed: string } {
  const text = readFileSync('docs/clients-in-other-languages.md', 'utf8')
  const block = (name: string) => String.raw`\n\x60\x60\x60${name}\n([\s\S]*?)\x60\x60\x60\n`
  const found = new RegExp(`\n### ${heading}\n[\\s\\S]*?${block(language)}[\\s\\S]*?${block('text')}`).exec(text)
  if (!found) throw new Error(`there is no session under ${heading}`)
  return { program: found[1]!, printed: found[2]! }
}
