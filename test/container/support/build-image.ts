// Builds a target of the Dockerfile with buildah, opens it as a folder, and runs it as a container without any
// privileges.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { readOutput } from '../../support/read-output.ts'

// The time that "docker stop" waits.
const graceMs = 10_000

export const baseImage = 'docker.io/library/node:24-slim'

/** Returns the reason why no image can be built here. Returns undefined if images can be built. */
export function whyNoImage(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'building an image needs Linux and root rights'
  try {
    execFileSync('buildah', ['--version'], { stdio: 'ignore' })
  } catch {
    return 'there is no buildah on this machine'
  }
  return buildah('images', '--format', '{{.Name}}:{{.Tag}}').includes(baseImage)
    ? undefined
    : `buildah has no ${baseImage}, and tests download nothing: run ".ci/make-base-image" to make it`
}

export type Image = {
  /** The folder with the files of the image. */
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

/** Builds the image. If `isFresh` is true, buildah does not use its cache. The image is removed after the test. */
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

/**
 * NODE_EXTRA_CA_CERTS names a certificate authority that this machine needs to download packages. npm also needs this
 * authority during the build. The image does not contain the authority.
 */
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
 * Runs the image's own command as process 1, on a read-only disk, without capabilities, as a user that the image does
 * not contain. The folder `writable` is an empty folder in memory, and the container can write to it. The container
 * uses the network of this machine.
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
  const { output, closed, waitForOutput } = readOutput(outside)
  await waitForOutput('listening')
  const pid = Number(readFileSync(`/proc/${outside.pid}/task/${outside.pid}/children`, 'utf8'))
  // Kills process 1 of the container. This process does not end together with the outer process, because the signal
  // that would end it is lost when the process changes its user.
  t.teardown(async () => {
    if (outside.exitCode === null && outside.signalCode === null) process.kill(pid, 'SIGKILL')
    await closed
  })
  return {
    output,
    /** Returns the text of /proc/1/status in the container. */
    status: () => readFileSync(`/proc/${pid}/status`, 'utf8'),
    /**
     * Stops the container in the same way as "docker stop": sends SIGTERM, and kills the process if it does not end in
     * time. Resolves to the exit code.
     */
    async stop(): Promise<number | null> {
      process.kill(pid, 'SIGTERM')
      const patience = setTimeout(() => process.kill(pid, 'SIGKILL'), graceMs)
      const [code] = await closed
      clearTimeout(patience)
      return code
    },
  }
}
