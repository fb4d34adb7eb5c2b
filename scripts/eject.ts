// Makes a client of one's own of this repository: npm run eject -- --name my-client [--bare] [--sandbox]
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { rewriteDockerfile, rewriteDocument, writeReadme } from './starter/documents.ts'
import { leftBehind } from './starter/left-behind.ts'
import { type Manifest, slim } from './starter/manifest.ts'

const usage = 'Give it a name: npm run eject -- --name my-client [--bare] [--sandbox]'
const help = `npm run eject -- --name NAME [options]

Makes a client of your own of this repository: removes the sandbox and everything that needs it.

  --name NAME   the name of your client: small letters, digits, dots, hyphens and underscores
  --bare        removes the pages of the applications, too
  --sandbox     keeps the sandbox
  --force       goes on although there are changes that are not committed
  --help        this text`
const { name, force, help: isHelp, ...size } = readOptions()
if (isHelp) {
  console.log(help)
  process.exit()
}
if (!/^[a-z0-9][a-z0-9._-]{0,100}$/.test(name)) fail(usage)
if (!existsSync('src/sandbox') || !existsSync('bench')) fail('This is a starter already.')

const going = leftBehind(size).filter(path => existsSync(path))
const app = 'src/client/app.ts'
const home = 'views/client/home.eta'
const documents = globSync('docs/**/*.md').filter(path => !going.includes(path))
const changing = ['package.json', 'package-lock.json', 'README.md', 'Dockerfile', app, home, ...documents]
const copies = 'data/left-behind'
const inGit = isInGit()
if (!inGit) for (const path of [...going, ...changing]) cpSync(path, join(copies, path), { recursive: true })

const ciRun = readFileSync('scripts/starter/ci-run')
const bareHome = readFileSync('scripts/starter/bare-home.eta', 'utf8')
for (const path of going) rmSync(path, { recursive: true })
mkdirSync('.ci')
writeFileSync('.ci/run', ciRun, { mode: 0o755 })

if (size.bare) {
  rewrite(app, text => text.replace("'./applications/product.ts'", "'./bare/product.ts'"))
  rewrite(home, () => bareHome)
}
rewrite('Dockerfile', text => rewriteDockerfile(text, name))
for (const path of documents) rewrite(path, text => rewriteDocument(path, text, size))
writeFileSync('README.md', writeReadme(name, size))
rewrite('package.json', text => `${JSON.stringify(slim(JSON.parse(text) as Manifest, name), null, 2)}\n`)
rewrite('package-lock.json', text => `${JSON.stringify({ ...JSON.parse(text), name }, null, 2)}\n`)
// npm takes out of the lock what nothing needs any more; nothing is downloaded for that.
execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'], {
  stdio: 'inherit',
})

console.log(`Removed, to be brought back ${inGit ? 'by git' : `from ${copies}`}:
${going.map(path => `  ${path}`).join('\n')}
${name} is ready:
  npm ci
  npm test
  npm run setup    (then put your four settings into .env)
  npm start
What to change first is in docs/make-it-yours.md.`)

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        name: { type: 'string', default: '' },
        bare: { type: 'boolean', default: false },
        sandbox: { type: 'boolean', default: false },
        force: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    return values
  } catch (error) {
    return fail(`${(error as Error).message}\n${usage}`)
  }
}

/** Ends where git could not bring back what is not committed. */
function isInGit(): boolean {
  const git = (...parameters: string[]) => spawnSync('git', parameters, { encoding: 'utf8' })
  // A folder inside of another repository is not in it.
  if (git('ls-files', '--error-unmatch', 'package.json').status !== 0) return false
  if (git('status', '--porcelain', '--', '.').stdout.trim() && !force)
    fail('There are changes that are not committed. Commit them first, or add --force: this removes files.')
  return true
}

function rewrite(path: string, change: (text: string) => string): void {
  writeFileSync(path, change(readFileSync(path, 'utf8')))
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
