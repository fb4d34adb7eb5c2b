// Measures the memory and the connections of a process and its children, on systems that report them.
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'

export interface Usage {
  megabytes: number
  connections: number
}

/** Returns undefined if the system has no /proc, or if the process has ended. */
export function usageOf(pid: number): Usage | undefined {
  if (!existsSync(`/proc/${pid}/task`)) return undefined
  const total = { megabytes: 0, connections: 0 }
  for (const id of familyOf(pid)) {
    const ofProcess = unlessEnded(() => usageOfOne(id))
    total.megabytes += ofProcess?.megabytes ?? 0
    total.connections += ofProcess?.connections ?? 0
  }
  return total
}

function usageOfOne(pid: number): Usage {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return {
    megabytes: Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024,
    connections: readdirSync(`/proc/${pid}/fd`).filter(fd => isSocket(`/proc/${pid}/fd/${fd}`)).length,
  }
}

function familyOf(pid: number): number[] {
  const tasks = unlessEnded(() => readdirSync(`/proc/${pid}/task`)) ?? []
  const children = tasks.flatMap(
    task =>
      unlessEnded(() =>
        readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
      ) ?? [],
  )
  return [pid, ...children.flatMap(familyOf)]
}

/** A server may end its worker processes at any time. Reading the files of a process that has ended throws an error. */
function unlessEnded<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

function isSocket(path: string): boolean {
  return unlessEnded(() => readlinkSync(path))?.startsWith('socket:') ?? false
}
