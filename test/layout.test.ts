import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { settings } from '../src/client/config.ts'

const read = (path: string) => readFileSync(path, 'utf8')

/** What a source file imports, as paths from the project's root or as names of packages. */
function importsOf(path: string, text = read(path)): string[] {
  const names = [
    ...text.matchAll(
      /(?:^|\n)(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|(?:^|\n)import\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]/g,
    ),
  ]
  return names
    .map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '')
    .map(name => (name.startsWith('.') ? normalize(join(dirname(path), name)) : name))
}

const clientFiles = globSync('src/client/**/*.ts')
const sandboxFiles = globSync('src/sandbox/**/*.ts')

t.test('the client and the sandbox never import each other', async t => {
  t.ok(clientFiles.length > 20, 'the client is there; the sandbox may have been left behind')
  for (const path of [...clientFiles, ...globSync('test/client/**/*.ts')])
    t.notOk(
      importsOf(path).some(name => name.includes('sandbox/')),
      `${path} knows no sandbox`,
    )
  for (const path of [...sandboxFiles, ...globSync('test/sandbox/**/*.ts')])
    t.notOk(
      importsOf(path).some(name => name.includes('client/')),
      `${path} knows no client`,
    )
})

t.test('conformance plays the sandbox, knows no client, and nobody needs it', async t => {
  for (const path of globSync('{src,test}/conformance/**/*.ts'))
    t.same(
      importsOf(path).filter(name => /^(src|test)\/(client|journey)\//.test(name)),
      [],
      `${path} knows no client`,
    )
  for (const path of globSync('src/conformance/browser/*.ts'))
    t.same(
      importsOf(path).filter(name => name.startsWith('src/') && !name.startsWith('src/conformance/browser/')),
      [],
      `${path} is a browser and nothing else`,
    )
  for (const path of [...clientFiles, ...sandboxFiles, ...globSync('test/client/**/*.ts')])
    t.notOk(
      importsOf(path).some(name => name.includes('conformance/')),
      `${path} is judged by others`,
    )
})

t.test(
  'the protocol knows nothing of Fastify, has no words for visitors, and reaches out only through upstream',
  async t => {
    const paths = globSync('src/client/sign-in/protocol/*.ts')
    t.ok(paths.length > 1)
    for (const path of paths) {
      t.same(
        importsOf(path).filter(name => !/^node:|^src\/client\/(sign-in\/protocol\/|upstream|secret)/.test(name)),
        [],
        path,
      )
      t.notMatch(read(path), /Please /, path)
    }
  },
)

t.test('the client has two rooms with one door, and no arrow points back', async t => {
  /** What each part may import of the client; a part that is not named may import anything. */
  const allowed: Record<string, RegExp> = {
    'src/client/applications/':
      /client\/(applications\/|product|sign-in\/sign-in|web\/|upstream|errors|once|operations\/request-log)/,
    'src/client/bare/': /client\/(bare\/|product|sign-in\/sign-in|web\/|upstream|errors|once)/,
    'src/client/sign-in/': /client\/(sign-in\/|web\/|upstream|errors|once|secret|operations\/request-log)/,
    'src/client/web/': /client\/(web\/|errors|once|secret|upstream|operations\/(request-log|connections))/,
    'src/client/operations/': /client\/(operations\/|config|upstream)/,
    'src/client/upstream.ts': /client\/errors/,
    'src/client/errors.ts': /(?!)/,
  }
  for (const path of clientFiles)
    for (const [part, isAllowed] of Object.entries(allowed))
      if (path.startsWith(part))
        t.same(
          importsOf(path).filter(name => name.startsWith('src/') && !isAllowed.test(name)),
          [],
          path,
        )
  for (const path of ['src/client/upstream.ts', 'src/client/errors.ts'])
    t.notOk(importsOf(path).includes('fastify'), `${path} knows no Fastify`)
})

t.test('nothing but the applications and what is marked as yours speaks of applications', async t => {
  const paths = ['src/client/{sign-in,web,operations}/**/*.ts', 'views/client/*.eta'].flatMap(one => globSync(one))
  t.ok(paths.length > 30)
  for (const path of paths.filter(path => path !== 'views/client/home.eta'))
    t.notMatch(read(path), /applications/i, path)
})

t.test('what every product has is tested without the applications', async t => {
  const paths = globSync('test/client/{web,upstream,operations,sign-in,support}/**/*.ts')
  t.ok(paths.length > 60)
  for (const path of paths)
    t.notMatch(read(path), /\/applications|\/apps\/v1|\/identities\/|applicationRecord|buildApplications/, path)
  // Deleting the applications breaks no test of these: they import none of it, and need no word of it.
  for (const path of paths.filter(path => /\/(sign-in|support)\//.test(path)))
    t.notMatch(read(path), /applications/i, path)
})

t.test('no file of the sandbox imports itself by way of others, types included', async t => {
  const graph = new Map(sandboxFiles.map(path => [path, importsOf(path)]))
  t.same(findCycle(graph), undefined)
  t.ok(
    findCycle(
      new Map([
        ['a', ['b']],
        ['b', ['c', 'd']],
        ['c', []],
        ['d', ['a']],
      ]),
    ),
    'one that is there is found',
  )
})

/** The files of one circle, the first one once more at the end; undefined when there is none. */
function findCycle(graph: Map<string, string[]>): string[] | undefined {
  const done = new Set<string>()
  const walk = (path: string, trail: string[]): string[] | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path]
    if (done.has(path)) return undefined
    for (const next of graph.get(path) ?? []) {
      const cycle = walk(next, [...trail, path])
      if (cycle) return cycle
    }
    done.add(path)
    return undefined
  }
  for (const path of graph.keys()) {
    const cycle = walk(path, [])
    if (cycle) return cycle
  }
  return undefined
}

t.test('the arrows of the sandbox point from api and portal to tokens to store, and never back', async t => {
  const wiring = 'app\\.ts|main|start\\.ts|seed\\.ts|config\\.ts|commands/'
  const above: Record<string, string> = {
    'src/sandbox/api/': `portal/|lab/|${wiring}`,
    'src/sandbox/portal/': `api/|lab/|${wiring}`,
    'src/sandbox/groups/': `api/|portal/|lab/|web/|${wiring}`,
    'src/sandbox/web/': `api/|portal/|lab/|groups/|tokens/|store/|${wiring}`,
    'src/sandbox/tokens/': `api/|portal/|lab/|groups/|web/|${wiring}`,
    'src/sandbox/store/': `api/|portal/|lab/|groups/|web/|tokens/|parts\\.ts|${wiring}`,
    'src/sandbox/parts.ts': `api/|portal/|lab/|groups/|web/|${wiring}`,
    // Makes of everything what can be started, and is above it all.
    'src/sandbox/app.ts': 'main|start\\.ts|commands/',
  }
  for (const path of sandboxFiles)
    for (const [begin, forbidden] of Object.entries(above))
      if (path.startsWith(begin))
        t.same(
          importsOf(path).filter(name => new RegExp(`^src/sandbox/(${forbidden})`).test(name)),
          [],
          path,
        )
})

t.test('the routes of each listener of the sandbox are listed in one file', async t => {
  const route = /\.(get|post|put|patch|delete|route)(<[^>]*>)?\(\s*['"`]/
  for (const [folder, list] of [
    ['portal', 'build-portal.ts'],
    ['api', 'build-api.ts'],
    ['lab', 'build-lab.ts'],
  ])
    for (const path of globSync(`src/sandbox/${folder}/**/*.ts`))
      t.equal(route.test(read(path)), path.endsWith(`/${list}`), path)
})

t.test('the laboratory knows what is recorded and nothing of how it came about, and nobody needs it', async t => {
  for (const path of sandboxFiles) {
    const own = importsOf(path).filter(name => name.startsWith('src/sandbox/'))
    // What sets up does what people do at the portal and the API, by the same functions; one file wires both to them.
    const isAllowed = /^src\/sandbox\/lab\/(set-up\/|open-lab\.ts$)/.test(path)
      ? /^src\/sandbox\/(?!(app|main|start|config)\.ts$|commands\/|(portal|api)\/build-)/
      : /^src\/sandbox\/(lab\/|web\/|(describe|mail|refusal|secret|server|steps)\.ts$)/
    if (path.startsWith('src/sandbox/lab/'))
      t.same(
        own.filter(name => !isAllowed.test(name)),
        [],
        path,
      )
    else if (!/^src\/sandbox\/(app|main)\.ts$/.test(path))
      t.notOk(
        own.some(name => name.startsWith('src/sandbox/lab/')),
        `${path} knows no laboratory`,
      )
  }
})

t.test('only main.ts reads the environment, and only demo.ts knows both applications', async t => {
  for (const path of globSync('src/**/*.ts')) {
    const isEntry = /(^|\/)(main|demo|doctor)\.ts$/.test(path) || path.includes('commands/')
    if (!isEntry) t.notMatch(read(path), /process\.env\b/, path)
  }
})

t.test('.env.example holds the settings of the client, with their defaults and what they are for', async t => {
  const expected = settings.flatMap(setting => [
    `# ${setting.about}`,
    'default' in setting ? `#${setting.name}=${setting.default}` : `${setting.name}=`,
  ])
  const found = read('.env.example').split('\n').slice(1).filter(Boolean)
  t.same(found, expected)
})

t.test('the README lists the settings of the client, with their defaults', async t => {
  const rows = settings.map(setting => {
    const value = 'default' in setting ? (setting.default ? `\`${setting.default}\`` : 'not set') : 'needed'
    return `| \`${setting.name}\` | ${value} | ${setting.about} |`
  })
  const found = read('README.md')
    .split('\n')
    .filter(line => /^\| `[A-Z_]+` \|/.test(line))
  t.same(found, rows)
})

t.test('every script that a document names is there, and so is every local file that it links to', async t => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const path of globSync(['*.md', 'docs/**/*.md'])) {
    const text = read(path)
    for (const [, name] of text.matchAll(/npm run ([\w:-]+)/g)) t.ok(scripts[name!], `${path}: npm run ${name}`)
    for (const [, link] of text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g))
      t.ok(globSync(normalize(join(dirname(path), link!))).length > 0, `${path} links to ${link}`)
    for (const [, name] of text.matchAll(/`((?:src|test|views|docs|scripts)\/[\w./-]+)`/g))
      t.ok(globSync(name!.replace(/\/$/, '')).length > 0, `${path} names ${name}`)
  }
})

t.test('each decision has a number of its own, and each that the code names is there', async t => {
  const numbers = [...globSync('docs/decisions/*.md')].map(path => /(\d{3})-/.exec(path)?.[1])
  t.equal(new Set(numbers).size, numbers.length)
  for (const path of globSync(['{src,test,scripts,views,bench}/**/*.{ts,eta,css}']))
    for (const [, number] of read(path).matchAll(/docs\/decisions\/(\d{3})/g))
      t.ok(numbers.includes(number), `${path} names ${number}`)
})

t.test(
  'SC-09: nothing that is run makes code or markup of text, starts a program, or makes a pattern of what comes in',
  async t => {
    // A command of a developer: it starts the client that it was told to start, with a pattern of theirs.
    const told = ['src/conformance/client-process.ts', 'src/conformance/settings.ts']
    for (const path of [...globSync('src/**/*.ts'), ...globSync('views/**/*.{eta,js}')]) {
      if (told.includes(path)) continue
      const found = read(path).match(
        /\beval\(|new Function\b|innerHTML|outerHTML|node:child_process|node:vm|new RegExp\(/g,
      )
      t.same(found ?? [], [], path)
    }
    t.match(JSON.parse(read('tsconfig.json')).compilerOptions, { strict: true })
  },
)

t.test('every package that the code imports is declared, and those of src for production', async t => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json'))
  const packageOf = (name: string) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name
  const isPackage = (name: string) => !name.startsWith('node:') && !existsSync(name)
  const paths = globSync(['src/**/*.ts', 'scripts/**/*.ts', 'test/**/*.ts'], {
    // They hold imports of made-up packages as text.
    exclude: ['test/container/*.test.ts'],
  })
  t.ok(paths.length > 50)
  for (const path of paths)
    for (const name of importsOf(path).filter(isPackage).map(packageOf)) {
      // The demo runs where developers work, and is in no image.
      const isOfDevelopers = !path.startsWith('src/') || path.startsWith('src/demo')
      const isDeclared = name in dependencies || (isOfDevelopers && name in devDependencies)
      if (!isDeclared) t.fail(`${path} imports ${name}, which package.json does not declare`)
    }
})
