// Copies this project into another folder, with its packages, and with or without a git history.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Test } from 'tap'

// A separate compile cache for the copies. It is deleted at the end, because the copies of the next run are in other
// folders and cannot use it.
const compiled = mkdtempSync(join(tmpdir(), 'compiled-'))
process.on('exit', () => rmSync(compiled, { recursive: true, force: true }))

export type Project = ReturnType<typeof openProject>

/** Copies the work tree, including uncommitted files, but without the git history. */
export function copyProject(t: Test): Project {
  const folder = openFolder(t)
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  })
  for (const path of files.split('\0').filter(path => path && existsSync(path))) cpSync(path, join(folder, path))
  return openProject(folder)
}

export function openFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'starter-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export function openProject(folder: string) {
  // The commands in the copy must not get the environment variables of tap and npm.
  const inherited = Object.entries({ ...process.env, NODE_COMPILE_CACHE: compiled }).filter(
    ([name]) => !/^(TAP|_TAP|npm_|NODE_V8_COVERAGE|NODE_OPTIONS)/.test(name),
  )
  const run = (command: string, ...parameters: string[]) => {
    // The command is started through env, because tap changes the environment of programs that a test starts directly.
    const environment = ['-i', ...inherited.map(pair => pair.join('='))]
    const { status, stdout, stderr } = spawnSync('env', [...environment, command, ...parameters], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
    })
    return { status, output: stdout + stderr }
  }
  return {
    run,
    eject: (...options: string[]) => run(process.execPath, 'scripts/eject.ts', ...options),
    read: (path: string) => readFileSync(join(folder, path), 'utf8'),
    has: (path: string) => existsSync(join(folder, path)),
    folder,
  }
}

export function commitAll({ run }: Project, message = 'as it was'): void {
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.test']
  run('git', 'init', '--quiet')
  run('git', 'add', '--all')
  run('git', ...author, 'commit', '--quiet', '--message', message)
}

/**
 * Adds a required setting to the product of a starter, as its owner would do. `value` is the value that the setting has
 * in the tests of the product.
 */
export function addRequiredSetting({ folder, run }: Project, value?: string): void {
  const list = "[{ name: 'OWN_SETTING', about: 'A setting that the product needs.' }]"
  const path = join(folder, 'src/client/settings.ts')
  const settings = readFileSync(path, 'utf8')
  const none = 'defineSettings({ list: [], read: () => ({}) })'
  if (!settings.includes(none)) throw new Error(`settings.ts does not have ${none}`)
  const own = `defineSettings({\n  list: ${list},\n  read: ({ text }) => ({ own: text('OWN_SETTING') }),\n})`
  writeFileSync(path, settings.replace(none, own))
  run('npm', 'run', 'settings')
  if (value === undefined) return
  const ofTests = join(folder, 'test/client/support/product-environment.ts')
  writeFileSync(ofTests, readFileSync(ofTests, 'utf8').replace('= {}', `= { OWN_SETTING: '${value}' }`))
}

/**
 * Links the packages in the starter's lock file to the installed packages of this project. Installing the packages
 * again would take longer than the rest of the test.
 */
export function linkPackages({ folder, read }: Project): void {
  const { packages } = JSON.parse(read('package-lock.json'))
  for (const path of ['node_modules/.bin', ...Object.keys(packages)].filter(path =>
    /^node_modules\/[^/]+(\/[^/]+)?$/.test(path),
  )) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    if (existsSync(path)) symlinkSync(resolve(path), join(folder, path))
  }
}

/** Runs these test files with the starter's own test runner. All tests must pass. */
export function passesTests(t: Test, { run }: Project, ...files: string[]): void {
  const { output } = run(process.execPath, 'scripts/test.ts', ...files)
  const [, total, passed, failed] = output.match(/# \{ total: (\d+), pass: (\d+)(?:, fail: (\d+))?/) ?? []
  t.ok(Number(total) > 100, `${total} tests`)
  t.equal(passed, total, `all tests must pass, but ${failed ?? 0} fail`)
  // Prints the first failures with the lines after them, because the end of the output may contain only successful
  // tests.
  const failures = output.match(/^ *not ok .*\n(?:.*\n){0,15}/gm) ?? [output.slice(-3000)]
  if (passed !== total || !total) t.comment(failures.slice(0, 5).join('\n'))
}
