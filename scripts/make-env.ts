// Makes a .env from .env.example, with a fresh key that seals the cookies: npm run setup
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs, parseEnv } from 'node:util'
import { clientSettings } from '../src/client/config.ts'
import { productSettings } from '../src/client/settings.ts'

const usage = `npm run setup

Makes a .env from .env.example, with a fresh key for COOKIE_KEYS. If a .env already exists, the command adds only the
required settings that are missing.`

const { values } = parseArgs({ options: { help: { type: 'boolean' } } })
if (values.help) {
  console.log(usage)
  process.exit()
}
const before = existsSync('.env') ? readFileSync('.env', 'utf8') : undefined
const given = parseEnv(before ?? '')
const needed = [...clientSettings, ...productSettings.list]
  .filter(setting => setting.default === undefined)
  .map(({ name }) => name)
const missing = needed.filter(name => !(name in given || `${name}_FILE` in given))
if (missing.length === 0) {
  console.log('The file .env already has all required settings. It was not changed.')
  process.exit()
}
const example = readFileSync('.env.example', 'utf8')
// In .env.example, an empty line separates the settings.
const added = example.split('\n\n').filter(block => missing.some(name => block.split('\n').includes(`${name}=`)))
const text = before === undefined ? example : `${[before.trimEnd(), ...added].join('\n\n').trimEnd()}\n`
const key = randomBytes(32).toString('base64url')
writeFileSync('.env', text.replace(/^COOKIE_KEYS=$/m, `COOKIE_KEYS=${key}`), { mode: 0o600 })
// Writing to an existing file does not change the mode of the file.
chmodSync('.env', 0o600)

const names = new Intl.ListFormat('en-GB').format(missing.filter(name => name !== 'COOKIE_KEYS'))
const what = missing.includes('COOKIE_KEYS') ? 'a fresh key for the cookies' : 'the missing settings'
console.log(`${before === undefined ? 'Made .env with' : 'Added to .env:'} ${what}.`)
if (names) console.log(`Put ${names} into .env, then run: npm start`)
