// Turns this repository into a client of your own: npm run eject -- --name my-client [--bare] [--sandbox]
// The command makes the starter in a copy of the project, and then moves the files of the copy into the project. If a
// move fails, the command undoes all moves. The command deletes no file: it moves the files that it removes or changes
// to data/left-behind.
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
import { toBareApp, toBareTest, toBareTexts } from './starter/bare/make-bare.ts'
import { rewriteDockerfile, rewriteDocument, writeReadme } from './starter/documents.ts'
import { applications, leftBehind, type Size } from './starter/left-behind.ts'
import { type Manifest, slim } from './starter/manifest.ts'
import { findOrigin } from './starter/origin.ts'
import { pruneStyle } from './starter/prune-style.ts'
import { type Move, renameAll, UndoError } from './starter/rename-all.ts'
import { recordFile, type StarterRecord, writeRecord } from './starter-record.ts'

const usage = 'Give your client a name: npm run eject -- --name my-client [--bare] [--sandbox]'
const help = `npm run eject -- --name NAME [options]

Turns this repository into a client of your own: removes the sandbox and everything that needs it.

  --name NAME   the name of your client: lowercase letters, digits, dots, hyphens and underscores
  --bare        replaces the pages for applications with one page for signed-in visitors
  --sandbox     keeps the sandbox
  --force       continues even if there are uncommitted changes
  --help        this text`

/** On Windows npm is a batch file. Only a shell can start a batch file, and execSync uses a shell. */
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
/** The copy does not need these files, and eject does not change them. */
const notCopied = ['.git', '.tap', 'data', '.env', '.env.sandbox']
const leftBehindFolder = 'data/left-behind'
const app = 'src/client/app.ts'
const startPage = 'views/client/home.eta'
const startTexts = 'src/client/start-texts.ts'
const bareFiles = { page: 'src/client/home.ts', texts: 'src/client/home-texts.ts', test: 'test/client/home.test.ts' }
const style = 'views/client/assets/style.css'

const { name, force, help: isHelp, ...size } = readOptions()
if (isHelp) console.log(help)
else main()

function main(): void {
  if (!/^[a-z0-9][a-z0-9._-]{0,100}$/.test(name)) fail(usage)
  if (!existsSync('src/sandbox') || !existsSync('bench')) fail('This is already a starter.')
  if (existsSync(leftBehindFolder))
    fail(`${leftBehindFolder} already exists. Move this folder away, because the command puts the removed files there.`)
  if (!force) checkCommitted()
  checkNpm()

  const { commit, doubt } = findOrigin()
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
  const yours = size.bare ? Object.values(bareFiles) : applications
  const removed = outermost(leftBehind(size).filter(path => existsSync(path)))
  const documents = globSync('docs/**/*.md').filter(path => !isInside(path, removed))
  const manifests = ['package.json', 'package-lock.json']
  const changed = [...manifests, 'README.md', 'Dockerfile', app, startPage, startTexts, style, ...documents]
  const added = ['.ci', '.github', 'compose.yaml', recordFile, ...(size.bare ? yours : [])]

  const isDataNew = !existsSync('data')
  let work: string | undefined
  try {
    mkdirSync('data', { recursive: true })
    // This folder is on the same disk as the project, and git ignores it.
    work = mkdtempSync('data/ejecting-')
    const copy = join(work, 'copy')
    copyProject(copy, removed)
    turnIntoStarter(copy, documents, { version, commit, name, ...size, yours })
    replaceWith(copy, { removed, changed, added })
  } catch (error) {
    cleanUp(work, isDataNew)
    fail(`${(error as Error).message}${error instanceof UndoError ? '' : '\nNothing was changed.'}`)
  }
  cleanUp(work, isDataNew)

  console.log(`Removed (the files are now in ${leftBehindFolder}; you can delete this folder):
${removed.map(path => `  ${path}`).join('\n')}
${doubt ? `${doubt}\n` : ''}${name} is ready:
  npm ci
  npm test
  npm run setup    (then put your four settings into .env)
  npm start
docs/make-it-yours.md says what to change first.`)
}

/** Copies the project to a new folder, without the removed files. */
function copyProject(copy: string, removed: string[]): void {
  const isCopied = (path: string) => !isInside(path, removed) && basename(path) !== 'node_modules'
  for (const path of readdirSync('.').filter(path => !notCopied.includes(path) && isCopied(path)))
    cpSync(path, join(copy, path), { recursive: true, verbatimSymlinks: true, filter: isCopied })
}

/** Rewrites the copy of the project, and adds the files that only a starter has. */
function turnIntoStarter(copy: string, documents: string[], record: StarterRecord): void {
  const template = (path: string) => readFileSync(join(import.meta.dirname, path), 'utf8')
  const project = process.cwd()
  process.chdir(copy)
  try {
    writeRecord('.', record)
    mkdirSync('.ci')
    writeFileSync('.ci/run', template('starter/ci-run'), { mode: 0o755 })
    mkdirSync('.github/workflows', { recursive: true })
    writeFileSync('.github/workflows/ci.yaml', template('starter/ci.yaml'))
    writeFileSync('.github/dependabot.yml', template('starter/dependabot.yml'))
    writeFileSync('compose.yaml', template('starter/compose.yaml').replaceAll('application-client', name))
    if (size.bare) {
      rewrite(app, toBareApp)
      // tsconfig.json excludes this template, because it defines the same text as src/client/start-texts.ts.
      writeFileSync(startTexts, template('starter/bare/start-texts.ts'))
      writeFileSync(bareFiles.page, template('starter/bare/home.ts'))
      writeFileSync(bareFiles.texts, toBareTexts(template('starter/bare/home-texts.ts')))
      writeFileSync(bareFiles.test, toBareTest(template('../test/eject/home.test.ts')))
      writeFileSync(startPage, template('starter/bare/home.eta'))
    }
    rewrite(style, pruneStyle)
    rewrite('Dockerfile', text => rewriteDockerfile(text, name))
    for (const path of documents) rewrite(path, text => rewriteDocument(path, text, size))
    writeFileSync('README.md', writeReadme(name, size))
    rewrite('package.json', text => `${JSON.stringify(slim(JSON.parse(text) as Manifest, name, size), null, 2)}\n`)
    rewrite('package-lock.json', text => `${JSON.stringify({ ...JSON.parse(text), name }, null, 2)}\n`)
    // Removes unused packages from the lock file. For this step, npm does not download anything.
    execSync(`${npm} install --package-lock-only --ignore-scripts --no-audit --no-fund`, { stdio: 'inherit' })
  } finally {
    process.chdir(project)
  }
}

/**
 * Moves removed and changed files of the project to data/left-behind. Then moves changed and new files from the copy
 * into the project.
 */
function replaceWith(copy: string, paths: { removed: string[]; changed: string[]; added: string[] }): void {
  const { removed, changed, added } = paths
  const away = (path: string): Move => ({ from: path, to: join(leftBehindFolder, path) })
  const fromCopy = (path: string): Move => ({ from: join(copy, path), to: path })
  // renameAll is synchronous, so a signal handler runs only after it. Without a handler, Ctrl-C would end the process
  // between two moves.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))
  try {
    renameAll([...[...removed, ...changed].map(away), ...[...changed, ...added].map(fromCopy)])
  } catch (error) {
    // After an UndoError, the folder still contains files of the project.
    if (!(error instanceof UndoError)) rmSync(leftBehindFolder, { recursive: true, force: true })
    throw error
  }
}

function cleanUp(work: string | undefined, isDataNew: boolean): void {
  try {
    if (work) rmSync(work, { recursive: true, force: true })
    if (isDataNew && existsSync('data') && readdirSync('data').length === 0) rmdirSync('data')
  } catch (error) {
    console.error(`${work} could not be removed (${(error as Error).message}). You can remove this folder.`)
  }
}

function readOptions(): Size & { name: string; force: boolean; help: boolean } {
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

/** Ends the process if git tracks the project and there are uncommitted changes. */
function checkCommitted(): void {
  const git = (...parameters: string[]) => spawnSync('git', parameters, { encoding: 'utf8' })
  // The project may be inside another repository that does not track it.
  if (git('ls-files', '--error-unmatch', 'package.json').status !== 0) return
  const { status, stdout, stderr } = git('status', '--porcelain', '--untracked-files=all', '--', '.')
  if (status !== 0) fail(`git status failed, so nothing was changed: ${stderr}`)
  if (stdout.trim())
    fail('There are uncommitted changes, and this command removes files. Commit the changes first, or add --force.')
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
  const all = [...new Set(paths.map(normalize))]
  return all.filter(path => !all.some(other => path !== other && isInside(path, [other])))
}

/** Whether the list contains this path or a folder around it. */
function isInside(path: string, paths: string[]): boolean {
  return paths.some(one => normalize(path) === one || normalize(path).startsWith(join(one, '/')))
}

function rewrite(path: string, change: (text: string) => string): void {
  writeFileSync(path, change(readFileSync(path, 'utf8')))
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
