// Lists the settings of the client and of the product in .env.example and in the README: npm run settings
import { readFileSync, writeFileSync } from 'node:fs'
import { clientSettings } from '../src/client/config.ts'
import { describeSetting } from '../src/client/read-settings.ts'
import { productSettings } from '../src/client/settings.ts'

const settings = [...clientSettings, ...productSettings.list]
const tableHead = '| Setting | Default | What it is |\n|---|---|---|\n'

/** Returns the text of `.env.example`. */
export function listForEnvironment(): string {
  const head =
    '# The settings of the client. "npm run setup" makes a .env from this file and adds a new key. Settings after # are optional.\n'
  const lines = settings.map(setting => {
    // A default can refer to another setting, so the default is in the comment and not after the name.
    const about = describeSetting(setting) + (setting.default ? ` Default: ${setting.default}` : '')
    return `\n# ${about}\n${setting.default === undefined ? '' : '#'}${setting.name}=\n`
  })
  return head + lines.join('')
}

/** Returns the settings as the table that is in the README. */
export function listAsTable(): string {
  const rows = settings.map(setting => {
    const value = setting.default === undefined ? 'needed' : setting.default ? `\`${setting.default}\`` : 'not set'
    return `| \`${setting.name}\` | ${value} | ${describeSetting(setting)} |\n`
  })
  return tableHead + rows.join('')
}

if (import.meta.main) {
  const readme = readFileSync('README.md', 'utf8')
  const start = readme.indexOf(tableHead)
  if (start < 0) {
    console.error(
      `README.md has no table of the settings. Put these two lines where the table belongs, and run the command again:\n${tableHead}`,
    )
    process.exit(1)
  }
  // The table ends at the first empty line, or at the end of the file.
  const end = readme.indexOf('\n\n', start)
  writeFileSync('README.md', readme.slice(0, start) + listAsTable() + (end < 0 ? '' : readme.slice(end + 1)))
  writeFileSync('.env.example', listForEnvironment())
  console.log(`Listed ${settings.length} settings in .env.example and README.md.`)
}
