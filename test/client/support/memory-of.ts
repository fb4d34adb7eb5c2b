// The memory that a process holds at the moment, as the operating system sees it.
import { execFileSync } from 'node:child_process'

/** In MiB. */
export function memoryOf(pid: number | undefined): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024
}
