// What another process takes of the machine, as the operating system sees it.
import { execFileSync } from 'node:child_process'

function ask(pid: number | undefined, what: string): string {
  return execFileSync('ps', ['-o', `${what}=`, '-p', String(pid)], { encoding: 'utf8' }).trim()
}

/** The memory that it holds at the moment, in MiB. */
export function memoryOf(pid: number | undefined): number {
  return Number(ask(pid, 'rss')) / 1024
}

/** How long it has worked so far, in whole seconds: what it waits for, and what others do meanwhile, does not count. */
export function workOf(pid: number | undefined): number {
  // Minutes and seconds, on Linux hours and days before them.
  const [seconds = 0, minutes = 0, hours = 0, days = 0] = ask(pid, 'time').split(/[-:]/).map(Number).reverse()
  return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
}
