// Leaves the starter: removes the sandbox and all that needs it, and renames. npm run eject -- --name my-client
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { settings } from '../src/client/config.ts'

/** All that knows the sandbox, compares with others, or is about this repository and not about a client. */
const leftBehind = [
  'src/sandbox',
  'src/demo.ts',
  'views/sandbox',
  'test/sandbox',
  'test/journey',
  'test/browser',
  'test/container',
  'test/support',
  'test/demo.test.ts',
  'test/ci.test.ts',
  'test/eject.test.ts',
  'scripts/eject.ts',
  'scripts/screenshots.ts',
  'scripts/lend.ts',
  'bench',
  'docker/Caddyfile',
  'docker/make-secrets.ts',
  'compose.yaml',
  'compose.scale.yaml',
  'data',
  '.ci',
  '.github',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...globSync('docs/**/*').filter(path => !/^docs\/decisions(\/00\d-.*)?$/.test(path) && path !== 'docs'),
]

type Manifest = {
  name: string
  version: string
  description?: string
  scripts: Record<string, string>
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  allowScripts: Record<string, boolean>
}

const { values } = parseArgs({ options: { name: { type: 'string' }, force: { type: 'boolean', default: false } } })
const name = values.name ?? ''
if (!/^[a-z0-9][a-z0-9._-]{0,100}$/.test(name)) fail('Give it a name: npm run eject -- --name my-client')
if (!existsSync('src/sandbox')) fail('There is no sandbox here: this is a starter already.')
if (!values.force) requireCommitted()

for (const path of leftBehind) rmSync(path, { recursive: true, force: true })

if (existsSync('Dockerfile')) {
  const ofSandbox =
    /# --- From here on it is about the sandbox alone\.[\s\S]*?(?=# --- From here on it is about the client alone\.)/
  writeFileSync('Dockerfile', readFileSync('Dockerfile', 'utf8').replace(ofSandbox, ''))
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
writeFileSync('package.json', `${JSON.stringify(slim(manifest), null, 2)}\n`)
writeFileSync('README.md', readme(name))
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
lock.name = name
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`)
// npm takes out of the lock what nothing needs any more; nothing is downloaded for that.
execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'], {
  stdio: 'inherit',
})

console.log(
  `${name} is ready:\n  npm ci\n  npm test\n  npm run setup    (then put your four settings into .env)\n  npm start`,
)

/** What is removed can be brought back from git alone. */
function requireCommitted(): void {
  const { status, stdout, stderr, error } = spawnSync('git', ['status', '--porcelain'], { encoding: 'utf8' })
  if (stdout?.trim()) fail('There are changes that are not committed. Commit them first: this removes files.')
  if (status === 0) return
  const reason = error ? 'git is not installed' : stderr.split('\n')[0]
  fail(
    `This removes files, and here nothing could bring them back (${reason}).\n` +
      'Make a repository first (git init && git add --all && git commit), or say that you have a copy: add --force.',
  )
}

function slim({ scripts, dependencies, devDependencies, allowScripts, ...rest }: Manifest) {
  const code = globSync(['src/**/*.ts', 'test/**/*.ts', 'scripts/**/*.ts']).map(path => readFileSync(path, 'utf8'))
  const isImported = (dependency: string) =>
    code.some(text => text.includes(`'${dependency}'`) || text.includes(`'${dependency}/`))
  /** Tools that are run and not imported. */
  const isTool = (dependency: string) => /^(node|tap|typescript|@biomejs\/biome|@types\/node)$/.test(dependency)
  const keep = (all: Record<string, string>) =>
    Object.fromEntries(Object.entries(all).filter(([dependency]) => isImported(dependency) || isTool(dependency)))
  /** Nothing that is lent is needed by the tests of a client. */
  const withoutLender = ([script, command]: [string, string]): [string, string] => [
    script,
    command.replace('scripts/lend.ts ', ''),
  ]
  const works = ([, command]: [string, string]) =>
    (command.match(/(?:src|scripts|bench)\/[\w./-]+/g) ?? []).every(path => existsSync(path))
  return {
    ...rest,
    name,
    version: '0.1.0',
    description: 'A client of the platform',
    scripts: Object.fromEntries(Object.entries(scripts).map(withoutLender).filter(works)),
    dependencies: keep(dependencies),
    devDependencies: keep(devDependencies),
    allowScripts: { node: allowScripts.node ?? true },
  }
}

function readme(name: string): string {
  return `# ${name}

Signs people in through the platform's login portal, and works with the application API in their name.

Register an application at your platform with the redirect URI \`http://localhost:3000/exchangeToken\`. Then:

\`\`\`sh
npm ci
npm run setup
\`\`\`

Put \`LOGIN_URL\`, \`API_URL\`, \`CLIENT_ID\` and \`CLIENT_SECRET\` into \`.env\`, and:

\`\`\`sh
npm run doctor
npm start
\`\`\`

| Setting | Default | What it is |
|---|---|---|
${settings.map(row).join('\n')}

\`npm test\` runs every test against a scripted portal, \`npm run validate\` checks format, style and types. Begin reading with
\`src/client/app.ts\`; lines that begin with \`// Yours:\` are the ones to change first. \`docs/decisions/\` says why what looks
odd is as it is.
`
}

function row(setting: (typeof settings)[number]): string {
  const value = 'default' in setting ? (setting.default ? `\`${setting.default}\`` : 'not set') : 'needed'
  return `| \`${setting.name}\` | ${value} | ${setting.about} |`
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
