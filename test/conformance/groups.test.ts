// Tests the layout of the checks: each group is one folder in `checks/`, and code that several groups need is outside.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { checks, groups } from '../../src/conformance/checks.ts'

function importsOf(path: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, name = '']) =>
    normalize(join(dirname(path), name)),
  )
}

t.test('checks.ts lists each folder in checks/ as a group, and each group has checks', async t => {
  const folders = globSync('src/conformance/checks/*').map(path => path.slice('src/conformance/checks/'.length))
  t.same(folders.sort(), groups.map(({ id }) => id).sort())
  for (const { id, checks } of groups) t.ok(checks.length > 0, `${id} has checks`)
})

t.test('no group imports from another group, and no helper imports from a group', async t => {
  for (const path of globSync('src/conformance/checks/*/*.ts'))
    t.same(
      importsOf(path).filter(name => name.startsWith('src/conformance/checks') && dirname(name) !== dirname(path)),
      [],
      `${path} imports only from its own folder and from helpers`,
    )
  for (const path of globSync('src/conformance/{steps,browser}/*.ts'))
    t.same(
      importsOf(path).filter(name => name.startsWith('src/conformance/checks')),
      [],
      `${path} imports no check`,
    )
})

t.test('every check has a unique id', async t => {
  const ids = checks.map(({ id }) => id)
  t.same(
    ids.filter((id, at) => ids.indexOf(id) !== at),
    [],
  )
})
