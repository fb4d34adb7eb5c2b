// Makes the secrets of compose.yaml when this program runs for the first time. Each time it runs, the program prints
// how to sign in and how to open the laboratory.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/**
 * Each subfolder of `folder` is a volume. Only the services that need the secrets of a volume mount this volume. So the
 * client cannot read the database password. Existing secrets are kept. You can stop the program at any moment and start
 * it again. Returns the two secrets that a person types: the visitor's password and the token of the laboratory.
 */
export function makeSecrets(folder: string): { password: string; labToken: string } {
  const random = () => randomBytes(32).toString('base64url')

  function keep(name: string, make: () => string): string {
    const path = `${folder}/${name}`
    if (existsSync(path)) return readFileSync(path, 'utf8').trim()
    const value = make()
    // The program never replaces an existing file, even a half-written one. So the file gets its name only when it is
    // complete.
    writeFileSync(`${path}.new`, `${value}\n`, { mode: 0o600, flush: true })
    renameSync(`${path}.new`, path)
    return value
  }

  keep('client/COOKIE_KEYS', random)
  const clientSecret = keep('sandbox/SEED_CLIENT_SECRET', random)
  keep('client/CLIENT_SECRET', () => clientSecret)
  const databasePassword = keep('database/POSTGRES_PASSWORD', random)
  keep('sandbox/DATABASE_URL', () => `postgres://sandbox:${databasePassword}@database:5432/sandbox`)
  return {
    password: keep('sandbox/SEED_USER_PASSWORD', () => randomBytes(9).toString('base64url')),
    labToken: keep('sandbox/LAB_TOKEN', random),
  }
}

/** `labUrl` is empty if there is no laboratory. */
export function howToOpen(
  { publicUrl, email, labUrl }: { publicUrl: string; email: string; labUrl: string },
  { password, labToken }: { password: string; labToken: string },
): string {
  const client = [`Open: ${publicUrl}`, `E-mail: ${email}`, `Password: ${password}`]
  const lab = [
    `Lab: ${labUrl}`,
    `Lab token: ${labToken}`,
    'In a browser, type any user name, and the lab token as the password. Programs send the token as',
    'Authorization: Bearer with every call.',
  ]
  return `${[...client, ...(labUrl ? lab : [])].join('\n')}\n`
}

if (import.meta.main) {
  const { PUBLIC_URL: publicUrl = '', SEED_USER_EMAIL: email = '', LAB_URL: labUrl = '' } = process.env
  process.stdout.write(howToOpen({ publicUrl, email, labUrl }, makeSecrets('/secrets')))
}
