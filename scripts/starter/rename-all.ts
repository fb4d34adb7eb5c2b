// Moves many files and folders, or none of them.
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'

export type Move = { from: string; to: string }

/** A move failed, and some of the earlier moves could not be undone. The message lists the files to move by hand. */
export class UndoError extends Error {}

/**
 * Moves the paths in order. If a move fails, the function undoes all earlier moves and throws the error. If the
 * function cannot undo all of these moves, it throws UndoError. The function overwrites a file only if it undoes a
 * move.
 */
export function renameAll(moves: Move[]): void {
  const done: Move[] = []
  try {
    for (const move of moves) {
      mkdirSync(dirname(move.to), { recursive: true })
      if (existsSync(move.to)) throw new Error(`${move.to} already exists.`)
      renameSync(move.from, move.to)
      done.push(move)
    }
  } catch (error) {
    const notUndone = done.reverse().filter(move => !tryToUndo(move))
    if (notUndone.length === 0) throw error
    const list = notUndone.map(({ from, to }) => `  ${to} to ${from}`).join('\n')
    throw new UndoError(`${(error as Error).message}\nSome files could not be moved back. Move them yourself:\n${list}`)
  }
}

function tryToUndo({ from, to }: Move): boolean {
  try {
    renameSync(to, from)
    return true
  } catch {
    return false
  }
}
