// The memory and processor time of another process, as the operating system reports them.
import { execFileSync } from 'node:child_process'

function ask(pid: number | undefined, what: string): string {
  return execFileSync('ps', ['-o', `${what}=`, '-p', String(pid)], { encoding: 'utf8' }).trim()
}

/** The current memory of the process in MiB. */
export function memoryOf(pid: number | undefined): number {
  return Number(ask(pid, 'rss')) / 1024
}

/** The processor time of the process so far, in whole seconds. Waiting does not count. */
export function workOf(pid: number | undefined): number {
  // `ps` prints minutes and seconds, and on Linux also hours and days.
  const [seconds = 0, minutes = 0, hours = 0, days = 0] = ask(pid, 'time').split(/[-:]/).map(Number).reverse()
  return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
}
