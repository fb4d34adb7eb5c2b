// Tests that the portal computes a password hash even if there is no account, so its time does not show whether an
// account exists.
import { createHook } from 'node:async_hooks'
import t from 'tap'
import { createPasswords } from '../../../src/sandbox/people/hash-passwords.ts'
import { openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded } from '../support/build-test-sandbox.ts'
import { newcomer, submitForm } from '../support/forms.ts'

/** Runs `work`, and returns how many password hashes this process has computed during the work. */
async function countHashes(work: () => Promise<unknown>): Promise<number> {
  let count = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'ARGON2REQUEST') count += 1
    },
  }).enable()
  await work()
  hook.disable()
  return count
}

t.test(
  'PS-05: for an unknown user, a wrong password or a used e-mail address, the portal always computes exactly one password hash',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const page = await browser.get(startUrl())
    const send = (action: string, fields: Record<string, string>) =>
      countHashes(() => submitForm(browser, page, action, fields))
    t.equal(await send('/sign-in', { email: seeded.email, password: 'wrong' }), 1)
    t.equal(await send('/sign-in', { email: 'nobody@example.test', password: 'wrong' }), 1)
    t.equal(await send('/sign-in', { email: 'nobody@example.test\0', password: 'wrong' }), 1)
    t.equal(await send('/sign-up', newcomer), 1)
    t.equal(await send('/sign-up', newcomer), 1, 'the address is taken now')
  },
)

t.test(
  'if the e-mail address of a sign-up already belongs to an account, the page refuses the address, and shows nothing about the account with this address',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const page = await browser.get(startUrl())
    const answer = await submitForm(browser, page, '/sign-up', { ...newcomer, email: seeded.email })
    t.equal(answer.statusCode, 422)
    t.match(answer.body, 'You cannot use this address for a new account.')
    const switches = /<p class="switch">(New here|Already have an account)\?.*<\/p>/g
    t.equal(answer.body.match(switches)?.length, 2, 'everybody sees the links between sign-in and sign-up')
    t.notMatch(answer.body.replaceAll(switches, ''), /exists|taken|already|Sandbox Developer/i)
  },
)

t.test(
  'PS-04: the portal stores each password as an argon2id hash with 19 MiB, two passes and its own salt',
  async t => {
    const sandbox = await buildTestSandbox(t, { passwords: createPasswords() })
    for (const email of ['one@example.test', 'two@example.test']) {
      const browser = openBrowser(sandbox)
      await submitForm(browser, await browser.get(startUrl()), '/sign-up', { ...newcomer, email })
    }
    const rows = await sandbox.store.read.selectFrom('users').select('password_hash').execute()
    t.equal(rows.length, 3)
    for (const row of rows) t.match(row.password_hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w-]{22}\$[\w-]{43}$/)
    t.equal(new Set(rows.map(row => row.password_hash.split('$')[4])).size, 3)
  },
)
