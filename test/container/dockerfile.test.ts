// Tests the Dockerfile without building an image. image.test.ts checks the contents of the images.
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { keepPackages } from '../../docker/keep-packages.ts'
import { instructionsOf, readDockerfile } from './support/read-dockerfile.ts'

const { beforeStages, stages } = readDockerfile('Dockerfile')
const targets = ['client', 'sandbox'].filter(name => stages.some(stage => stage.name === name))
const everything = stages.flatMap(({ instructions }) => instructions)
const texts = (target: string, name: string) =>
  instructionsOf(stages, target)
    .filter(instruction => instruction.name === name)
    .map(({ text }) => text)

t.test(
  'SC-07: all stages of the Dockerfile have the same base image, and a build argument can pin this image by digest',
  async t => {
    t.same(beforeStages, [{ name: 'ARG', text: 'NODE_IMAGE=docker.io/library/node:24-slim' }])
    const outside = stages.filter(({ base }) => !stages.some(({ name }) => name === base))
    t.ok(outside.length > 0)
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the Dockerfile's own syntax
    for (const { name, base } of outside) t.equal(base, '${NODE_IMAGE}', name)
  },
)

t.test('docker build without a target builds the client', async t => {
  t.equal(stages.at(-1)?.name, 'client')
})

t.test(
  'SC-01, SC-05: the build of an image downloads only packages from the lock file, and runs no scripts of packages',
  async t => {
    const commands = everything.filter(({ name }) => name === 'RUN').flatMap(({ text }) => text.split(/\s+&&\s+/))
    for (const command of commands) t.match(command, /^(npm|node|find|rm|install) /)
    const [install, ...prunes] = commands.filter(command => command.startsWith('npm '))
    t.match(install, /^npm ci --omit=dev --ignore-scripts /)
    for (const prune of prunes) t.match(prune, /^npm prune --omit=dev --ignore-scripts --offline /)
    for (const { name, text } of everything) {
      t.not(name, 'ADD')
      t.notMatch(text, /https?:\/\/(?!127\.0\.0\.1)/)
    }
  },
)

t.test('CT-03: only the files that the images need are sent to Docker for the build', async t => {
  const [first, ...rest] = readFileSync('.dockerignore', 'utf8')
    .split('\n')
    .filter(line => line && !line.startsWith('#'))
  t.equal(first, '*', 'by default, Docker must not get any file')
  for (const line of rest)
    t.match(
      line,
      /^!(package\.json|package-lock\.json|LICENSE|docker\/\*\.ts|bin|(src|views)\/(client|sandbox)|src\/conformance)$/,
    )
  for (const { name, text } of everything) if (name === 'COPY') t.notMatch(text, /^(--\S+ )*\.\/? /, text)
})

for (const target of targets) {
  const other = target === 'client' ? 'sandbox' : 'client'

  t.test(`CT-01: in the image of the ${target}, the user is a number and not root`, async t => {
    t.match(texts(target, 'USER').at(-1), /^[1-9]\d*:[1-9]\d*$/)
  })

  t.test(`CT-02: the image of the ${target} starts node directly, without a shell or npm`, async t => {
    t.same(JSON.parse(texts(target, 'ENTRYPOINT').at(-1) ?? ''), ['node'])
    t.same(JSON.parse(texts(target, 'CMD').at(-1) ?? ''), [`src/${target}/main.ts`])
  })

  t.test(`CT-05: the health check in the image of the ${target} uses only programs of the image`, async t => {
    const [healthCheck = ''] = texts(target, 'HEALTHCHECK')
    const [program, flag, script] = JSON.parse(healthCheck.slice(healthCheck.indexOf('['))) as string[]
    t.same([program, flag], ['node', '-e'])
    t.match(script, '/health/live')
  })

  t.test(`the image of the ${target} has the labels that image registries show`, async t => {
    const labels = texts(target, 'LABEL').join(' ')
    for (const label of ['title', 'description', 'licenses', 'version', 'revision'])
      t.match(labels, `org.opencontainers.image.${label}=`)
  })

  t.test(`the Dockerfile copies no file of the ${other} into the image of the ${target}`, async t => {
    const files = texts(`${target}-files`, 'COPY').join('\n')
    t.match(files, `src/${target}`)
    t.notMatch(files, new RegExp(`(src|views)/${other}`))
  })

  t.test(`the image of the ${target} contains only the packages that the ${target} imports`, async t => {
    const whole = JSON.parse(readFileSync('package.json', 'utf8'))
    const sources = globSync(`src/${target}/**/*.ts`).map(path => readFileSync(path, 'utf8'))
    const { dependencies, devDependencies, scripts, version } = keepPackages(whole, sources)
    const foreign = { client: /^(kysely|pg|jose|@fastify\/swagger)/, sandbox: /^(undici|prom-client)$/ }[target]!
    t.ok(dependencies.fastify)
    for (const [name, range] of Object.entries(dependencies)) {
      t.equal(range, whole.dependencies[name])
      t.notMatch(name, foreign)
    }
    t.same([devDependencies, scripts, version], [undefined, undefined, whole.version])
  })
}

t.test(
  'the image of the conformance suite also contains the sandbox; the first argument of the container chooses which program runs',
  { skip: !targets.includes('sandbox') && 'this project has no sandbox' },
  async t => {
    t.equal(stages.find(({ name }) => name === 'conformance')?.base, 'sandbox')
    t.same(JSON.parse(texts('conformance', 'ENTRYPOINT').at(-1) ?? ''), ['node', 'bin/application.mjs'])
    t.same(texts('conformance', 'HEALTHCHECK').at(-1), 'NONE')
    const run = (...args: string[]) =>
      spawnSync(process.execPath, ['bin/application.mjs', ...args], { encoding: 'utf8' })
    t.match(run('conformance', '--help'), { status: 0, stdout: '--client URL', stderr: '' })
    t.match(run('conformance', '--client', 'nonsense'), { status: 2, stderr: '--client must be an origin' })
    for (const args of [[], ['toString']]) {
      const { status, stderr } = run(...args)
      t.equal(status, 2)
      t.match(stderr, /^Name a program: conformance or sandbox\..*\n$/)
    }
  },
)

t.test('every dependency in package.json is imported by a file in src', async t => {
  const whole = JSON.parse(readFileSync('package.json', 'utf8'))
  // The test leaves the demo out, because the demo is not in any image and may use packages for developers.
  const sources = globSync('src/**/*.ts', { exclude: ['src/demo*.ts'] }).map(path => readFileSync(path, 'utf8'))
  t.same(Object.keys(keepPackages(whole, sources).dependencies), Object.keys(whole.dependencies).sort())
})

t.test('keep-packages.ts finds every form of import, and ignores imports that import only types', async t => {
  const dependencies = { a: '1', '@b/c': '1', d: '1', e: '1', f: '1', '@g/h': '1' }
  const source = `
    import a from 'a'
import { type X, y } from '@b/c/deep.js'
import 'd'
import type { Z } from 'not-needed'
export type { Q } from 'not-needed'
import {
  more,
} from 'e'
import { join } from 'node:path'
import local from './local.ts'
const f = await import('f')
const g = import.meta.resolve('@g/h/static/file.css')
`.replace('    import', 'import')
  t.same(Object.keys(keepPackages({ dependencies }, [source]).dependencies), ['@b/c', '@g/h', 'a', 'd', 'e', 'f'])
  t.throws(() => keepPackages({ dependencies }, [`import x from 'phantom'`]), /phantom is imported/)
})
