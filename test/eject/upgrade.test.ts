// Tests npm run upgrade. A starter that was made from one commit gets all changes up to another commit.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { mergeYours } from '../../scripts/starter-record.ts'
import { commitAll, copyProject, openFolder, openProject, type Project } from './support/copy-project.ts'

t.setTimeout(600_000)

const node = process.execPath

type Reference = Project & Record<'first' | 'current' | 'newer', string>

/**
 * Makes a repository with three commits: `first` contains the first version of this project that has `npm run upgrade`,
 * `current` contains the files of the work tree, and `newer` changes a few of these files. If this project is a shallow
 * clone, its history does not have the first version. In this case, `first` also contains the files of the work tree.
 */
function openReference(t: Test): Reference {
  const reference = openProject(openFolder(t))
  const git = (...parameters: string[]) =>
    execFileSync('git', ['-c', 'safe.directory=*', ...parameters], { maxBuffer: 256 * 1024 * 1024 })
  const isShallow = String(git('rev-parse', '--is-shallow-repository')).trim() === 'true'
  const additions = String(git('log', '--reverse', '--format=%H', '--diff-filter=A', '--', 'scripts/upgrade.ts'))
  const found = isShallow ? '' : additions.split('\n')[0]
  const commit = (message: string) => {
    commitAll(reference, message)
    return reference.run('git', 'rev-parse', 'HEAD').output.trim()
  }
  if (found) execFileSync('tar', ['--extract', '--directory', reference.folder], { input: git('archive', found) })
  else cpSync(copyProject(t).folder, reference.folder, { recursive: true })
  t.comment(`The first version is ${found || 'the work tree'}.`)
  const first = commit('the first version')

  for (const path of readdirSync(reference.folder).filter(path => path !== '.git'))
    rmSync(join(reference.folder, path), { recursive: true })
  cpSync(copyProject(t).folder, reference.folder, { recursive: true })
  const current = commit('the current version')

  change(reference, 'src/client/upstream.ts', text => `${text}// A new last line.\n`)
  change(reference, 'src/client/applications/list.ts', text => `${text}// A new last line of the product.\n`)
  change(reference, 'docs/operations.md', text => text.replace('# ', '# New '))
  rmSync(join(reference.folder, 'src/client/web/seal.ts'))
  // The lock file already contains set-cookie-parser, so npm needs no registry.
  write(reference, 'src/client/added.ts', "import 'find-my-way'\nimport 'set-cookie-parser'\n")
  changeManifest(reference, manifest => {
    const { packages } = JSON.parse(reference.read('package-lock.json'))
    manifest.dependencies['set-cookie-parser'] = packages['node_modules/set-cookie-parser'].version
    delete manifest.devDependencies['fast-check']
    manifest.scripts.start = `${manifest.scripts.start} --new`
    manifest.version = '9.0.0'
  })
  change(reference, 'CHANGELOG.md', text =>
    text.replace(
      '## Unreleased\n',
      '## Unreleased\n\n### What a starter must do\n\n- Rename everything.\n\n### Changes\n\n## 9.0.0\n',
    ),
  )
  return { ...reference, first, current, newer: commit('the newer version') }
}

/** Makes a starter in the same way as its owner: clones, ejects and commits. */
function makeStarter(t: Test, reference: Project, commit: string, ...options: string[]): Project {
  const starter = openProject(openFolder(t))
  starter.run('git', 'clone', '--quiet', reference.folder, '.')
  starter.run('git', 'checkout', '--quiet', commit)
  const { status, output } = starter.eject('--name', 'my-client', ...options)
  if (status !== 0) throw new Error(output)
  commitAll(starter, 'my client')
  return starter
}

/** The starters, keyed by commit and options. Tests copy a starter from here, because making one takes seconds. */
const starters = new Map<string, Project>()

function openStarter(test: Test, reference: Project, commit: string, ...options: string[]): Project {
  const key = [commit, ...options].join(' ')
  if (!starters.has(key)) starters.set(key, makeStarter(t, reference, commit, ...options))
  const folder = openFolder(test)
  cpSync(starters.get(key)!.folder, folder, { recursive: true, verbatimSymlinks: true })
  return openProject(folder)
}

const upgrade = ({ run }: Project, folder: string) => run(node, 'scripts/upgrade.ts', folder)
const status = ({ run }: Project) => run('git', 'status', '--porcelain').output

function write({ folder }: Project, path: string, text: string): void {
  mkdirSync(join(folder, path, '..'), { recursive: true })
  writeFileSync(join(folder, path), text)
}

function change(project: Project, path: string, how: (text: string) => string): void {
  const text = project.read(path)
  const changed = how(text)
  if (changed === text) throw new Error(`${path} has not changed.`)
  write(project, path, changed)
}

type Manifest = Record<'scripts' | 'dependencies' | 'devDependencies', Record<string, string>> & { version: string }

function changeManifest(project: Project, how: (manifest: Manifest) => void): void {
  const manifest = JSON.parse(project.read('package.json')) as Manifest
  how(manifest)
  write(project, 'package.json', `${JSON.stringify(manifest, null, 2)}\n`)
}

function listFiles({ folder }: Project): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const paths = files.map(entry => join(entry.parentPath, entry.name))
  return Object.fromEntries(
    paths
      // data/ contains the files that npm run eject has removed.
      .filter(path => !/^(\.git|data)\//.test(relative(folder, path)))
      .map(path => [relative(folder, path), readFileSync(path, 'latin1')]),
  )
}

t.test('each release in the changelog begins with the changes that a starter must make', t => {
  const releases = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m).slice(1)
  t.ok(releases.length > 1)
  for (const release of releases)
    t.match(release, /^.+\n\n### What a starter must do\n\n[\s\S]+\n### Changes\n/, release.slice(0, 20))
  t.end()
})

t.test('an upgrade adds paths to the list "yours", and removes no path from this list', t => {
  const old = ['home.ts', 'gone.ts']
  t.same(mergeYours(['home.ts', 'fleet', 'gone.ts'], old, ['home.ts', 'texts.ts']), [
    'home.ts',
    'texts.ts',
    'fleet',
    'gone.ts',
  ])
  t.same(mergeYours(['fleet'], old, ['home.ts']), ['fleet'], 'an entry that the owner has removed must stay removed')
  t.end()
})

const reference = openReference(t)

for (const [version, ...options] of [['first'], ['current', '--bare', '--sandbox']] as [
  'first' | 'current',
  ...string[],
][])
  t.test(
    `after an upgrade, a starter from the ${version} version has the same files as a starter made from the newer commit (npm run eject ${options.join(' ')})`,
    async t => {
      const starter = openStarter(t, reference, reference[version], ...options)
      const { yours, commit } = JSON.parse(starter.read('.starter.json'))
      t.equal(commit, reference[version])
      const { status: code, output } = upgrade(starter, reference.folder)
      t.equal(code, 0, output)
      t.match(output, 'Upgraded to 9.0.0')
      t.match(output, 'What a starter must do (Unreleased):\n- Rename everything.')
      t.match(output, /^A\tsrc\/client\/added\.ts$/m)
      t.match(output, /^D\tsrc\/client\/web\/seal\.ts$/m)
      t.notMatch(status(starter), /^\?\?/m, 'there must be no other files')

      const fresh = listFiles(openStarter(t, reference, reference.newer, ...options))
      const upgraded = listFiles(starter)
      const isYours = (path: string) => yours.some((one: string) => path === one || path.startsWith(`${one}/`))
      const paths = new Set([...Object.keys(fresh), ...Object.keys(upgraded)].filter(path => !isYours(path)))
      if (version === 'first') {
        // .starter.json is compared without its list "yours", because the upgrade script of the first version does not
        // add paths to this list.
        paths.delete('.starter.json')
        const { yours: _, ...freshRecord } = JSON.parse(fresh['.starter.json']!)
        t.match(JSON.parse(upgraded['.starter.json']!), freshRecord)
      }
      t.same(
        [...paths].filter(path => upgraded[path] !== fresh[path]),
        [],
        'all other files must be equal',
      )
      t.match(upgraded['package.json'], 'set-cookie-parser')
      t.notMatch(upgraded['package-lock.json'], 'fast-check')
      if (options.length === 0)
        t.notMatch(upgraded['src/client/applications/list.ts'], 'A new last line', 'the product')

      commitAll(starter, 'upgraded')
      t.match(upgrade(starter, reference.folder).output, 'already has the version of')
    },
  )

t.test('an upgrade keeps the changes of the owner, and the files that the owner has added or removed', async t => {
  const starter = openStarter(t, reference, reference.current)
  change(starter, 'src/client/app.ts', text => text.replace("name: 'Applications'", "name: 'Fleet'"))
  change(starter, 'src/client/upstream.ts', text => `// The owner's first line.\n${text}`)
  change(starter, 'src/client/applications/list.ts', text => `// The owner's product.\n${text}`)
  write(starter, 'src/client/fleet/fleet.ts', "import 'ajv'\n")
  rmSync(join(starter.folder, 'docs/operations.md'))
  changeManifest(starter, ({ scripts, dependencies }) => {
    scripts.job = 'node src/job.ts'
    dependencies.ajv = JSON.parse(starter.read('package-lock.json')).packages['node_modules/ajv'].version
  })
  starter.run('npm', 'install', '--package-lock-only', '--ignore-scripts')
  commitAll(starter, 'the fleet')

  const { status: code, output } = upgrade(starter, reference.folder)
  t.equal(code, 0, output)
  t.match(starter.read('src/client/app.ts'), "name: 'Fleet'")
  t.match(starter.read('src/client/upstream.ts'), /^\/\/ The owner's first line\.[\s\S]*\/\/ A new last line\.\n$/)
  t.match(starter.read('src/client/applications/list.ts'), "// The owner's product.")
  t.notMatch(starter.read('src/client/applications/list.ts'), 'A new last line')
  t.ok(starter.has('src/client/fleet/fleet.ts'))
  t.notOk(starter.has('docs/operations.md'))
  t.match(output, 'You had removed these files, so the upgrade does not restore them:\n  docs/operations.md\n')
  const { scripts, dependencies, devDependencies } = JSON.parse(starter.read('package.json')) as Manifest
  t.match(scripts.start, / --new$/)
  t.match(scripts.job, 'src/job.ts')
  t.ok('set-cookie-parser' in dependencies && 'ajv' in dependencies)
  t.notOk('fast-check' in devDependencies)
  t.same(JSON.parse(starter.read('package-lock.json')).packages[''].dependencies, dependencies)
})

t.test(
  'if an upgrade has conflicts, it marks them in the files and lists them, and git can undo the upgrade',
  async t => {
    const starter = openStarter(t, reference, reference.current)
    change(starter, 'src/client/upstream.ts', text => `${text}// The owner's last line.\n`)
    change(starter, 'src/client/web/seal.ts', text => `${text}// The owner's.\n`)
    write(starter, 'src/client/added.ts', '// Also added by the owner.\n')
    changeManifest(starter, ({ scripts }) => {
      scripts.start = 'node own.ts'
    })
    commitAll(starter, 'my changes')
    const before = listFiles(starter)

    const { status: code, output } = upgrade(starter, reference.folder)
    t.equal(code, 1)
    const [, list = ''] = /^Conflicts to resolve:\n((?: {2}.*\n)+)/m.exec(output) ?? []
    t.same(
      list
        .trim()
        .split(/\n */)
        .map(line => line.split(':')[0]),
      ['src/client/added.ts', 'src/client/upstream.ts', 'src/client/web/seal.ts', 'package.json'],
      output,
    )
    t.match(list, 'package.json: scripts.start: yours is "node own.ts", ')
    t.match(starter.read('src/client/upstream.ts'), /^<<<<<<< [\s\S]*owner's[\s\S]*^=======\n[\s\S]*^>>>>>>> /m)
    t.equal(JSON.parse(starter.read('package.json')).scripts.start, 'node own.ts')
    starter.run('git', 'reset', '--hard', '--quiet')
    t.same(listFiles(starter), before)
  },
)

t.test('if an upgrade cannot finish, it says why and changes nothing', async t => {
  const starter = openStarter(t, reference, reference.current)
  const shallow = openFolder(t)
  starter.run('git', 'clone', '--quiet', '--depth=1', `file://${reference.folder}`, shallow)
  const elsewhere = openFolder(t)
  /** The test commits the change that `breakIt` makes, unless `isUncommitted` is true. */
  type Obstacle = { what: string; folder?: string; breakIt?: () => void; isUncommitted?: boolean; says: RegExp }
  const obstacles: Obstacle[] = [
    { what: 'the folder does not exist', folder: join(elsewhere, 'none'), says: /There is no folder/ },
    { what: 'the folder is not a checkout', folder: elsewhere, says: /rev-parse failed/ },
    {
      what: 'the checkout has no history',
      folder: shallow,
      says: /does not contain [0-9a-f]{40}.*git fetch --unshallow/,
    },
    {
      what: 'the checkout is older',
      breakIt: () =>
        change(starter, '.starter.json', text => text.replace(/"commit": "\w+"/, `"commit": "${reference.newer}"`)),
      folder: older(t),
      says: /is not newer than this starter/,
    },
    {
      what: 'a file is not committed',
      breakIt: () => change(starter, 'README.md', text => `${text}more\n`),
      isUncommitted: true,
      says: /There are uncommitted changes/,
    },
    {
      what: 'a file that git does not track is in the way',
      breakIt: () => write(starter, 'src/client/added.ts', '// Not committed.\n'),
      isUncommitted: true,
      says: /git refuses the changes:[\s\S]*src\/client\/added\.ts/,
    },
    {
      what: 'npm run eject fails, so no starter can be made',
      breakIt: () => change(starter, '.starter.json', text => text.replace('my-client', 'Not A Name')),
      says: /npm run eject failed/,
    },
    {
      what: 'the record in .starter.json is incomplete',
      breakIt: () => change(starter, '.starter.json', text => text.replace('"yours"', '"mine"')),
      says: /\.starter\.json needs version, commit/,
    },
    {
      what: 'there is no record',
      breakIt: () => rmSync(join(starter.folder, '.starter.json')),
      isUncommitted: true,
      says: /There is no \.starter/,
    },
  ]
  const start = starter.run('git', 'rev-parse', 'HEAD').output.trim()
  for (const { what, folder = reference.folder, breakIt, isUncommitted = false, says } of obstacles) {
    breakIt?.()
    if (!isUncommitted) commitAll(starter, what)
    const before = listFiles(starter)
    const { status: code, output } = upgrade(starter, folder)
    t.equal(code, 1, what)
    t.match(output, says)
    t.match(output, /Nothing was changed\.\n$/)
    t.notMatch(output, /^ +at /m, 'the output must not contain a stack trace')
    t.same(listFiles(starter), before, 'the command must not change any file')
    starter.run('git', 'reset', '--hard', '--quiet', start)
    starter.run('git', 'clean', '--force', '--quiet', '-d')
  }
  t.equal(upgrade(starter, reference.folder).status, 0, 'without the obstacles the upgrade must succeed')
})

t.test('an upgrade is refused if another folder of the repository has uncommitted changes', async t => {
  const { folder: starter } = openStarter(t, reference, reference.newer)
  const repository = openProject(openFolder(t))
  cpSync(starter, join(repository.folder, 'client'), { recursive: true, filter: path => basename(path) !== '.git' })
  write(repository, 'other/file.txt', 'committed\n')
  commitAll(repository)
  write(repository, 'other/file.txt', 'not committed\n')
  const { status: code, output } = upgrade(openProject(join(repository.folder, 'client')), reference.folder)
  t.equal(code, 1)
  t.match(output, 'There are uncommitted changes in this repository')
})

t.test('if the recorded commit is not in the reference client, the upgrade says how to correct it', async t => {
  const starter = openStarter(t, reference, reference.newer)
  const own = starter.run('git', 'rev-parse', 'HEAD').output.trim()
  change(starter, '.starter.json', text => text.replace(/"commit": "\w+"/, `"commit": "${own}"`))
  commitAll(starter, 'a wrong record')
  const { status: code, output } = upgrade(starter, reference.folder)
  t.equal(code, 1)
  t.match(output, `If ${own} is a commit of your own, replace "commit" in .starter.json`)
  t.match(output, /Nothing was changed\.\n$/)
})

/** Makes a checkout of the version that the starters are made from. */
function older(t: Test): string {
  const folder = openFolder(t)
  reference.run('git', 'clone', '--quiet', reference.folder, folder)
  reference.run('git', '-C', folder, 'checkout', '--quiet', reference.current)
  return folder
}
