// What a starter reads of itself: its README, and the documents that stay, without what is about the repository it left.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { settings } from '../../src/client/config.ts'
import type { Size } from './left-behind.ts'

/** In place of its files: the product is what is replaced, and no document has to be changed with it. */
const ofProduct =
  '| Its name, home, links and routes, and the data model of its API | the folder that `app.ts` imports it from |\n'
const isOfProduct = (path: string) => /^src\/client\/(applications|bare)\//.test(path)

/** A document that stays: without the parts on leaving and on what is not there, and with no link that leads nowhere. */
export function rewriteDocument(path: string, text: string, { sandbox }: Size): string {
  const about = /<!-- From here on it is about the sandbox\. -->\n/
  return text
    .replace(/<!-- Before it is yours\. -->[\s\S]*<!-- From here on it is\. -->\n/, '')
    .replace(/^\|.*`src\/client\/\w+\/product\.ts`.*\|\n/m, ofProduct)
    .replace(/^\|.*`(src\/[\w./-]+)`.*\|\n/gm, (row, path) => (existsSync(path) && !isOfProduct(path) ? row : ''))
    .replace(sandbox ? about : new RegExp(`\\n${about.source}[\\s\\S]*`), '')
    .replace(/\[([^\]]+)\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g, (link, words, target) =>
      existsSync(join(dirname(path), target)) ? link : words,
    )
}

/** A Dockerfile of the client's image alone, which bears the starter's name. */
export function rewriteDockerfile(text: string, name: string): string {
  return text
    .replace(/^# Two images:[\s\S]*?\n\n/, `# The client's image: docker build --tag ${name} .\n\n`)
    .replace(
      /# --- From here on it is about the sandbox alone\.[\s\S]*?# --- From here on it is about the client alone.*\n\n/,
      '',
    )
    .replace('image.title="Application client"', `image.title="${name}"`)
    .replace(/image\.description="[^"]*"/, 'image.description="A client of the platform"')
}

const onSandbox = `
## The sandbox

\`npm ci && npm run demo\` starts client and sandbox together, with secrets of its own making; \`npm run sandbox\` the sandbox
alone ([settings](docs/sandbox-settings.md)), and \`npm run sandbox:register -- --redirect-uri URI\` prints the settings of a client
of it. Its [laboratory](docs/laboratory.md) shows what went wrong. \`npm run conformance\` judges the client ([more](docs/conformance.md)). None of them is part of the image.
`

export function writeReadme(name: string, { sandbox }: Size): string {
  return `# ${name}

Signs people in through the platform's login portal, and works with its API in their name.

Register an application at your platform with the redirect URI \`http://localhost:3000/exchangeToken\`. Then:

\`\`\`sh
npm ci
npm run setup
\`\`\`

Put \`LOGIN_URL\`, \`API_URL\`, \`CLIENT_ID\` and \`CLIENT_SECRET\` into \`.env\`, and:

\`\`\`sh
npm run doctor
npm start
\`\`\`

| Setting | Default | What it is |
|---|---|---|
${settings.map(row).join('\n')}

\`npm test\` runs every test, \`npm run validate\` checks format, style and types, and \`.ci/run\` does both on a clean clone.
Begin reading with \`src/client/app.ts\`; [make it yours](docs/make-it-yours.md) says what to change first. See also the
[security model](docs/security-model.md), [operations](docs/operations.md), and the [decisions](docs/decisions), which say
why what looks odd is as it is.
${sandbox ? onSandbox : ''}`
}

function row(setting: (typeof settings)[number]): string {
  const value = 'default' in setting ? (setting.default ? `\`${setting.default}\`` : 'not set') : 'needed'
  return `| \`${setting.name}\` | ${value} | ${setting.about} |`
}
