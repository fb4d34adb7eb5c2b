// The pictures in the README are of the pages as they are.
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { hashOfLooks, stamp } from '../scripts/looks.ts'

t.test('the README’s pictures were taken of these views and styles', async t => {
  const [, ...pictures] = readFileSync('README.md', 'utf8').split(/\]\((?=docs\/screenshots\/)/)
  t.ok(pictures.length > 4)
  for (const picture of pictures) t.ok(existsSync(picture.split(')', 1)[0]!), picture)
  t.equal(readFileSync(stamp, 'utf8').trim(), hashOfLooks(), 'they have changed: run "npm run screenshots"')
})
