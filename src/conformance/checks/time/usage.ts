// Measures the memory and the connections of a process and its children, on systems that report them.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export interface Usage {
  megabytes: number
  connections: number
}

/** Returns undefined if the system has no /proc, or if the process has ended. */
export function usageOf(pid: number): Usage | undefined {
  try {
    const total = { megabytes: 0, connections: 0 }
    for (const id of familyOf(pid)) {
      total.megabytes += Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1] ?? 0) / 1024
      total.connections += readdirSync(`/proc/${id}/fd`).filter(fd => isSocket(`/proc/${id}/fd/${fd}`)).length
    }
    return total
  } catch {
    return undefined
  }
}

function familyOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap(task =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(familyOf)]
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket:')
  } catch {
    return false
  }
}
