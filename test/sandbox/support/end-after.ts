// A test loads this file into a sandbox process. When the database has carried out a statement that begins with the
// value of END_AFTER, the process ends as if somebody had killed it with kill -9. The process cannot use the result of
// the statement.
import { StatementSync } from 'node:sqlite'
import pg from 'pg'

const isTheOne = (statement: string) => statement.trimStart().startsWith(process.env.END_AFTER ?? '')
const end = () => process.kill(process.pid, 'SIGKILL')

for (const method of ['all', 'run'] as const) {
  const original = StatementSync.prototype[method] as (...values: unknown[]) => unknown
  StatementSync.prototype[method] = function (this: StatementSync, ...values: unknown[]) {
    const result = original.apply(this, values)
    if (isTheOne(this.sourceSQL)) end()
    return result
  } as never
}

const { query } = pg.Client.prototype
pg.Client.prototype.query = function (this: pg.Client, statement: string, ...values: never[]) {
  const answer = (query as (...call: unknown[]) => Promise<unknown>).call(this, statement, ...values)
  if (typeof statement === 'string' && isTheOne(statement)) void answer.then(end)
  return answer
} as never
