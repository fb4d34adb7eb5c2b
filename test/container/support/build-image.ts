// Builds a target of the Dockerfile with buildah, opens it as a folder, and runs it as a container without any rights.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

// Docker's own.
const graceMs = 10_000

const base = 'docker.io/library/node:24-slim'

/** Why no image can be built here; undefined where one can. */
export function whyNoImage(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'images are built here as root on Linux only'
  try {
    execFileSync('buildah', ['--version'], { stdio: 'ignore' })
  } catch {
    return 'there is no buildah on this machine'
  }
  return buildah('images', '--format', '{{.Name}}:{{.Tag}}').includes(base)
    ? undefined
    : `buildah has no ${base}, and nothing is downloaded for a test: ".ci/make-base-image" brings it`
}

export type Image = {
  /** The root of its files. */
  root: string
  config: {
    User: string
    WorkingDir: string
    Env: string[]
    Entrypoint: string[]
    Cmd: string[]
    Healthcheck: { Test: string[] }
  }
}

/** Steps that were built before are taken from buildah's cache, unless `isFresh`. The image goes with the test. */
export function buildImage(t: Test, target: string, { isFresh = false } = {}): Image {
  const tag = `localhost/test-${target}-${process.pid}-${Math.random().toString(36).slice(2)}`
  buildah(
    ...['bud', '--quiet', '--pull-never', '--isolation=chroot', '--format=docker', `--target=${target}`],
    ...[`--tag=${tag}`, isFresh ? '--no-cache' : '--layers'],
    ...volumesForNpm(t),
    '.',
  )
  const container = buildah('from', '--pull-never', tag)
  t.teardown(() => {
    buildah('rm', container)
    buildah('rmi', tag)
  })
  const { Docker } = JSON.parse(buildah('inspect', '--type=image', tag))
  return { root: buildah('mount', container), config: Docker.config }
}

/** Where Node needs a certification authority of the machine's to reach packages, so does the build; it stays out of the image. */
function volumesForNpm(t: Test): string[] {
  const authority = process.env.NODE_EXTRA_CA_CERTS
  if (!authority) return []
  const folder = mkdtempSync(join(tmpdir(), 'npmrc-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'npmrc'), 'cafile=/etc/npm-authority.crt\n')
  return [`--volume=${folder}/npmrc:/usr/local/etc/npmrc:ro`, `--volume=${authority}:/etc/npm-authority.crt:ro`]
}

function buildah(...args: string[]): string {
  return execFileSync('buildah', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}

/**
 * Runs the image's own command as its process 1, on a read-only disk, with no capability and no way to new ones, as a
 * user that the image does not know. `writable` is a folder that gets an empty disk in memory. The network is this machine's.
 */
export async function runImage(
  t: Test,
  { root, config }: Image,
  environment: Record<string, string>,
  { writable }: { writable?: string } = {},
) {
  const uid = '65532'
  const setUp = `
    mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev"
    ${writable ? `mount -t tmpfs -o uid=${uid},mode=0700 tmpfs "$0${writable}"` : ''}
    exec chroot "$0" /usr/bin/env -i -C "$@"`
  const command = [
    ...[config.WorkingDir, ...config.Env, ...Object.entries(environment).map(([name, value]) => `${name}=${value}`)],
    ...['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--bounding-set=-all', '--inh-caps=-all'],
    ...['--no-new-privs', ...config.Entrypoint, ...config.Cmd],
  ]
  const unshared = ['--mount', '--pid', '--fork', '--propagation=private']
  const outside = spawn('unshare', [...unshared, 'sh', '-ec', setUp, root, ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [outside.stdout, outside.stderr]) stream.on('data', chunk => (output += chunk))
  const ended = once(outside, 'close') as Promise<[number | null]>
  while (!/listening/i.test(output)) {
    await Promise.race([once(outside.stdout, 'data'), ended])
    if (outside.exitCode !== null) throw new Error(`The container ended early: ${output}`)
  }
  const pid = Number(readFileSync(`/proc/${outside.pid}/task/${outside.pid}/children`, 'utf8'))
  // The container's process 1, not the one outside: with its user it lost the signal that would end it with its parent.
  t.teardown(async () => {
    if (outside.exitCode === null) process.kill(pid, 'SIGKILL')
    await ended
  })
  return {
    output: () => output,
    /** Lines of /proc/1/status as the container sees them. */
    status: () => readFileSync(`/proc/${pid}/status`, 'utf8'),
    /** As "docker stop" does: asks, and does not wait for ever. Resolves with the exit code. */
    async stop(): Promise<number | null> {
      process.kill(pid, 'SIGTERM')
      const patience = setTimeout(() => process.kill(pid, 'SIGKILL'), graceMs)
      const [code] = await ended
      clearTimeout(patience)
      return code
    },
  }
}
