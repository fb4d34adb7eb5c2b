// Tests the live page of the example product in Chromium. Its Content-Security-Policy must allow fetch, server-sent
// events and an upload.
import { join } from 'node:path'
import t from 'tap'
import { buildClient } from '../client/example/app.ts'
import { skip } from '../support/launch-chromium.ts'
import { startVisit } from './support/start-visit.ts'

t.test(
  'the script of the live page saves and uploads notes, shows every new note, and offers a new login after the session has ended',
  { skip },
  async t => {
    const file = join(t.testdir(), 'notes.db')
    const { context, page, publicUrl, troubles } = await startVisit(t, {
      at: '/notes/live',
      build: (config, options) => buildClient({ ...config, product: { file, moderators: [] } }, options),
    })
    const notes = page.getByRole('list', { name: 'Your notes' })
    await page.getByLabel('Note', { exact: true }).fill('milk')
    await page.getByRole('button', { name: 'Add' }).click()
    await notes.getByText('milk').waitFor()
    t.equal(await page.getByLabel('Note', { exact: true }).inputValue(), '')

    const other = await context.newPage()
    await other.goto(`${publicUrl}/notes/live`)
    const upload = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from(`bread\n${'x'.repeat(50_000)}`) }
    await other.getByLabel('A text file').setInputFiles(upload)
    await other.getByRole('button', { name: 'Import' }).click()
    await notes.getByText('bread').waitFor()
    t.same(troubles, [])

    await context.clearCookies()
    await page.getByLabel('Note', { exact: true }).fill('too late')
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByRole('link', { name: 'Sign in again' }).waitFor()
    t.equal(
      await page.getByLabel('Note', { exact: true }).inputValue(),
      'too late',
      'the field must keep the typed text',
    )

    // After the session has ended, a request for the event stream also gets a 401 answer.
    await other.evaluate('listen()')
    await other.getByRole('link', { name: 'Sign in again' }).waitFor()
  },
)
