// Finds the commit of the reference client that a starter is made from. `npm run upgrade` compares the project with this
// commit.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { recordFile } from '../starter-record.ts'

/**
 * `doubt` is set if the commit is perhaps not a commit of the reference client. `doubt` says how to correct the commit.
 */
export type Origin = { commit: string | null; doubt: string | undefined }

export function findOrigin(): Origin {
  // git archive writes the commit into this file, and so do sites that offer a repository as a ZIP.
  const archived = readFileSync(join(import.meta.dirname, 'commit.txt'), 'utf8').trim()
  if (/^[0-9a-f]{40,64}$/.test(archived)) return { commit: archived, doubt: undefined }
  // The project may be inside another repository that does not track it.
  if (git('ls-files', '--error-unmatch', 'package.json') === undefined) return doubtful(null)
  // The owner may have commits that the reference client does not have. The newest commit that is also on a branch of a
  // remote repository counts as a commit of the reference client.
  const branches = git('for-each-ref', '--format=%(objectname)', 'refs/remotes')?.split('\n').filter(Boolean) ?? []
  const shared = branches.length > 0 ? git('merge-base', 'HEAD', ...branches) : undefined
  return shared ? { commit: shared, doubt: undefined } : doubtful(git('rev-parse', 'HEAD') ?? null)
}

function doubtful(commit: string | null): Origin {
  const recorded = commit ? `the commit ${commit}` : 'only the version, and no commit'
  return {
    commit,
    doubt: `For upgrades, ${recordFile} contains ${recorded}. Replace "commit" in this file with the newest commit of the
reference client that this project contains. docs/make-it-yours.md explains this under "Upgrade".`,
  }
}

/** Returns the output without the line break at its end, or undefined if git fails. */
function git(...parameters: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', parameters, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
