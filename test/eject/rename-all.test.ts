// Tests the function that moves many files or none of them.
import fs, { existsSync, readdirSync, readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Move, renameAll, UndoError } from '../../scripts/starter/rename-all.ts'

/** Makes a folder with three files, and returns the moves of these files into another folder. */
function openFiles(t: Test): { folder: string; moves: Move[] } {
  const folder = t.testdir({ one: '1', two: '2', three: '3' })
  const moves = ['one', 'two', 'three'].map(name => ({ from: join(folder, name), to: join(folder, 'away', name) }))
  return { folder, moves }
}

/** Makes the renames with these numbers fail. The first rename has the number 1. */
function breakRenames(t: Test, ...numbers: number[]): void {
  const { renameSync } = fs
  let count = 0
  fs.renameSync = (from, to) => {
    count += 1
    if (numbers.includes(count)) throw new Error(`EBUSY: ${from}`)
    renameSync(from, to)
  }
  syncBuiltinESMExports()
  t.teardown(() => {
    fs.renameSync = renameSync
    syncBuiltinESMExports()
  })
}

t.test('if a move fails, all earlier moves are undone', async t => {
  const { folder, moves } = openFiles(t)
  breakRenames(t, 3)
  t.throws(() => renameAll(moves), { message: /^EBUSY: .*three$/ })
  t.same(readdirSync(folder).sort(), ['away', 'one', 'three', 'two'])
  t.same(readdirSync(join(folder, 'away')), [])
})

t.test('if a move cannot be undone, the other moves are undone, and the error says where the file is', async t => {
  const { folder, moves } = openFiles(t)
  breakRenames(t, 3, 4)
  const error = t.throws(() => renameAll(moves), { message: /^EBUSY: .*three\n/ })
  t.ok(error instanceof UndoError)
  t.match(String(error), `Move them yourself:\n  ${moves[1]?.to} to ${moves[1]?.from}`)
  t.same(readdirSync(folder).sort(), ['away', 'one', 'three'])
  t.equal(readFileSync(join(folder, 'away/two'), 'utf8'), '2')
})

t.test('a move never overwrites a file', async t => {
  const { folder, moves } = openFiles(t)
  t.throws(() => renameAll([...moves, { from: moves[0]!.to, to: moves[1]!.to }]), { message: /two already exists/ })
  t.notOk(existsSync(join(folder, 'away/one')))
})
