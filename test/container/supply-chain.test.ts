// Checks where the code that runs comes from: the lock file, the workflow, and code that is loaded at run time.
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'

const read = (path: string) => readFileSync(path, 'utf8')
const manifest = JSON.parse(read('package.json'))
const packages: [string, Package][] = Object.entries(JSON.parse(read('package-lock.json')).packages)
const installed = packages.filter(([path]) => path !== '')
const inProduction = installed.filter(([, { dev }]) => !dev)
const workflowPath = '.github/workflows/ci.yaml'
const workflow = parse(read(workflowPath)) as Workflow
const steps = Object.values(workflow.jobs).flatMap(job => job.steps)

type Package = { version: string; integrity?: string; license?: string; dev?: boolean; hasInstallScript?: boolean }
type Step = { uses?: string; run?: string; with?: Record<string, unknown> }
type Workflow = {
  permissions: Record<string, string>
  env: Record<string, string>
  jobs: Record<
    string,
    { 'timeout-minutes': number; container?: { image: string }; permissions?: unknown; steps: Step[] }
  >
}

/**
 * The oldest versions that SC-03 allows, one for each major version. Dependabot proposes newer versions. The test uses
 * this list, because the list works without a network.
 */
const floors: Record<string, string[]> = {
  fastify: ['5.12.6'],
  undici: ['7.30.2', '8.12.4'],
  '@fastify/reply-from': ['12.7.0'],
  '@fastify/http-proxy': ['11.6.6'],
  '@fastify/busboy': ['3.2.1'],
  node: ['22.23.4', '24.21.0'],
}

/**
 * Returns an error message if the version is too old. Returns undefined if the version is new enough, or if the package
 * is not in the list. If the list does not contain a version with the same major number, the version must be newer than
 * all versions in the list.
 */
function tooOld(name: string, version: string): string | undefined {
  const known = floors[name]
  if (!known) return undefined
  const parts = version.split('.').map(Number)
  const floor = known.find(floor => Number(floor.split('.')[0]) === parts[0]) ?? known.at(-1)!
  const first = floor
    .split('.')
    .map((part, index) => (parts[index] ?? 0) - Number(part))
    .find(difference => difference !== 0)
  return (first ?? 0) < 0 ? `${name} ${version} is older than ${floor}` : undefined
}

t.test('SC-01: the lock file pins every package by hash, and every dependency has an exact version', async t => {
  t.ok(inProduction.length > 50)
  for (const [path, { integrity }] of installed) t.match(integrity, /^sha512-/, path)
  for (const [name, range] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }))
    t.match(range, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name)
})

t.test(
  'SC-02: docs/design/dependencies.md lists every direct dependency, and every package in production has an allowed licence',
  async t => {
    const reasons = read('docs/design/dependencies.md')
    for (const name of Object.keys(manifest.dependencies)) t.ok(reasons.includes(`\`${name}\``), name)
    for (const [path, { license }] of inProduction)
      t.match(license, /^(MIT|ISC|BSD-[23]-Clause|Apache-2\.0|0BSD|BlueOak-1\.0\.0)$/, path)
  },
)

t.test('SC-03, SC-04: no package in production has an old version with known vulnerabilities', async t => {
  const node = installed.filter(([path]) => path === 'node_modules/node')
  t.equal(node.length, 1)
  for (const [path, { version }] of [...inProduction, ...node])
    t.equal(tooOld(path.replace(/^.*node_modules\//, ''), version), undefined, path)
  for (const [name, [first = '']] of Object.entries(floors)) {
    t.equal(tooOld(name, first), undefined)
    const [major, minor, patch] = first.split('.').map(Number) as [number, number, number]
    t.match(tooOld(name, patch > 0 ? `${major}.${minor}.${patch - 1}` : `${major}.${minor - 1}.99`), /is older than/)
    t.equal(tooOld(name, `${major}.${minor + 1}.0`), undefined)
  }
})

t.test('SC-04: CI asks no registry for known vulnerabilities, because some registries cannot answer', async t => {
  for (const path of ['package.json', '.ci/run', workflowPath, 'Dockerfile'])
    t.notMatch(read(path), /npm audit|audit-level/, path)
})

t.test('SC-05: no package in production has an install script', async t => {
  t.same(
    inProduction.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path),
    [],
  )
})

t.test(
  'SC-05: no page, style sheet or script loads a file from another site, and no program loads code from the network',
  async t => {
    const views = globSync('views/**/*.{eta,css,js}')
    t.ok(views.length > 10)
    for (const path of views) {
      t.notMatch(read(path), /<(script|link|img|iframe|source)\b[^>]*\b(src|href)\s*=\s*["']?(https?:)?\/\//i, path)
      t.notMatch(read(path), /url\(\s*["']?(https?:)?\/\/|@import|\bimport\(/i, path)
    }
    for (const path of globSync('src/**/*.ts'))
      t.notMatch(read(path), /import\(\s*[^'"\s]|from 'https?:|\beval\(|new Function\(/, path)
  },
)

t.test(
  'SC-07: the CI workflow pins its actions by commit and its images by digest, and all jobs use the same base image',
  async t => {
    const actions = steps.flatMap(({ uses }) => uses ?? [])
    t.ok(actions.length > 2)
    for (const action of actions) t.match(action, /^actions\/[\w-]+@[0-9a-f]{40}$/)
    for (const line of read(workflowPath)
      .split('\n')
      .filter(line => line.includes('uses:')))
      t.match(line, / # v\d+\.\d+\.\d+$/)
    t.match(workflow.env.NODE_IMAGE, /^docker\.io\/library\/node@sha256:[0-9a-f]{64}$/)
    for (const [name, { container }] of Object.entries(workflow.jobs))
      if (container) t.equal(container.image, workflow.env.NODE_IMAGE, name)
    t.match(steps.find(({ run }) => run?.includes('docker build'))?.run, '--build-arg "NODE_IMAGE=$NODE_IMAGE"')
  },
)

t.test(
  'the CI workflow has only read access, does not store a token, limits how long its jobs can run, and does not use expressions in shell commands',
  async t => {
    t.same(workflow.permissions, { contents: 'read' })
    t.same(Object.keys(workflow.jobs), ['ci', 'image', 'matrix'])
    for (const [name, job] of Object.entries(workflow.jobs)) {
      t.equal(job.permissions, undefined, `${name} must not ask for further permissions`)
      t.ok(job['timeout-minutes'] <= 60, name)
    }
    for (const { uses, with: input } of steps)
      if (uses?.startsWith('actions/checkout@')) t.equal(input?.['persist-credentials'], false)
    t.notMatch(read(workflowPath), /pull_request_target|secrets\./)
    for (const { run = '' } of steps) {
      t.notMatch(run, /\$\{\{/, 'a shell command must not contain an expression')
      for (const [, script] of run.matchAll(/npm run ([\w:]+)/g)) t.ok(manifest.scripts[script!], `npm run ${script}`)
    }
  },
)

t.test('the CI workflow runs .ci/run, which runs all test files that npm test leaves out', async t => {
  t.ok(steps.some(({ run }) => run === '.ci/run'))
  const script = read('.ci/run')
  t.match(script, "npm test -- 'test/**/*.ci.ts' --exclude=test/container/compose.ci.ts")
  t.match(script, '.ci/with-docker npm test -- test/container/compose.ci.ts')
  t.ok(globSync('test/**/*.ci.ts').includes('test/container/compose.ci.ts'))
})

t.test('Dependabot updates packages, actions, and the images in the Dockerfile and in the compose files', async t => {
  const ecosystems = (path: string) =>
    (parse(read(path)) as { updates: Record<string, unknown>[] }).updates.map(update => update['package-ecosystem'])
  t.same(ecosystems('.github/dependabot.yml'), ['npm', 'github-actions', 'docker', 'docker-compose'])
  t.same(ecosystems('scripts/starter/dependabot.yml'), ['npm', 'github-actions', 'docker'], 'in a starter')
})
