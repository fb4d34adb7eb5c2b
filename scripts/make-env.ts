// Makes a .env from .env.example, with a fresh key that seals the cookies: npm run setup
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

if (existsSync('.env')) {
  console.error('There is a .env already, and it stays as it is. Move it away to make a new one.')
  process.exit(1)
}
const key = randomBytes(32).toString('base64url')
const example = readFileSync('.env.example', 'utf8')
writeFileSync('.env', example.replace(/^COOKIE_KEYS=$/m, `COOKIE_KEYS=${key}`), { mode: 0o600 })
console.log('Made .env. Put CLIENT_ID and CLIENT_SECRET of your application into it, then: npm start')
