// What the README's pictures show: the templates, styles and scripts of the client and of the laboratory.
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'

/** Holds the hash of what the pictures beside it were taken of. */
export const stamp = 'docs/screenshots/taken-of.sha256'

/** Changes with every change to what a picture may show. */
export function hashOfLooks(): string {
  const paths = globSync(['views/client/**/*.*', 'views/sandbox/lab/**/*.*', 'views/sandbox/sandbox.css'])
  const hash = createHash('sha256')
  // In one order, and with one line ending, on every machine.
  for (const path of paths.map(path => path.replaceAll('\\', '/')).sort())
    hash.update(`${path}\n${readFileSync(path, 'utf8').replaceAll('\r\n', '\n')}\n`)
  return hash.digest('hex')
}
