// Runs a command of the sandbox as an operator would, in a separate process. This is slow, so most tests call the
// command's function instead.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const folder = new URL('../../../src/sandbox/commands/', import.meta.url)

/** Runs a command. Its environment contains only `settings` and the folder for compiled code. */
export async function runCommand(
  name: 'backup' | 'register' | 'rotate-keys' | 'seed',
  settings: Record<string, string>,
  ...options: string[]
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...settings }
  const path = fileURLToPath(new URL(`${name}.ts`, folder))
  try {
    return { exitCode: 0, ...(await promisify(execFile)(process.execPath, [path, ...options], { env })) }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { exitCode: code, stdout, stderr }
  }
}
