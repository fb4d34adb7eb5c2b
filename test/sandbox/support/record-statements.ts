// Records the statements that reach the database, and finds out which statements read all rows of a table.
import { DatabaseSync, StatementSync } from 'node:sqlite'
import pg from 'pg'
import type { Test } from 'tap'
import { startPostgresProxy } from './postgres-proxy.ts'

export interface Recorder {
  /** The address of the database that the sandbox must use. */
  databaseUrl: string
  /** All statements since the recorder was started, including begin and commit. */
  statements: string[]
  /** Returns the tables and indexes that the statement reads completely. */
  findScans(statement: string): Promise<string[]>
}

export async function recordStatements(t: Test, databaseUrl: string): Promise<Recorder> {
  return databaseUrl.startsWith('sqlite:') ? recordSqlite(t, databaseUrl) : recordPostgres(t, databaseUrl)
}

function recordSqlite(t: Test, databaseUrl: string): Recorder {
  const statements: string[] = []
  for (const method of ['all', 'run', 'get', 'iterate'] as const) {
    const original = StatementSync.prototype[method] as (...values: unknown[]) => unknown
    t.intercept(StatementSync.prototype, method, {
      value(this: StatementSync, ...values: unknown[]) {
        statements.push(this.sourceSQL)
        return original.apply(this, values)
      },
    })
  }
  return {
    databaseUrl,
    statements,
    async findScans(statement) {
      const database = new DatabaseSync(databaseUrl.slice('sqlite:'.length), { readOnly: true })
      const steps = database.prepare(`explain query plan ${statement}`).all()
      database.close()
      // A statement may read all rows of a list of values, of a subquery or of a `with` clause, because an index has
      // found these rows.
      const named = [...statement.matchAll(/(?:^with|,)\s+"?(\w+)"? as \(/g)].map(([, name]) => `${name}$`)
      const isHarmless = new RegExp(`^SCAN (${['CONSTANT ROW', '\\d+-ROW VALUES', '\\(subquery', ...named].join('|')})`)
      const scans = steps.map(step => String(step.detail)).filter(detail => detail.startsWith('SCAN'))
      return scans.filter(scan => !isHarmless.test(scan))
    },
  }
}

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Cond'?: string
  Plans?: PlanNode[]
}

async function recordPostgres(t: Test, databaseUrl: string): Promise<Recorder> {
  const { url, statements } = await startPostgresProxy(t, databaseUrl)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  t.teardown(() => client.end())
  // In a test the tables are small, so PostgreSQL prefers to scan them. With this setting it scans a table only if it
  // cannot use an index.
  await client.query('set enable_seqscan = off')
  const listScans = (node: PlanNode): string[] => {
    const isScan = /^(Seq|Index|Index Only|Bitmap Index) Scan$/.test(node['Node Type'])
    const own = isScan && !node['Index Cond'] ? [`${node['Node Type']} ${node['Relation Name']}`] : []
    return [...own, ...(node.Plans ?? []).flatMap(listScans)]
  }
  return {
    databaseUrl: url,
    statements,
    async findScans(statement) {
      const { rows } = await client.query(`explain (generic_plan, format json) ${statement}`)
      return listScans(rows[0]['QUERY PLAN'][0].Plan)
    },
  }
}
