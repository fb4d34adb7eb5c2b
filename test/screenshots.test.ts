// The pictures in the README exist.
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'

t.test('every picture that the README shows is in the repository', async t => {
  const [, ...pictures] = readFileSync('README.md', 'utf8').split(/\]\((?=docs\/screenshots\/)/)
  t.ok(pictures.length > 4)
  for (const picture of pictures) t.ok(existsSync(picture.split(')', 1)[0]!), picture)
})
