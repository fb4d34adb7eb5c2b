// Tests rules of CONTRIBUTING.md and docs/design: which imports are allowed, and which lists the documents must
// contain.
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import t from 'tap'
import { listAsTable, listForEnvironment } from '../scripts/list-settings.ts'
import { findUsedClasses } from '../scripts/used-classes.ts'

const read = (path: string) => readFileSync(path, 'utf8')

/** Returns the imports of a source file, as paths from the project's root or as names of packages. */
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
  t.ok(clientFiles.length > 20, 'the files of the client must be found')
  for (const path of [...clientFiles, ...globSync('test/client/**/*.ts')])
    t.notOk(
      importsOf(path).some(name => name.includes('sandbox/')),
      `${path} must not import a file of the sandbox`,
    )
  for (const path of [...sandboxFiles, ...globSync('test/sandbox/**/*.ts')])
    t.notOk(
      importsOf(path).some(name => name.includes('client/')),
      `${path} must not import a file of the client`,
    )
})

t.test(
  'the conformance suite does not import the client, and neither the client nor the sandbox imports the conformance suite',
  async t => {
    for (const path of globSync('{src,test}/conformance/**/*.ts'))
      t.same(
        importsOf(path).filter(name => /^(src|test)\/(client|journey)\//.test(name)),
        [],
        `${path} must not import a file of the client`,
      )
    for (const path of globSync('src/conformance/browser/*.ts'))
      t.same(
        importsOf(path).filter(name => name.startsWith('src/') && !name.startsWith('src/conformance/browser/')),
        [],
        `${path} must import only files of src/conformance/browser`,
      )
    for (const path of [...clientFiles, ...sandboxFiles, ...globSync('test/client/**/*.ts')])
      t.notOk(
        importsOf(path).some(name => name.includes('conformance/')),
        `${path} must not import a file of the conformance suite`,
      )
  },
)

/**
 * For each file or folder of the client, the client's files that it may import. If the path of a file begins with
 * several entries, the first of these entries counts. Files without an entry belong to a product.
 */
const clientArrows: [path: string, mayImport: RegExp][] = [
  ['main.ts', /^(app|config|read-settings|settings)\.ts$|^operations\//],
  ['app.ts', /^(?!main\.ts$|app\.ts$)/],
  ['config.ts', /^(read-settings|secret)\.ts$/],
  ['read-settings.ts', /^secret\.ts$/],
  ['settings.ts', /^(read-settings|secret)\.ts$/],
  ['sign-in/protocol/', /^sign-in\/protocol\/|^(upstream|errors|expiring-map|secret)\.ts$/],
  ['sign-in/', /^(sign-in|web)\/|^(upstream|errors|expiring-map|secret|texts)\.ts$|^operations\/request-log\.ts$/],
  // From sign-in, web may import only the type of the visitor, because every page shows the visitor.
  ['web/', /^web\/|^(errors|expiring-map|secret|texts|sign-in\/visitor)\.ts$|^operations\/(request-log|sockets)\.ts$/],
  ['operations/doctor.ts', /^(config|errors|read-settings|settings|upstream)\.ts$|^sign-in\/protocol\//],
  ['operations/', /^operations\/|^(config|upstream)\.ts$/],
  ['upstream.ts', /^(errors|json-limits|texts)\.ts$/],
  ['json-limits.ts', /(?!)/],
  ['errors.ts', /^texts\.ts$/],
  ['texts.ts', /(?!)/],
  ['upstream-texts.ts', /(?!)/],
  ['start-texts.ts', /(?!)/],
  ['expiring-map.ts', /(?!)/],
  ['secret.ts', /(?!)/],
  ['', /^(?!main\.ts$|app\.ts$|sign-in\/(?!(sign-in|visitor|texts)\.ts$)|operations\/(?!request-log\.ts$))/],
]

t.test(
  'in the client, main imports app, app imports the product, and the product imports sign-in and web, but never the other way round',
  async t => {
    const inClient = (path: string) => path.replace('src/client/', '')
    for (const path of clientFiles) {
      const [, mayImport] = clientArrows.find(([begin]) => inClient(path).startsWith(begin))!
      const own = importsOf(path).filter(name => name.startsWith('src/'))
      t.same(
        own.filter(name => !mayImport.test(inClient(name))),
        [],
        path,
      )
    }
  },
)

t.test(
  'the code of the login protocol imports no package, and the core of the client does not import Fastify',
  async t => {
    const protocol = globSync('src/client/sign-in/protocol/*.ts')
    t.ok(protocol.length > 1)
    for (const path of protocol)
      t.same(
        importsOf(path).filter(name => !name.startsWith('node:') && !name.startsWith('src/')),
        [],
        path,
      )
    for (const name of ['upstream', 'errors', 'json-limits', 'texts', 'secret', 'expiring-map'])
      t.notOk(importsOf(`src/client/${name}.ts`).includes('fastify'), name)
  },
)

t.test(
  'the folders sign-in, web and operations, and the pages of every product, do not mention applications',
  async t => {
    const paths = ['src/client/{sign-in,web,operations}/**/*.ts', 'views/client/*.eta'].flatMap(one => globSync(one))
    t.ok(paths.length > 30)
    for (const path of paths.filter(path => path !== 'views/client/home.eta'))
      t.notMatch(read(path), /applications/i, path)
  },
)

t.test(
  'the tests in the folders sign-in, web, upstream and operations do not use the pages for applications',
  async t => {
    const paths = globSync('test/client/{web,upstream,operations,sign-in,support}/**/*.ts').filter(
      // The test of the doctor needs the real path of the API, because the doctor calls it.
      path => !path.endsWith('/doctor.test.ts'),
    )
    t.ok(paths.length > 60)
    for (const path of paths)
      t.notMatch(read(path), /\/applications|\/apps\/v1|\/identities\/|applicationRecord|buildApplications/, path)
    for (const path of paths.filter(path => /\/(sign-in|support)\//.test(path)))
      t.notMatch(read(path), /applications/i, path)
  },
)

t.test('the sandbox has no circular imports, not even of types', async t => {
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
    'the function must find a cycle',
  )
})

/** Returns the files of one cycle, with the first file again at the end. Returns undefined if there is no cycle. */
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

t.test(
  'in the sandbox, no file in applications/, groups/, people/ and grants/ imports anything that deals with HTTP',
  async t => {
    const paths = globSync('src/sandbox/{applications,groups,people,grants}/*.ts')
    t.ok(paths.length > 10 || sandboxFiles.length === 0, 'some starters have no sandbox')
    for (const path of paths) {
      t.notMatch(importsOf(path).join('\n'), /^fastify|sandbox\/http\//m, path)
      t.notMatch(read(path), /statusCode|\breply\b/, path)
    }
  },
)

t.test(
  'one file of the sandbox’s store decides which applications count as removed, and no file outside the store builds SQL',
  async t => {
    const naming = globSync('src/sandbox/**/*.ts').filter(path => /\bremoved_at\b/.test(read(path)))
    const inStore = ['src/sandbox/store/present-applications.ts', 'src/sandbox/store/schema.ts']
    // Some starters have no sandbox.
    t.same(naming.filter(path => !path.includes('/migrations')).toSorted(), sandboxFiles.length === 0 ? [] : inStore)
    for (const path of globSync('src/sandbox/**/*.ts').filter(path => !path.includes('/store/')))
      t.notMatch(importsOf(path).join('\n'), /^kysely/m, path)
  },
)

t.test('only the laboratory uses store/for-lab, and no other file of the sandbox mentions test suites', async t => {
  const others = sandboxFiles.filter(path => !/\/(lab|store\/for-lab)\/|\/store\/(schema|migrations)\.ts$/.test(path))
  // Comments may mention the conformance suite.
  for (const path of others) t.notMatch(read(path).replaceAll('conformance suite', ''), /\bsuites?\b/, path)
  for (const path of sandboxFiles.filter(path => !/\/(lab\/set-up|store\/for-lab)\//.test(path)))
    t.notMatch(importsOf(path).join('\n'), 'store/for-lab/', path)
})

t.test('in the sandbox, imports lead from api and portal to tokens, then to store, and never back', async t => {
  const wiring = 'app\\.ts|create-sandbox|main|start\\.ts|seed/|config\\.ts|commands/'
  const domain = `api/|portal/|lab/|web/|${wiring}`
  const above: Record<string, string> = {
    'src/sandbox/api/': `portal/|lab/|${wiring}`,
    'src/sandbox/portal/': `api/|lab/|${wiring}`,
    'src/sandbox/applications/': domain,
    'src/sandbox/groups/': domain,
    'src/sandbox/people/': domain,
    'src/sandbox/grants/': domain,
    'src/sandbox/web/': `api/|portal/|lab/|groups/|tokens/|store/|${wiring}`,
    'src/sandbox/tokens/': `api/|portal/|lab/|groups/|web/|${wiring}`,
    'src/sandbox/store/': `api/|portal/|lab/|groups/|web/|tokens/|services\\.ts|${wiring}`,
    'src/sandbox/services.ts': `api/|portal/|lab/|groups/|web/|${wiring}`,
    // app.ts builds the servers from all these parts.
    'src/sandbox/app.ts': 'create-sandbox|main|start\\.ts|commands/',
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

t.test('for each sandbox server, one file lists all its routes', async t => {
  const route = /\.(get|post|put|patch|delete|route)(<[^>]*>)?\(\s*['"`][/$]/
  for (const [folder, list] of [
    ['portal', 'build-portal.ts'],
    ['api', 'build-api.ts'],
    ['lab', 'build-lab.ts'],
  ])
    for (const path of globSync(`src/sandbox/${folder}/**/*.ts`))
      t.equal(route.test(read(path)), path.endsWith(`/${list}`), path)
})

t.test(
  'the laboratory imports no part of the platform, and only app.ts and create-sandbox.ts import the laboratory',
  async t => {
    for (const path of sandboxFiles) {
      const own = importsOf(path).filter(name => name.startsWith('src/sandbox/'))
      // The calls that set up accounts use functions of the portal and the API. open-lab.ts connects them.
      const isAllowed = /^src\/sandbox\/lab\/(set-up\/|(open-lab|faults\/platform)\.ts$)/.test(path)
        ? /^src\/sandbox\/(?!(app|create-sandbox|main|start|config)\.ts$|commands\/|(portal|api)\/build-)/
        : /^src\/sandbox\/(lab\/|web\/|observe\/|(http\/(describe|report-refusal|server)|people\/mail)\.ts$|values\/)/
      if (path.startsWith('src/sandbox/lab/'))
        t.same(
          own.filter(name => !isAllowed.test(name)),
          [],
          path,
        )
      else if (!/^src\/sandbox\/(app|create-sandbox)\.ts$/.test(path))
        t.notOk(
          own.some(name => name.startsWith('src/sandbox/lab/')),
          `${path} must not import a file of the laboratory`,
        )
    }
  },
)

t.test('only the entry files of programs read the environment', async t => {
  for (const path of globSync('src/**/*.ts')) {
    const isEntry = /(^|\/)(main|demo|doctor)\.ts$/.test(path) || path.includes('commands/')
    if (!isEntry) t.notMatch(read(path), /process\.env\b/, path)
  }
})

t.test(
  '.env.example and the README list the same settings as the code (npm run settings writes these lists)',
  async t => {
    t.equal(read('.env.example'), listForEnvironment())
    t.match(read('README.md'), `\n${listAsTable()}\n`)
  },
)

t.test('npm run settings replaces the table in the README, which may be the end of the file', async t => {
  const [head = '', line = ''] = listAsTable().split('\n')
  for (const rest of [
    '',
    '| `OLD` | needed | An old setting. |\n',
    '| `OLD` | needed | An old setting. |\n\nMore.\n',
  ]) {
    const folder = t.testdir({ 'README.md': `# A client\n\n${head}\n${line}\n${rest}` })
    execFileSync(process.execPath, [resolve('scripts/list-settings.ts')], { cwd: folder })
    const after = rest.includes('More') ? '\nMore.\n' : ''
    t.equal(read(join(folder, 'README.md')), `# A client\n\n${listAsTable()}${after}`)
  }
})

t.test('each class of the client’s style sheet is used in a view or in a script', async t => {
  const style = read('views/client/assets/style.css').replace(/\/\*[\s\S]*?\*\//g, '')
  const classes = new Set([...style.matchAll(/\.([a-z][\w-]*)(?=[^{}]*\{)/g)].map(([, name]) => name!))
  t.ok(classes.size > 20)
  const used = findUsedClasses()
  t.same(
    [...classes].filter(name => !used.has(name)),
    [],
  )
})

t.test('each export of the client is imported by another file or named in the guide', async t => {
  const guide = read('docs/make-it-yours.md')
  const texts = globSync(['{src,test,scripts}/**/*.ts']).map(path => ({ path, text: read(path) }))
  for (const path of clientFiles) {
    const importers = texts.filter(other => importsOf(other.path, other.text).includes(path))
    for (const [, name] of read(path).matchAll(/^export (?:async )?(?:const|function|class|type) (\w+)/gm))
      if (!guide.includes(`\`${name}\``) && !importers.some(({ text }) => new RegExp(`\\b${name}\\b`).test(text)))
        t.fail(`${path} exports ${name}, which no file imports and docs/make-it-yours.md does not name`)
  }
})

t.test(
  'each row of a table in a document is on one line, and has the same number of cells as the heading of the table',
  async t => {
    for (const path of globSync(['*.md', 'docs/**/*.md'])) {
      const text = read(path).replace(/```[\s\S]*?```|^<!--.*-->$/gm, '')
      const tables = text.split(/\n\n+/).filter(block => block.startsWith('|'))
      for (const table of tables) {
        const rows = table.trim().split('\n')
        // A code span and an escaped bar do not end a cell.
        const countCells = (row: string) => row.replace(/`[^`]*`|\\\|/g, '').split('|').length
        const isWhole = (row: string) => /^\|.*\|$/.test(row) && countCells(row) === countCells(rows[0]!)
        const broken = rows.filter(row => !isWhole(row))
        t.same(broken, [], path)
      }
    }
  },
)

t.test('every script, link and path in a document exists', async t => {
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

t.test('SC-09: the code never turns text into code, markup or patterns, and never starts a program', async t => {
  // Only these two files may do this: a developer tells the conformance command which client to start, and gives it a
  // pattern.
  const allowed = ['src/conformance/client-process.ts', 'src/conformance/settings.ts']
  for (const path of [...globSync('src/**/*.ts'), ...globSync('views/**/*.{eta,js}')]) {
    if (allowed.includes(path)) continue
    const found = read(path).match(
      /\beval\(|new Function\b|innerHTML|outerHTML|node:child_process|node:vm|new RegExp\(/g,
    )
    t.same(found ?? [], [], path)
  }
  t.match(JSON.parse(read('tsconfig.json')).compilerOptions, { strict: true })
})

t.test(
  'package.json declares every imported package, and its `dependencies` contain the packages that src imports',
  async t => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json'))
    const packageOf = (name: string) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name
    const isPackage = (name: string) => !name.startsWith('node:') && !existsSync(name)
    const paths = globSync(['src/**/*.ts', 'scripts/**/*.ts', 'test/**/*.ts'], {
      // These tests contain strings that look like imports of packages that do not exist.
      exclude: ['test/container/*.test.ts'],
    })
    t.ok(paths.length > 50)
    const withoutTypes = (text: string) => text.replace(/^import type .*$/gm, '')
    for (const path of paths) {
      const inProduction = importsOf(path, withoutTypes(read(path)))
        .filter(isPackage)
        .map(packageOf)
      for (const name of importsOf(path).filter(isPackage).map(packageOf)) {
        // The demo runs on the machines of developers, and is not in any image. log.ts works without pino-pretty.
        const isForDevelopment =
          !path.startsWith('src/') ||
          path.startsWith('src/demo') ||
          !inProduction.includes(name) ||
          name === 'pino-pretty'
        const isDeclared = name in dependencies || (isForDevelopment && name in devDependencies)
        if (!isDeclared) t.fail(`${path} imports ${name}, which package.json does not declare`)
      }
    }
  },
)
