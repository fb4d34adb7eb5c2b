// The clients of docs/tutorials: conformance judges each, and each excerpt in a tutorial is part of its client's code.
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { findFreePort } from './support/free-port.ts'

t.setTimeout(900_000)

const folder = mkdtempSync(join(tmpdir(), 'tutorials-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

/** Only Debian's own Python finds Debian's packages; another Python on the PATH does not. */
const python = '/usr/bin/python3'
const pythonPackages = ['flask', 'authlib', 'requests', 'waitress'].map(
  name => `/usr/lib/python3/dist-packages/${name}`,
)
const goProgram = join(folder, 'client')

/** Compiles the client with Debian's package golang-golang-x-oauth2-dev, because Go modules would need the network. */
function buildGoClient(): void {
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: join(folder, 'cache') }
  execFileSync('go', ['build', '-o', goProgram, '.'], { cwd: 'docs/tutorials/go', env })
}

const tutorials = [
  { language: 'node', source: 'app.mjs', command: `${process.execPath} docs/tutorials/node/app.mjs`, needs: [] },
  {
    language: 'python',
    source: 'app.py',
    command: `${python} docs/tutorials/python/app.py`,
    needs: [python, ...pythonPackages],
  },
  {
    language: 'go',
    source: 'main.go',
    command: goProgram,
    needs: ['/usr/bin/go', '/usr/share/gocode/src/golang.org/x/oauth2'],
    build: buildGoClient,
  },
]

/** Returns the exit code of the conformance suite and its output. */
async function judge(command: string): Promise<{ code: number; output: string }> {
  const port = await findFreePort()
  const options = ['--client', `http://localhost:${port}`, '--start', command]
  const settings = ['--env', 'SESSION_KEY={RANDOM}', '--env', 'PUBLIC_URL={CLIENT_URL}', '--return-to', '']
  return new Promise(resolve => {
    const parameters = ['src/conformance/main.ts', ...options, ...settings, '--allow-undecided']
    execFile(process.execPath, parameters, { maxBuffer: 2 ** 26 }, (error, output) =>
      resolve({ code: error ? Number(error.code) : 0, output }),
    )
  })
}

for (const { language, source, command, needs, build } of tutorials) {
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
      build?.()
      const { code, output } = await judge(command)
      t.equal(code, 0, 'nothing fails', { output: output.slice(-20_000) })
      t.match(output, /\d{3} passed, 0 failed/)
    },
  )
}
