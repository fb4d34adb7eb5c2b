// Tests the layout of the checks: each group is one folder in `checks/`, and code that several groups need is outside.
// Also tests that each mistake of a small client is in the file of its group.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { checks, groups } from '../../src/conformance/checks.ts'
import type { Mistake } from './clients/mistake.ts'
import { mistakes } from './clients/mistakes.ts'

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

t.test('each mistake is in the file or folder of one group: the group of the first check in its list', async t => {
  const groupOf = new Map(checks.map(({ id, group }) => [id, group]))
  const listed = new Set(mistakes)
  for (const path of globSync('test/conformance/clients/mistakes/**/*.ts')) {
    const group = path.slice('test/conformance/clients/mistakes/'.length).split(/[/.]/)[0]
    const exported: unknown[] = Object.values(await import(`../../${path}`))
    const own = exported.filter(Array.isArray).flat() as Mistake[]
    t.ok(own.length > 0, `${path} exports mistakes`)
    const misplaced = own.filter(({ checks }) => groupOf.get(checks[0]!) !== group).map(({ name }) => name)
    t.same(misplaced, [], `${path} contains only mistakes of the group ${group}`)
    const unlisted = own.filter(mistake => !listed.has(mistake)).map(({ name }) => name)
    t.same(unlisted, [], `mistakes.ts lists the mistakes in ${path}`)
  }
})

t.test('no file in the mistakes folder imports from the file or folder of another group', async t => {
  const folder = 'test/conformance/clients/mistakes'
  for (const path of globSync(`${folder}/**/*.ts`))
    t.same(
      importsOf(path).filter(
        name => name.startsWith(`${folder}/`) && (dirname(path) === folder || dirname(name) !== dirname(path)),
      ),
      [],
      `${path} imports no mistakes from another group`,
    )
})
