// Makes a .env from .env.example, with a fresh key that seals the cookies: npm run setup
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { clientSettings } from '../src/client/config.ts'
import { productSettings } from '../src/client/settings.ts'

const usage = `npm run setup

Makes a .env from .env.example, with a fresh key for COOKIE_KEYS. If a .env already exists, the command does not change it.`

const { values } = parseArgs({ options: { help: { type: 'boolean' } } })
if (values.help) {
  console.log(usage)
  process.exit()
}
if (existsSync('.env')) {
  console.error(
    'There is already a .env. This file was not changed. To make a new .env, first move the old file to another place.',
  )
  process.exit(1)
}
const key = randomBytes(32).toString('base64url')
const example = readFileSync('.env.example', 'utf8')
writeFileSync('.env', example.replace(/^COOKIE_KEYS=$/m, `COOKIE_KEYS=${key}`), { mode: 0o600 })

const settings = [...clientSettings, ...productSettings.list]
const needed = settings.filter(setting => setting.default === undefined && setting.name !== 'COOKIE_KEYS')
const names = new Intl.ListFormat('en-GB').format(needed.map(({ name }) => name))
console.log(`Made .env with a fresh key for the cookies. Put ${names} into it, then run: npm start`)
