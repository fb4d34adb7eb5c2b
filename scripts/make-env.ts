// Makes a .env from .env.example, with a fresh key that seals the cookies: npm run setup
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { parseArgs, parseEnv } from 'node:util'
import { clientSettings } from '../src/client/config.ts'
import { productSettings } from '../src/client/settings.ts'

const usage = `npm run setup

Makes a .env from .env.example, with a fresh key for COOKIE_KEYS. If a .env already exists, the command adds only the
required settings that are missing, makes a key if COOKIE_KEYS is empty, and lists the settings that have no value.`

const { values } = parseArgs({ options: { help: { type: 'boolean' } } })
if (values.help) {
  console.log(usage)
  process.exit()
}
const before = existsSync('.env') ? readFileSync('.env', 'utf8') : undefined
const given = parseEnv(before ?? '')
// The client treats an empty setting as missing.
const missing = [...clientSettings, ...productSettings.list]
  .filter(setting => setting.default === undefined)
  .map(({ name }) => name)
  .filter(name => !given[name]?.trim() && !given[`${name}_FILE`]?.trim())
if (missing.length === 0) {
  console.log('The file .env already has all required settings. It was not changed.')
  process.exit()
}
const absent = missing.filter(name => !(name in given))
const needsKey = missing.includes('COOKIE_KEYS')
if (absent.length > 0 || needsKey) {
  const example = readFileSync('.env.example', 'utf8')
  // In .env.example, an empty line separates the settings.
  const added = example.split('\n\n').filter(block => absent.some(name => block.split('\n').includes(`${name}=`)))
  const text = before === undefined ? example : `${[before.trimEnd(), ...added].join('\n\n').trimEnd()}\n`
  const key = randomBytes(32).toString('base64url')
  // If the disk is full, the old .env must keep its secrets. So a new file replaces the old one only when it is complete.
  const emptyKeys = /^[ \t]*(?:export[ \t]+)?COOKIE_KEYS[ \t]*=[ \t"'`]*(?:#.*)?$/m
  writeFileSync('.env.new', needsKey ? text.replace(emptyKeys, `COOKIE_KEYS=${key}`) : text, {
    mode: 0o600,
    flush: true,
  })
  renameSync('.env.new', '.env')
  const what = needsKey ? 'a fresh key for the cookies' : 'the missing settings'
  console.log(`${before === undefined ? 'Made .env with' : 'Added to .env:'} ${what}.`)
}

const names = new Intl.ListFormat('en-GB').format(missing.filter(name => name !== 'COOKIE_KEYS'))
if (names) console.log(`Put ${names} into .env, then run: npm start`)
