// Starts a measured program in its own process, waits for its address, reads its CPU time and memory, and stops it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Reading } from './probe.ts'

export type Environment = Record<string, string>
/** The time and memory that a server needs for some work, in all its threads. */
export type Cost = { cpuMicroseconds: number; memoryMiB: number; milliseconds: number }

/** How long a server may take before it prints the expected line. */
const patienceMs = 30_000
const probe = fileURLToPath(new URL('probe.ts', import.meta.url))

/** Starts a process whose CPU time and memory can be read. `before` contains more options for Node. */
export function startMeasuredChild(script: string, environment: Environment, before: string[] = []): ChildProcess {
  return run([...before, '--import', probe, script], environment, ['pipe', 'ipc'])
}

/** Starts a helper process that exchanges messages with the bench. The helper prints to the bench's output. */
export function startHelper(script: string): ChildProcess {
  return run([script], {}, ['inherit', 'ipc'])
}

function run(parameters: string[], environment: Environment, [stdout, ...more]: ['pipe' | 'inherit', 'ipc'?]) {
  // The process does not inherit the environment of this machine, because a setting in it could change the results.
  const child = spawn(process.execPath, parameters, { env: environment, stdio: ['ignore', stdout, 'inherit', ...more] })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

const children = new Set<ChildProcess>()
// All child processes stop when this process exits, even after an error.
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/**
 * Waits until the output of the process matches, and returns the groups of the match. Later output is read and ignored.
 */
export async function readOutput({ stdout }: ChildProcess, pattern: RegExp): Promise<string[]> {
  if (!stdout) throw new Error('The output of this process cannot be read.')
  let printed = ''
  return new Promise((resolve, reject) => {
    const look = (chunk: Buffer) => {
      printed += chunk
      const found = pattern.exec(printed)
      if (!found) return
      // If nothing reads the output of a server, the server soon has to wait, and the results would include the waiting
      // time.
      stdout.off('data', look).resume()
      resolve(found.slice(1))
    }
    const fail = () => reject(new Error(`A server did not print the expected line:\n${printed}`))
    stdout.on('data', look).once('end', fail)
    setTimeout(fail, patienceMs).unref()
  })
}

/**
 * Runs `work` and measures the CPU time and memory that the given child process uses for it. The function does not
 * measure other processes that take part in the work.
 */
export async function costOf<T>(child: ChildProcess, work: () => Promise<T>): Promise<Cost & { result: T }> {
  const startedAt = performance.now()
  const before = await read(child)
  const result = await work()
  const after = await read(child)
  return {
    result,
    cpuMicroseconds: after.cpuMicroseconds - before.cpuMicroseconds,
    memoryMiB: after.residentBytes / 1024 / 1024,
    milliseconds: performance.now() - startedAt,
  }
}

export async function read(child: ChildProcess): Promise<Reading> {
  const answered = once(child, 'message')
  child.send('read')
  const [reading] = (await answered) as [Reading]
  return reading
}

export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
