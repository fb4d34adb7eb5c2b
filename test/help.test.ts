// Tests the option `--help` of each command. The folder contains files that the command would change without `--help`.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
const commands = [
  'conformance',
  'demo',
  'doctor',
  'eject',
  'sandbox:backup',
  'sandbox:register',
  'sandbox:rotate-keys',
  'sandbox:seed',
  'setup',
  'upgrade',
].filter(name => name in scripts)

t.ok(commands.includes('doctor'), 'the list must contain at least the command doctor, which every starter has')
for (const name of commands)
  t.test(`npm run ${name} -- --help prints how to use the command, exits with 0, and does nothing`, async t => {
    const folder = t.testdir({ '.env.example': 'COOKIE_KEYS=\n', 'package.json': '{}' })
    mkdirSync(`${folder}/src/sandbox`, { recursive: true })
    mkdirSync(`${folder}/bench`)
    cpSync('src/client', `${folder}/src/client`, { recursive: true })
    const before = readdirSync(folder, { recursive: true }).sort()
    const script = /(\S+\.ts)$/.exec(scripts[name] ?? '')?.[1] ?? ''
    // The command gets none of the settings of this process.
    const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [resolve(script), '--help'], {
      cwd: folder,
      env,
    })
    t.match(stdout, new RegExp(`^npm run ${name}( |\n)`))
    t.equal(stderr, '')
    t.strictSame(readdirSync(folder, { recursive: true }).sort(), before)
  })
