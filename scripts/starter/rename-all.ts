// Moves many files and folders, or none of them.
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'

export type Move = { from: string; to: string }

/**
 * Moves the paths in order. If a move fails, the function undoes all earlier moves and throws the error. It never
 * overwrites a file.
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
    for (const { from, to } of done.reverse()) renameSync(to, from)
    throw error
  }
}
