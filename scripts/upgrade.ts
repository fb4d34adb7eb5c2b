// Brings a starter to a newer version of the reference client: npm run upgrade -- ../newer-checkout
// The command makes two starters in a temporary folder: one with the eject command of the old version, and one with the
// eject command of the new version. Then git applies the difference between the two to this project, like a commit.
// Before git applies the difference, the command changes nothing in this project.
import { execSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { mergeJson } from './merge-json.ts'
import { mergeYours, readRecord, recordFile, type StarterRecord, writeRecord } from './starter-record.ts'

const usage = `npm run upgrade -- FOLDER

Applies the changes of a newer version of the reference client to this starter. FOLDER is a git checkout of the
reference client, at the newer version and with its whole history. Files and folders that ${recordFile} lists as "yours"
stay unchanged. The command lists conflicts, and marks them in the files as git merge does. If the command cannot
finish, it changes nothing.

  --help   this text`

type Variables = Record<string, string>

/** The meaning of the two letters that git status prints for a file with a conflict. */
const conflictKinds: Record<string, string> = {
  UU: 'you and the new version both changed it',
  AA: 'you and the new version both added it',
  UD: 'you changed it, and the new version removed it',
  AU: 'you renamed it',
  UA: 'the new version renamed it',
  DD: 'you and the new version both renamed it',
}

const options = readOptions()
if (options.help) {
  console.log(usage)
  process.exit()
}
const work = mkdtempSync(join(tmpdir(), 'upgrade-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
/** The end of an error message. It says whether this project has changed. */
let outcome = 'Nothing was changed.'
try {
  process.exitCode = upgrade(options.folder)
} catch (error) {
  console.error(`${(error as Error).message}\n${outcome}`)
  process.exitCode = 1
}

/** Returns the exit code of the process: 1 if there are conflicts. */
function upgrade(folder: string): number {
  if (!existsSync(recordFile))
    throw new Error(`There is no ${recordFile}. Only a starter that npm run eject has made can be upgraded.`)
  const record = readRecord()
  checkThisProject()
  const { newer, from, to } = findVersions(folder, record)
  if (from === to) {
    console.log(`This starter already has the version of ${folder}: ${to}.`)
    return 0
  }

  // The upgrade applies the difference between two folders: `old`, a starter from the old version, and `next`, a
  // starter from the new version. The files that this command merges itself are an exception: package.json,
  // package-lock.json and the record. Of these files, `old` contains the versions of this project.
  const prefix = git('.', ['rev-parse', '--show-prefix']).trim()
  const [old, next] = [join(work, 'old'), join(work, 'next')] as const
  makeStarter(newer, from, join(old, prefix), record)
  const version = makeStarter(newer, to, join(next, prefix), record)
  const packageConflicts = mergePackages(join(old, prefix), join(next, prefix))
  const yours = mergeYours(record.yours, readYours(join(old, prefix)), readYours(join(next, prefix)))
  writeRecord(join(next, prefix), { ...record, version, commit: to, yours })
  cpSync(recordFile, join(old, prefix, recordFile))

  const duties = readDuties(newer, to, record.version)
  const before = commitFolder(old, 'The starter before the upgrade')
  const after = commitFolder(next, `The starter at ${version}`, before)
  const { removed, conflicts } = applyCommit(after)
  report({ version, to, removed, conflicts: [...conflicts, ...packageConflicts] })
  for (const duty of duties) console.log(duty)
  return conflicts.length + packageConflicts.length > 0 ? 1 : 0
}

/**
 * Throws an error if there are uncommitted changes anywhere in the repository. The owner can undo an upgrade with `git
 * reset --hard`, which would also delete the uncommitted changes.
 */
function checkThisProject(): void {
  if (git('.', ['ls-files', recordFile]).trim() === '')
    throw new Error(`This project is not in git, or ${recordFile} is not committed. Commit everything first.`)
  if (git('.', ['status', '--porcelain', '--untracked-files=no']).trim() !== '')
    throw new Error('There are uncommitted changes in this repository. Commit them first.')
}

function findVersions(folder: string, { commit, version }: StarterRecord) {
  if (!existsSync(folder)) throw new Error(`There is no folder ${folder}.`)
  const newer = git(folder, ['rev-parse', '--show-toplevel']).trim()
  if (!existsSync(join(newer, 'scripts/eject.ts')))
    throw new Error(`${folder} is not a checkout of the reference client.`)
  const find = (revision: string) => {
    const { status, stdout } = runGit(newer, ['rev-parse', '--quiet', '--verify', `${revision}^{commit}`])
    return status === 0 ? stdout.trim() : undefined
  }
  const origin = commit ?? `v${version}`
  const [from, to] = [find(origin), find('HEAD')!]
  if (!from)
    throw new Error(
      `${folder} does not contain ${origin}, which ${recordFile} names as the origin of this starter. If the checkout does not have its whole history, run "git fetch --unshallow --tags" in it. If ${origin} is a commit of your own, replace "commit" in ${recordFile} with the newest commit of the reference client that this starter contains.`,
    )
  if (runGit(newer, ['merge-base', '--is-ancestor', from, to]).status !== 0)
    throw new Error(`${folder} is not newer than this starter: ${to} does not come after ${from}.`)
  return { newer, from, to }
}

function readYours(folder: string): string[] {
  return (readJson(join(folder, recordFile)) as Pick<StarterRecord, 'yours'>).yours
}

/** Makes a starter from this commit, with the owner's name and options. Returns the version of the commit. */
function makeStarter(newer: string, commit: string, folder: string, { name, bare, sandbox, yours }: StarterRecord) {
  mkdirSync(folder, { recursive: true })
  const index = { GIT_INDEX_FILE: join(work, `index-of-${commit}`) }
  git(newer, ['read-tree', commit], index)
  git(newer, ['checkout-index', '--all', `--prefix=${folder}/`], index)
  const { version } = readJson(join(folder, 'package.json')) as { version: string }
  const size = [...(bare ? ['--bare'] : []), ...(sandbox ? ['--sandbox'] : [])]
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/eject.ts', '--name', name, ...size], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`npm run eject failed at ${commit}:\n${stdout}${stderr}`)
  for (const path of ['data', ...yours]) rmSync(join(folder, path), { recursive: true, force: true })
  return version
}

/**
 * Merges package.json and package-lock.json key by key, because git merges lines. This function writes the merged files
 * to `next` and this project's own files to `old`. The difference between the two then consists of the merged changes.
 * Returns the conflicts.
 */
function mergePackages(old: string, next: string): string[] {
  const merge = (path: string) => mergeJson(readJson(join(old, path)), readJson(path), readJson(join(next, path)))
  const [manifest, lock] = [merge('package.json'), merge('package-lock.json')]
  for (const [path, { value }] of [
    ['package.json', manifest],
    ['package-lock.json', lock],
  ] as const) {
    writeFileSync(join(next, path), `${JSON.stringify(value, null, 2)}\n`)
    cpSync(path, join(old, path))
  }
  // Completes package-lock.json for the merged package.json. npm downloads only the descriptions of new packages.
  execSync('npm install --package-lock-only --ignore-scripts --no-audit --no-fund', { cwd: next, stdio: 'pipe' })
  return manifest.conflicts.map(conflict => `package.json: ${conflict}`)
}

/** Makes a commit with exactly the files of the folder. No branch refers to this commit, so git removes it later. */
function commitFolder(folder: string, message: string, parent?: string): string {
  const person = { NAME: 'upgrade', EMAIL: 'upgrade@localhost' }
  const variables: Variables = {
    GIT_DIR: git('.', ['rev-parse', '--absolute-git-dir']).trim(),
    GIT_WORK_TREE: folder,
    GIT_INDEX_FILE: join(work, `index-${parent ? 'next' : 'old'}`),
    ...Object.fromEntries(
      ['AUTHOR', 'COMMITTER'].flatMap(role =>
        Object.entries(person).map(([key, text]) => [`GIT_${role}_${key}`, text]),
      ),
    ),
  }
  git(folder, ['add', '--all', '--force'], variables)
  const tree = git(folder, ['write-tree'], variables).trim()
  return git(folder, ['commit-tree', tree, '-m', message, ...(parent ? ['-p', parent] : [])], variables).trim()
}

/** Applies the commit's changes to the index and the files. If git cannot apply all changes, it changes nothing. */
function applyCommit(commit: string) {
  // If the owner has renamed a folder, and the new version adds files under the old name, git must not move these files
  // into the renamed folder.
  const parameters = ['-c', 'merge.directoryRenames=false', 'cherry-pick', '--no-commit', commit]
  const { status, stdout, stderr } = runGit('.', parameters)
  const unmerged = git('.', ['status', '--porcelain', '-z', '--untracked-files=no'])
    .split('\0')
    .filter(line => /^(DD|AU|UD|UA|DU|AA|UU) /.test(line))
    .map(line => ({ kind: line.slice(0, 2), path: line.slice(3) }))
  if (status !== 0 && unmerged.length === 0) throw new Error(`git refuses the changes:\n${stdout}${stderr}`)
  outcome = 'The changes are in your files, but they were not reported. To undo the upgrade: git reset --hard'
  const removed = unmerged.filter(({ kind }) => kind === 'DU').map(({ path }) => path)
  const top = git('.', ['rev-parse', '--show-toplevel']).trim()
  if (removed.length > 0) git(top, ['rm', '--quiet', '--', ...removed])
  const conflicts = unmerged.filter(({ kind }) => kind !== 'DU')
  return { removed, conflicts: conflicts.map(({ kind, path }) => `${path}: ${conflictKinds[kind]}`) }
}

function report(upgraded: { version: string; to: string; removed: string[]; conflicts: string[] }): void {
  const { version, to, removed, conflicts } = upgraded
  const changed = git('.', ['diff', '--cached', '--name-status', 'HEAD'])
  console.log(`Upgraded to ${version} (${to}). Changed files:\n${changed}`)
  if (removed.length > 0)
    console.log(
      `You had removed these files, so the upgrade does not restore them:\n${removed.map(path => `  ${path}`).join('\n')}\n`,
    )
  if (conflicts.length > 0)
    console.log(`Conflicts to resolve:\n${conflicts.map(conflict => `  ${conflict}`).join('\n')}\n`)
  console.log(
    `Next: ${conflicts.length > 0 ? 'resolve the conflicts, ' : ''}npm ci, npm run validate, npm test, and commit. To undo the upgrade: git reset --hard`,
  )
}

/** Returns the sections "What a starter must do" of all releases after the starter's version. */
function readDuties(newer: string, to: string, version: string): string[] {
  const releases = git(newer, ['show', `${to}:CHANGELOG.md`])
    .split(/^## /m)
    .slice(1)
  const isKnown = (release: string) => release.startsWith(`${version}\n`) || release.startsWith(`${version} `)
  const known = releases.findIndex(isKnown)
  return releases.slice(0, known < 0 ? undefined : known).flatMap(release => {
    const [, duties] = /^### What a starter must do\n([\s\S]*?)(?=^### |(?![\s\S]))/m.exec(release) ?? []
    return duties ? [`\nWhat a starter must do (${release.split('\n')[0]}):\n${duties.trim()}`] : []
  })
}

function readOptions(): { folder: string; help: boolean } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { help: { type: 'boolean', default: false } },
    })
    if (!values.help && positionals.length !== 1) throw new Error('Name one folder.')
    return { folder: resolve(positionals[0] ?? '.'), help: values.help }
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    return process.exit(1)
  }
}

function runGit(folder: string, parameters: string[], variables: Variables = {}) {
  const maxBuffer = 64 * 1024 * 1024
  return spawnSync('git', parameters, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer,
    env: { ...process.env, ...variables },
  })
}

/** Runs git and returns its output. Throws an error if git fails. */
function git(folder: string, parameters: string[], variables: Variables = {}): string {
  const { status, stdout, stderr, error } = runGit(folder, parameters, variables)
  if (error) throw new Error(`git cannot be run: ${error.message}`)
  if (status !== 0) throw new Error(`git ${parameters[0]} failed in ${folder}:\n${stderr}`)
  return stdout
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}
