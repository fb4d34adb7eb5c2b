// Makes the secrets of compose.yaml at the first start, and says at every start how to sign in.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/**
 * Each subfolder of `folder` is a volume that only its readers mount, so that the client cannot read the password of
 * the database. A secret that is there stays. May be interrupted anywhere and run again. Returns the visitor's password.
 */
export function makeSecrets(folder: string): string {
  const random = () => randomBytes(32).toString('base64url')

  function keep(name: string, make: () => string): string {
    const path = `${folder}/${name}`
    if (existsSync(path)) return readFileSync(path, 'utf8').trim()
    const value = make()
    // Whole or not at all: a half-written secret would be kept for ever.
    writeFileSync(`${path}.new`, `${value}\n`, { mode: 0o600, flush: true })
    renameSync(`${path}.new`, path)
    return value
  }

  keep('client/COOKIE_KEYS', random)
  const clientSecret = keep('sandbox/SEED_CLIENT_SECRET', random)
  keep('client/CLIENT_SECRET', () => clientSecret)
  const databasePassword = keep('database/POSTGRES_PASSWORD', random)
  keep('sandbox/DATABASE_URL', () => `postgres://sandbox:${databasePassword}@database:5432/sandbox`)
  return keep('sandbox/SEED_USER_PASSWORD', () => randomBytes(9).toString('base64url'))
}

if (import.meta.main) {
  const { PUBLIC_URL, SEED_USER_EMAIL } = process.env
  const password = makeSecrets('/secrets')
  process.stdout.write(`Open: ${PUBLIC_URL}\nE-mail: ${SEED_USER_EMAIL}\nPassword: ${password}\n`)
}
