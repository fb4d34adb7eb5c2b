// Turns this repository into a client of your own: npm run eject -- --name my-client [--bare] [--sandbox]
// The command makes the starter in a copy of the project, and then moves the files of the copy into the project. If a
// move fails, the command undoes all moves.
import { execSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, normalize } from 'node:path'
import { parseArgs } from 'node:util'
import { toBareApp, toBareStartTexts, toBareTest, toBareTexts } from './starter/bare/make-bare.ts'
import { rewriteDockerfile, rewriteDocument, writeReadme } from './starter/documents.ts'
import { applications, leftBehind } from './starter/left-behind.ts'
import { type Manifest, slim } from './starter/manifest.ts'
import { pruneStyle } from './starter/prune-style.ts'
import { type Move, renameAll } from './starter/rename-all.ts'
import { formatRecord, recordFile } from './starter-record.ts'

const usage = 'Give your client a name: npm run eject -- --name my-client [--bare] [--sandbox]'
/** On Windows npm is a batch file. Only a shell can start a batch file, and execSync uses a shell. */
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
/** The copy does not need these files, and eject does not change them. */
const notCopied = ['.git', '.tap', 'data', '.env', '.env.sandbox']
const app = 'src/client/app.ts'
const startPage = 'views/client/home.eta'
const startTexts = 'src/client/start-texts.ts'
const bareFiles = { page: 'src/client/home.ts', texts: 'src/client/home-texts.ts', test: 'test/client/home.test.ts' }
const style = 'views/client/assets/style.css'

const help = `npm run eject -- --name NAME [options]

Turns this repository into a client of your own: removes the sandbox and everything that needs it.

  --name NAME   the name of your client: small letters, digits, dots, hyphens and underscores
  --bare        has one page for signed-in visitors instead of the pages for applications
  --sandbox     keeps the sandbox
  --force       continues even if there are uncommitted changes
  --help        this text`
const { name, force, help: isHelp, ...size } = readOptions()
if (isHelp) {
  console.log(help)
  process.exit()
}
if (!/^[a-z0-9][a-z0-9._-]{0,100}$/.test(name)) fail(usage)
if (!existsSync('src/sandbox') || !existsSync('bench')) fail('This is already a starter.')
const inGit = isInGit()
const leftBehindFolder = 'data/left-behind'
if (!inGit && existsSync(leftBehindFolder))
  fail(`${leftBehindFolder} already exists. Move this folder away, because the command puts the removed files there.`)
checkNpm()

const removed = outermost(leftBehind(size).filter(path => existsSync(path)))
const documents = globSync('docs/**/*.md').filter(path => !isRemoved(path))
const changed = [
  'package.json',
  'package-lock.json',
  'README.md',
  'Dockerfile',
  app,
  startPage,
  startTexts,
  style,
  ...documents,
]
const added = ['.ci', '.github', 'compose.yaml', recordFile, ...(size.bare ? Object.values(bareFiles) : [])]

const project = process.cwd()
const isDataNew = !existsSync('data')
let work: string | undefined
try {
  mkdirSync('data', { recursive: true })
  // This folder is on the same disk as the project, and git ignores it.
  work = mkdtempSync('data/ejecting-')
  const copy = join(work, 'copy')
  makeStarter(copy)
  const before = inGit ? join(work, 'before') : leftBehindFolder
  try {
    replaceWith(copy, before)
  } catch (error) {
    // If a move fails, renameAll moves all files back before it throws the error.
    if (!inGit) rmSync(before, { recursive: true, force: true })
    throw error
  }
} catch (error) {
  cleanUp()
  fail(`${(error as Error).message}\nNothing was changed.`)
}
cleanUp()

console.log(`Removed (${inGit ? 'git can restore them' : `kept in ${leftBehindFolder}`}):
${removed.map(path => `  ${path}`).join('\n')}
${name} is ready:
  npm ci
  npm test
  npm run setup    (then put your four settings into .env)
  npm start
docs/make-it-yours.md says what to change first.`)

/** Makes the whole starter in a new folder. */
function makeStarter(copy: string): void {
  const isCopied = (path: string) => !isRemoved(path) && basename(path) !== 'node_modules'
  for (const path of readdirSync('.').filter(path => !notCopied.includes(path) && isCopied(path)))
    cpSync(path, join(copy, path), { recursive: true, verbatimSymlinks: true, filter: isCopied })
  const record = formatRecord({
    version: (JSON.parse(readFileSync('package.json', 'utf8')) as Manifest).version,
    commit: inGit ? execSync('git rev-parse HEAD', { encoding: 'utf8' }).trim() : null,
    name,
    ...size,
    yours: size.bare ? Object.values(bareFiles) : applications,
  })
  const ciRun = readFileSync('scripts/starter/ci-run')
  const workflow = readFileSync('scripts/starter/ci.yaml')
  const compose = readFileSync('scripts/starter/compose.yaml', 'utf8')
  const bare = {
    page: readFileSync('scripts/starter/bare/home.ts', 'utf8'),
    texts: readFileSync('scripts/starter/bare/home-texts.ts', 'utf8'),
    test: readFileSync('test/eject/home.test.ts', 'utf8'),
    startPage: readFileSync('scripts/starter/bare/home.eta', 'utf8'),
  }

  process.chdir(copy)
  try {
    writeFileSync(recordFile, record)
    mkdirSync('.ci')
    writeFileSync('.ci/run', ciRun, { mode: 0o755 })
    mkdirSync('.github/workflows', { recursive: true })
    writeFileSync('.github/workflows/ci.yaml', workflow)
    writeFileSync('compose.yaml', compose.replaceAll('application-client', name))
    if (size.bare) {
      rewrite(app, toBareApp)
      rewrite(startTexts, toBareStartTexts)
      writeFileSync(bareFiles.page, bare.page)
      writeFileSync(bareFiles.texts, toBareTexts(bare.texts))
      writeFileSync(bareFiles.test, toBareTest(bare.test))
      writeFileSync(startPage, bare.startPage)
    }
    rewrite(style, pruneStyle)
    rewrite('Dockerfile', text => rewriteDockerfile(text, name))
    for (const path of documents) rewrite(path, text => rewriteDocument(path, text, size))
    writeFileSync('README.md', writeReadme(name, size))
    rewrite('package.json', text => `${JSON.stringify(slim(JSON.parse(text) as Manifest, name), null, 2)}\n`)
    rewrite('package-lock.json', text => `${JSON.stringify({ ...JSON.parse(text), name }, null, 2)}\n`)
    // Removes unused packages from the lock file. For this step, npm does not download anything.
    execSync(`${npm} install --package-lock-only --ignore-scripts --no-audit --no-fund`, { stdio: 'inherit' })
  } finally {
    process.chdir(project)
  }
}

/**
 * Moves removed and changed files of the project to `before`. Then moves changed and new files from the copy into the
 * project.
 */
function replaceWith(copy: string, before: string): void {
  const away = (path: string): Move => ({ from: path, to: join(before, path) })
  const fromCopy = (path: string): Move => ({ from: join(copy, path), to: path })
  // Because of these handlers, Ctrl-C ends the process only after all files have been moved.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))
  renameAll([...[...removed, ...changed].map(away), ...[...changed, ...added].map(fromCopy)])
}

function cleanUp(): void {
  try {
    if (work) rmSync(work, { recursive: true, force: true })
    if (isDataNew && existsSync('data') && readdirSync('data').length === 0) rmdirSync('data')
  } catch (error) {
    console.error(`${work} could not be removed (${(error as Error).message}). You can remove this folder.`)
  }
}

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

/** Whether the project is in git. Ends the process if there are uncommitted changes, because git could not restore them. */
function isInGit(): boolean {
  const git = (...parameters: string[]) => spawnSync('git', parameters, { encoding: 'utf8' })
  // The project may be inside another repository that does not track it.
  if (git('ls-files', '--error-unmatch', 'package.json').status !== 0) return false
  const { status, stdout, stderr } = git('status', '--porcelain', '--', '.')
  if (status !== 0) fail(`git status failed, so nothing was changed: ${stderr}`)
  if (stdout.trim() && !force)
    fail('There are uncommitted changes, and this command removes files. Commit the changes first, or add --force.')
  return true
}

function checkNpm(): void {
  try {
    execSync(`${npm} --version`, { stdio: 'pipe' })
  } catch {
    fail(
      'npm cannot be run. This command needs npm to rewrite package-lock.json. Put npm on the PATH. Nothing was changed.',
    )
  }
}

/** Returns the list without the paths that are inside another folder of the list. */
function outermost(paths: string[]): string[] {
  const all = new Set(paths.map(normalize))
  return [...all].filter(path => ![...all].some(other => path !== other && path.startsWith(join(other, '/'))))
}

function isRemoved(path: string): boolean {
  return removed.some(one => normalize(path) === one || normalize(path).startsWith(join(one, '/')))
}

function rewrite(path: string, change: (text: string) => string): void {
  writeFileSync(path, change(readFileSync(path, 'utf8')))
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
