// Tests the clients of docs/tutorials: the conformance suite judges each client with the command in its tutorial. Each
// excerpt in a tutorial is part of the client's code.
import { execFile, execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import t from 'tap'
import { findFreePort } from './support/free-port.ts'

t.setTimeout(1_800_000)

/** The test uses Debian's own Python, because another Python on the PATH would not find Debian's packages. */
const python = '/usr/bin/python3'
const pythonPackages = ['flask', 'authlib', 'requests', 'waitress'].map(
  name => `/usr/lib/python3/dist-packages/${name}`,
)

/** The command `node` in the tutorials runs the Node that runs this test. */
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` }

/** Replaces the tutorial's `npm install`, which would need the network. */
function linkNodePackages(folder: string): void {
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
}

/** Runs the tutorial's command, which uses Debian's golang-golang-x-oauth2-dev. Go modules would need the network. */
function buildGoClient(folder: string): void {
  const [command = ''] = /^GO111MODULE=off .*$/m.exec(readFileSync('docs/tutorials/go.md', 'utf8')) ?? []
  execFileSync('sh', ['-c', command], { cwd: folder, env: { ...env, GOCACHE: join(folder, 'cache') } })
}

const tutorials = [
  { language: 'node', source: 'app.mjs', needs: [], prepare: linkNodePackages },
  { language: 'python', source: 'app.py', needs: [python, ...pythonPackages] },
  {
    language: 'go',
    source: 'main.go',
    needs: ['/usr/bin/go', '/usr/share/gocode/src/golang.org/x/oauth2'],
    prepare: buildGoClient,
  },
]

/**
 * Runs the tutorial's command for the conformance suite unchanged, except for the port and the folder of the client.
 * Returns the exit code of the suite, and what the suite printed.
 */
async function judge(language: string, folder: string): Promise<{ code: number; output: string }> {
  const document = readFileSync(`docs/tutorials/${language}.md`, 'utf8')
  let command = /```sh\n(npm run conformance [\s\S]*?)```/.exec(document)?.[1] ?? ''
  const changes: [from: string, to: string][] = [
    ['npm run conformance --', 'node src/conformance/main.ts'],
    ['/path/to/your/folder', folder],
    ['http://localhost:3000', `http://localhost:${await findFreePort()}`],
  ]
  for (const [from, to] of changes) {
    if (!command.includes(from)) throw new Error(`The command of ${language}.md has no "${from}".`)
    command = command.replace(from, to)
  }
  return new Promise(done =>
    execFile('sh', ['-c', command], { env, maxBuffer: 2 ** 26 }, (error, output) =>
      done({ code: error ? Number(error.code) : 0, output }),
    ),
  )
}

for (const { language, source, needs, prepare } of tutorials) {
  t.test(`${language}: each excerpt of the tutorial is in the client’s code`, async t => {
    const document = readFileSync(`docs/tutorials/${language}.md`, 'utf8')
    const code = readFileSync(`docs/tutorials/${language}/${source}`, 'utf8')
    const extension = source.replace(/^.*\./, '')
    const excerpts = [...document.matchAll(/```(\w+)\n([\s\S]*?)```/g)].filter(([, name]) => name === extension)
    t.ok(excerpts.length > 3, `${excerpts.length} excerpts`)
    for (const [, , excerpt = ''] of excerpts) t.ok(excerpt.trim() && code.includes(excerpt), excerpt)
  })

  const missing = needs.filter(path => !existsSync(path))
  t.test(
    `${language}: the conformance suite finds no failed MUST in the client`,
    { skip: missing.length > 0 && `this machine has no ${missing.join(' and no ')}` },
    async t => {
      const folder = mkdtempSync(join(tmpdir(), 'tutorials-'))
      t.teardown(() => rmSync(folder, { recursive: true, force: true }))
      copyFileSync(`docs/tutorials/${language}/${source}`, join(folder, source))
      prepare?.(folder)
      const { code, output } = await judge(language, folder)
      t.equal(code, 0, 'nothing fails', { output: output.slice(-20_000) })
      t.match(output, /\d{3} passed, 0 failed/)
    },
  )
}
