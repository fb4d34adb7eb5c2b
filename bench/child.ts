// Starts what is measured as a process of its own, waits for its address, reads its CPU time and memory from within, and
// stops it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Reading } from './probe.ts'

export type Environment = Record<string, string>
/** What a piece of work cost the server, over all its threads. */
export type Cost = { cpuMicroseconds: number; memoryMiB: number; milliseconds: number }

/** How long a server may take to listen. */
const patienceMs = 30_000
const probe = fileURLToPath(new URL('probe.ts', import.meta.url))

/** One whose CPU time and memory can be read. `before`: what Node is told of it besides. */
export function startMeasuredChild(script: string, environment: Environment, before: string[] = []): ChildProcess {
  return run([...before, '--import', probe, script], environment, ['pipe', 'ipc'])
}

/** One that talks through messages, and prints what a person should see. */
export function startHelper(script: string): ChildProcess {
  return run([script], {}, ['inherit', 'ipc'])
}

function run(parameters: string[], environment: Environment, [stdout, ...more]: ['pipe' | 'inherit', 'ipc'?]) {
  // Nothing of this machine's environment: a setting that happens to stand there must not change what is measured.
  const child = spawn(process.execPath, parameters, { env: environment, stdio: ['ignore', stdout, 'inherit', ...more] })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

const children = new Set<ChildProcess>()
// Whatever goes wrong here, nobody is left behind.
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** The groups of the first match in what the process prints; what it prints from then on is read and dropped. */
export async function readOutput({ stdout }: ChildProcess, pattern: RegExp): Promise<string[]> {
  if (!stdout) throw new Error('The output of a server must be read.')
  let printed = ''
  return new Promise((resolve, reject) => {
    const look = (chunk: Buffer) => {
      printed += chunk
      const found = pattern.exec(printed)
      if (!found) return
      // A server whose output nobody reads would soon wait for that, and be measured waiting.
      stdout.off('data', look).resume()
      resolve(found.slice(1))
    }
    const fail = () => reject(new Error(`A server has not said what was waited for:\n${printed}`))
    stdout.on('data', look).once('end', fail)
    setTimeout(fail, patienceMs).unref()
  })
}

/** What the work costs that child, whoever else does it. */
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
