// One step of the schema, and how it runs on either database.
import { sql } from 'kysely'
import type { Db } from './schema.ts'

export type Dialect = 'sqlite' | 'postgres'

export interface Migration {
  /** What it brings. Errors and the log name it. */
  name: string
  /**
   * In order. A text is plain SQL that both databases take; where there is none, each has statements of its own.
   * SQLite does not heed foreign keys while steps run, so nothing cascades: a step deletes what belongs to its rows itself.
   */
  statements: readonly (string | Record<Dialect, readonly string[]>)[]
}

/** Throws what the database says, with the step's name in front. */
export async function runMigration(db: Db, dialect: Dialect, { name, statements }: Migration): Promise<void> {
  try {
    for (const statement of statements)
      for (const text of typeof statement === 'string' ? [statement] : statement[dialect])
        await sql.raw(text).execute(db)
  } catch (error) {
    if (error instanceof Error) error.message = `the step “${name}” of the schema failed: ${error.message}`
    throw error
  }
}
