// Asks the operating system for the memory and the CPU time of another process.
import { execFileSync } from 'node:child_process'

function ask(pid: number | undefined, what: string): string {
  return execFileSync('ps', ['-o', `${what}=`, '-p', String(pid)], { encoding: 'utf8' }).trim()
}

/** Returns the current memory of the process in MiB. */
export function memoryOf(pid: number | undefined): number {
  return Number(ask(pid, 'rss')) / 1024
}

/**
 * Returns the CPU time of the process so far, in whole seconds. The time in which the process waits does not
 * count.
 */
export function workOf(pid: number | undefined): number {
  // `ps` prints minutes and seconds, and on Linux also hours and days.
  const [seconds = 0, minutes = 0, hours = 0, days = 0] = ask(pid, 'time').split(/[-:]/).map(Number).reverse()
  return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
}
