// Tests which commit a starter records as its origin. `npm run upgrade` compares the project with this commit.
import { execFileSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { commitAll, openFolder, openProject, type Project } from './support/copy-project.ts'

const files = ['package.json', 'scripts/starter-record.ts', 'scripts/starter']

/** Makes a repository that contains only the files that the search for the origin needs. */
function openReference(t: Test): Project {
  const reference = openProject(openFolder(t))
  for (const path of files) cpSync(path, join(reference.folder, path), { recursive: true })
  commitAll(reference)
  return reference
}

function commitOwn(project: Project): void {
  writeFileSync(join(project.folder, 'own.txt'), 'mine')
  commitAll(project, 'my own commit')
}

function originOf({ run }: Project): { commit: string | null; doubt?: string } {
  const script = 'import(process.argv[1]).then(it => console.log(JSON.stringify(it.findOrigin())))'
  return JSON.parse(run(process.execPath, '--eval', script, './scripts/starter/origin.ts').output)
}

const headOf = ({ run }: Project) => run('git', 'rev-parse', 'HEAD').output.trim()

t.test('the origin is the newest commit that is also on a branch of a remote repository', async t => {
  const reference = openReference(t)
  const clone = openProject(openFolder(t))
  clone.run('git', 'clone', '--quiet', reference.folder, '.')
  t.same(originOf(clone), { commit: headOf(reference) })
  commitOwn(clone)
  commitOwn(clone)
  t.not(headOf(clone), headOf(reference))
  t.same(originOf(clone), { commit: headOf(reference) })
})

t.test(
  'in an archive that git made, the origin is the commit of the archive, even after git init and a commit',
  async t => {
    const reference = openReference(t)
    const archive = openProject(openFolder(t))
    const input = execFileSync('git', ['-C', reference.folder, 'archive', 'HEAD'])
    execFileSync('tar', ['--extract', '--directory', archive.folder], { input })
    t.same(originOf(archive), { commit: headOf(reference) })
    commitOwn(archive)
    t.same(originOf(archive), { commit: headOf(reference) })
  },
)

t.test('if the origin is uncertain, the owner is asked to correct it in .starter.json', async t => {
  const alone = openReference(t)
  const { commit, doubt } = originOf(alone)
  t.equal(commit, headOf(alone))
  t.match(doubt, `.starter.json contains the commit ${commit}. Replace "commit"`)

  const copy = openProject(openFolder(t))
  for (const path of files) cpSync(path, join(copy.folder, path), { recursive: true })
  const unknown = originOf(copy)
  t.equal(unknown.commit, null)
  t.match(unknown.doubt, '.starter.json contains only the version, and no commit. Replace "commit"')
})
