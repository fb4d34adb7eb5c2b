// The documents of a starter: a new README, and the kept documents without the sections that are only about this
// repository.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { listAsTable } from '../list-settings.ts'
import type { Size } from './left-behind.ts'
import { replaceOnce } from './replace-once.ts'

/**
 * Replaces the rows about the files of the pages for applications, so that the documents stay correct when the owner
 * replaces these pages.
 */
const productRow = '| The pages of your product | the plugin that `app.ts` registers |\n'
const isOfProduct = (path: string) => path.startsWith('src/client/applications/')

/** Returns a document without the sections about making a starter, and without rows and links for removed files. */
export function rewriteDocument(path: string, text: string, { sandbox }: Size): string {
  const about = /<!-- npm run eject without --sandbox removes the rest -->\n/
  let document = text
    .replace(
      /<!-- npm run eject removes this part: begin -->[\s\S]*<!-- npm run eject removes this part: end -->\n/,
      '',
    )
    .replace(/^\|.*`src\/client\/applications\/applications\.ts`.*\|\n/m, productRow)
    .replace(/^\|.*`(src\/[\w./-]+)`.*\|\n/gm, (row, path) => (existsSync(path) && !isOfProduct(path) ? row : ''))
    .replace(sandbox ? about : new RegExp(`\\n${about.source}[\\s\\S]*`), '')
  // A starter without the sandbox has no command that makes tables.
  if (!sandbox) document = document.replace(/^<!-- (made by npm run docs, .*|end) -->\n/gm, '')
  return document.replace(/\[([^\]]+)\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g, (link, words, target) =>
    existsSync(join(dirname(path), target)) ? link : words,
  )
}

/** Returns a Dockerfile that builds only the client's image, under the starter's name. */
export function rewriteDockerfile(text: string, name: string): string {
  return replaceOnce('Dockerfile', text, [
    [/^# Two images:[\s\S]*?\n\n/, `# The client's image: docker build --tag ${name} .\n\n`],
    [/# --- The sandbox\.[\s\S]*?# --- The client\..*\n\n/, ''],
    ['image.title="Application client"', `image.title="${name}"`],
    [/image\.description="[^"]*"/, 'image.description="A client of the platform"'],
  ])
}

const onSandbox = `
## The sandbox

\`npm ci && npm run demo\` starts the client and the sandbox together, with generated secrets. \`npm run sandbox\`
starts only the sandbox ([settings](docs/sandbox-settings.md)). \`npm run sandbox:register -- --redirect-uri URI\`
registers a client in the sandbox and prints the client's settings. The [laboratory](docs/laboratory.md) shows what went
wrong. \`npm run conformance\` judges the client ([more](docs/conformance.md)). The client's image does not contain the
sandbox, the laboratory or the conformance suite.
`

export function writeReadme(name: string, { sandbox }: Size): string {
  return `# ${name}

Signs people in through the platform's login portal, and calls its API on their behalf.

On your platform, register an application with the redirect URI \`http://localhost:3000/exchangeToken\`. Then:

\`\`\`sh
npm ci
npm run setup
\`\`\`

Put \`LOGIN_URL\`, \`API_URL\`, \`CLIENT_ID\` and \`CLIENT_SECRET\` into \`.env\`. Then run:

\`\`\`sh
npm run doctor
npm run dev
\`\`\`

\`npm run dev\` restarts when a file changes. \`npm start\` runs the client as in production.

${listAsTable()}
\`npm test\` runs every test, \`npm run validate\` checks format, style and types, and \`.ci/run\` does both on a clean clone.
\`npm run upgrade -- FOLDER\` upgrades this client to a newer version of the reference client ([how](docs/make-it-yours.md#upgrade)).

Begin reading with \`src/client/app.ts\`. [Make it yours](docs/make-it-yours.md) says what to change first. See also the
[design](docs/design/client.md), the [security model](docs/security-model.md) and [operations](docs/operations.md).
${sandbox ? onSandbox : ''}`
}
