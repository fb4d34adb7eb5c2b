// Simulates a process that has no file descriptors left.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { Test } from 'tap'

/** Until the test ends, this process can neither open nor read a file. */
export function openNoMoreFiles(t: Test): void {
  const { openSync, readFileSync } = fs
  t.teardown(() => {
    Object.assign(fs, { openSync, readFileSync })
    syncBuiltinESMExports()
  })
  const fail = (path: string) => {
    throw Object.assign(new Error(`EMFILE: too many open files, open '${path}'`), { code: 'EMFILE' })
  }
  Object.assign(fs, { openSync: fail, readFileSync: fail })
  syncBuiltinESMExports()
}
